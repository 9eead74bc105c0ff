/* SPDX-License-Identifier: BSD-2-Clause */
/* One run: drawn from the seed, run to its end, and checked when nothing happens any more. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/llp_one.h"
#include "tests/sim/world.h"

enum {
	PORT = 4711,
	STEPS_MAX = 3000000,
	CHECK_EVERY = 256, /* steps between two checks of all memory */
};

static uint32_t pick(struct world *w, const uint32_t *choice, unsigned n)
{
	return choice[random_below(w, n)];
}

#define PICK(w, ...)                                                                               \
	pick(w, (const uint32_t[]){__VA_ARGS__},                                                   \
	     sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void draw_faults(struct world *w)
{
	struct sim_faults *f = &w->plan.faults;

	f->delay_us = PICK(w, 5, 50, 500);
	f->jitter_us = PICK(w, 0, 20, 500, 5000);
	f->lose = PICK(w, 0, 0, 50, 500, 2000);
	f->rto_us = PICK(w, 1000, 10000, 50000);
	f->ack_us = PICK(w, 0, 1000, 20000);
	f->read_us = PICK(w, 0, 100, 1000);
	f->window = PICK(w, 0, 1, 2, 8, 64);
	f->again = PICK(w, 0, 0, 100, 3000);
	f->resize = PICK(w, 0, 0, 300);
	f->message_min = PICK(w, 518, 518, 1000, 1452, 9000);
	f->message_max = f->resize || chance(w, 3000) ? PICK(w, 520, 1452, 65476) : f->message_min;
	f->refuse = PICK(w, 0, 0, 2000);
	f->breaks = PICK(w, 0, 0, 0, 5000);
	f->break_us = PICK(w, 1000, 50000, 500000);
}

static void draw_plan(struct world *w)
{
	struct plan *p = &w->plan;

	draw_faults(w);
	p->nodes = 2 + (unsigned)random_below(w, NODES_MAX - 1);
	p->actions = 20 + (unsigned)random_below(w, 1200);
	p->gap_us = PICK(w, 10, 300, 3000);
	p->turn_us = PICK(w, 0, 20, 500);
	p->drain_us = PICK(w, 0, 100, 5000);
	p->len_max = PICK(w, 64, 600, 3000, 12000);
	p->streams = (uint16_t)PICK(w, 1, 2, 3, 8);
	p->pending_max = (uint16_t)PICK(w, 1, 2, 4);
	p->records_max = PICK(w, 65535, 65535, 65535, 4, 20);
	p->early_max = PICK(w, 1 << 20, 1 << 20, 1 << 20, 600, 2000, 8000);
	p->tight = p->records_max < 65535 || p->early_max < 1 << 20;
	p->close_ms = 60000;
	p->answer_ms = PICK(w, 5, 100, 2000);
	p->decide_us = PICK(w, 1, 1000, 150000);
	p->overrun_receives = chance(w, 2000);
	p->bad_op = PICK(w, 0, 0, 50, 300);
	p->close = PICK(w, 0, 50, 300);
	p->unbind = PICK(w, 0, 0, 100);
	p->revoke = PICK(w, 0, 0, 100);
	p->crash = PICK(w, 0, 0, 0, 100);
	p->wrap = PICK(w, 0, 5000);
	p->negotiate = PICK(w, 0, 3000, 9000);
	p->raw = PICK(w, 0, 0, 0, 2000, 10000);
	p->extensions = PICK(w, 0, 20, 50);
	p->old_node = PICK(w, 0, 0, 5000);
	p->old_ep = PICK(w, 0, 0, 2000);
	p->hold = PICK(w, 0, 0, 3000, 7000);
	p->late_us = PICK(w, 10, 1000, 50000);
	w->sum.lossy += p->faults.lose > 0;
	w->sum.busy += p->faults.again > 0;
	w->sum.resized += p->faults.resize > 0;
	w->sum.narrow += p->faults.message_max < 600;
	trace(w, "seed %llu nodes %u actions %u streams %u len %u overrun %d bad_op %u",
	      (unsigned long long)w->seed, p->nodes, p->actions, p->streams, p->len_max,
	      p->overrun_receives, p->bad_op);
}

static void node_init(struct world *w, unsigned id)
{
	enum {
		ALL = STAG_LOCAL_WRITE | STAG_REMOTE_WRITE | STAG_REMOTE_READ,
		ATOMIC = STAG_LOCAL_WRITE | STAG_REMOTE_ATOMIC,
	};
	struct node *n = &w->node[id];
	struct sockaddr_storage ss = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;
	struct llp_config cfg = {.addrs = &ss, .naddrs = 1, .streams = w->plan.streams};

	n->w = w;
	n->id = id;
	n->plain_only = chance(w, w->plan.old_node);
	list_init(&n->ends);
	list_init(&n->eps);
	arena_init(n);
	for (unsigned d = 0; d < 2; d++) {
		n->shared[d] = region_new(n, NULL, d + 1, 0, ALL, 8192);
		n->no_access[d] = region_new(n, NULL, d + 1, 0, STAG_BIND_WINDOWS, UNIT);
		n->cells[d] = region_new(n, NULL, d + 1, 0, ATOMIC, UNIT);
	}
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(id + 1);
	if (w->sctp)
		lower_open(n);
	else if (llp_sim_open(w->net, &cfg, &assoc_end_events, &n->llp) != 0)
		fail(w, "node %u: no transport", id);
	if (llp_listen(n->llp, NULL, PORT, n, &n->listener) != 0)
		fail(w, "node %u: no listener", id);
}

static void free_ops(struct op **ops, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		free(ops[i]);
}

static void free_queues(struct ep *ep)
{
	for (unsigned i = 0; i < QUEUES; i++) {
		free(ep->queue[i].all);
		free(ep->queue[i].good);
		free(ep->queue[i].sent);
		free(ep->queue[i].lens);
	}
}

static void node_deinit(struct node *n)
{
	struct list *it;

	if (n->stack)
		lower_count(n);
	llp_close(n->llp);
	while ((it = list_pop(&n->eps))) {
		struct ep *ep = list_entry(it, struct ep, link);

		free_ops(ep->sq, ep->sq_n);
		free_ops(ep->rq, ep->rq_n);
		free_queues(ep);
		window_free(ep);
		free(ep);
	}
	while ((it = list_pop(&n->ends)))
		free(list_entry(it, struct assoc_end, link));
	arena_check(n);
	arena_deinit(n);
}

static void check_memory(struct world *w)
{
	for (unsigned i = 0; i < w->nnodes; i++)
		arena_check(&w->node[i]);
}

/* Runs until nothing happens any more. */
static void settle(struct world *w)
{
	unsigned steps = 0;

	while (!(w->sctp && lower_quiet(w)) && sim_step(w->net)) {
		if (++steps > STEPS_MAX)
			fail(w, "still active after %u steps", STEPS_MAX);
		if (steps % CHECK_EVERY == 0)
			check_memory(w);
	}
	check_memory(w);
	trace(w, "finished after %u steps", steps);
}

/* ---- checks when nothing happens any more ---- */

static void check_open(struct ep *ep)
{
	struct ep *other = ep_other(ep);

	if (!other || other->state != EP_OPEN)
		fail(ep->w, "stall: ep%u is open, the other end is not", ep->id);
	if (ep->sq_done != ep->sq_n)
		fail(ep->w, "stall: ep%u: %u of %u requests completed, %u taken", ep->id,
		     ep->sq_done, ep->sq_n, ep->sq_taken);
	if (ep->flushed || ep->remote_error || ep->errored || ep->half_closed)
		fail(ep->w, "stall: ep%u was flushed but its session continues", ep->id);
	for (unsigned i = 0; i < ep->sq_n; i++)
		if (ep->sq[i]->must && ep->sq[i]->sent && !ep->sess->uncertain)
			fail(ep->w, "ep%u: wrong request #%llu had no consequence", ep->id,
			     (unsigned long long)ep->sq[i]->cookie);
	if (ep_undelivered(ep))
		fail(ep->w, "stall: ep%u: Send #%llu was not delivered", ep->id,
		     (unsigned long long)ep_undelivered(ep)->cookie);
	ep_settle_writes(ep, ep->sq_n, true);
}

static void each_ep(struct world *w, void (*fn)(struct ep *ep))
{
	for (unsigned i = 0; i < w->nnodes; i++)
		list_foreach (it, &w->node[i].eps)
			fn(list_entry(it, struct ep, link));
}

static void check_stall(struct ep *ep)
{
	static const char *const names[] = {"new", "connecting", "open", "closing", "over"};

	if (ep->state == EP_OPEN)
		check_open(ep);
	else if (ep->state != EP_OVER && !(ep->w->plan.tight && ep->state == EP_CONNECTING))
		fail(ep->w, "stall: ep%u is %s", ep->id, names[ep->state]);
}

static void check_over(struct ep *ep)
{
	if (ep->state != EP_OVER)
		fail(ep->w, "stall: ep%u did not end", ep->id);
}

static void check_nothing_left(struct assoc_end *p)
{
	struct assoc_stream_info info;
	uint32_t pos = 0;

	if (p->gone || p->node->w->plan.tight)
		return;
	if (assoc_stream_next(p->assoc, &pos, &info))
		fail(p->node->w, "node %u c%u: stream %u is %s, %u ahead, %u unacked", p->node->id,
		     sim_conn_id(p->conn), info.sid, info.state, info.ahead, info.unacked);
	if (!assoc_idle(p->assoc) || assoc_sessions(p->assoc) != 0)
		fail(p->node->w, "node %u c%u: not idle, %u sessions", p->node->id,
		     sim_conn_id(p->conn), assoc_sessions(p->assoc));
	if (assoc_counters(p->assoc)->rx_violations != 0)
		fail(p->node->w, "node %u c%u: %llu violations among legal peers", p->node->id,
		     sim_conn_id(p->conn),
		     (unsigned long long)assoc_counters(p->assoc)->rx_violations);
}

static void each_end(struct world *w, void (*fn)(struct assoc_end *p))
{
	for (unsigned i = 0; i < w->nnodes; i++)
		list_foreach (it, &w->node[i].ends)
			fn(list_entry(it, struct assoc_end, link));
}

static void shut_down(struct assoc_end *p)
{
	if (!p->gone)
		llp_shutdown(p->conn);
}

static void check_gone(struct assoc_end *p)
{
	if (!p->gone)
		fail(p->node->w, "node %u c%u: not shut down", p->node->id, sim_conn_id(p->conn));
}

static void free_all(struct world *w)
{
	struct list *it;

	if (!list_empty(&w->pending_reqs))
		fail(w, "a request is still undecided");
	for (unsigned i = 0; i < w->nnodes; i++)
		node_deinit(&w->node[i]);
	while ((it = list_pop(&w->sessions)))
		free(list_entry(it, struct sess, link));
	if (w->sctp)
		lower_deinit(w);
	w->net = sim_world_free(w->net);
}

void world_run(struct world *w)
{
	struct sim_faults no_faults = {0};

	w->net = sim_world_new(w->seed, &no_faults);
	w->clock = sim_clock(w->net);
	list_init(&w->sessions);
	list_init(&w->pending_reqs);
	draw_plan(w);
	if (w->sctp)
		lower_init(w);
	sim_set_faults(w->net, &w->plan.faults);
	sim_observe(w->net, wire_observe, NULL);
	w->nnodes = w->plan.nodes;
	for (unsigned i = 0; i < w->nnodes; i++)
		node_init(w, i);
	program_begin(w);
	if (w->sctp)
		lower_begin(w);
	settle(w);
	each_ep(w, check_stall);
	program_end(w);
	settle(w);
	each_ep(w, check_over);
	each_end(w, check_nothing_left);
	each_end(w, shut_down);
	settle(w);
	each_end(w, check_gone);
	w->hash ^= sim_hash(w->net);
	free_all(w);
}
