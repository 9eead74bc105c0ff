/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/stack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "tests/sim/world.h"
#include "util/addr.h"

enum {
	EARLY_MAX = 1000, /* turns in a row at the same time */
	FIRST_PORT = 49152,
};

struct stack {
	struct simnode n; /* `listeners` is not used */
	struct sim_network *net;
	unsigned host;
	struct stack_config cfg;
	struct judge judge;
	struct llp *below;
	struct llp_listener listener;
	uint16_t port; /* that it listens on, 0: none */
	bool turn_due;
	uint64_t timer_us; /* the earliest timer in the clock */
	unsigned timers;
	unsigned early; /* turns at the same time */
	uint64_t turn_us;
};

/* An association. The conn of llp/user/user below is freed with it. */
struct stackconn {
	struct simconn c;
	struct llp_conn *below; /* NULL: it went with its transport */
	uint32_t own_tag, first_tsn;
	uint16_t own_port;
	uint32_t got; /* messages that llp/user/user delivered */
};

static const struct llp_ops ops;
static const struct llp_events events;

static struct stack *stack_at(const struct llp *llp)
{
	return list_entry(simnode_of(llp), struct stack, n);
}

static struct stack *stack_of(const struct llp_conn *c)
{
	return stack_at(c->llp);
}

static struct stackconn *conn_of(const struct llp_conn *c)
{
	return list_entry(simconn_of(c), struct stackconn, c);
}

static struct user *user_of(const struct stack *s)
{
	return (struct user *)s->below;
}

static const struct sctp_assoc *assoc_of(const struct stackconn *c)
{
	return c->below ? ((struct user_conn *)c->below)->assoc : NULL;
}

#define check(s, cond)                                                                             \
	((cond) ? (void)0 : (s)->judge.wrong((s)->judge.user, __FILE__, __LINE__, #cond))

static uint64_t now(const struct stack *s)
{
	return simclock_now(s->n.world->clock);
}

/* ---- turns ---- */

static void turn(void *obj, void *arg);

static void wake(void *arg)
{
	struct stack *s = arg;
	uint64_t us = simclock_below(s->n.world->clock, s->cfg.delay_us + 1);
	uint64_t paused = s->net->host[s->host].paused_until;

	if (s->turn_due || !s->below)
		return;
	s->turn_due = true;
	if (paused > now(s) + us)
		us = paused - now(s);
	simclock_after(s->n.world->clock, us, turn, s, NULL);
}

static void timer(void *obj, void *arg)
{
	struct stack *s = obj;

	(void)arg;
	s->timers--;
	if (now(s) >= s->timer_us)
		s->timer_us = UINT64_MAX;
	wake(s);
}

static void plan_timer(struct stack *s)
{
	uint64_t due = llp_expiry_us(s->below), at = now(s) + s->net->host[s->host].offset_us;

	if (due == UINT64_MAX)
		return;
	due = due > at ? due - at : 1;
	if (now(s) + due >= s->timer_us)
		return;
	s->timer_us = now(s) + due;
	s->timers++;
	simclock_after(s->n.world->clock, due, timer, s, NULL);
}

/* The stack could not send everything that it has to send. */
static bool is_blocked(const struct stack *s)
{
	for (unsigned i = 0; i < user_of(s)->naddrs; i++)
		if (udp_blocked(user_of(s)->sock[USER_CLEAR][i].udp))
			return true;
	return false;
}

static void check_assocs(struct stack *s)
{
	bool blocked = is_blocked(s);

	if (!blocked)
		invariant_idle(s->net->host[s->host].watch);
	list_foreach (it, &user_of(s)->core->assocs) {
		const struct sctp_assoc *a = list_entry(it, struct sctp_assoc, all);

		if (!blocked)
			judge_deadlines(&s->judge, a);
		if (a->state >= SCTP_ESTABLISHED && a->tx.bytes < 20000)
			judge_sums(&s->judge, a);
	}
	check(s, user_of(s)->core->pool.used <= user_of(s)->core->cfg.max_memory);
}

/* After an answer that came too late, a stale cookie, the peer begins a second time, with another
 * tag and TSN. */
static void check_from(struct stack *s, const struct stackconn *c, const struct sctp_assoc *a,
		       const struct stackconn *from)
{
	if (a->id.peer_tag == from->own_tag)
		check(s, judge_received(a, from->first_tsn) == c->got);
}

/* What the map of TSNs has arrived here, once each. */
static void check_received(struct stack *s)
{
	list_foreach (it, &s->n.world->conns) {
		struct stackconn *c = list_entry(it, struct stackconn, c.link);
		const struct sctp_assoc *a =
			c->c.c.llp == &s->n.llp && c->c.state == SIMCONN_UP ? assoc_of(c) : NULL;

		if (a && c->c.peer)
			check_from(s, c, a, list_entry(c->c.peer, struct stackconn, c));
	}
}

static void turn(void *obj, void *arg)
{
	struct stack *s = obj;
	struct network_host *h = &s->net->host[s->host];
	struct simclock *k = s->n.world->clock;

	(void)arg;
	s->turn_due = false;
	if (!s->below)
		return;
	s->early = s->turn_us == now(s) ? s->early + 1 : 0;
	s->turn_us = now(s);
	check(s, s->early < EARLY_MAX);
	network_watch(s->net, s->host);
	if (llp_input(s->below, 1 + (unsigned)simclock_below(k, 40)))
		wake(s);
	invariant_ran(h->watch);
	check_received(s);
	network_watch(s->net, s->host);
	llp_tick(s->below, (now(s) + h->offset_us) / 1000);
	invariant_ran(h->watch);
	network_watch(s->net, s->host);
	llp_flush(s->below);
	check_assocs(s);
	plan_timer(s);
}

/* ---- associations ---- */

static struct stackconn *conn_new(struct stack *s, void *user)
{
	struct stackconn *c = alloc_zeroed(sizeof(*c));

	c->c.c = (struct llp_conn){.llp = &s->n.llp, .user = user};
	c->c.id = s->n.world->nconns++;
	list_init(&c->c.inbox);
	list_add_tail(&s->n.world->conns, &c->c.link);
	return c;
}

static void learn(struct stackconn *c, struct llp_conn *below)
{
	const struct sctp_assoc *a;

	c->below = below;
	a = assoc_of(c);
	c->own_tag = a->id.own_tag;
	c->own_port = a->id.own_port;
	c->first_tsn = a->tx.initial_tsn;
}

/* The end that began the association which comes in: the youngest, since an ended one may have had
 * the same tag and port, and even the same answer, but with another TSN. NULL: there was one
 * already. The cookie came again, after its association had ended. */
static struct stackconn *find_opener(const struct stack *s, const struct sctp_assoc *in)
{
	struct stackconn *youngest = NULL;

	list_foreach (it, &s->n.world->conns) {
		struct stackconn *c = list_entry(it, struct stackconn, c.link);

		if (c->c.c.llp != &s->n.llp && c->own_tag == in->id.peer_tag &&
		    c->own_port == in->id.peer_port && c->first_tsn == in->map.cum + 1)
			youngest = c;
	}
	return youngest && !youngest->c.peer ? youngest : NULL;
}

static int stack_connect(struct llp *llp, const struct llp_addrs *peer, uint16_t port,
			 const struct llp_addrs *from, uint16_t own_port, void *user,
			 struct llp_conn **ret)
{
	struct stack *s = stack_at(llp);
	const struct sockaddr_in *in = (const void *)&peer->a[0];
	struct sockaddr_storage to[NETWORK_SUBNETS], own[NETWORK_SUBNETS];
	unsigned n = s->net->subnets, host = ntohl(in->sin_addr.s_addr) - 1;
	struct stackconn *c = conn_new(s, user);
	struct llp_conn *below;
	int r;

	(void)from;
	(void)own_port;
	for (unsigned i = 0; i < n; i++) {
		to[i] = network_addr(s->net, host, i);
		own[i] = network_addr(s->net, s->host, i);
	}
	r = llp_connect_at(s->below, &(struct llp_addrs){to, n}, port, &(struct llp_addrs){own, n},
			   0, c, &below);
	check(s, r == 0);
	learn(c, below);
	wake(s);
	*ret = &c->c.c;
	return 0;
}

static int stack_send(struct llp_conn *lc, const struct llp_msg *m)
{
	struct stackconn *c = conn_of(lc);
	int r = LLP_E_DOWN;

	simconn_note(&c->c, SIM_OFFERED, m);
	if (c->below)
		r = llp_send(c->below, m);
	if (r == LLP_E_OK) {
		simconn_note(&c->c, SIM_SENT, m);
		wake(stack_of(lc));
	}
	return r;
}

static int stack_recv(struct llp_conn *lc, struct llp_msg *ret)
{
	struct stackconn *c = conn_of(lc);
	int r = c->below ? llp_recv(c->below, ret) : LLP_E_DOWN;

	if (r == LLP_E_OK) {
		c->got++;
		simconn_note(&c->c, SIM_ARRIVED, ret);
	}
	return r;
}

static void stack_info(const struct llp_conn *lc, struct llp_info *ret)
{
	const struct stackconn *c = conn_of(lc);

	*ret = (struct llp_info){.backend = "sim"};
	if (c->below)
		llp_info(c->below, ret);
}

static void stack_shutdown(struct llp_conn *lc)
{
	struct stackconn *c = conn_of(lc);

	if (c->below)
		llp_shutdown(c->below);
	wake(stack_of(lc));
}

static void stack_abort(struct llp_conn *lc, const char *reason)
{
	struct stackconn *c = conn_of(lc);

	if (c->c.state != SIMCONN_UP && c->c.state != SIMCONN_CONNECTING)
		return;
	c->c.state = SIMCONN_OVER;
	simconn_note(&c->c, SIM_DOWN, NULL);
	if (c->below)
		llp_abort(c->below, reason);
	wake(stack_of(lc));
}

static void stack_conn_free(struct llp_conn *lc)
{
	struct stackconn *c = conn_of(lc);

	stack_abort(lc, "the peer closed the association");
	c->c.state = SIMCONN_FREED;
	c->below = llp_conn_free(c->below);
	wake(stack_of(lc));
}

void stack_change_primary(struct llp_conn *lc, unsigned subnet)
{
	struct stackconn *c = conn_of(lc);
	struct sockaddr_storage to;

	if (!c->below || !c->c.peer || subnet >= stack_of(lc)->net->subnets)
		return;
	to = network_addr(stack_of(lc)->net, stack_of(&c->c.peer->c)->host, subnet);
	(void)llp_set_primary(c->below, (struct sockaddr *)&to);
	wake(stack_of(lc));
}

/* ---- upcalls from below ---- */

static const struct llp_events *above(const struct stackconn *c)
{
	return c->c.c.llp->ev;
}

static void *on_incoming(void *listener_user, struct llp_conn *below)
{
	struct stack *s = listener_user;
	struct stackconn *opener = find_opener(s, ((struct user_conn *)below)->assoc), *c;

	if (!opener)
		return NULL;
	c = conn_new(s, NULL);
	learn(c, below);
	c->c.state = SIMCONN_UP;
	c->c.peer = &opener->c;
	opener->c.peer = &c->c;
	simconn_note(&c->c, SIM_UP, NULL);
	c->c.c.user = s->n.llp.ev->incoming(s->listener.user, &c->c.c);
	return c;
}

static void on_up(void *user)
{
	struct stackconn *c = user;

	c->c.state = SIMCONN_UP;
	simconn_note(&c->c, SIM_UP, NULL);
	above(c)->up(c->c.c.user);
}

static void on_down(void *user, int err, const char *reason)
{
	struct stackconn *c = user;

	c->c.state = SIMCONN_OVER;
	simconn_note(&c->c, SIM_DOWN, NULL);
	above(c)->down(c->c.c.user, err, reason);
}

static bool on_readable(void *user)
{
	struct stackconn *c = user;

	return above(c)->readable(c->c.c.user);
}

static void on_writable(void *user)
{
	struct stackconn *c = user;

	above(c)->writable(c->c.c.user);
}

static void on_acked(void *user)
{
	struct stackconn *c = user;

	simconn_note(&c->c, SIM_ACKED, NULL);
	above(c)->acked(c->c.c.user);
}

static void on_progress(void *user, uint32_t unacked)
{
	struct stackconn *c = user;

	above(c)->progress(c->c.c.user, unacked);
}

static void on_resized(void *user)
{
	struct stackconn *c = user;

	if (above(c)->resized)
		above(c)->resized(c->c.c.user);
}

static const struct llp_events events = {
	.incoming = on_incoming,
	.up = on_up,
	.down = on_down,
	.readable = on_readable,
	.writable = on_writable,
	.acked = on_acked,
	.progress = on_progress,
	.resized = on_resized,
};

/* ---- opening and closing ---- */

static void open_below(struct stack *s)
{
	struct network_host *h = &s->net->host[s->host];
	struct sockaddr_storage own[NETWORK_SUBNETS];
	struct llp_config cfg = s->cfg.llp;
	struct sctp_config *core;
	char reason[128];

	cfg.addrs = own;
	cfg.naddrs = s->net->subnets;
	for (unsigned i = 0; i < cfg.naddrs; i++)
		own[i] = network_addr(s->net, s->host, i);
	network_open(s->net, s->host);
	check(s, llp_user_open(&cfg, &events, &s->below, reason, sizeof(reason)) == 0);
	core = &user_of(s)->core->cfg;
	core->send_buffer = s->cfg.send_buffer;
	core->recv_buffer = core->recv_first = s->cfg.recv_buffer;
	user_of(s)->core->windows.first = user_of(s)->core->windows.most = s->cfg.recv_buffer;
	core->max_memory = user_of(s)->core->pool.limit = s->cfg.max_memory;
	h->user = user_of(s);
	h->judge = s->judge;
	h->judge.s = s->judge.s = user_of(s)->core;
	h->watch = invariant_new(&h->judge);
}

static void listen_below(struct stack *s)
{
	struct llp_listener *l;

	check(s, llp_listen_at(s->below, &(struct llp_addrs){NULL, 0}, s->port, s, &l) == 0);
}

/* Without another packet. */
static void close_below(struct stack *s)
{
	struct network_host *h = &s->net->host[s->host];

	list_foreach (it, &s->n.world->conns) {
		struct stackconn *c = list_entry(it, struct stackconn, c.link);

		if (c->c.c.llp == &s->n.llp)
			c->below = NULL;
	}
	h->muted = true;
	h->judge.s = s->judge.s = NULL;
	h->watch = invariant_free(h->watch);
	s->below = llp_close(s->below);
	h->muted = false;
}

void stack_restart(struct stack *s)
{
	uint16_t port = 0;

	close_below(s);
	open_below(s);
	listen_below(s);
	list_foreach (it, &s->n.world->conns) {
		struct stackconn *c = list_entry(it, struct stackconn, c.link);

		if (c->c.c.llp != &s->n.llp || c->c.state >= SIMCONN_OVER)
			continue;
		port = c->own_port > FIRST_PORT ? c->own_port : port;
		on_down(c, ECONNRESET, "the host restarted");
	}
	/* The next association may look to the peer like the former one. */
	user_of(s)->core->next_port = (uint16_t)(port ? port - FIRST_PORT : port);
}

static void stack_report_acks(struct llp_conn *c)
{
	llp_report_acks(conn_of(c)->below);
}

static int stack_listen(struct llp *llp, const struct llp_addrs *at, uint16_t port, void *user,
			struct llp_listener **ret)
{
	struct stack *s = stack_at(llp);

	(void)at;
	s->listener = (struct llp_listener){.llp = llp, .user = user};
	s->port = port;
	listen_below(s);
	*ret = &s->listener;
	return 0;
}

static void stack_close(struct llp *llp)
{
	struct stack *s = stack_at(llp);

	close_below(s);
}

static const struct llp_ops ops = {
	.name = "stack",
	.close = stack_close,
	.listen = stack_listen,
	.connect = stack_connect,
	.send = stack_send,
	.recv = stack_recv,
	.info = stack_info,
	.report_acks = stack_report_acks,
	.shutdown = stack_shutdown,
	.abort = stack_abort,
	.conn_free = stack_conn_free,
};

struct stack *stack_open(struct sim_world *w, struct sim_network *net, unsigned host,
			 const struct stack_config *cfg, const struct llp_events *ev,
			 const struct judge *judge, struct llp **ret)
{
	struct stack *s = alloc_zeroed(sizeof(*s));

	s->n.llp = (struct llp){.ops = &ops, .ev = ev};
	s->n.world = w;
	s->net = net;
	s->host = host;
	s->cfg = *cfg;
	s->judge = *judge;
	s->timer_us = UINT64_MAX;
	net->host[host].wake = wake;
	net->host[host].arg = s;
	list_add_tail(&w->nodes, &s->n.link);
	open_below(s);
	*ret = &s->n.llp;
	return s;
}

/* ---- the end of a run ---- */

static bool is_busy(const struct sctp_assoc *a)
{
	return a->state != SCTP_ESTABLISHED || !sctp_queue_empty(&a->tx) || a->acks.packets > 0;
}

bool stack_quiet(const struct stack *s)
{
	if (!s->below)
		return true;
	list_foreach (it, &user_of(s)->core->assocs) {
		if (is_busy(list_entry(it, struct sctp_assoc, all)))
			return false;
	}
	list_foreach (it, &s->n.world->conns) {
		const struct stackconn *c = list_entry(it, struct stackconn, c.link);

		if (c->c.c.llp == &s->n.llp && c->c.state < SIMCONN_OVER &&
		    (c->c.state != SIMCONN_UP || !c->c.peer || c->c.peer->state != SIMCONN_UP))
			return false;
	}
	return true;
}

unsigned stack_timers(const struct stack *s)
{
	return s->timers;
}

void stack_stats(const struct stack *s, struct sctp_stats *ret)
{
	sctp_stats(user_of(s)->core, ret);
}
