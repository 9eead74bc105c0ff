/* SPDX-License-Identifier: BSD-2-Clause */
/* The lower half of a run over real stacks: what a seed chooses for them and for their network, and
 * what happens to both. */
#include <string.h>

#include "tests/sim/world.h"

enum {
	MS = 1000,
	SECOND = 1000 * MS,
	LEAST_BUFFER = 3000, /* more than a packet */
};

static uint32_t pick(struct world *w, const uint32_t *choice, unsigned n)
{
	return choice[random_below(w, n)];
}

#define PICK(w, ...)                                                                               \
	pick(w, (const uint32_t[]){__VA_ARGS__},                                                   \
	     sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* ---- what the seed chooses ---- */

static void draw_network(struct world *w, struct network_faults *f)
{
	f->delay_us = PICK(w, 5, 50, 500, 20000);
	f->jitter_us = PICK(w, 0, 20, 500, 5000);
	f->rate = PICK(w, 0, 0, 2000, 125000);
	f->queue_us = PICK(w, 5 * MS, 50 * MS, 500 * MS);
	f->route_mtu = PICK(w, 65535, 9000, 1500);
	f->mtu = PICK(w, 65535, 65535, 9000, 1500, 1280);
	f->icmp = chance(w, 5000);
	f->lose = w->plan.strict ? PICK(w, 0, 10, 100, 500) : PICK(w, 0, 300, 1500, 4000);
	f->dup = PICK(w, 0, 0, 100, 1000);
	f->reorder = PICK(w, 0, 0, 100, 1000);
	f->corrupt = PICK(w, 0, 0, 20, 200);
	f->truncate = PICK(w, 0, 0, 20, 200);
	f->full = PICK(w, 0, 0, 20, 200);
	f->clock = PICK(w, 0, 0, 50);
	f->refuse = PICK(w, 0, 100, 10000);
	f->wrap = PICK(w, 0, 0, 5000);
}

static void draw_llp(struct world *w, struct llp_config *c)
{
	c->udp_port = NETWORK_UDP;
	c->streams = w->plan.streams;
	c->adaptation = 1;
	c->buffer = 1 << 20;
	c->gso = chance(w, 5000) ? LLP_GSO_AUTO : LLP_GSO_OFF;
	c->cc = chance(w, 5000) ? LLP_CC_CUBIC : LLP_CC_RFC9260;
	c->sack_packets = PICK(w, 1, 2, 8);
	c->sack_ms = PICK(w, 0, 20, 200);
	c->rto_min_ms = PICK(w, 50, 200, 1000);
	c->rto_max_ms = PICK(w, 4000, 10000);
	c->heartbeat_ms = PICK(w, 1000, 1000, 5000);
	c->path_max_retrans = 5;
	c->assoc_max_retrans = w->plan.strict ? 40 : PICK(w, 0, 10);
	c->init_ms = 60000;
}

/* A buffer has room for a message of any size that fits into a packet of the route. */
static uint32_t draw_buffer(struct world *w, const struct network_faults *f)
{
	uint32_t least = f->route_mtu < LEAST_BUFFER ? LEAST_BUFFER : f->route_mtu + LEAST_BUFFER;

	return PICK(w, least, 2 * least, 1 << 20);
}

static struct stack_config draw_stack(struct world *w)
{
	const struct network_faults *f = &w->network->faults;
	struct stack_config c = {.max_memory = PICK(w, 640 << 10, 2 << 20, 64 << 20)};

	draw_llp(w, &c.llp);
	c.send_buffer = draw_buffer(w, f);
	c.recv_buffer = draw_buffer(w, f);
	c.delay_us = w->plan.turn_us;
	return c;
}

void lower_init(struct world *w)
{
	struct network_faults f;

	w->plan.strict = chance(w, 5000);
	draw_network(w, &f);
	w->network = network_new(w->clock, &f, 1 + (unsigned)random_below(w, NETWORK_SUBNETS),
				 chance(w, 3000));
	/* Setting up takes round trips, and what is lost comes late. */
	w->plan.gap_us = PICK(w, MS, 10 * MS, 100 * MS);
	w->plan.late_us = PICK(w, 10 * MS, 100 * MS, SECOND);
	w->plan.close_ms = 600000; /* longer than a cut */
	w->plan.faults.delay_us = f.delay_us;
	w->plan.faults.jitter_us = f.jitter_us;
}

static void wrong(void *user, const char *file, int line, const char *what)
{
	fail(user, "%s:%d: %s: not so", file, line, what);
}

void lower_open(struct node *n)
{
	const struct judge judge = {.wrong = wrong, .user = n->w};
	struct stack_config c = draw_stack(n->w);

	n->stack =
		stack_open(n->w->net, n->w->network, n->id, &c, &assoc_end_events, &judge, &n->llp);
}

void lower_deinit(struct world *w)
{
	w->sum.packets += (unsigned)w->network->sent;
	w->network = network_free(w->network);
}

void lower_count(struct node *n)
{
	struct sctp_stats st;

	stack_stats(n->stack, &st);
	n->w->sum.retransmits += (unsigned)st.retransmits;
	n->w->sum.timeouts += (unsigned)st.timeouts;
}

/* ---- what happens ---- */

static void heal(void *obj, void *arg)
{
	struct world *w = obj;

	(void)arg;
	memset(w->network->cut, 0, sizeof(w->network->cut));
	trace(w, "healed");
}

static void cut(struct world *w)
{
	unsigned subnet = (unsigned)random_below(w, w->network->subnets);
	unsigned which = (unsigned)random_below(w, 8);
	uint64_t us = random_below(w, w->plan.strict ? 4 * SECOND : 200 * (uint64_t)SECOND);

	for (unsigned i = 0; i < NETWORK_HOSTS; i++)
		w->network->cut[subnet][i] |= which >> i & 1;
	w->sum.cuts++;
	trace(w, "subnet %u is cut: %x, for %llu us", subnet, which, (unsigned long long)us);
	simclock_after(w->clock, us, heal, w, NULL);
}

static void resize(struct world *w)
{
	w->network->faults.mtu = PICK(w, 65535, 9000, 1500, 1280);
	trace(w, "the path takes %u bytes", w->network->faults.mtu);
}

/* Of one host alone: two that do not know each other's ports cannot meet again. */
static void rebind(struct world *w)
{
	w->network->host[0].port = (uint16_t)(1024 + random_below(w, 60000));
	trace(w, "n0 has UDP port %u", w->network->host[0].port);
}

static void pause_host(struct world *w)
{
	struct network_host *h = &w->network->host[random_below(w, w->nnodes)];
	uint64_t us = random_below(w, w->plan.strict ? SECOND : 20 * SECOND);

	h->paused_until = simclock_now(w->clock) + us;
	trace(w, "host %d pauses for %llu us", (int)(h - w->network->host), (unsigned long long)us);
}

static void step_clock(struct world *w)
{
	struct network_host *h = &w->network->host[random_below(w, w->nnodes)];

	h->offset_us += random_below(w, w->plan.strict ? SECOND : 100 * SECOND);
	trace(w, "the clock of host %d is set", (int)(h - w->network->host));
}

static void change_primary(struct world *w)
{
	struct node *n = &w->node[random_below(w, w->nnodes)];

	list_foreach (it, &n->ends) {
		struct assoc_end *p = list_entry(it, struct assoc_end, link);

		if (p->up && chance(w, 5000))
			stack_change_primary(p->conn, (unsigned)random_below(w, NETWORK_SUBNETS));
	}
}

static void happen(void *obj, void *arg)
{
	static void (*const what[])(struct world * w) = {cut,        resize,     rebind,
							 pause_host, step_clock, change_primary};
	struct world *w = obj;

	(void)arg;
	if (w->actions_left == 0) {
		w->network->faults = (struct network_faults){
			.delay_us = w->network->faults.delay_us,
			.mtu = w->network->faults.mtu,
			.route_mtu = w->network->faults.route_mtu,
		};
		return;
	}
	what[random_below(w, sizeof(what) / sizeof(what[0]))](w);
	simclock_after(w->clock, random_below(w, (uint64_t)w->plan.actions * w->plan.gap_us / 8),
		       happen, w, NULL);
}

void lower_begin(struct world *w)
{
	simclock_after(w->clock, random_below(w, (uint64_t)w->plan.actions * w->plan.gap_us / 8),
		       happen, w, NULL);
}

void lower_crash(struct node *n)
{
	if (n->w->plan.strict)
		return;
	n->w->sum.restarts++;
	trace(n->w, "n%u restarts", n->id);
	lower_count(n);
	stack_restart(n->stack);
}

/* ---- the end of a run ---- */

/* With hundreds of associations some heartbeat is always on its way. */
bool lower_quiet(const struct world *w)
{
	size_t idle = 0;

	for (unsigned i = 0; i < w->nnodes; i++) {
		if (!stack_quiet(w->node[i].stack))
			return false;
		idle += stack_timers(w->node[i].stack);
	}
	return simclock_pending(w->clock) == idle + network_heartbeats(w->network);
}
