/* SPDX-License-Identifier: BSD-2-Clause */
/* What packet scripts with the fake peer need more than once. */
#ifndef TESTS_SCTP_SCRIPT_H
#define TESTS_SCTP_SCRIPT_H

#include <criterion/criterion.h>

#include "tests/sctp/peer.h"
#include "util/be.h"

enum {
	SCRIPT_BASE = PEER_BASE, /* packets of the stack while no larger probe is answered */
	SCRIPT_FULL = 1172,      /* a message that fills one */
};

/* The next packet that is no HEARTBEAT; false: there is none. */
static inline bool script_next(struct peer *p)
{
	while (peer_next(p))
		if (p->chunk[0].type != SCTP_HEARTBEAT)
			return true;
	return false;
}

/* Nothing but heartbeats waits. */
static inline void script_nothing(struct peer *p)
{
	cr_assert(!script_next(p), "a packet with chunk %u", p->chunk[0].type);
}

/* The next packet has DATA with this TSN first. Returns how many DATA chunks it has. */
static inline unsigned script_data(struct peer *p, uint32_t tsn)
{
	unsigned n = 0;

	cr_assert(script_next(p), "no packet instead of TSN %u", tsn);
	for (unsigned i = 0; i < p->n; i++) {
		if (p->chunk[i].type != SCTP_DATA)
			continue;
		if (n++ == 0)
			cr_assert_eq(be_get32(p->chunk[i].p + 4), tsn, "TSN %u instead of %u",
				     be_get32(p->chunk[i].p + 4), tsn);
	}
	cr_assert(n, "chunk %u instead of DATA", p->chunk[0].type);
	return n;
}

/* The next packet is a SACK. */
static inline struct sctp_sack script_sack(struct peer *p)
{
	struct sctp_sack s;

	cr_assert(sctp_sack_get(peer_expect(p, SCTP_SACK), &s));
	return s;
}

static inline void script_send_shutdown(struct peer *p, uint32_t cum)
{
	uint8_t v[4];

	be_put32(v, cum);
	peer_send_chunk(p, SCTP_SHUTDOWN, 0, v, 4);
}

/* SACK with gap blocks: pairs of offsets. */
static inline void script_gaps(struct peer *p, uint32_t cum, const uint16_t *gaps, unsigned n)
{
	peer_begin(p);
	peer_put_sack(p, cum, p->rwnd, gaps, n);
	peer_send(p);
}

/* The stack sends n messages, as soon as there is room. */
static inline void script_queue(struct peer *p, unsigned n, uint32_t len)
{
	cr_assert_eq(p->wish, 0);
	p->wish = n;
	p->wish_len = len;
	peer_poll(p);
}

static inline struct sctp_stats script_stats(const struct peer *p)
{
	struct sctp_stats st;

	sctp_stats(p->s, &st);
	return st;
}

/* DATA of the peer: unordered, whole. */
static inline void script_peer_data(struct peer *p, uint32_t tsn, uint16_t sid)
{
	peer_begin(p);
	peer_put_data(p, tsn, sid, 0, SCTP_DATA_U | SCTP_DATA_B | SCTP_DATA_E, 10);
	peer_send(p);
}

/* Every chunk of the stack has the order and the sizes of 6.10. */
static inline void script_check_packet(const struct peer *p, uint32_t most)
{
	bool data = false;
	uint32_t last = 0;

	cr_assert_leq(p->pkt->len, most);
	for (unsigned i = 0; i < p->n; i++) {
		const struct sctp_chunk *c = &p->chunk[i];

		if (c->type != SCTP_DATA) {
			cr_assert(!data || c->type == SCTP_PAD, "control chunk after DATA");
			continue;
		}
		cr_assert_gt(c->len, 16u);
		cr_assert_eq(c->flags & 7, 7, "U, B and E");
		cr_assert_eq(be_get16(c->p + 10), 0, "Stream Sequence Number");
		if (data)
			cr_assert_lt((int32_t)(last - be_get32(c->p + 4)), 0, "TSNs ascend");
		last = be_get32(c->p + 4);
		data = true;
	}
	if (data)
		cr_assert(!peer_find(p, SCTP_SHUTDOWN) && !peer_find(p, SCTP_SHUTDOWN_ACK));
}

#endif
