/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/transfer/stall.h"

#include "sctp/assoc/assoc_end.h"

enum {
	STALL_US = 8000000, /* for a chunk that no path takes any more */
	AGAIN_US = 200000,
};

static const struct sctp_tx *lowest(const struct sctp_assoc *a)
{
	return sctp_queue_at(&a->tx, a->tx.cum + 1);
}

bool sctp_stall_fits(const struct sctp_path *p, const struct sctp_tx *t)
{
	return SCTP_HEAD + sctp_tx_wire(t) <= p->pmtu.size;
}

/* No path that works takes it. */
static bool is_too_long(const struct sctp_assoc *a, const struct sctp_tx *t)
{
	for (unsigned i = 0; i < a->paths.n; i++) {
		const struct sctp_path *p = &a->paths.at[i];

		if ((p->state == SCTP_PATH_ACTIVE || p->state == SCTP_PATH_FAILING) &&
		    sctp_stall_fits(p, t))
			return false;
	}
	return true;
}

void sctp_stall_progress(struct sctp_assoc *a)
{
	a->stall.progress_us = a->s->now;
	a->stall.us = SCTP_NEVER;
	a->stall.tries = 0;
}

/* The previous packet is lost, but the path works: a later packet arrived. */
static bool vanished(const struct sctp_path *p)
{
	return p->lowest_us >= p->assoc->stall.progress_us && p->heard_us > p->lowest_us;
}

void sctp_stall_sent(struct sctp_path *p, const struct sctp_tx *t)
{
	struct sctp_assoc *a = p->assoc;
	uint64_t at = a->stall.progress_us + STALL_US, soon = a->s->now + STALL_US / 4;

	a->stall.tries += vanished(p);
	p->lowest_us = a->s->now;
	if (a->stall.us == SCTP_NEVER && !sctp_stall_fits(p, t))
		a->stall.us = at > soon ? at : soon;
}

/* ---- the end ---- */

struct text {
	char s[96];
	uint32_t n;
};

static void put_text(struct text *t, const char *s)
{
	while (*s && t->n < sizeof(t->s) - 1)
		t->s[t->n++] = *s++;
	t->s[t->n] = 0;
}

static void put_number(struct text *t, uint32_t v)
{
	char digits[11] = {0};
	unsigned i = sizeof(digits) - 1;

	do
		digits[--i] = (char)('0' + v % 10);
	while (v /= 10);
	put_text(t, digits + i);
}

/* Sizes are those of IP packets, as ddpctl shows them. */
static bool end_stalled(struct sctp_assoc *a, const struct sctp_tx *t)
{
	const struct sctp_path *p = &a->paths.at[t->path];
	uint32_t len = SCTP_HEAD + sctp_tx_wire(t), head = sctp_path_overhead(p);
	struct text text = {.n = 0};

	if (sctp_tx_packet(t) > len)
		len = sctp_tx_packet(t);
	put_text(&text, "packets of ");
	put_number(&text, len + head);
	put_text(&text, " bytes no longer arrive");
	if (p->pmtu.size < len) {
		put_text(&text, ", those of ");
		put_number(&text, p->pmtu.size + head);
		put_text(&text, " bytes do");
	}
	for (unsigned i = 0; i < a->paths.n; i++)
		if (a->paths.at[i].pmtu.size < a->paths.at[i].pmtu.max)
			sctp_size_cache_put(&a->s->sizes, &a->paths.at[i].flow,
					    a->paths.at[i].pmtu.size, a->s->now);
	sctp_assoc_break(a, SCTP_END_STALLED, SCTP_CAUSE_USER, text.s, text.n, text.s);
	return true;
}

/* Repeated as often as a peer that does not answer at all, and as long. */
static bool took_long(const struct sctp_assoc *a)
{
	const struct sctp_config *cfg = &a->s->cfg;
	unsigned n = sctp_assoc_max_errors(a) + 1;

	return a->stall.tries > n &&
	       a->s->now - a->stall.progress_us >= (uint64_t)n * cfg->rto_max_us;
}

bool sctp_stalled(struct sctp_assoc *a)
{
	const struct sctp_tx *t;
	bool late = a->stall.us <= a->s->now;

	if (sctp_queue_idle(&a->tx)) {
		a->stall.us = SCTP_NEVER;
		return false;
	}
	t = lowest(a);
	/* 6.1 (A): a window that is closed is no stall, if the peer says so. */
	if (a->window.rwnd < (uint32_t)t->size - SCTP_DATA_HEAD && a->window.answered) {
		a->stall.progress_us = a->s->now;
		a->stall.us = late ? a->s->now + STALL_US : a->stall.us;
		return false;
	}
	if (took_long(a) ||
	    (late && a->stall.tries >= a->s->cfg.path_max_retrans && is_too_long(a, t)))
		return end_stalled(a, t);
	if (late)
		a->stall.us = is_too_long(a, t) ? a->s->now + AGAIN_US : SCTP_NEVER;
	return false;
}
