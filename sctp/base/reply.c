/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/base/reply.h"

#include <string.h>

#include "sctp/base/path_select.h"
#include "util/minmax.h"

enum {
	MOST = SCTP_BATCH_SPACE, /* bytes of such a packet */
	UNKNOWN_MOST = SCTP_REPLIES /
		       2, /* that may be in use when a peer without association is answered */
	SLOT = (int)((sizeof(struct sctp_reply) + 7) & ~7u),
};

static struct sctp_reply *slot(struct sctp *s, uint32_t at)
{
	return (void *)(s->replies + at % SCTP_REPLIES);
}

static uint32_t ring_room(const struct sctp *s)
{
	return SCTP_REPLIES - (s->reply_tail - s->reply_head);
}

/* A packet never wraps: an empty slot skips the rest of the ring. */
static bool make_contiguous(struct sctp *s)
{
	uint32_t at = s->reply_tail % SCTP_REPLIES, left = SCTP_REPLIES - at;

	if (ring_room(s) < SLOT + SCTP_HEAD)
		return false;
	if (left >= SLOT + MOST)
		return true;
	if (ring_room(s) < left + SLOT + SCTP_HEAD)
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

	if (!make_contiguous(s)) {
		s->st.dropped_replies++;
		return w;
	}
	s->reply_open = s->reply_tail;
	r = slot(s, s->reply_open);
	r->to = *to;
	r->no_checksum = false;
	size = ring_room(s) - SLOT;
	w = (struct sctp_writer){.p = (uint8_t *)r + SLOT, .size = min_u32(size, MOST)};
	sctp_put_head(&w, head);
	return w;
}

bool sctp_wants_output(const struct sctp *s)
{
	return SCTP_REPLIES - ring_room(s) > UNKNOWN_MOST / 2;
}

struct sctp_writer sctp_reply_to_unknown(struct sctp *s, const struct sctp_flow *to,
					 const struct sctp_head *head)
{
	if (SCTP_REPLIES - ring_room(s) <= UNKNOWN_MOST)
		return sctp_reply_begin(s, to, head);
	s->st.dropped_replies++;
	return (struct sctp_writer){.full = true};
}

void sctp_reply_end(struct sctp *s, struct sctp_writer *w)
{
	struct sctp_reply *r;
	struct span whole;

	if (w->full)
		return;
	r = slot(s, s->reply_open);
	r->len = w->len;
	whole = (struct span){w->p, w->len};
	if (!r->no_checksum)
		sctp_seal(&whole, 1);
	s->reply_tail = s->reply_open + SLOT + ((w->len + 7) & ~7u);
	if (s->answered && s->reply_open == s->answer)
		s->answer_end = s->reply_tail;
}

static struct sctp_reply *oldest_reply(struct sctp *s)
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
	struct sctp_reply *r = oldest_reply(s);

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

/* ---- packets of associations ---- */

/* The answer to the present packet can still grow. */
static bool is_open(const struct sctp *s)
{
	return s->answering && s->answered && s->answer_end == s->reply_tail;
}

/* Its first chunk may be longer than the path takes: then it is full. */
static struct sctp_writer go_on(struct sctp *s, const struct sctp_path *p)
{
	struct sctp_reply *r = slot(s, s->answer);
	uint32_t size = SCTP_REPLIES - s->answer % SCTP_REPLIES - SLOT;

	size = min_u32(size, ring_room(s) + r->len);
	size = max_u32(r->len, min_u32(size, min_u32(MOST, p->pmtu.size)));
	s->reply_open = s->answer;
	return (struct sctp_writer){.p = (uint8_t *)r + SLOT, .len = r->len, .size = size};
}

static struct sctp_writer begin_for_path(struct sctp_path *p)
{
	struct sctp_assoc *a = p->assoc;
	const struct sctp_head head = {a->id.own_port, a->id.peer_port, a->id.peer_tag};
	struct sctp_writer w = sctp_reply_begin(a->s, &p->flow, &head);

	if (w.full)
		return w;
	slot(a->s, a->s->reply_open)->no_checksum = sctp_omits_checksum(a);
	if (a->s->answering) {
		a->s->answered = true;
		a->s->answer = a->s->reply_open;
		a->s->answer_end = a->s->reply_tail - 1; /* not before its first chunk */
	}
	return w;
}

/* 5.4: only heartbeats go to an address that is not confirmed. */
static struct sctp_path *confirmed(struct sctp_path *p)
{
	struct sctp_path *other = sctp_path_choose(p->assoc);

	return p->state == SCTP_PATH_UNCONFIRMED && other->state != SCTP_PATH_UNCONFIRMED ? other
											  : p;
}

struct sctp_writer sctp_reply_to(struct sctp_path *p)
{
	struct sctp *s = p->assoc->s;
	struct sctp_path *open;

	p = confirmed(p);
	if (!is_open(s))
		return begin_for_path(p);
	open = sctp_assoc_find_path(p->assoc, &slot(s, s->answer)->to.peer);
	return open && confirmed(open) == open ? go_on(s, open) : begin_for_path(p);
}

struct sctp_writer sctp_reply_exactly_to(struct sctp_path *p)
{
	struct sctp *s = p->assoc->s;

	if (!is_open(s))
		return begin_for_path(p);
	if (sctp_addr_equal(&slot(s, s->answer)->to.peer, &p->flow.peer))
		return go_on(s, p);
	return (struct sctp_writer){.full = true};
}

void sctp_reply_withdraw(struct sctp *s)
{
	if (is_open(s))
		s->reply_tail = s->answer;
	s->answered = false;
}

struct sctp_writer sctp_reply_alone(struct sctp_path *p)
{
	sctp_reply_withdraw(p->assoc->s);
	return begin_for_path(confirmed(p));
}

void sctp_reply_abort(struct sctp *s, const struct sctp_flow *to, const struct sctp_head *got,
		      uint32_t tag, bool reflected, uint16_t cause, const void *value, uint32_t len)
{
	const struct sctp_head head = {got->dst, got->src, tag};
	struct sctp_writer w = sctp_reply_to_unknown(s, to, &head);
	uint32_t chunk = sctp_begin_chunk(&w, SCTP_ABORT, reflected ? SCTP_FLAG_T : 0);

	if (cause != SCTP_CAUSE_NONE)
		sctp_put_cause(&w, cause, value, len);
	sctp_end_chunk(&w, chunk);
	sctp_reply_end(s, &w);
}
