/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/bells.h"

#include "daemon/objects/client/client.h"
#include "daemon/objects/memory/notice.h"
#include "daemon/objects/sessions/qp.h"

enum {
	WAKE_BUDGET = 512, /* bells a turn; a word of 64 is never split */
	PAGES = 256,       /* that a turn reads */
	BEFORE = 128,      /* bells at a time that a record waits for */
	ATTENTION_MS = 50, /* how long an idle client's page is still read */
};

/* Wakes the queue pairs of one word. Returns the cost in bells. */
static unsigned wake_word(struct client *c, unsigned word, uint64_t bits)
{
	unsigned n = 0;

	for (; bits; bits &= bits - 1, n++) {
		struct qp *qp =
			idtab_at(&c->handles.qps, word * 64 + (unsigned)__builtin_ctzll(bits));

		if (qp)
			n += qp_wake(qp) / QP_FLUSHED;
	}
	return n;
}

/* Takes the bells of the first of these words of the client, which rang. Returns the cost. */
static unsigned take_word(struct client *c, uint64_t words)
{
	unsigned w = (unsigned)__builtin_ctzll(words);

	c->bells.rung_words &= ~(UINT64_C(1) << w);
	notice_look_again(c);
	return wake_word(c, w, bell_take_word(c->bells.page, w));
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
bool bells_take_before(struct client *c)
{
	unsigned n = 0;

	if (!c->bells.page)
		return true; /* it did not say hello */
	if (!c->bells.before) {
		read_page(c);
		c->bells.before = c->bells.rung_words;
	}
	/* The turns of bells may have taken some meanwhile. */
	while (n < BEFORE && (c->bells.before &= c->bells.rung_words))
		n += take_word(c, c->bells.before);
	if (n > 0)
		note_rung(c);
	if (c->bells.rung_words)
		drr_add(&c->bells.turn);
	else
		drr_del(&c->bells.turn);
	c->bells.before &= c->bells.rung_words;
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
