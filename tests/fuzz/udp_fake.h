/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * llp/user/udp.h, llp/common/route.h and the clock without a kernel: packets that leave are handed
 * to the target, packets arrive when it says so, and no time passes but the owner's.
 */
#ifndef TESTS_FUZZ_UDP_FAKE_H
#define TESTS_FUZZ_UDP_FAKE_H

#include "llp/user/udp.h"

/* The only socket there is, NULL if none is open. */
extern struct udp *udp_fake;

/* A packet leaves; the target has this function. */
void udp_fake_sent(const struct sockaddr_storage *to, const uint8_t *p, size_t len);

/* A packet will arrive with the next udp_recv(). False if there is no room. */
bool udp_fake_arrive(const struct sockaddr_storage *from, const uint8_t *p, size_t len);

/* So will an ICMP message; the quoted bytes are copied. */
void udp_fake_error(const struct udp_error *e);

#endif
