/* SPDX-License-Identifier: BSD-2-Clause */
/* Routes of the kernel to a peer. */
#ifndef LLP_ROUTE_H
#define LLP_ROUTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct route {
	uint32_t mtu;  /* largest IP packet, whatever ICMP messages say (llp/common/fib.h) */
	bool gso_safe; /* see route_find() */
	struct sockaddr_storage src; /* source address that would be used; port 0 */
};

/*
 * Looks up the route from a local address (NULL: the kernel's choice) to a remote one. Returns 0 or
 * -errno: ENETUNREACH, EHOSTUNREACH, EADDRNOTAVAIL ...
 *
 * gso_safe: UDP_SEGMENT may be used. Linux 6.1.176 panicked when a UDP_SEGMENT batch reached,
 * within one host (over loopback and over veth), the UDP tunnel socket of the kernel's own SCTP. So
 * it is safe
 * - to an address of this network namespace, if net.sctp.udp_port is absent or 0 here: the receiver
 *   is then a user-space program;
 * - through a device backed by hardware (or a virtual machine's network card), which segments
 *   before the packets reach another host.
 * It is not considered safe through veth, bridges and other software devices: another namespace of
 * this host may have the tunnel.
 */
int route_find(const struct sockaddr_storage *local, const struct sockaddr_storage *to,
	       struct route *ret);

#endif
