/* SPDX-License-Identifier: BSD-2-Clause */
/* A host: memory, random numbers, and the program that uses the stack. */
#include "tests/sctp/sim/world.h"

/* ---- services ---- */

static void *take(void *user, size_t len)
{
	struct host *h = user;
	void *p;

	if (h->fail && below(h->w, 1000) < h->fail) {
		h->w->sum.failures++;
		return NULL;
	}
	p = malloc(len);
	if (!p)
		abort();
	memset(p, 0xa5, len < 4096 ? len : 4096);
	h->allocated += len;
	return p;
}

static void give(void *user, void *p, size_t len)
{
	struct host *h = user;

	check(h->w, h->allocated >= len);
	h->allocated -= len;
	free(p);
}

static void fill(void *user, void *ret, size_t len)
{
	struct host *h = user;
	uint8_t *p = ret;

	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)draw(h->w);
	if (len == 4 && h->calls++ == h->wrap_at) {
		uint32_t v = 0u - (uint32_t)below(h->w, 40);

		memcpy(ret, &v, 4);
	}
}

/* ---- opening ---- */

void host_open(struct world *w, unsigned host)
{
	struct host *h = &w->host[host];
	uint8_t all[2] = {0, 1};
	unsigned fails = h->fail;

	h->fail = 0;
	h->cfg.mem = (struct sctp_mem){take, give, h};
	h->cfg.random = fill;
	h->cfg.random_user = h;
	check(w, sctp_open(&h->cfg, w->now, &h->s) == SCTP_E_OK);
	h->watch = model_watch(w, host);
	check(w, sctp_listen(h->s, all, w->addrs, w->addrs > 1, PORT, NULL, &h->listener) ==
			 SCTP_E_OK);
	check(w, sctp_listen(h->s, all, 1, false, PORT, NULL, &h->listener) == SCTP_E_IN_USE);
	h->fail = fails;
}

void host_close(struct world *w, unsigned host)
{
	struct host *h = &w->host[host];
	struct sctp_stats st;

	sctp_stats(h->s, &st);
	w->sum.retransmits += st.retransmits;
	w->sum.timeouts += st.timeouts;
	for (unsigned i = 0; i < w->conns; i++)
		if (w->conn[i]->host == host)
			w->conn[i]->a = NULL;
	h->watch = invariant_free(h->watch);
	h->s = sctp_close(h->s);
	check(w, h->allocated == 0);
}

void host_connect(struct world *w, unsigned host, uint16_t own_port, uint16_t port)
{
	struct host *h = &w->host[host];
	struct sctp_addr peer[2];
	const uint8_t local[2] = {0, 1};
	const struct sctp_connect to = {
		.peer = peer, .npeer = w->addrs, .port = port, .local = local, .nlocal = w->addrs};
	struct sctp_assoc *a;

	if (w->conns == CONNS)
		return;
	for (unsigned i = 0; i < w->addrs; i++)
		peer[i] = world_addr(w, i, !host);
	if (own_port)
		h->s->next_port = (uint16_t)(own_port - 49152);
	/* Two tie-tags and the tag come before the initial TSN. */
	h->calls = 0;
	h->wrap_at = w->wraps ? 3 : UINT32_MAX;
	if (sctp_assoc_connect(h->s, &to, &a) == 0)
		conn_new(w, host, a);
	h->wrap_at = UINT32_MAX;
}

uint64_t host_now(struct world *w, unsigned host)
{
	(void)host;
	return chance(w, 50) ? w->now - below(w, w->now < SECOND ? w->now : SECOND) : w->now;
}

/* ---- the program ---- */

static void event(struct world *w, unsigned host, const struct sctp_event *e)
{
	struct conn *c = conn_of(w, e->assoc);

	switch (e->type) {
	case SCTP_INCOMING:
		check(w, !c && e->listener == w->host[host].listener);
		if (w->conns == CONNS) {
			sctp_assoc_free(e->assoc);
			return;
		}
		conn_up(w, conn_new(w, host, e->assoc));
		return;
	case SCTP_UP:
		conn_up(w, c);
		return;
	case SCTP_DOWN:
		check(w, c);
		conn_down(w, c, e->end);
		return;
	case SCTP_WRITABLE:
		check(w, c && c->up && c->blocked);
		c->blocked = false;
		return;
	case SCTP_ACKED:
		check(w, c && c->up);
		if (!c->replay)
			conn_acked(w, c);
		return;
	case SCTP_RESIZED:
		check(w, c);
		return;
	case SCTP_PATH:
		check(w, c);
		trace(w, "path", e->addr.ip[14], e->state);
		return;
	}
}

void host_events(struct world *w, unsigned host)
{
	struct sctp_event e;

	while (sctp_event(w->host[host].s, &e))
		event(w, host, &e);
}

static void receive(struct world *w, unsigned host)
{
	struct conn *c = NULL;
	struct sctp_msg m;

	while (sctp_recv(w->host[host].s, &m)) {
		c = conn_of(w, m.assoc);
		if (c)
			conn_got(w, c, &m);
		else
			check(w, w->conns == CONNS);
	}
	if (c && c->a)
		model_received(w, c);
}

void host_input(struct world *w, struct packet *p)
{
	struct judge_before before[JUDGE_ASSOCS];
	struct host *h = &w->host[p->to];
	unsigned n;

	if (p->icmp) {
		sctp_icmp(h->s, &p->flow, SCTP_ICMP_TOO_BIG, p->mtu, p->data, p->len,
			  host_now(w, p->to));
		host_events(w, p->to);
		return;
	}
	h->calls = 0;
	/* The tag comes before the initial TSN of INIT ACK. */
	h->wrap_at =
		w->wraps && p->len > SCTP_HEAD && p->data[SCTP_HEAD] == SCTP_INIT ? 1 : UINT32_MAX;
	n = model_before(w, p->to, before);
	invariant_arrives(h->watch, &p->flow, p->data, p->len);
	sctp_input(h->s, &p->flow, p->data, p->len, host_now(w, p->to));
	invariant_arrived(h->watch);
	model_input(w, p->to, before, n);
	h->wrap_at = UINT32_MAX;
	host_events(w, p->to);
	receive(w, p->to);
}

void host_run(struct world *w, unsigned host)
{
	invariant_before(w->host[host].watch);
	sctp_run(w->host[host].s, host_now(w, host));
	invariant_ran(w->host[host].watch);
	host_events(w, host);
	for (unsigned i = 0; i < w->conns; i++)
		if (w->conn[i]->host == host)
			conn_send(w, w->conn[i]);
}

static void too_big(struct world *w, struct host *h, const struct sctp_batch *b)
{
	struct sctp_flow to = b->to;

	w->sum.lost++;
	sctp_too_big(h->s, &to, chance(w, 5000) ? w->mtu : 0, host_now(w, h->number));
}

void host_output(struct world *w, unsigned host)
{
	struct host *h = &w->host[host];
	struct judge_before before[JUDGE_ASSOCS];

	for (unsigned turns = 0;; turns++) {
		unsigned n = model_before(w, host, before);

		check(w, turns < 100000);
		invariant_before(h->watch);
		if (!sctp_output(h->s, &w->batch, host_now(w, host)))
			break;
		invariant_sent(h->watch, &w->batch);
		model_output(w, host, before, n);
		if (w->icmp && !w->batch.fragment && w->batch.segment + world_ip_head(w) > w->mtu &&
		    chance(w, 3000))
			too_big(w, h, &w->batch);
		else
			link_send(w, host, &w->batch);
	}
	invariant_idle(h->watch);
}
