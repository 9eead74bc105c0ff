/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of addresses from programs, as records carry them. */
#ifndef DDP_ADDRS_H
#define DDP_ADDRS_H

#include <stdint.h>
#include <sys/socket.h>

#include "ipc/msg.h"

/* Addresses in a record. */
struct addrs {
	struct msg_addr a[MSG_MAX_ADDRS];
	unsigned n;
};

/*
 * Adds an address to *l. port: the port of all addresses, in host byte order; the port of *a must
 * be the same, or 0. call and whose ("of the peer") are for the reason. Returns 0; -EAFNOSUPPORT;
 * -EINVAL: another port, or the list has MSG_MAX_ADDRS already.
 */
int addrs_add(struct addrs *l, const char *call, const char *whose, uint16_t port,
	      const struct sockaddr *a);

/* Adds a program's list of n addresses. */
int addrs_add_list(struct addrs *l, const char *call, const char *whose, uint16_t port,
		   const struct sockaddr_storage *a, unsigned n);

/* Returns the port of an address, 0 if it is neither IPv4 nor IPv6. */
uint16_t addrs_port(const struct sockaddr *a);

#endif
