/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * llp/udp.h and llp/route.h without a kernel: sent packets go to the target, which decides what
 * arrives.
 */
#ifndef TESTS_FUZZ_UDP_FAKE_H
#define TESTS_FUZZ_UDP_FAKE_H

#include "llp/udp.h"

/* The open socket, or NULL. */
extern struct udp *udp_fake;

/* Called for each sent packet. The target defines it. */
void udp_fake_sent(const struct sockaddr_storage *to, const uint8_t *p, size_t len);

/* A packet will arrive with the next udp_recv(). False if there is no room. */
bool udp_fake_arrive(const struct sockaddr_storage *from, const uint8_t *p, size_t len);

/* The same for an ICMP message. */
void udp_fake_error(const struct sockaddr_storage *to, int err, uint32_t mtu);

#endif
