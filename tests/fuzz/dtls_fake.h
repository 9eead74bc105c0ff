/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * llp/dtls/dtls.h without cryptography: a record is DTLS_OVERHEAD bytes, which begin with the
 * length of its packet, and the packet. Handshakes end when the target says so, and events come
 * when it says so, in any order that the interface permits.
 */
#ifndef TESTS_FUZZ_DTLS_FAKE_H
#define TESTS_FUZZ_DTLS_FAKE_H

#include "llp/dtls/dtls.h"

enum { DTLS_FAKE_LINKS = 4 };

struct dtls_fake_link {
	struct dtls_flow flow;
	bool used, up, beginning; /* up and beginning: it is renewed */
	uint64_t heard_us, begun_us;
	unsigned alert;
	bool unreachable;
	void *kept;
};

extern struct dtls_fake {
	struct dtls_fake_link link[DTLS_FAKE_LINKS];
	bool gone; /* what dtls_is_gone() says */
} dtls_fake;

/* The peer begins one. False: there is no room, or it has one. */
bool dtls_fake_incoming(const struct dtls_flow *flow);

/* The handshake of a link that is beginning has succeeded. False: none goes on. */
bool dtls_fake_succeed(struct dtls_fake_link *l);

/* It has failed, or the link ends: closed, refused by the peer, or with another reason. */
enum dtls_fake_end { DTLS_FAKE_FAILED, DTLS_FAKE_CLOSED, DTLS_FAKE_REFUSED };
bool dtls_fake_fail(struct dtls_fake_link *l, enum dtls_fake_end why);

#endif
