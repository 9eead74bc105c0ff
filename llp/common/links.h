/* SPDX-License-Identifier: BSD-2-Clause */
/* The network interfaces of this host: whether one with our addresses is up, and notices of
 * changes. */
#ifndef LLP_LINKS_H
#define LLP_LINKS_H

#include <stdbool.h>
#include <sys/socket.h>

/* A descriptor that is readable after interfaces or addresses changed. Never blocks. The caller
 * closes it. Returns it, or -errno: the system may not permit it. */
int links_watch(void);

/* Reads the notices, so that the descriptor is not readable until the next change. */
void links_drain(int fd);

/*
 * True if an interface with one of the n addresses is up and has its carrier. A wildcard stands for
 * the addresses of all interfaces except loopback; a host without such an interface serves itself,
 * and counts as up. True as well if the system cannot list its interfaces.
 */
bool links_up(const struct sockaddr_storage *addrs, unsigned n);

#endif
