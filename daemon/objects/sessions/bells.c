/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/bells.h"

#include "daemon/base/queue.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/memory/notice.h"
#include "daemon/objects/sessions/qp.h"

enum {
	WAKE_BUDGET = 512, /* bells a turn; a word of 64 is never split */
	PAGES = 256,       /* that a turn reads */
	BEFORE = 128,      /* bells at a time that a record waits for */
	ATTENTION_MS = 50, /* how long an idle client's page is still read */
};

/* The entries that it holds now count as posted before the record, and no later ones: the client
 * may post as fast as the daemon takes them. */
static void mark_posted(struct qp *qp)
{
	struct wr_queues *q = &qp->wq;

	if (q->mark.record == qp->client->bells.record)
		return;
	q->mark.record = qp->client->bells.record;
	q->mark.sends = q->sq.mine + queue_waiting(&q->sq);
	q->mark.recvs = q->srq ? 0 : q->rq.mine + queue_waiting(&q->rq);
}

/* Entries were taken, and others before the mark are left. */
static bool goes_on(const struct ring *r, uint32_t before, uint32_t mark)
{
	return r->mine != before && (int32_t)(mark - r->mine) > 0;
}

/* As qp_wake(). The record waits for the word as long as that takes entries posted before it: a
 * queue that gives none now, as one without room for completions, does not hold it. */
static unsigned wake_before(struct qp *qp, uint64_t word)
{
	struct wr_queues *q = &qp->wq;
	const uint32_t sends = q->sq.mine, recvs = q->rq.mine;
	unsigned n;

	mark_posted(qp);
	n = qp_wake(qp);
	if (goes_on(&q->sq, sends, q->mark.sends) || goes_on(&q->rq, recvs, q->mark.recvs))
		qp->client->bells.before |= word;
	return n;
}

/* Takes the bells of the first of these words of the client: wakes its queue pairs. Returns the
 * cost in bells. */
static unsigned take_word(struct client *c, uint64_t words)
{
	const unsigned w = (unsigned)__builtin_ctzll(words);
	const uint64_t word = UINT64_C(1) << w;
	const bool before = c->bells.before & word;
	uint64_t bits = bell_take_word(c->bells.page, w);
	unsigned n = 0;

	c->bells.rung_words &= ~word;
	c->bells.before &= ~word;
	notice_look_again(c);
	for (; bits; bits &= bits - 1, n++) {
		struct qp *qp = idtab_at(&c->handles.qps, w * 64 + (unsigned)__builtin_ctzll(bits));

		if (qp)
			n += (before ? wake_before(qp, word) : qp_wake(qp)) / QP_FLUSHED;
	}
	return n;
}

static void read_page(struct client *c)
{
	if (bell_any(c->bells.page))
		c->bells.rung_words |= bell_take(c->bells.page);
}

static void note_rung(struct client *c)
{
	c->bells.rung_ms = c->worker->now_ms;
	c->bells.answers = true;
}

/* Only bells that rang before the record was seen count: the client may go on to ring. */
static void note_record(struct client *c)
{
	if (c->bells.record_waits)
		return;
	read_page(c);
	c->bells.before = c->bells.rung_words;
	c->bells.record++;
	c->bells.record_waits = true;
}

/* The turns of bells may have taken some meanwhile. */
bool bells_take_before(struct client *c)
{
	unsigned n = 0;

	if (!c->bells.page)
		return true; /* it did not say hello */
	note_record(c);
	while (n < BEFORE && c->bells.before)
		n += take_word(c, c->bells.before);
	if (n > 0)
		note_rung(c);
	if (c->bells.rung_words)
		drr_add(&c->bells.turn);
	else
		drr_del(&c->bells.turn);
	c->bells.record_waits = c->bells.before != 0;
	return !c->bells.before;
}

/* An idle client rings its doorbell from now on, unless it has rung at this very moment. */
static void stop_polling(struct client *c)
{
	if (bell_sleep(c->bells.page))
		list_del(&c->bells.polled);
	else
		bell_awake(c->bells.page);
}

static void look_at(struct client *c, uint64_t now_ms)
{
	read_page(c);
	if (c->bells.rung_words)
		drr_add(&c->bells.turn);
	else if (now_ms - c->bells.rung_ms >= ATTENTION_MS)
		stop_polling(c);
}

/* Who has rung. Pages that were read go to the end of the list, so that the next turn begins with
 * the others. */
static void read_pages(struct worker *w)
{
	struct list turn, *l;

	list_init(&turn);
	list_splice_tail(&turn, &w->polled);
	for (unsigned n = 0; n < PAGES && (l = list_pop(&turn)); n++) {
		list_add_tail(&w->polled, l);
		look_at(list_entry(l, struct client, bells.polled), w->now_ms);
	}
	list_splice_tail(&turn, &w->polled);
	list_splice_tail(&w->polled, &turn);
}

bool bells_take(struct worker *w)
{
	int64_t budget = WAKE_BUDGET;
	struct drr *leaf;
	bool any = false;

	read_pages(w);
	while (budget > 0 && (leaf = drr_next(&w->bells))) {
		struct client *c = list_entry(leaf, struct client, bells.turn);
		unsigned n = take_word(c, c->bells.rung_words);

		if (n > 0)
			note_rung(c);
		any |= n > 0;
		budget -= n + 1;
		drr_charge(leaf, n + 1);
		if (!c->bells.rung_words)
			drr_del(leaf);
	}
	return any;
}

bool bells_sleep(struct worker *w)
{
	bool quiet = true;

	list_foreach (l, &w->polled) {
		struct client *c = list_entry(l, struct client, bells.polled);

		quiet &= bell_sleep(c->bells.page) && !c->bells.rung_words;
	}
	return quiet;
}

void bells_awake(struct worker *w)
{
	list_foreach (l, &w->polled)
		bell_awake(list_entry(l, struct client, bells.polled)->bells.page);
}
