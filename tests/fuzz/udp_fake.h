/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * llp/user/udp.h, llp/common/route.h and the clock without a kernel: packets that leave are handed
 * to the target, packets arrive when it says so, and no time passes but the owner's.
 */
#ifndef TESTS_FUZZ_UDP_FAKE_H
#define TESTS_FUZZ_UDP_FAKE_H

#include "llp/user/udp.h"

/* What the kernel does until this changes; at first nothing of it. */
extern struct udp_fake {
	unsigned at;  /* packets and ICMP messages arrive at this socket, in the order of opening */
	bool full;    /* no socket takes packets: the next batch waits, and what follows is lost */
	bool crowded; /* their queues fill */
	bool no_gso;  /* UDP_SEGMENT is refused */
	uint32_t mtu; /* of the route, bytes of an IP packet; 0: any packet fits */
} udp_fake;

/* A packet leaves; the target has this function. */
void udp_fake_sent(const struct sockaddr_storage *to, const uint8_t *p, size_t len);

/* A packet will arrive with the next udp_recv(). False if there is no room, or no socket. */
bool udp_fake_arrive(const struct sockaddr_storage *from, const uint8_t *p, size_t len);

/* The same of several together: all have `segment` bytes but the last one. */
bool udp_fake_arrive_run(const struct sockaddr_storage *from, const uint8_t *p, size_t len,
			 size_t segment);

/* So will an ICMP message; the quoted bytes are copied. */
void udp_fake_error(const struct udp_error *e);

#endif
