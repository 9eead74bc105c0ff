/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors of UDP sockets with the options that udp.c needs. Private to udp*.c. */
#ifndef LLP_UDP_SOCKET_H
#define LLP_UDP_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* A socket that is bound to the address, whose port is ignored, and that port. Its buffers have
 * `buffer` bytes, if the system permits. A descriptor or -errno. */
int udp_socket_make(const struct sockaddr_storage *addr, uint16_t port, uint32_t buffer);

/*
 * The same of a descriptor that another process made and kept. Takes it: returns it, or closes it
 * and returns -EINVAL, because it is not a UDP socket that is bound there and not connected, or
 * because other processes may bind there as well (SO_REUSEADDR, SO_REUSEPORT).
 */
int udp_socket_adopt(int fd, const struct sockaddr_storage *addr, uint16_t port, uint32_t buffer);

/* Whether packets leave with the DF bit; else IP may fragment them. */
void udp_socket_set_df(int fd, bool v6, bool on);

/* The kernel passes all packets. */
void udp_socket_unfilter(int fd);

/* Bytes of its receive buffer. */
uint32_t udp_socket_rcvbuf(int fd);

#endif
