/* SPDX-License-Identifier: BSD-2-Clause */
/* The packets that the stack sends: the rules for each, and what a test expects of the next one. */
#include "sctp/base/path.h"
#include "tests/sctp/peer.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "util/be.h"
#include "util/crc32c.h"
#include "util/minmax.h"

static uint8_t allowed_flags(uint8_t type)
{
	switch (type) {
	case SCTP_DATA:
		return SCTP_DATA_E | SCTP_DATA_B | SCTP_DATA_U | SCTP_DATA_I;
	case SCTP_ABORT:
	case SCTP_SHUTDOWN_COMPLETE:
		return SCTP_FLAG_T;
	}
	return 0;
}

static bool known(uint8_t type)
{
	return type <= SCTP_COOKIE_ACK || type == SCTP_SHUTDOWN_COMPLETE || type == SCTP_PAD;
}

/* What holds for each chunk that anybody sends. */
static void check_chunk(const struct peer *p, const struct sctp_chunk *c, unsigned i)
{
	const uint8_t *end = p->pkt->data + p->pkt->len;
	uint32_t padded = (c->len + 3) & ~3u;

	cr_assert(known(c->type), "chunk type %u", c->type);
	cr_assert_eq((c->p - p->pkt->data) % 4, 0);
	cr_assert_eq(c->flags & ~allowed_flags(c->type), 0, "chunk %u has flags %x", c->type,
		     c->flags);
	cr_assert((size_t)(end - c->p) >= padded, "padding is missing");
	for (uint32_t k = c->len; k < padded; k++)
		cr_assert_eq(c->p[k], 0, "padding is not zero");
	if (c->type == SCTP_INIT || c->type == SCTP_INIT_ACK || c->type == SCTP_SHUTDOWN_COMPLETE)
		cr_assert_eq(padded + SCTP_HEAD, p->pkt->len, "chunk %u is not alone", c->type);
	if (c->type == SCTP_COOKIE_ECHO || c->type == SCTP_COOKIE_ACK)
		cr_assert_eq(i, 0, "chunk %u is not the first", c->type);
	if (c->type == SCTP_ABORT) {
		cr_assert(c->p + padded == end, "ABORT is not the last chunk");
		cr_assert_null(peer_find(p, SCTP_DATA));
	}
}

static void check_packet(struct peer *p)
{
	struct peer_packet *k = p->pkt;
	struct sctp_cursor c = sctp_chunks(k->data, k->len);
	enum sctp_next r;

	cr_assert(k->len > SCTP_HEAD && k->len % 4 == 0, "a packet of %u bytes", k->len);
	p->zero_checksum = k->to.covered && be_get32(k->data + SCTP_CHECKSUM) == 0;
	cr_assert(p->zero_checksum || crc32c_check(k->data, k->len), "wrong checksum");
	p->head = sctp_head_get(k->data);
	cr_assert(p->head.src != 0 && p->head.dst != 0);
	for (p->n = 0; (r = sctp_chunk_next(&c, &p->chunk[p->n])) == SCTP_NEXT_OK; p->n++)
		cr_assert_lt(p->n + 1, PEER_CHUNKS);
	cr_assert_eq(r, SCTP_NEXT_END, "a chunk is malformed");
	for (unsigned i = 0; i < p->n; i++)
		check_chunk(p, &p->chunk[i], i);
	if (p->chunk[0].type == SCTP_INIT)
		cr_assert_eq(p->head.tag, 0);
	else
		cr_assert_neq(p->head.tag, 0);
}

/* Lets the time pass that the pacer holds data back. */
static void release(struct peer *p)
{
	uint64_t at = SCTP_NEVER;

	list_foreach (it, &p->s->assocs) {
		const struct sctp_assoc *a = list_entry(it, struct sctp_assoc, all);

		for (unsigned i = 0; i < a->paths.n; i++)
			at = min_u64(at, a->paths.at[i].release_us);
	}
	if (at != SCTP_NEVER)
		peer_advance(p, at > p->now ? at - p->now : 0);
}

bool peer_next(struct peer *p)
{
	if (!p->first)
		release(p);
	if (!p->first)
		return false;
	free(p->pkt);
	p->pkt = p->first;
	p->first = p->pkt->next;
	if (!p->first)
		p->last = NULL;
	check_packet(p);
	return true;
}

const struct sctp_chunk *peer_find(const struct peer *p, uint8_t type)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->chunk[i].type == type)
			return &p->chunk[i];
	return NULL;
}

const struct sctp_chunk *peer_expect(struct peer *p, uint8_t type)
{
	cr_assert(peer_next(p), "no packet instead of chunk %u", type);
	cr_assert_eq(p->chunk[0].type, type, "chunk %u instead of %u", p->chunk[0].type, type);
	cr_assert_eq(p->n, 1, "chunk %u follows chunk %u", p->chunk[1].type, type);
	return &p->chunk[0];
}

void peer_expect2(struct peer *p, uint8_t first, uint8_t second)
{
	cr_assert(peer_next(p), "no packet instead of chunk %u", first);
	cr_assert_eq(p->chunk[0].type, first, "chunk %u instead of %u", p->chunk[0].type, first);
	cr_assert_eq(p->n, 2, "%u chunks instead of %u and %u", p->n, first, second);
	cr_assert_eq(p->chunk[1].type, second, "chunk %u instead of %u", p->chunk[1].type, second);
}

struct sctp_error peer_expect_cause(struct peer *p, uint8_t type, uint16_t cause)
{
	const struct sctp_chunk *c = peer_expect(p, type);
	struct sctp_cursor at = sctp_errors(c);
	struct sctp_error e = {0}, more;
	bool any = sctp_error_next(&at, &e);

	cr_assert_eq(any, cause != SCTP_CAUSE_NONE, "cause %u instead of %u", e.cause, cause);
	cr_assert_eq(e.cause, cause, "cause %u instead of %u", e.cause, cause);
	cr_assert(!sctp_error_next(&at, &more));
	return e;
}

void peer_expect_nothing(struct peer *p)
{
	cr_assert(!peer_next(p), "a packet with chunk %u", p->chunk[0].type);
}

unsigned peer_drain(struct peer *p, uint8_t type)
{
	unsigned n = 0;

	while (peer_next(p))
		n += peer_find(p, type) != NULL;
	return n;
}

const uint8_t *peer_param(const struct sctp_chunk *c, uint16_t type, unsigned nth, uint32_t *len)
{
	struct sctp_cursor at = {c->p + 20, c->p + c->len};
	struct sctp_chunk param;

	while (sctp_chunk_next(&at, &param) == SCTP_NEXT_OK) {
		if (be_get16(param.p) != type || nth--)
			continue;
		if (len)
			*len = param.len;
		return param.p;
	}
	return NULL;
}
