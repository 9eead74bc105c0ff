/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The route to an address, from the kernel's routing tables. Unlike IP_MTU, they do not follow ICMP
 * messages, which anybody who knows our addresses and UDP port can forge.
 */
#ifndef LLP_FIB_H
#define LLP_FIB_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct fib {
	unsigned device; /* index of the interface that packets leave through */
	uint32_t mtu;    /* largest IP packet: of the route if it has one, else of the interface */
};

/* local: the source address, or NULL. 0 or -errno; -ENODATA: the answer names no interface. */
int fib_find(const struct sockaddr_storage *local, const struct sockaddr_storage *to,
	     struct fib *ret);

/* The answer of the kernel, of which mtu may be 0: that of the interface. 0, -ENODATA as above, the
 * kernel's own error, or -EBADMSG. datagram is aligned for any type. */
int fib_parse(const void *datagram, size_t len, struct fib *ret);

#endif
