/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel's routing tables say about the way to an address. Unlike IP_MTU, they know
 * nothing of ICMP messages, which anybody can forge who knows our addresses and UDP port.
 */
#ifndef LLP_FIB_H
#define LLP_FIB_H

#include <stdint.h>
#include <sys/socket.h>

struct fib {
	unsigned device; /* index of the interface that packets leave through */
	uint32_t mtu;    /* largest IP packet: of the route if it has one, else of the interface */
};

/* local: the source address, or NULL. 0 or -errno; -ENODATA: the answer names no interface. */
int fib_find(const struct sockaddr_storage *local, const struct sockaddr_storage *to,
	     struct fib *ret);

#endif
