/* SPDX-License-Identifier: BSD-2-Clause */
/* The addresses of this host and its interfaces, as the kernel lists them by netlink. */
#ifndef LLP_HOST_ADDRS_H
#define LLP_HOST_ADDRS_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum { HOST_ADDRS_MAX = 65536 }; /* addresses, and interfaces: others are left out */

struct host_link {
	unsigned index;
	bool loopback;
	char name[IF_NAMESIZE];
};

struct host_addr {
	struct sockaddr_storage a; /* port 0; a link-local address has its scope */
	unsigned index;            /* of its interface */
	bool tentative;            /* it cannot be used yet, or is a duplicate of another host's */
};

struct host_addrs {
	struct host_link *link;
	unsigned nlinks;
	struct host_addr *addr;
	unsigned naddrs;
};

/* Asks the kernel. To be freed with host_addrs_free(). 0 or -errno: the system may not permit it;
 * *ret is empty then. */
int host_addrs_read(struct host_addrs *ret);

/* Makes it empty. */
void host_addrs_free(struct host_addrs *h);

/* Adds the records of a datagram of the kernel, which may be any bytes. 1: it was the last one;
 * 0; -EAGAIN: the list changed meanwhile, and is to be asked for again; -ENOMEM; -EBADMSG; or the
 * error that the kernel reports. */
int host_addrs_parse(struct host_addrs *h, const void *datagram, size_t len);

/* The interface with that name, or that index; NULL: none. */
const struct host_link *host_addrs_named(const struct host_addrs *h, const char *name);
const struct host_link *host_addrs_link(const struct host_addrs *h, unsigned index);

/* True if this host has the address: it can be bound. */
bool host_has_addr(const struct sockaddr_storage *a);

#endif
