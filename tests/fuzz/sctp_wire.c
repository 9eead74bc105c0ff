/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of SCTP: what is read lies inside the packet, reading ends, and what was read and written
 * again is read as the same. The first byte chooses the parser.
 */
#include "sctp/wire/chunk.h"
#include "sctp/wire/cookie.h"
#include "sctp/wire/param.h"
#include "tests/fuzz/fuzz.h"

enum { SPACE = 65536 };

/* ---- chunks ---- */

static void inside(const uint8_t *p, size_t n, const uint8_t *start, size_t size)
{
	must(p >= start && n <= size && (size_t)(p - start) <= size - n);
}

static void data(const struct sctp_chunk *c)
{
	uint8_t again[SCTP_DATA_HEAD];
	struct sctp_data d;

	if (!sctp_data_get(c, &d)) {
		must(c->len < SCTP_DATA_HEAD);
		return;
	}
	must(d.len == c->len - SCTP_DATA_HEAD);
	inside(d.p, d.len, c->p, c->len);
	if (d.len == 0 || !d.unordered || !d.begin || !d.end || d.ssn != 0)
		return;
	sctp_put_data_head(again, c->flags & SCTP_DATA_I, d.tsn, d.sid, d.ppid, d.len);
	must(!memcmp(again + 2, c->p + 2, sizeof(again) - 2));
}

static void sack(const struct sctp_chunk *c)
{
	struct sctp_sack s;

	if (!sctp_sack_get(c, &s))
		return;
	inside(s.gaps, (size_t)4 * s.ngaps, c->p, c->len);
	inside(s.dups, (size_t)4 * s.ndups, c->p, c->len);
}

/* Writes the causes again: the same bytes, but for what padding holds and what follows the last. */
static void causes(const struct sctp_chunk *c)
{
	static uint8_t again[SPACE];
	struct sctp_writer w = {.p = again, .size = sizeof(again)};
	uint32_t begin = sctp_begin_chunk(&w, c->type, c->flags);
	struct sctp_cursor at = sctp_errors(c), at2;
	struct sctp_error e, e2;
	struct sctp_chunk c2;

	while (sctp_error_next(&at, &e)) {
		inside(e.p, e.len, c->p, c->len);
		must(sctp_error_find(c, e.cause, &e2) && e2.cause == e.cause && e2.p <= e.p);
		sctp_put_cause(&w, e.cause, e.p, e.len);
	}
	sctp_end_chunk(&w, begin);
	must(!w.full && w.len % 4 == 0);
	at = (struct sctp_cursor){again, again + w.len};
	must(sctp_chunk_next(&at, &c2) == SCTP_NEXT_OK && at.p == at.end && c2.len <= c->len);
	at = sctp_errors(c);
	at2 = sctp_errors(&c2);
	while (sctp_error_next(&at, &e)) {
		must(sctp_error_next(&at2, &e2));
		must(e2.cause == e.cause && e2.len == e.len && !memcmp(e2.p, e.p, e.len));
	}
	must(!sctp_error_next(&at2, &e2));
}

static void packet(const uint8_t *p, size_t n)
{
	struct sctp_cursor at;
	struct sctp_chunk c;
	enum sctp_next r;
	size_t used = SCTP_HEAD;

	if (n < SCTP_HEAD)
		return;
	at = sctp_chunks(p, n);
	while ((r = sctp_chunk_next(&at, &c)) == SCTP_NEXT_OK) {
		must(c.p == p + used && c.len >= SCTP_CHUNK_HEAD);
		inside(c.p, c.len, p, n);
		must(at.p >= c.p + c.len && at.p < c.p + c.len + 4 && at.p <= at.end);
		used = (size_t)(at.p - p);
		data(&c);
		sack(&c);
		causes(&c);
	}
	must((r == SCTP_NEXT_END) == (used == n));
}

/* ---- INIT and INIT ACK ---- */

static void same_init(const struct sctp_init *a, const struct sctp_init *b)
{
	must(a->tag == b->tag && a->a_rwnd == b->a_rwnd && a->tsn == b->tsn);
	must(a->out_streams == b->out_streams && a->in_streams == b->in_streams);
	must(a->has_adaptation == b->has_adaptation && a->adaptation == b->adaptation);
	must(a->takes_batches == b->takes_batches && a->naddrs == b->naddrs);
	for (unsigned i = 0; i < a->naddrs; i++)
		must(sctp_addr_equal(&a->addr[i], &b->addr[i]));
}

/* What was read is written as a chunk of the same type, with the unknown parameters as reports. */
static void write_again(const struct sctp_chunk *c, const struct sctp_init *i)
{
	static uint8_t again[2 * SPACE];
	struct sctp_writer w = {.p = again, .size = sizeof(again)};
	struct sctp_cursor at;
	struct sctp_chunk c2;
	struct sctp_init i2;

	sctp_init_put(&w, c->type, i, i->unknown, i->nunknown);
	if (w.full) /* longer than a chunk can be: reports add headers */
		return;
	at = (struct sctp_cursor){again, again + w.len};
	must(sctp_chunk_next(&at, &c2) == SCTP_NEXT_OK && at.p == at.end);
	must(sctp_init_get(&c2, &i2) == SCTP_INIT_OK && i2.nunknown == 0);
	same_init(i, &i2);
	if (c->type != SCTP_INIT_ACK) {
		must(i2.takes_v4 == i->takes_v4 || (!i->takes_v4 && !i->takes_v6));
		return;
	}
	must(i2.cookie_len == i->cookie_len && !memcmp(i2.cookie, i->cookie, i->cookie_len));
}

static void init(const uint8_t *p, size_t n)
{
	struct sctp_cursor at = {p, p + n};
	struct sctp_chunk c;
	struct sctp_init i;

	if (sctp_chunk_next(&at, &c) != SCTP_NEXT_OK)
		return;
	if (c.type != SCTP_INIT && c.type != SCTP_INIT_ACK)
		return;
	if (sctp_init_get(&c, &i) != SCTP_INIT_OK)
		return;
	must(i.tag && i.out_streams && i.in_streams && i.a_rwnd >= 1500);
	must(i.naddrs < SCTP_MAX_PATHS && i.nunknown <= SCTP_MAX_UNKNOWN);
	for (unsigned k = 0; k < i.naddrs; k++)
		must(sctp_addr_unicast(&i.addr[k]));
	for (unsigned k = 0; k < i.nunknown; k++)
		inside(i.unknown[k].p, i.unknown[k].len, c.p, c.len);
	if (i.cookie)
		inside(i.cookie, i.cookie_len, c.p, c.len);
	must(!!i.cookie == (c.type == SCTP_INIT_ACK));
	write_again(&c, &i);
}

/* ---- cookies ---- */

static void no_random(void *user, void *ret, size_t len)
{
	(void)user;
	memset(ret, 0x5a, len);
}

/* No bytes are a cookie, unless someone can compute the MAC; a sealed cookie opens, and does not
 * after one change. */
static void cookie(const uint8_t *p, size_t n)
{
	const struct sctp_config cfg = {.random = no_random};
	struct input in = {p, n};
	struct sctp_cookie_keys keys;
	struct sctp_cookie c, back;
	uint8_t wire[SCTP_COOKIE_MAX];
	uint32_t len, at;
	uint8_t change;

	sctp_cookie_keys_init(&keys, &cfg, 1);
	must(!sctp_cookie_open(&keys, p, (uint32_t)n, &back));
	memset(&c, 0, sizeof(c));
	c.created_us = in_64(&in);
	c.own_tag = in_32(&in);
	c.adaptation = in_32(&in);
	c.naddrs = in_8(&in) % (SCTP_MAX_PATHS + 1);
	at = in_16(&in);
	change = in_8(&in);
	for (unsigned i = 0; i < c.naddrs; i++)
		in_fill(&in, c.addr[i].ip, sizeof(c.addr[i].ip));
	len = sctp_cookie_seal(&keys, &cfg, &c, 1, wire);
	must(len <= SCTP_COOKIE_MAX && len % 4 == 0);
	must(sctp_cookie_open(&keys, wire, len, &back));
	must(back.created_us == c.created_us && back.own_tag == c.own_tag);
	must(back.adaptation == c.adaptation && back.naddrs == c.naddrs);
	must(!memcmp(back.addr, c.addr, c.naddrs * sizeof(c.addr[0])));
	wire[at % len] ^= change;
	must(sctp_cookie_open(&keys, wire, len, &back) == (change == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static void (*const parsers[])(const uint8_t *p, size_t n) = {packet, init, cookie};

	if (size > 0)
		parsers[bytes[0] % (sizeof(parsers) / sizeof(parsers[0]))](bytes + 1, size - 1);
	return 0;
}
