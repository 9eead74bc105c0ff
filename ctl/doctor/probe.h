/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks a host which transports answer: an INIT over UDP, and one of the kernel's SCTP. */
#ifndef CTL_PROBE_H
#define CTL_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum probe_answer {
	PROBE_LISTENS,     /* an INIT ACK: a program listens at the port */
	PROBE_ABORTS,      /* SCTP answers, and refuses: no program listens at the port */
	PROBE_NOTHING,     /* the host refuses: no program listens */
	PROBE_FOREIGN,     /* something else answers */
	PROBE_REJECTED,    /* ICMP: administratively prohibited */
	PROBE_SILENCE,     /* no answer in time: it is down, or a firewall drops packets */
	PROBE_UNREACHABLE, /* there is no route, or ICMP says so */
	PROBE_IMPOSSIBLE,  /* this host cannot ask: its kernel has no SCTP */
};

/* The transport `user`: sends an INIT to the UDP port. to: its port is ignored. */
enum probe_answer probe_user(const struct sockaddr_storage *to, uint16_t udp_port, int timeout_ms);

/* The transport `kernel`: connects to the SCTP port. */
enum probe_answer probe_kernel(const struct sockaddr_storage *to, uint16_t port, int timeout_ms);

/* MTU of the route, 0 if it is not known. */
unsigned probe_mtu(const struct sockaddr_storage *to);

#endif
