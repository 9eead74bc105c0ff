/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/dtls/dtls_cookie.h"

#include <string.h>

#include <openssl/crypto.h>

#include "llp/dtls/dtls_record.h"
#include "util/be.h"
#include "util/siphash.h"

enum { CLIENT_HELLO = 1, VERIFY_REQUEST = 3, MESSAGE_HEAD = 12, OLD_VERSION = 0xfeff };

/* ---- hellos ---- */

struct cursor {
	const uint8_t *p, *end;
};

/* The next n bytes, or NULL. */
static const uint8_t *take_bytes(struct cursor *c, size_t n)
{
	const uint8_t *p = c->p;

	if (n > (size_t)(c->end - c->p))
		return NULL;
	c->p += n;
	return p;
}

/* Bytes with their length before them, of one byte. */
static const uint8_t *take_short_vector(struct cursor *c, size_t *ret)
{
	const uint8_t *len = take_bytes(c, 1);

	if (!len)
		return NULL;
	*ret = *len;
	return take_bytes(c, *len);
}

static uint32_t get_24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | be_get16(p + 1);
}

/* The header of a message that is in this record as a whole. */
static bool is_whole_hello(const uint8_t *m, size_t rest)
{
	uint32_t len = get_24(m + 1);

	return m[0] == CLIENT_HELLO && len == rest && get_24(m + 6) == 0 && get_24(m + 9) == len;
}

static bool read_hello(struct cursor *c, struct dtls_hello *h)
{
	const uint8_t *random, *suites;
	size_t session_len, cookie_len;

	if (!take_bytes(c, 2)) /* OpenSSL judges the version */
		return false;
	random = take_bytes(c, DTLS_RANDOM);
	if (!random || !take_short_vector(c, &session_len))
		return false;
	memcpy(h->random, random, DTLS_RANDOM);
	h->cookie = take_short_vector(c, &cookie_len);
	if (!h->cookie)
		return false;
	h->cookie_len = cookie_len;
	if (cookie_len == 0)
		h->cookie = NULL;
	suites = take_bytes(c, 2);
	return suites && take_bytes(c, be_get16(suites));
}

bool dtls_hello_get(const uint8_t *p, size_t n, struct dtls_hello *ret)
{
	struct dtls_head head;
	struct dtls_hello h;
	struct cursor c;
	const uint8_t *m;

	if (!dtls_head_get(p, n, &head) || head.type != DTLS_HANDSHAKE || head.epoch != 0)
		return false;
	c = (struct cursor){p + DTLS_HEAD, p + DTLS_HEAD + head.len};
	m = take_bytes(&c, MESSAGE_HEAD);
	if (!m || !is_whole_hello(m, (size_t)(c.end - c.p)) || !read_hello(&c, &h))
		return false;
	h.seq = head.seq;
	*ret = h;
	return true;
}

/* ---- cookies ---- */

static void draw_key(struct dtls_cookies *c)
{
	c->random(c->user, c->key[0], sizeof(c->key[0]));
}

void dtls_cookies_init(struct dtls_cookies *c, void (*random)(void *user, void *ret, size_t len),
		       void *user, uint64_t now_us)
{
	*c = (struct dtls_cookies){.random = random, .user = user};
	draw_key(c);
	memcpy(c->key[1], c->key[0], sizeof(c->key[1]));
	c->until_us = now_us + DTLS_COOKIE_US;
}

static void rotate_keys(struct dtls_cookies *c, uint64_t now_us)
{
	if (now_us < c->until_us)
		return;
	memcpy(c->key[1], c->key[0], sizeof(c->key[1]));
	draw_key(c);
	if (now_us - c->until_us >= DTLS_COOKIE_US) /* both are old */
		memcpy(c->key[1], c->key[0], sizeof(c->key[1]));
	c->until_us = now_us + DTLS_COOKIE_US;
}

static void make_cookie(const uint64_t key[2], const struct dtls_flow *flow,
			const uint8_t random[DTLS_RANDOM], uint8_t ret[DTLS_COOKIE])
{
	uint8_t p[sizeof(*flow) + DTLS_RANDOM];

	memcpy(p, flow, sizeof(*flow));
	memcpy(p + sizeof(*flow), random, DTLS_RANDOM);
	siphash128(key, p, sizeof(p), ret);
}

bool dtls_cookies_accept(struct dtls_cookies *c, const struct dtls_flow *flow,
			 const struct dtls_hello *h, uint64_t now_us)
{
	uint8_t want[DTLS_COOKIE];

	if (!h->cookie || h->cookie_len != DTLS_COOKIE)
		return false;
	rotate_keys(c, now_us);
	for (unsigned i = 0; i < 2; i++) {
		make_cookie(c->key[i], flow, h->random, want);
		if (CRYPTO_memcmp(want, h->cookie, DTLS_COOKIE) == 0)
			return true;
	}
	return false;
}

void dtls_cookies_ask(struct dtls_cookies *c, const struct dtls_flow *flow,
		      const struct dtls_hello *h, uint64_t now_us, uint8_t ret[DTLS_VERIFY_REQUEST])
{
	struct dtls_head head = {DTLS_HANDSHAKE, 0, h->seq, DTLS_VERIFY_REQUEST - DTLS_HEAD};
	uint8_t *m = ret + DTLS_HEAD;

	rotate_keys(c, now_us);
	memset(ret, 0, DTLS_VERIFY_REQUEST);
	dtls_head_put(ret, &head);
	be_put16(ret + 1, OLD_VERSION); /* as clients of all versions read it */
	m[0] = VERIFY_REQUEST;
	m[3] = m[11] = 3 + DTLS_COOKIE; /* length of the message and of its only fragment */
	be_put16(m + MESSAGE_HEAD, OLD_VERSION);
	m[MESSAGE_HEAD + 2] = DTLS_COOKIE;
	make_cookie(c->key[0], flow, h->random, m + MESSAGE_HEAD + 3);
}
