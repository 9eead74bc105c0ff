/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that are made at once: answers to packets of strangers, and control packets of
 * associations. They wait in a ring until the next output.
 */
#include "sctp/assoc.h"

enum {
	MOST = SCTP_BATCH_SPACE, /* bytes of such a packet */
	SLOT = (int)((sizeof(struct sctp_reply) + 7) & ~7u),
};

static uint32_t room(const struct sctp *s)
{
	return SCTP_REPLIES - (s->reply_tail - s->reply_head);
}

/* A packet never wraps: what is left at the end of the ring is skipped with an empty slot. */
static bool make_contiguous(struct sctp *s)
{
	uint32_t at = s->reply_tail % SCTP_REPLIES, left = SCTP_REPLIES - at;

	if (room(s) < SLOT + SCTP_HEAD)
		return false;
	if (left >= SLOT + MOST)
		return true;
	if (room(s) < left + SLOT + SCTP_HEAD)
		return false;
	if (left >= SLOT)
		((struct sctp_reply *)(void *)(s->replies + at))->len = 0;
	s->reply_tail += left;
	return true;
}

struct sctp_writer sctp_reply_begin(struct sctp *s, const struct sctp_flow *to,
				    const struct sctp_head *head)
{
	struct sctp_writer w = {.full = true};
	struct sctp_reply *r;
	uint32_t size;

	if (!make_contiguous(s))
		return w;
	r = (void *)(s->replies + s->reply_tail % SCTP_REPLIES);
	r->to = *to;
	size = room(s) - SLOT;
	w = (struct sctp_writer){.p = s->replies + s->reply_tail % SCTP_REPLIES + SLOT,
				 .size = size < MOST ? size : MOST};
	sctp_put_head(&w, head);
	return w;
}

void sctp_reply_end(struct sctp *s, struct sctp_writer *w)
{
	struct sctp_reply *r;
	struct span whole;

	if (w->full)
		return;
	r = (void *)(s->replies + s->reply_tail % SCTP_REPLIES);
	r->len = w->len;
	whole = (struct span){w->p, w->len};
	sctp_seal(&whole, 1);
	s->reply_tail += SLOT + ((w->len + 7) & ~7u);
}

static struct sctp_reply *oldest(struct sctp *s)
{
	while (s->reply_head != s->reply_tail) {
		uint32_t at = s->reply_head % SCTP_REPLIES;
		struct sctp_reply *r = (void *)(s->replies + at);

		if (SCTP_REPLIES - at >= SLOT && r->len)
			return r;
		s->reply_head += SCTP_REPLIES - at;
	}
	return NULL;
}

bool sctp_reply_next(struct sctp *s, struct sctp_batch *ret)
{
	struct sctp_reply *r = oldest(s);

	if (!r)
		return false;
	ret->to = r->to;
	memcpy(ret->space, (uint8_t *)r + SLOT, r->len);
	ret->used = r->len;
	ret->packets = 1;
	ret->segment = ret->len = r->len;
	ret->nspans = 1;
	ret->span[0] = (struct span){ret->space, r->len};
	s->reply_head += SLOT + ((r->len + 7) & ~7u);
	return true;
}

struct sctp_writer sctp_reply_to(struct sctp_path *p)
{
	struct sctp_assoc *a = p->assoc;
	const struct sctp_head head = {a->own_port, a->peer_port, a->peer_tag};

	return sctp_reply_begin(a->s, &p->flow, &head);
}

void sctp_reply_abort(struct sctp *s, const struct sctp_flow *to, const struct sctp_head *got,
		      uint32_t tag, bool reflected, uint16_t cause, const void *value, uint32_t len)
{
	const struct sctp_head head = {got->dst, got->src, tag};
	struct sctp_writer w = sctp_reply_begin(s, to, &head);
	uint32_t chunk = sctp_begin_chunk(&w, SCTP_ABORT, reflected ? SCTP_FLAG_T : 0);

	if (cause != SCTP_CAUSE_NONE)
		sctp_put_cause(&w, cause, value, len);
	sctp_end_chunk(&w, chunk);
	sctp_reply_end(s, &w);
}
