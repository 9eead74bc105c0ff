/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/sim.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/simconn.h"
#include "tests/lib/simmsg.h"
#include "util/addr.h"

struct listener {
	struct llp_listener l;
	struct list link;
	struct sockaddr_storage addr; /* AF_UNSPEC: all of the node's */
	uint16_t port;
};

static void *get(size_t len)
{
	void *p = calloc(1, len);

	if (!p)
		abort(); /* the run cannot continue */
	return p;
}

/* ---- listening and connecting ---- */

static bool has_addr(const struct simnode *n, const struct sockaddr_storage *a)
{
	for (unsigned i = 0; i < n->naddrs; i++)
		if (addr_same_host(&n->addrs[i], a))
			return true;
	return false;
}

static int sim_listen(struct llp *llp, const struct llp_addrs *at, uint16_t port, void *user,
		      struct llp_listener **ret)
{
	struct simnode *n = simnode_of(llp);
	struct listener *l;

	if (at->n > 1)
		return -EOPNOTSUPP;
	if (at->n == 1 && !has_addr(n, &at->a[0]))
		return -EADDRNOTAVAIL;
	list_foreach (it, &n->listeners)
		if (list_entry(it, struct listener, link)->port == port)
			return -EADDRINUSE;
	l = get(sizeof(*l));
	l->l = (struct llp_listener){.llp = llp, .user = user};
	if (at->n == 1)
		l->addr = at->a[0];
	l->port = port;
	list_add_tail(&n->listeners, &l->link);
	*ret = &l->l;
	return 0;
}

static void sim_unlisten(struct llp_listener *ll)
{
	struct listener *l = list_entry(ll, struct listener, l);

	list_del(&l->link);
	free(l);
}

static struct listener *find_listener(struct sim_world *w, const struct sockaddr_storage *peer)
{
	list_foreach (it, &w->nodes) {
		struct simnode *n = list_entry(it, struct simnode, link);

		if (!has_addr(n, peer))
			continue;
		list_foreach (jt, &n->listeners) {
			struct listener *l = list_entry(jt, struct listener, link);

			if (l->port == addr_port(peer) &&
			    (l->addr.ss_family == AF_UNSPEC || addr_same_host(&l->addr, peer)))
				return l;
		}
	}
	return NULL;
}

static struct simconn *conn_new(struct simnode *n, void *user)
{
	struct simconn *c = get(sizeof(*c));

	c->c = (struct llp_conn){.llp = &n->llp, .user = user};
	c->id = n->world->nconns++;
	c->max_message = simconn_draw_limit(n->world);
	list_init(&c->inbox);
	list_add_tail(&n->world->conns, &c->link);
	return c;
}

static void plan_break(struct simconn *c)
{
	const struct sim_faults *f = &simconn_world(c)->faults;
	struct simclock *k = simconn_world(c)->clock;
	uint64_t when;

	if (!simclock_chance(k, f->breaks))
		return;
	when = simclock_below(k, (uint64_t)f->break_us + 1);
	simconn_after(c, when, simconn_ev_cut, simclock_chance(k, 5000) ? c : NULL);
}

static struct simconn_end refused = {ECONNREFUSED, "the peer refused the association"};

static void ev_connect(void *obj, void *arg)
{
	struct simconn *c = obj;
	struct sim_world *w = simconn_world(c);
	struct listener *l = find_listener(w, &c->remote);
	struct simconn *in;

	(void)arg;
	if (c->state != SIMCONN_CONNECTING)
		return;
	if (!l || simclock_chance(w->clock, w->faults.refuse)) {
		simconn_after(c, simconn_delay(c), simconn_ev_down, &refused);
		return;
	}
	in = conn_new(simnode_of(l->l.llp), NULL);
	in->local = c->remote;
	in->remote = c->local;
	in->peer = c;
	in->state = SIMCONN_UP;
	c->peer = in;
	simconn_note(in, SIM_UP, NULL);
	in->c.user = in->c.llp->ev->incoming(l->l.user, &in->c);
	if (!in->c.user && in->state != SIMCONN_FREED)
		simconn_free(&in->c);
	simconn_after(c, simconn_delay(c), simconn_ev_up, NULL);
	plan_break(simclock_chance(w->clock, 5000) ? c : in);
}

static int sim_connect(struct llp *llp, const struct llp_addrs *peer, uint16_t port,
		       const struct llp_addrs *from, uint16_t own_port, void *user,
		       struct llp_conn **ret)
{
	struct simnode *n = simnode_of(llp);
	struct simconn *c;

	(void)own_port;
	if (peer->n > 1 || from->n > 1)
		return -EOPNOTSUPP;
	c = conn_new(n, user);
	c->remote = peer->a[0];
	addr_set_port(&c->remote, port);
	c->local = n->addrs[0];
	c->opener = true;
	simconn_after(c, simconn_delay(c), ev_connect, NULL);
	*ret = &c->c;
	return 0;
}

/* ---- nodes ---- */

static bool sim_input(struct llp *llp, unsigned budget)
{
	(void)llp;
	(void)budget;
	return false;
}

static void sim_tick(struct llp *llp, uint64_t now_ms)
{
	(void)llp;
	(void)now_ms;
}

static uint64_t sim_expiry_us(const struct llp *llp)
{
	(void)llp;
	return UINT64_MAX;
}

static void sim_flush(struct llp *llp)
{
	(void)llp;
}

static unsigned sim_fds(const struct llp *llp, int ret_fds[LLP_MAX_FDS])
{
	(void)llp;
	(void)ret_fds;
	return 0;
}

static void sim_info(const struct llp_conn *llc, struct llp_info *ret)
{
	const struct simconn *c = simconn_of(llc);

	*ret = (struct llp_info){
		.backend = "sim",
		.local = c->local,
		.remote = c->remote,
		.even = c->opener,
		.streams = simnode_of(llc->llp)->streams,
		.max_message = c->max_message,
		.mtu = c->max_message,
		.unacked = c->unacked,
	};
}

static void sim_stats(const struct llp *llp, struct llp_stats *ret)
{
	*ret = simnode_of(llp)->stats;
}

/* The conns stay until the world goes: something may be scheduled for them. */
static void sim_close(struct llp *llp)
{
	struct simnode *n = simnode_of(llp);

	list_foreach (it, &n->world->conns) {
		struct simconn *c = list_entry(it, struct simconn, link);

		if (c->c.llp == llp && c->state != SIMCONN_FREED)
			simconn_free(&c->c);
	}
	while (!list_empty(&n->listeners))
		sim_unlisten(&list_entry(n->listeners.next, struct listener, link)->l);
	n->current = simmsg_free(n->current);
}

static const struct llp_ops sim_ops = {
	.name = "sim",
	.close = sim_close,
	.fds = sim_fds,
	.input = sim_input,
	.tick = sim_tick,
	.expiry_us = sim_expiry_us,
	.flush = sim_flush,
	.listen = sim_listen,
	.unlisten = sim_unlisten,
	.connect = sim_connect,
	.send = simconn_send,
	.recv = simconn_recv,
	.info = sim_info,
	.stats = sim_stats,
	.report_acks = simconn_report_acks,
	.shutdown = simconn_shutdown,
	.abort = simconn_abort,
	.conn_free = simconn_free,
};

int llp_sim_open(struct sim_world *w, const struct llp_config *cfg, const struct llp_events *ev,
		 struct llp **ret)
{
	struct simnode *n = get(sizeof(*n));

	n->llp = (struct llp){.ops = &sim_ops, .ev = ev};
	n->world = w;
	n->naddrs = cfg->naddrs < LLP_MAX_ADDRS ? cfg->naddrs : LLP_MAX_ADDRS;
	for (unsigned i = 0; i < n->naddrs; i++)
		n->addrs[i] = cfg->addrs[i];
	n->streams = cfg->streams;
	list_init(&n->listeners);
	list_add_tail(&w->nodes, &n->link);
	*ret = &n->llp;
	return 0;
}

/* ---- the world ---- */

struct sim_world *sim_world_new(uint64_t seed, const struct sim_faults *faults)
{
	struct sim_world *w = get(sizeof(*w));

	w->clock = simclock_new(seed);
	if (!w->clock)
		abort();
	w->faults = *faults;
	list_init(&w->nodes);
	list_init(&w->conns);
	list_init(&w->msgs);
	w->hash = 0xcbf29ce484222325u;
	return w;
}

static void drop_all(struct list *msgs)
{
	while (!list_empty(msgs))
		simmsg_free(list_entry(msgs->next, struct simmsg, link));
}

struct sim_world *sim_world_free(struct sim_world *w)
{
	struct list *it;

	if (!w)
		return NULL;
	drop_all(&w->msgs);
	while ((it = list_pop(&w->conns))) {
		struct simconn *c = list_entry(it, struct simconn, link);

		drop_all(&c->inbox);
		free(c->acks);
		free(c);
	}
	while ((it = list_pop(&w->nodes)))
		free(list_entry(it, struct simnode, link));
	w->clock = simclock_free(w->clock);
	free(w);
	return NULL;
}

void sim_set_faults(struct sim_world *w, const struct sim_faults *faults)
{
	w->faults = *faults;
}

struct simclock *sim_clock(struct sim_world *w)
{
	return w->clock;
}

bool sim_step(struct sim_world *w)
{
	return simclock_step(w->clock);
}

uint64_t sim_hash(const struct sim_world *w)
{
	return w->hash;
}

void sim_observe(struct sim_world *w, sim_observer *fn, void *user)
{
	w->observer = fn;
	w->observer_user = user;
}

unsigned sim_conn_id(const struct llp_conn *c)
{
	return list_entry(c, struct simconn, c)->id;
}

struct llp_conn *sim_conn_peer(const struct llp_conn *c)
{
	struct simconn *peer = list_entry(c, struct simconn, c)->peer;

	return peer ? &peer->c : NULL;
}
