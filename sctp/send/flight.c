/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/send/flight.h"

enum { NEIGHBORS = 64 };

/* ---- lists of records ---- */

static void push_last(struct sctp_queue *q, struct sctp_tx_list *l, uint32_t tsn)
{
	struct sctp_tx *t = sctp_queue_at(q, tsn);

	t->prev = l->last;
	if (l->n++)
		sctp_queue_at(q, l->last)->next = tsn;
	else
		l->first = tsn;
	l->last = tsn;
}

static void push_first(struct sctp_queue *q, struct sctp_tx_list *l, uint32_t tsn)
{
	struct sctp_tx *t = sctp_queue_at(q, tsn);

	t->next = l->first;
	if (l->n++)
		sctp_queue_at(q, l->first)->prev = tsn;
	else
		l->last = tsn;
	l->first = tsn;
}

static void push_after(struct sctp_queue *q, struct sctp_tx_list *l, uint32_t at, uint32_t tsn)
{
	struct sctp_tx *t = sctp_queue_at(q, tsn);

	t->prev = at;
	t->next = sctp_queue_at(q, at)->next;
	sctp_queue_at(q, t->next)->prev = tsn;
	sctp_queue_at(q, at)->next = tsn;
	l->n++;
}

/* In the order of TSNs. Looks at a few neighbors of either end only: the order of most chunks
 * matters, not of all. */
static void push_sorted(struct sctp_queue *q, struct sctp_tx_list *l, uint32_t tsn)
{
	uint32_t at = l->last;

	if (l->n == 0 || sctp_tsn_before(l->last, tsn)) {
		push_last(q, l, tsn);
		return;
	}
	for (unsigned i = 0; i < NEIGHBORS && at != l->first && sctp_tsn_before(tsn, at); i++)
		at = sctp_queue_at(q, at)->prev;
	if (sctp_tsn_before(tsn, at))
		at = l->first;
	for (unsigned i = 0; i < NEIGHBORS && sctp_tsn_before(at, tsn) &&
			     sctp_tsn_before(sctp_queue_at(q, at)->next, tsn);
	     i++)
		at = sctp_queue_at(q, at)->next;
	if (sctp_tsn_before(tsn, at))
		push_first(q, l, tsn);
	else
		push_after(q, l, at, tsn);
}

static void unlink_tsn(struct sctp_queue *q, struct sctp_tx_list *l, uint32_t tsn)
{
	struct sctp_tx *t = sctp_queue_at(q, tsn);

	if (l->first == tsn)
		l->first = t->next;
	else
		sctp_queue_at(q, t->prev)->next = t->next;
	if (l->last == tsn)
		l->last = t->prev;
	else
		sctp_queue_at(q, t->next)->prev = t->prev;
	l->n--;
}

/* ---- the bytes in flight ---- */

/* In `out`, at one of its ends. True if it is p->first now. */
static bool enter_flight(struct sctp_flight *f, struct sctp_path_flight *p, uint32_t tsn,
			 struct sctp_tx *t)
{
	bool first = p->bytes == 0 || !sctp_tsn_before(p->first, tsn);

	if (first)
		p->first = tsn;
	t->state = SCTP_TX_OUT;
	p->bytes += sctp_tx_wire(t);
	f->payload += t->size - SCTP_DATA_HEAD;
	return first;
}

static void leave_flight(struct sctp_flight *f, struct sctp_queue *q, struct sctp_path_flight *p,
			 uint32_t tsn)
{
	const struct sctp_tx *t = sctp_queue_at(q, tsn);

	unlink_tsn(q, &f->out, tsn);
	p->bytes -= sctp_tx_wire(t);
	f->payload -= t->size - SCTP_DATA_HEAD;
}

bool sctp_flight_sent(struct sctp_flight *f, struct sctp_queue *q, struct sctp_path_flight *p,
		      unsigned path, uint32_t tsn)
{
	struct sctp_tx *t = sctp_queue_at(q, tsn);

	if (t->state == SCTP_TX_LOST) {
		unlink_tsn(q, &f->lost, tsn);
		f->repeated++;
	} else {
		sctp_queue_sent(q);
	}
	t->path = path & 0xf;
	if (t->count < SCTP_TX_COUNT)
		t->count++;
	push_last(q, &f->out, tsn);
	return enter_flight(f, p, tsn, t);
}

void sctp_flight_acked(struct sctp_flight *f, struct sctp_queue *q, struct sctp_path_flight *p,
		       uint32_t tsn, enum sctp_tx_state state)
{
	struct sctp_tx *t = sctp_queue_at(q, tsn);

	if (t->state == SCTP_TX_OUT)
		leave_flight(f, q, p, tsn);
	else if (t->state == SCTP_TX_LOST)
		unlink_tsn(q, &f->lost, tsn);
	t->state = (uint8_t)state & 7;
}

void sctp_flight_reneged(struct sctp_flight *f, struct sctp_queue *q, struct sctp_path_flight *p,
			 uint32_t tsn)
{
	push_first(q, &f->out, tsn);
	(void)enter_flight(f, p, tsn, sctp_queue_at(q, tsn));
}

void sctp_flight_lost(struct sctp_flight *f, struct sctp_queue *q, struct sctp_path_flight *p,
		      uint32_t tsn)
{
	leave_flight(f, q, p, tsn);
	sctp_queue_at(q, tsn)->state = SCTP_TX_LOST;
	push_sorted(q, &f->lost, tsn);
}

void sctp_flight_lost_all(struct sctp_flight *f, struct sctp_queue *q, struct sctp_path_flight *p,
			  unsigned path)
{
	f->lost = (struct sctp_tx_list){0};
	for (uint32_t tsn = q->cum + 1; sctp_tsn_before(tsn, q->send_tsn); tsn++) {
		struct sctp_tx *t = sctp_queue_at(q, tsn);

		if (t->state == SCTP_TX_OUT && t->path == path) {
			leave_flight(f, q, p, tsn);
			t->state = SCTP_TX_LOST;
		}
		if (t->state == SCTP_TX_LOST)
			push_last(q, &f->lost, tsn);
	}
}

void sctp_flight_restore(struct sctp_flight *f, struct sctp_queue *q, struct sctp_path_flight *p,
			 unsigned path)
{
	uint32_t tsn = f->lost.last, prev;

	for (uint32_t n = f->lost.n; n; n--, tsn = prev) {
		struct sctp_tx *t = sctp_queue_at(q, tsn);

		prev = t->prev;
		if (t->path != path)
			continue;
		unlink_tsn(q, &f->lost, tsn);
		push_first(q, &f->out, tsn);
		(void)enter_flight(f, p, tsn, t);
	}
}

void sctp_flight_clear(struct sctp_flight *f)
{
	*f = (struct sctp_flight){.repeated = f->repeated, .spurious = f->spurious};
}

bool sctp_flight_duplicate(struct sctp_flight *f)
{
	if (f->spurious == f->repeated)
		return false;
	f->spurious++;
	return true;
}

/* ---- questions ---- */

void sctp_flight_settle(const struct sctp_queue *q, struct sctp_path_flight *p, unsigned path)
{
	uint32_t tsn = sctp_tsn_before(q->cum, p->first) ? p->first : q->cum + 1;

	for (; sctp_tsn_before(tsn, q->send_tsn); tsn++) {
		const struct sctp_tx *t = sctp_queue_at(q, tsn);

		if (t->state == SCTP_TX_OUT && t->path == path)
			break;
	}
	p->first = tsn;
}

uint32_t sctp_flight_last(const struct sctp_flight *f, const struct sctp_queue *q, unsigned path)
{
	uint32_t tsn = f->out.last;

	while (sctp_queue_at(q, tsn)->path != path)
		tsn = sctp_queue_at(q, tsn)->prev;
	return tsn;
}
