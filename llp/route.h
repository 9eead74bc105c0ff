/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel's routes say about the way to a peer. */
#ifndef LLP_ROUTE_H
#define LLP_ROUTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct route {
	uint32_t mtu;                /* largest IP packet */
	bool gso_safe;               /* see route_find() */
	struct sockaddr_storage src; /* source address that would be used; port 0 */
};

/*
 * Looks up the way from a local address (NULL: the kernel's choice) to a remote one. Returns 0 or
 * -errno: ENETUNREACH, EHOSTUNREACH, EADDRNOTAVAIL ...
 *
 * gso_safe: UDP_SEGMENT may be used. Linux kernels have panicked when a UDP_SEGMENT batch
 * was handed on, within the same host, to a socket in which the kernel itself ends an
 * SCTP-in-UDP tunnel (6.1.176, over loopback and over veth). So it is safe
 * - to an address of this very network namespace, if the kernel ends no such tunnel here
 *   (no net.sctp.udp_port, or 0): whoever answers is a program like ours;
 * - through a device backed by hardware (a virtual machine's network card counts), which segments
 *   before the packets reach another host.
 * It is not taken to be safe through veth, bridges and other software devices, behind which
 * another namespace of this host may have the tunnel on.
 */
int route_find(const struct sockaddr_storage *local, const struct sockaddr_storage *to,
	       struct route *ret);

#endif
