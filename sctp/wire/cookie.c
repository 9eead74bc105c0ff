/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/wire/cookie.h"

#include <string.h>

#include "sctp/wire/chunk.h"
#include "util/be.h"
#include "util/siphash.h"

enum {
	MAC_LEN = 16, /* the first bytes of the cookie; it covers all others */

	HAS_ADAPTATION = 1,
	TAKES_BATCHES = 2,
	ALL_LOCAL = 4,
	COVERED = 8,
	ZERO_CHECKSUM = 16,
};

/* ---- keys ---- */

static void draw_key(struct sctp_cookie_keys *k, const struct sctp_config *cfg, uint64_t now_us)
{
	cfg->random(cfg->random_user, k->key[0], sizeof(k->key[0]));
	k->since_us = now_us;
}

void sctp_cookie_keys_init(struct sctp_cookie_keys *k, const struct sctp_config *cfg,
			   uint64_t now_us)
{
	memset(k, 0, sizeof(*k));
	draw_key(k, cfg, now_us);
}

static void renew_keys(struct sctp_cookie_keys *k, const struct sctp_config *cfg, uint64_t now_us)
{
	uint64_t period = cfg->cookie_us > SCTP_COOKIE_KEY_US ? cfg->cookie_us : SCTP_COOKIE_KEY_US;
	uint64_t age = now_us > k->since_us ? now_us - k->since_us : 0;

	if (age < period)
		return;
	memcpy(k->key[1], k->key[0], sizeof(k->key[1]));
	k->previous = age < 2 * period;
	draw_key(k, cfg, now_us);
}

/* ---- writing ---- */

static void put_cookie_addr(struct sctp_writer *w, const struct sctp_addr *a)
{
	sctp_put_bytes(w, a->ip, sizeof(a->ip));
	sctp_put32(w, a->scope);
}

static void put_flow(struct sctp_writer *w, const struct sctp_flow *f)
{
	put_cookie_addr(w, &f->peer);
	sctp_put16(w, f->udp_port);
	sctp_put8(w, f->local);
}

static void put_numbers(struct sctp_writer *w, const struct sctp_cookie *c)
{
	sctp_put64(w, c->created_us);
	sctp_put32(w, c->own_tag);
	sctp_put32(w, c->peer_tag);
	sctp_put32(w, c->own_tsn);
	sctp_put32(w, c->peer_tsn);
	sctp_put32(w, c->peer_rwnd);
	sctp_put32(w, c->tie_own);
	sctp_put32(w, c->tie_peer);
	sctp_put16(w, c->own_port);
	sctp_put16(w, c->peer_port);
	sctp_put16(w, c->out_streams);
	sctp_put16(w, c->in_streams);
	sctp_put32(w, c->adaptation);
}

static uint8_t flags(const struct sctp_cookie *c)
{
	return (uint8_t)((c->has_adaptation ? HAS_ADAPTATION : 0) |
			 (c->takes_batches ? TAKES_BATCHES : 0) | (c->all_local ? ALL_LOCAL : 0) |
			 (c->from.covered ? COVERED : 0) | (c->zero_checksum ? ZERO_CHECKSUM : 0));
}

uint32_t sctp_cookie_seal(struct sctp_cookie_keys *k, const struct sctp_config *cfg,
			  const struct sctp_cookie *c, uint64_t now_us,
			  uint8_t ret[SCTP_COOKIE_MAX])
{
	struct sctp_writer w = {.p = ret, .len = MAC_LEN, .size = SCTP_COOKIE_MAX};

	renew_keys(k, cfg, now_us);
	put_numbers(&w, c);
	put_flow(&w, &c->from);
	sctp_put8(&w, flags(c));
	for (unsigned i = 0; i < c->naddrs; i++)
		put_cookie_addr(&w, &c->addr[i]);
	siphash128(k->key[0], ret + MAC_LEN, w.len - MAC_LEN, ret);
	return w.len;
}

/* ---- reading ---- */

static bool signed_by(const uint64_t key[2], const uint8_t *p, uint32_t len)
{
	uint8_t mac[MAC_LEN], diff = 0;

	siphash128(key, p + MAC_LEN, len - MAC_LEN, mac);
	for (unsigned i = 0; i < MAC_LEN; i++)
		diff |= mac[i] ^ p[i];
	return diff == 0;
}

static uint8_t get8(const uint8_t **p)
{
	return *(*p)++;
}

static uint16_t get16(const uint8_t **p)
{
	*p += 2;
	return be_get16(*p - 2);
}

static uint32_t get32(const uint8_t **p)
{
	*p += 4;
	return be_get32(*p - 4);
}

static uint64_t get64(const uint8_t **p)
{
	*p += 8;
	return be_get64(*p - 8);
}

static void get_cookie_addr(const uint8_t **p, struct sctp_addr *ret)
{
	memcpy(ret->ip, *p, sizeof(ret->ip));
	*p += sizeof(ret->ip);
	ret->scope = get32(p);
}

static void get_numbers(const uint8_t **p, struct sctp_cookie *ret)
{
	ret->created_us = get64(p);
	ret->own_tag = get32(p);
	ret->peer_tag = get32(p);
	ret->own_tsn = get32(p);
	ret->peer_tsn = get32(p);
	ret->peer_rwnd = get32(p);
	ret->tie_own = get32(p);
	ret->tie_peer = get32(p);
	ret->own_port = get16(p);
	ret->peer_port = get16(p);
	ret->out_streams = get16(p);
	ret->in_streams = get16(p);
	ret->adaptation = get32(p);
}

static void get_rest(const uint8_t **p, struct sctp_cookie *ret)
{
	uint8_t bits;

	get_cookie_addr(p, &ret->from.peer);
	ret->from.udp_port = get16(p);
	ret->from.local = get8(p);
	bits = get8(p);
	ret->has_adaptation = bits & HAS_ADAPTATION;
	ret->takes_batches = bits & TAKES_BATCHES;
	ret->all_local = bits & ALL_LOCAL;
	ret->from.covered = bits & COVERED;
	ret->zero_checksum = bits & ZERO_CHECKSUM;
	for (unsigned i = 0; i < ret->naddrs; i++)
		get_cookie_addr(p, &ret->addr[i]);
}

bool sctp_cookie_open(const struct sctp_cookie_keys *k, const uint8_t *p, uint32_t len,
		      struct sctp_cookie *ret)
{
	if (len < SCTP_COOKIE_FIXED || len > SCTP_COOKIE_MAX ||
	    (len - SCTP_COOKIE_FIXED) % SCTP_COOKIE_ADDR != 0)
		return false;
	if (!signed_by(k->key[0], p, len) && !(k->previous && signed_by(k->key[1], p, len)))
		return false;
	p += MAC_LEN;
	memset(ret, 0, sizeof(*ret));
	ret->naddrs = (len - SCTP_COOKIE_FIXED) / SCTP_COOKIE_ADDR;
	get_numbers(&p, ret);
	get_rest(&p, ret);
	return true;
}
