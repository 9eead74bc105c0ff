/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Initiates on streams for which there is no memory: each is refused with a Terminate (RFC
 * 5043 6.4), without a session. A bit says that the refusal of a stream is to be sent. Only the
 * peer begins sessions on these streams, and when it begins the next one it has received the
 * Terminate (6.6).
 */
#include <string.h>

#include "proto/association/assoc_impl.h"
#include "util/be.h"

enum { BITS = 64 };

struct assoc_refusals {
	struct assoc_stream turn; /* its turns are those of the refusals */
	uint32_t due;
	uint64_t bit[];
};

static size_t words_of(const struct assoc_cfg *cfg)
{
	return (cfg->streams + BITS - 1U) / BITS;
}

size_t assoc_refusals_size(const struct assoc_cfg *cfg)
{
	return sizeof(struct assoc_refusals) + words_of(cfg) * sizeof(uint64_t);
}

/* RFC 5043 6.1: with DDP-SSN 0. */
static bool begins_session(const struct assoc_msg *m)
{
	uint16_t func;

	if (m->ppid != WIRE_PPID_CONTROL || m->head_len < WIRE_CONTROL_LEN)
		return false;
	func = be_get16(m->head + WIRE_SSN_LEN);
	return be_get16(m->head) == 0 && (func == WIRE_INITIATE || func == WIRE_ENH_INITIATE);
}

/* Memory is written to when it is used, like that of other streams. */
bool assoc_refusal_add(struct assoc *a, const struct assoc_msg *m)
{
	struct assoc_refusals *r = a->refusals;
	uint64_t bit = UINT64_C(1) << m->sid % BITS;
	uint16_t sid = m->sid;

	if (sid >= a->cfg.streams || (sid % 2 == 0) == a->cfg.even || !begins_session(m) ||
	    assoc_stream_is_dead(a, sid))
		return false;
	if (!r->turn.session.trace)
		assoc_stream_init(a, &r->turn, sid);
	r->due += !(r->bit[sid / BITS] & bit);
	r->bit[sid / BITS] |= bit;
	assoc_ready(a, &r->turn);
	return true;
}

bool assoc_refusal_is(const struct assoc *a, const struct assoc_stream *s)
{
	return s == &a->refusals->turn;
}

bool assoc_refusal_next(const struct assoc *a, uint16_t *ret_sid)
{
	const struct assoc_refusals *r = a->refusals;
	size_t i = 0;

	if (r->due == 0)
		return false;
	while (r->bit[i] == 0)
		i++;
	*ret_sid = (uint16_t)(i * BITS + (unsigned)__builtin_ctzll(r->bit[i]));
	return true;
}

void assoc_refusal_sent(struct assoc *a, uint16_t sid)
{
	a->refusals->due--;
	a->refusals->bit[sid / BITS] &= ~(UINT64_C(1) << sid % BITS);
}

void assoc_refusals_drop(struct assoc *a)
{
	struct assoc_refusals *r = a->refusals;

	if (!r->turn.session.trace)
		return;
	assoc_not_ready(a, &r->turn);
	memset(r->bit, 0, words_of(&a->cfg) * sizeof(uint64_t));
	r->due = 0;
}
