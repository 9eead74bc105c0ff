/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/bells.h"

#include "daemon/objects/client/client.h"
#include "daemon/objects/sessions/qp.h"

enum {
	WAKE_BUDGET = 512, /* queue pairs a turn; a word of 64 is never split */
	ATTENTION_MS = 50, /* how long an idle client's page is still read */
};

/* Wakes the queue pairs of one word. Returns how many. */
static unsigned wake_word(struct client *c, unsigned word, uint64_t bits)
{
	unsigned n = 0;

	for (; bits; bits &= bits - 1, n++) {
		struct qp *qp =
			idtab_at(&c->handles.qps, word * 64 + (unsigned)__builtin_ctzll(bits));

		if (qp)
			qp_wake(qp);
	}
	return n;
}

/* Takes the bells of one client as far as the budget goes. Returns how many. */
static unsigned take_bells(struct client *c, unsigned budget)
{
	unsigned n = 0;

	if (bell_any(c->bells.page))
		c->bells.rung_words |= bell_take(c->bells.page);
	while (c->bells.rung_words && n < budget) {
		unsigned w = (unsigned)__builtin_ctzll(c->bells.rung_words);

		c->bells.rung_words &= c->bells.rung_words - 1;
		n += wake_word(c, w, bell_take_word(c->bells.page, w));
	}
	return n;
}

void bells_take_client(struct client *c)
{
	if (take_bells(c, BELL_QUEUES) > 0)
		c->bells.rung_ms = c->worker->now_ms;
}

/* An idle client rings its doorbell from now on, unless it has rung at this very moment. */
static void stop_polling(struct client *c)
{
	if (bell_sleep(c->bells.page))
		list_del(&c->bells.polled);
	else
		bell_awake(c->bells.page);
}

bool bells_take(struct worker *w)
{
	struct list turn, *l;
	unsigned n = 0;

	/* Served clients go to the end of the list. Those that the budget did not reach stay in
	 * front. */
	list_init(&turn);
	list_splice_tail(&turn, &w->polled);
	while (n < WAKE_BUDGET && (l = list_pop(&turn))) {
		struct client *c = list_entry(l, struct client, bells.polled);
		unsigned took;

		list_add_tail(&w->polled, l);
		took = take_bells(c, WAKE_BUDGET - n);
		if (took > 0)
			c->bells.rung_ms = w->now_ms;
		else if (!c->bells.rung_words && w->now_ms - c->bells.rung_ms >= ATTENTION_MS)
			stop_polling(c);
		n += took;
	}
	list_splice_tail(&turn, &w->polled);
	list_splice_tail(&w->polled, &turn);
	return n > 0;
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
