/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Associations between two clients of one daemon: both ends are conns of this transport. Messages
 * are not queued: llp_send() hands the sender's spans to the peer's readable() and returns when
 * they are taken, so the receiver's copy is the only one.
 *
 * Changes of state and acknowledgments are reported by the next llp_input() or llp_tick(): an owner
 * that ticks once a millisecond would let each of them wait for that long. While a message is being
 * handed over, every other llp_send() returns LLP_E_AGAIN: a receiver that replies within
 * readable() would otherwise call into its peer, which is still sending.
 */
#include "llp/common/llp.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/addr.h"
#include "util/list.h"

enum {
	MAX_MESSAGE = 65476, /* as the largest chunk of the user transport */
	MTU = 65536,
	SMALL = 640, /* messages of up to this many bytes are joined in one span */
	REASON_LEN = 96,
	FIRST_PORT = 49152, /* of the connecting ends; only shown */
};

enum state {
	CONNECTING,
	UP,
	ENDED, /* down() is due */
	CLOSED,
};

struct loop {
	struct llp llp;
	struct sockaddr_storage addrs[LLP_MAX_OWN];
	unsigned naddrs; /* 0: any address is ours */
	uint16_t streams;
	uint16_t ports; /* assigned to connecting ends so far */
	bool sending;
	uint64_t now_ms;
	struct llp_stats stats;
	struct list listeners;
	struct list conns;
	struct list due;   /* conns that serve_due() has to serve */
	struct list freed; /* conns that it frees: an upcall may be using them */
};

struct listener {
	struct llp_listener l;
	struct list link;
	struct sockaddr_storage addr[LLP_MAX_ADDRS];
	unsigned naddrs; /* 0: all of ours */
	uint16_t port;
};

struct conn {
	struct llp_conn c;
	struct list link;
	struct list due;
	struct conn *peer;
	enum state state;
	bool even;      /* its sessions use even streams */
	bool from_port; /* it connects from a port that its owner named */
	bool freed;     /* is in `freed` of the transport */
	bool sent;      /* since acked() was last called */
	bool refused;   /* llp_send() returned LLP_E_AGAIN */
	int err;
	char reason[REASON_LEN];
	struct sockaddr_storage local, remote;
	const struct llp_msg *slot; /* the message that is handed to it, or NULL */
	struct llp_msg whole;       /* a small message, joined in buf */
	uint8_t buf[SMALL];
};

static struct loop *loop_of(const struct llp *t)
{
	return list_entry(t, struct loop, llp);
}

static struct conn *conn_of(const struct llp_conn *c)
{
	return list_entry(c, struct conn, c);
}

/* ---- addresses ---- */

static bool is_own_addr(const struct loop *t, const struct sockaddr_storage *a)
{
	for (unsigned i = 0; i < t->naddrs; i++) {
		if (addr_same_host(&t->addrs[i], a))
			return true;
		if (addr_any(&t->addrs[i]) && t->addrs[i].ss_family == a->ss_family)
			return true;
	}
	return t->naddrs == 0;
}

static int loop_add_addr(struct llp *llp, const struct sockaddr_storage *a, char *ret_reason,
			 size_t len)
{
	struct loop *t = loop_of(llp);

	if (t->naddrs == LLP_MAX_OWN) {
		snprintf(ret_reason, len, "at most %d addresses", LLP_MAX_OWN);
		return -ENOBUFS;
	}
	t->addrs[t->naddrs++] = *a;
	return 0;
}

static void loop_drop_addr(struct llp *llp, const struct sockaddr_storage *a)
{
	struct loop *t = loop_of(llp);

	for (unsigned i = 0; i < t->naddrs; i++) {
		if (!addr_same_host(&t->addrs[i], a))
			continue;
		t->addrs[i] = t->addrs[--t->naddrs];
		return;
	}
}

/* ---- listeners ---- */

static bool listener_has(const struct loop *t, const struct listener *l,
			 const struct sockaddr_storage *a)
{
	for (unsigned i = 0; i < l->naddrs; i++)
		if (addr_same_host(&l->addr[i], a))
			return true;
	return l->naddrs == 0 && is_own_addr(t, a);
}

static struct listener *listener_at(const struct loop *t, const struct sockaddr_storage *peer)
{
	list_foreach (it, &t->listeners) {
		struct listener *l = list_entry(it, struct listener, link);

		if (l->port == addr_port(peer) && listener_has(t, l, peer))
			return l;
	}
	return NULL;
}

static bool overlaps(const struct loop *t, const struct listener *l, const struct llp_addrs *at)
{
	for (unsigned i = 0; i < at->n; i++)
		if (listener_has(t, l, &at->a[i]))
			return true;
	return at->n == 0;
}

static int check_listen(const struct loop *t, const struct llp_addrs *at, uint16_t port)
{
	for (unsigned i = 0; i < at->n; i++)
		if (!is_own_addr(t, &at->a[i]))
			return -EADDRNOTAVAIL;
	list_foreach (it, &t->listeners) {
		const struct listener *l = list_entry(it, struct listener, link);

		if (l->port == port && overlaps(t, l, at))
			return -EADDRINUSE;
	}
	return 0;
}

static int loop_listen(struct llp *llp, const struct llp_addrs *at, uint16_t port, void *user,
		       struct llp_listener **ret)
{
	struct loop *t = loop_of(llp);
	struct listener *l;
	int r = check_listen(t, at, port);

	if (r)
		return r;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->l = (struct llp_listener){.llp = llp, .user = user};
	for (unsigned i = 0; i < at->n; i++)
		l->addr[i] = at->a[i];
	l->naddrs = at->n;
	l->port = port;
	list_add_tail(&t->listeners, &l->link);
	*ret = &l->l;
	return 0;
}

static void loop_unlisten(struct llp_listener *ll)
{
	struct listener *l = list_entry(ll, struct listener, l);

	list_del(&l->link);
	free(l);
}

/* ---- conns ---- */

static struct conn *conn_new(struct loop *t, void *user)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->c = (struct llp_conn){.llp = &t->llp, .user = user};
	list_init(&c->due);
	list_add_tail(&t->conns, &c->link);
	return c;
}

static void schedule(struct conn *c)
{
	if (!list_linked(&c->due))
		list_add_tail(&loop_of(c->c.llp)->due, &c->due);
}

static void end_conn(struct conn *c, int err, const char *reason)
{
	if (c->peer)
		c->peer->peer = NULL;
	c->peer = NULL;
	c->slot = NULL;
	c->state = ENDED;
	c->err = err;
	snprintf(c->reason, sizeof(c->reason), "%s", reason);
	schedule(c);
}

static void loop_abort(struct llp_conn *llc, const char *reason)
{
	struct conn *c = conn_of(llc);

	if (c->peer)
		end_conn(c->peer, ECONNRESET, reason);
	c->state = CLOSED;
	c->slot = NULL;
	list_del(&c->due);
}

static void loop_conn_free(struct llp_conn *llc)
{
	struct conn *c = conn_of(llc);

	loop_abort(llc, "the peer closed the association");
	c->freed = true;
	list_del(&c->link);
	list_add_tail(&loop_of(llc->llp)->freed, &c->link);
}

static void loop_shutdown(struct llp_conn *llc)
{
	struct conn *c = conn_of(llc);
	struct conn *peer = c->peer;

	if (c->state != UP && c->state != CONNECTING)
		return;
	end_conn(c, 0, "shut down");
	if (peer)
		end_conn(peer, 0, "shut down by the peer");
}

/* Paths cannot fail here: only the first address is used. */
static int loop_connect(struct llp *llp, const struct llp_addrs *peer, uint16_t port,
			const struct llp_addrs *from, uint16_t own_port, void *user,
			struct llp_conn **ret)
{
	struct loop *t = loop_of(llp);
	struct conn *c;

	(void)from;
	if (own_port == port)
		return -EADDRINUSE;
	c = conn_new(t, user);
	if (!c)
		return -ENOMEM;
	c->even = true;
	c->from_port = own_port != 0;
	c->remote = peer->a[0];
	addr_set_port(&c->remote, port);
	c->local = c->remote; /* one host: both ends have the same address */
	if (own_port == 0)
		own_port = (uint16_t)(FIRST_PORT + t->ports++ % (65536 - FIRST_PORT));
	addr_set_port(&c->local, own_port);
	schedule(c);
	*ret = &c->c;
	return 0;
}

/* ---- messages ---- */

static int refuse_send(struct conn *c)
{
	c->refused = true;
	schedule(c);
	return LLP_E_AGAIN;
}

static void present(struct conn *to, const struct llp_msg *m)
{
	struct span one = {to->buf, sizeof(to->buf)};

	to->slot = m;
	if (m->len > SMALL || m->n == 1)
		return;
	one.len = span_copy(&one, 1, m->part, m->n, 0, m->len);
	to->whole = (struct llp_msg){
		.sid = m->sid, .ppid = m->ppid, .len = m->len, .n = 1, .part = {one}};
	to->slot = &to->whole;
}

static int loop_send(struct llp_conn *llc, const struct llp_msg *m)
{
	struct conn *c = conn_of(llc);
	struct conn *to = c->peer;
	struct loop *t = loop_of(llc->llp);
	bool taken;

	if (c->state != UP)
		return LLP_E_DOWN;
	if (m->sid >= t->streams)
		return -EINVAL;
	if (m->len > MAX_MESSAGE)
		return LLP_E_TOO_LONG;
	if (t->sending || to->state != UP)
		return refuse_send(c);

	present(to, m);
	t->sending = true;
	t->llp.ev->readable(to->c.user);
	t->sending = false;
	taken = !to->slot;
	to->slot = NULL;

	if (c->state != UP)
		return LLP_E_DOWN; /* the upcall ended it */
	if (!taken)
		return refuse_send(c);
	t->stats.tx_packets++;
	t->stats.rx_packets++;
	t->stats.tx_bytes += m->len;
	c->sent = true;
	schedule(c);
	return LLP_E_OK;
}

static int loop_recv(struct llp_conn *llc, struct llp_msg *ret)
{
	struct conn *c = conn_of(llc);

	if (!c->slot)
		return c->state == UP ? LLP_E_AGAIN : LLP_E_DOWN;
	*ret = *c->slot;
	ret->urgent = false;
	ret->ordered = false;
	c->slot = NULL;
	return LLP_E_OK;
}

/* ---- drive ---- */

/* A conn that connects in the other direction between the same ports. */
static struct conn *crossing(const struct loop *t, const struct conn *c)
{
	if (!c->from_port)
		return NULL;
	list_foreach (it, &t->conns) {
		struct conn *o = list_entry(it, struct conn, link);

		if (o->state == CONNECTING && o->from_port &&
		    addr_port(&o->local) == addr_port(&c->remote) &&
		    addr_port(&o->remote) == addr_port(&c->local) &&
		    addr_same_host(&o->remote, &c->remote))
			return o;
	}
	return NULL;
}

static void pair_ends(struct loop *t, struct conn *c, struct conn *other)
{
	c->peer = other;
	other->peer = c;
	other->even = false;
	c->state = other->state = UP;
	t->llp.ev->up(c->c.user);
	if (other->state == UP)
		t->llp.ev->up(other->c.user);
}

static void establish(struct loop *t, struct conn *c)
{
	struct listener *l = listener_at(t, &c->remote);
	struct conn *in = crossing(t, c);
	void *user;

	if (in) {
		pair_ends(t, c, in);
		return;
	}
	if (!l) {
		end_conn(c, ECONNREFUSED, "nothing listens on this port");
		return;
	}
	in = conn_new(t, NULL);
	if (!in) {
		end_conn(c, ENOMEM, "out of memory");
		return;
	}
	in->local = c->remote;
	in->remote = c->local;
	in->peer = c;
	in->state = UP;
	c->peer = in;

	user = t->llp.ev->incoming(l->l.user, &in->c);
	if (!user) {
		if (c->peer)
			end_conn(c, ECONNREFUSED, "the listener refused the association");
		if (!in->freed)
			loop_conn_free(&in->c);
		return;
	}
	in->c.user = user;
	if (!c->peer)
		return; /* either end was closed in the upcall */
	c->state = UP;
	t->llp.ev->up(c->c.user);
}

static void report_progress(struct loop *t, struct conn *c)
{
	bool sent = c->sent, refused = c->refused;

	c->sent = false;
	c->refused = false;
	if (sent)
		t->llp.ev->acked(c->c.user);
	if (refused && c->state == UP)
		t->llp.ev->writable(c->c.user);
}

static void serve_conn(struct loop *t, struct conn *c)
{
	if (c->state == CONNECTING)
		establish(t, c);
	else if (c->state == UP)
		report_progress(t, c);
	if (c->state == ENDED) {
		list_del(&c->due);
		c->state = CLOSED;
		t->llp.ev->down(c->c.user, c->err, c->reason);
	}
}

static void free_all(struct list *conns)
{
	struct list *it;

	while ((it = list_pop(conns)))
		free(list_entry(it, struct conn, link));
}

/* Not those that become due meanwhile. */
static void serve_due(struct loop *t)
{
	struct list batch = LIST_INIT(batch);
	struct list *it;

	list_splice_tail(&batch, &t->due);
	while ((it = list_pop(&batch)))
		serve_conn(t, list_entry(it, struct conn, due));
	free_all(&t->freed);
}

static void loop_tick(struct llp *llp, uint64_t now_ms)
{
	struct loop *t = loop_of(llp);

	t->now_ms = now_ms;
	serve_due(t);
}

static uint64_t loop_expiry_us(const struct llp *llp)
{
	const struct loop *t = loop_of(llp);

	return list_empty(&t->due) && list_empty(&t->freed) ? UINT64_MAX : t->now_ms * 1000;
}

/* An acknowledgment alone is no work: only the completions that follow it are. */
static bool loop_input(struct llp *llp, unsigned budget)
{
	(void)budget;
	serve_due(loop_of(llp));
	return false;
}

static void loop_flush(struct llp *llp)
{
	(void)llp;
}

static unsigned loop_fds(const struct llp *llp, int ret_fds[LLP_MAX_FDS])
{
	(void)llp;
	(void)ret_fds;
	return 0;
}

/* ---- information ---- */

static void loop_info(const struct llp_conn *llc, struct llp_info *ret)
{
	const struct conn *c = conn_of(llc);

	*ret = (struct llp_info){
		.backend = "loop",
		.local = c->local,
		.remote = c->remote,
		.even = c->even,
		.same_endpoint = true,
		.streams = loop_of(llc->llp)->streams,
		.max_message = MAX_MESSAGE,
		.mtu = MTU,
		.cwnd = MAX_MESSAGE,
		.peer_rwnd = MAX_MESSAGE,
		.acks = true,
	};
}

static void loop_stats(const struct llp *llp, struct llp_stats *ret)
{
	*ret = loop_of(llp)->stats;
}

static void loop_close(struct llp *llp)
{
	struct loop *t = loop_of(llp);

	while (!list_empty(&t->listeners))
		loop_unlisten(&list_entry(t->listeners.next, struct listener, link)->l);
	free_all(&t->conns);
	free_all(&t->freed);
	free(t);
}

static const struct llp_ops loop_ops = {
	.name = "loop",
	.close = loop_close,
	.add_addr = loop_add_addr,
	.drop_addr = loop_drop_addr,
	.fds = loop_fds,
	.input = loop_input,
	.tick = loop_tick,
	.expiry_us = loop_expiry_us,
	.flush = loop_flush,
	.listen = loop_listen,
	.unlisten = loop_unlisten,
	.connect = loop_connect,
	.send = loop_send,
	.recv = loop_recv,
	.info = loop_info,
	.stats = loop_stats,
	.shutdown = loop_shutdown,
	.abort = loop_abort,
	.conn_free = loop_conn_free,
};

int llp_loop_open(const struct llp_config *cfg, const struct llp_events *ev, struct llp **ret)
{
	struct loop *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->llp = (struct llp){.ops = &loop_ops, .ev = ev};
	t->naddrs = cfg->naddrs < LLP_MAX_OWN ? cfg->naddrs : LLP_MAX_OWN;
	for (unsigned i = 0; i < t->naddrs; i++)
		t->addrs[i] = cfg->addrs[i];
	t->streams = cfg->streams;
	list_init(&t->listeners);
	list_init(&t->conns);
	list_init(&t->due);
	list_init(&t->freed);
	*ret = &t->llp;
	return 0;
}
