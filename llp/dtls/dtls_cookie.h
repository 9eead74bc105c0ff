/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hellos of clients before there is any state for them (RFC 6347 4.2.1): a client has to show that
 * it receives at its address, by a cookie that this end recognizes without having kept it. The
 * answer is shorter than any hello.
 */
#ifndef LLP_DTLS_COOKIE_H
#define LLP_DTLS_COOKIE_H

#include <stddef.h>

#include "llp/dtls/dtls_flow.h"

enum {
	DTLS_RANDOM = 32,
	DTLS_COOKIE = 16,
	DTLS_VERIFY_REQUEST = 13 + 12 + 3 + DTLS_COOKIE,
};

/* A cookie is good for one to two of these times. */
#define DTLS_COOKIE_US ((uint64_t)30 * 1000000)

struct dtls_hello {
	uint64_t seq; /* of its record */
	uint8_t random[DTLS_RANDOM];
	const uint8_t *cookie; /* NULL: it has none */
	size_t cookie_len;
};

struct dtls_cookies {
	uint64_t key[2][2]; /* of now, and of the time before */
	uint64_t until_us;
	void (*random)(void *user, void *ret, size_t len);
	void *user;
};

/* Reads the hello of a client at p: one record with one message that is not cut. False: it is
 * something else, or malformed. The cookie stays in the datagram. */
bool dtls_hello_get(const uint8_t *p, size_t n, struct dtls_hello *ret);

/* With keys from this source of random numbers. */
void dtls_cookies_init(struct dtls_cookies *c, void (*random)(void *user, void *ret, size_t len),
		       void *user, uint64_t now_us);

/* True if the hello has a cookie that was made for it and this flow lately. */
bool dtls_cookies_accept(struct dtls_cookies *c, const struct dtls_flow *flow,
			 const struct dtls_hello *h, uint64_t now_us);

/* Writes the datagram that asks for a cookie. */
void dtls_cookies_ask(struct dtls_cookies *c, const struct dtls_flow *flow,
		      const struct dtls_hello *h, uint64_t now_us,
		      uint8_t ret[DTLS_VERIFY_REQUEST]);

#endif
