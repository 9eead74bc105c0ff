/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/simconn.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/simmsg.h"

struct simconn *simconn_of(const struct llp_conn *llc)
{
	struct simconn *c = list_entry(llc, struct simconn, c);

	assert(c->state != SIMCONN_FREED);
	return c;
}

static const struct llp_events *events_of(const struct simconn *c)
{
	return c->c.llp->ev;
}

/* ---- the record of events ---- */

static void mix(struct sim_world *w, uint64_t v)
{
	w->hash = (w->hash ^ v) * 0x100000001b3u;
	w->hash ^= w->hash >> 29;
}

static void mix_spans(struct sim_world *w, const struct llp_msg *m)
{
	for (unsigned i = 0; i < m->n; i++) {
		const uint8_t *p = m->part[i].p;
		size_t len = m->part[i].len;
		uint64_t v;

		for (; len >= sizeof(v); len -= sizeof(v), p += sizeof(v)) {
			memcpy(&v, p, sizeof(v));
			mix(w, v);
		}
		while (len-- > 0)
			mix(w, *p++);
	}
}

void simconn_note(struct simconn *c, enum sim_what what, const struct llp_msg *m)
{
	struct sim_world *w = simconn_world(c);

	mix(w, simclock_now(w->clock));
	mix(w, (uint64_t)what << 32 | c->id);
	if (m) {
		mix(w, (uint64_t)m->sid << 48 | (uint64_t)m->ppid << 32 | m->len);
		if (what == SIM_SENT)
			mix_spans(w, m);
	}
	if (w->observer)
		w->observer(w->observer_user, what, &c->c, m);
}

/* ---- time ---- */

void simconn_after(struct simconn *c, uint64_t us, simclock_fn *fn, void *arg)
{
	simclock_after(simconn_world(c)->clock, us, fn, c, arg);
}

static uint64_t up_to(struct simconn *c, uint32_t us)
{
	return us ? simclock_below(simconn_world(c)->clock, (uint64_t)us + 1) : 0;
}

uint64_t simconn_delay(struct simconn *c)
{
	const struct sim_faults *f = &simconn_world(c)->faults;
	uint64_t us = f->delay_us + up_to(c, f->jitter_us);

	if (simclock_chance(simconn_world(c)->clock, f->lose))
		us += f->rto_us;
	return us;
}

/* ---- down ---- */

static void drop_inbox(struct simconn *c)
{
	while (!list_empty(&c->inbox))
		simmsg_free(list_entry(c->inbox.next, struct simmsg, link));
}

void simconn_ev_down(void *obj, void *arg)
{
	struct simconn *c = obj;
	const struct simconn_end *end = arg;

	if (c->state != SIMCONN_UP && c->state != SIMCONN_CONNECTING)
		return;
	c->state = SIMCONN_OVER;
	drop_inbox(c);
	simconn_note(c, SIM_DOWN, NULL);
	events_of(c)->down(c->c.user, end->err, end->reason);
}

static struct simconn_end shut_down = {0, "shut down"};
static struct simconn_end timed_out = {ETIMEDOUT, "the peer does not answer"};
static struct simconn_end restarted = {ECONNRESET, "the peer restarted"};

static void ev_fin(void *obj, void *arg);

/* A closing conn with all acks notifies the peer; it ends when both have done so. */
static void finish(struct simconn *c)
{
	if (c->state != SIMCONN_UP || !c->closing || c->unacked > 0 || !c->peer)
		return;
	if (!c->fin_sent) {
		c->fin_sent = true;
		simconn_after(c->peer, simconn_delay(c), ev_fin, NULL);
	}
	if (c->fin_received && list_empty(&c->inbox))
		simconn_after(c, 0, simconn_ev_down, &shut_down);
}

static void ev_fin(void *obj, void *arg)
{
	struct simconn *c = obj;

	(void)arg;
	if (c->cut)
		return;
	c->closing = true;
	c->fin_received = true;
	finish(c);
}

void simconn_ev_cut(void *obj, void *arg)
{
	struct simconn *c = obj;
	bool restart = arg != NULL;

	if (c->state == SIMCONN_FREED || !c->peer || c->cut)
		return;
	c->cut = true;
	c->peer->cut = true;
	simconn_after(c, restart ? 0 : up_to(c, 3 * simconn_world(c)->faults.rto_us),
		      simconn_ev_down, restart ? &restarted : &timed_out);
	simconn_after(c->peer, up_to(c, 3 * simconn_world(c)->faults.rto_us), simconn_ev_down,
		      restart ? &restarted : &timed_out);
}

void simconn_break(struct llp_conn *llc, bool restart)
{
	struct simconn *c = simconn_of(llc);

	simconn_ev_cut(c, restart ? c : NULL);
}

void simconn_abort(struct llp_conn *llc, const char *reason)
{
	struct simconn *c = simconn_of(llc);

	if (c->state != SIMCONN_UP && c->state != SIMCONN_CONNECTING)
		return;
	c->state = SIMCONN_OVER;
	drop_inbox(c);
	simconn_note(c, SIM_DOWN, NULL);
	if (!c->peer || c->cut)
		return;
	c->peer->end.err = ECONNRESET;
	snprintf(c->peer->end.reason, sizeof(c->peer->end.reason), "%s", reason);
	simconn_after(c->peer, simconn_delay(c), simconn_ev_down, &c->peer->end);
}

void simconn_shutdown(struct llp_conn *llc)
{
	struct simconn *c = simconn_of(llc);

	c->closing = true;
	finish(c);
	if (c->state != SIMCONN_CONNECTING)
		return;
	simconn_after(c, 0, simconn_ev_down, &shut_down);
	if (c->peer)
		simconn_after(c->peer, simconn_delay(c), simconn_ev_down, &shut_down);
}

void simconn_free(struct llp_conn *llc)
{
	struct simconn *c = simconn_of(llc);

	simconn_abort(llc, "the peer closed the association");
	c->state = SIMCONN_FREED;
}

/* ---- up ---- */

static void ev_readable(void *obj, void *arg);

static void plan_readable(struct simconn *c)
{
	if (c->readable || c->state != SIMCONN_UP || list_empty(&c->inbox))
		return;
	c->readable = true;
	simconn_after(c, up_to(c, simconn_world(c)->faults.read_us), ev_readable, NULL);
}

static void ev_readable(void *obj, void *arg)
{
	struct simconn *c = obj;

	(void)arg;
	c->readable = false;
	if (c->state != SIMCONN_UP || list_empty(&c->inbox))
		return;
	if (events_of(c)->readable(c->c.user))
		plan_readable(c);
}

void simconn_ev_up(void *obj, void *arg)
{
	struct simconn *c = obj;

	(void)arg;
	if (c->state != SIMCONN_CONNECTING || c->cut)
		return;
	c->state = SIMCONN_UP;
	simconn_note(c, SIM_UP, NULL);
	events_of(c)->up(c->c.user);
	plan_readable(c);
	finish(c);
}

static bool window_full(const struct simconn *c)
{
	uint32_t window = simconn_world(c)->faults.window;

	return window && c->unacked >= window;
}

static void ev_writable(void *obj, void *arg)
{
	struct simconn *c = obj;

	(void)arg;
	if (c->state != SIMCONN_UP || !c->refused || c->closing || window_full(c))
		return;
	c->refused = false;
	events_of(c)->writable(c->c.user);
}

void simconn_report_acks(struct llp_conn *llc)
{
	struct simconn *c = simconn_of(llc);

	if (!c->acks)
		c->acks = calloc(SIMCONN_ACKS, 1);
	assert(c->acks);
}

/* Acknowledgments come in any order; the upcall tells how far they are complete. */
static void progress(struct simconn *c, uint64_t seq)
{
	if (!c->acks)
		return;
	assert(c->sent - c->acked < SIMCONN_ACKS);
	c->acks[seq % SIMCONN_ACKS] = 1;
	for (; c->acks[c->acked % SIMCONN_ACKS]; c->acked++)
		c->acks[c->acked % SIMCONN_ACKS] = 0;
	events_of(c)->progress(c->c.user, (uint32_t)(c->sent - c->acked));
}

static void ev_ack(void *obj, void *seq)
{
	struct simconn *c = obj;

	if (c->state != SIMCONN_UP || c->cut)
		return;
	c->unacked--;
	progress(c, (uintptr_t)seq);
	if (c->unacked == 0) {
		simconn_note(c, SIM_ACKED, NULL);
		events_of(c)->acked(c->c.user);
	}
	ev_writable(c, NULL);
	finish(c);
}

static void ev_arrive(void *obj, void *arg)
{
	struct simconn *c = obj;
	struct simmsg *m = arg;
	struct llp_msg v;
	uint64_t back;

	if (c->cut || (c->state != SIMCONN_UP && c->state != SIMCONN_CONNECTING)) {
		simmsg_free(m);
		return;
	}
	simmsg_view(m, NULL, &v);
	simconn_note(c, SIM_ARRIVED, &v);
	list_del(&m->link);
	list_add_tail(&c->inbox, &m->link);
	back = simconn_delay(c);
	back += up_to(c, simconn_world(c)->faults.ack_us);
	simconn_after(c->peer, back, ev_ack, (void *)(uintptr_t)m->seq);
	plan_readable(c);
}

/* ---- sending and receiving ---- */

static int refuse(struct simconn *c)
{
	c->refused = true;
	return LLP_E_AGAIN;
}

uint32_t simconn_draw_limit(struct sim_world *w)
{
	uint32_t min = w->faults.message_min ? w->faults.message_min : SIM_MAX_MESSAGE;
	uint32_t max = w->faults.message_max ? w->faults.message_max : SIM_MAX_MESSAGE;

	return min < max ? min + (uint32_t)simclock_below(w->clock, max - min + 1) : min;
}

int simconn_send(struct llp_conn *llc, const struct llp_msg *src)
{
	struct simconn *c = simconn_of(llc);
	struct sim_world *w = simconn_world(c);
	struct simmsg *m;

	simconn_note(c, SIM_OFFERED, src);
	if (c->state != SIMCONN_UP || c->closing)
		return LLP_E_DOWN;
	if (src->sid >= simnode_of(llc->llp)->streams)
		return -EINVAL;
	assert(span_total(src->part, src->n) == src->len);
	if (simclock_chance(w->clock, w->faults.resize))
		c->max_message = simconn_draw_limit(w);
	if (src->len > c->max_message)
		return LLP_E_TOO_LONG;
	if (window_full(c))
		return refuse(c);
	if (simclock_chance(w->clock, w->faults.again)) {
		simconn_after(c, up_to(c, w->faults.rto_us), ev_writable, NULL);
		return refuse(c);
	}
	m = simmsg_new(src);
	list_add_tail(&w->msgs, &m->link);
	c->unacked++;
	m->seq = c->sent++;
	simconn_note(c, SIM_SENT, src);
	simconn_after(c->peer, simconn_delay(c), ev_arrive, m);
	return LLP_E_OK;
}

int simconn_recv(struct llp_conn *llc, struct llp_msg *ret)
{
	struct simconn *c = simconn_of(llc);
	struct simnode *n = simnode_of(llc->llp);
	struct list *it;

	simmsg_free(n->current);
	n->current = NULL;
	if (c->state != SIMCONN_UP)
		return LLP_E_DOWN;
	it = list_pop(&c->inbox);
	if (!it) {
		finish(c);
		return LLP_E_AGAIN;
	}
	n->current = list_entry(it, struct simmsg, link);
	simmsg_view(n->current, n->world->clock, ret);
	return LLP_E_OK;
}
