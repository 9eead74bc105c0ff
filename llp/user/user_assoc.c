/* SPDX-License-Identifier: BSD-2-Clause */
/* Listeners and associations: the calls of llp.h. */
#include "llp/user/user.h"

#include <errno.h>
#include <stdlib.h>

#include "util/addr.h"

static int error_of(int r)
{
	switch (r) {
	case SCTP_E_OK:
		return 0;
	case SCTP_E_MEMORY:
		return -ENOMEM;
	case SCTP_E_IN_USE:
		return -EADDRINUSE;
	case SCTP_E_NO_ADDR:
		return -EAFNOSUPPORT;
	default:
		return -EIO;
	}
}

/* The indices of addresses of ours. How many, or -EADDRNOTAVAIL. */
static int indices(const struct user *t, const struct llp_addrs *at, uint8_t ret[LLP_MAX_ADDRS])
{
	for (unsigned i = 0; i < at->n; i++) {
		int k = llp_sctp_find_addr(&t->sctp, &at->a[i]);

		if (k < 0)
			return -EADDRNOTAVAIL;
		ret[i] = (uint8_t)k;
	}
	return (int)at->n;
}

/* ---- listeners ---- */

int llp_user_listen(struct llp *llp, const struct llp_addrs *at, uint16_t port, void *listener_user,
		    struct llp_listener **ret)
{
	struct user *t = (struct user *)llp;
	uint8_t local[LLP_MAX_ADDRS];
	int n = indices(t, at, local);
	struct user_listener *l;
	int r;

	if (n < 0)
		return n;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	r = sctp_listen(t->core, local, (unsigned)n, at->n > 0, port, l, &l->l);
	if (r != SCTP_E_OK) {
		free(l);
		return error_of(r);
	}
	l->base.llp = llp;
	l->base.user = listener_user;
	list_add_tail(&t->listeners, &l->all);
	*ret = &l->base;
	return 0;
}

void llp_user_unlisten(struct llp_listener *ll)
{
	struct user *t = (struct user *)ll->llp;
	struct user_listener *l = (struct user_listener *)ll;

	sctp_unlisten(t->core, l->l);
	list_del(&l->all);
	free(l);
}

/* ---- an association's record ---- */

struct user_conn *llp_user_conn_new(struct user *t, struct sctp_assoc *a)
{
	struct user_conn *c = t->sctp.nconns < LLP_SCTP_MAX_CONNS ? calloc(1, sizeof(*c)) : NULL;

	if (!c)
		return NULL;
	c->assoc = a;
	list_init(&c->on_link);
	llp_sctp_add(&t->sctp, &c->sctp);
	return c;
}

void llp_user_conn_release(struct user_conn *c)
{
	struct user *t = llp_user_of(c);

	if (c->assoc) {
		struct llp_info last;

		llp_user_info(&c->sctp.base, &last);
		last.unacked = 0;
		c->nreported = 0;
		c->last = last;
		if (t->held && t->msg.assoc == c->assoc)
			t->held = false;
		c->assoc = sctp_assoc_free(c->assoc);
	}
	list_del(&c->sctp.connecting);
	list_del(&c->on_link);
	c->waits = false;
	c->sctp.state = LLP_SCTP_DOWN;
}

void llp_user_conn_free(struct llp_conn *lc)
{
	struct user_conn *c = (struct user_conn *)lc;

	llp_user_conn_release(c);
	llp_sctp_remove(&c->sctp);
	free(c);
}

/* ---- connecting ---- */

/* Our addresses of a new association: those the owner names, or the one that the route takes. */
static int choose_local(const struct user *t, const struct llp_addrs *peer,
			const struct llp_addrs *from, uint8_t ret[LLP_MAX_ADDRS])
{
	int i;

	if (from->n)
		return indices(t, from, ret);
	i = llp_sctp_choose_addr(&t->sctp, &peer->a[0]);
	if (i < 0)
		return -EAFNOSUPPORT;
	ret[0] = (uint8_t)i;
	return 1;
}

/* The ends of an association that begins, by index as in struct sctp_connect. */
struct start {
	bool covered;
	unsigned n, nlocal;
	uint8_t local[LLP_MAX_ADDRS];
	struct sctp_addr peer[LLP_MAX_ADDRS];
	uint32_t packet[LLP_MAX_ADDRS];
};

/* The route to the i-th address, from the first address of ours with its family. */
static int measure_route(struct user *t, struct start *s, unsigned i, sa_family_t family)
{
	const struct user_route *r;
	int err = -EAFNOSUPPORT;

	s->packet[i] = SCTP_MIN_PACKET;
	for (unsigned k = 0; k < s->nlocal; k++) {
		if (t->sctp.addrs[s->local[k]].ss_family != family)
			continue;
		err = llp_user_route(t, s->local[k], &s->peer[i], &r);
		if (err == 0)
			s->packet[i] = llp_user_packet(&s->peer[i], r->mtu, s->covered);
		break;
	}
	return err;
}

/* -errno if no address of the peer can be reached. */
static int prepare_start(struct user *t, const struct llp_addrs *peer, const struct llp_addrs *from,
			 struct start *ret)
{
	int n = choose_local(t, peer, from, ret->local), err = 0;
	bool any = false;

	if (n < 0)
		return n;
	ret->nlocal = (unsigned)n;
	ret->n = peer->n;
	ret->covered = llp_user_cover_wanted(t, peer);
	for (unsigned i = peer->n; i-- > 0;) {
		sa_family_t family = peer->a[i].ss_family;

		if (family != AF_INET && family != AF_INET6)
			return -EAFNOSUPPORT;
		ret->peer[i] = llp_user_addr(&peer->a[i]);
		err = measure_route(t, ret, i, family);
		any |= err == 0;
	}
	if (any && ret->covered && (ret->n > 1 || ret->nlocal > 1))
		return -EOPNOTSUPP;
	return any ? 0 : err;
}

static int begin_assoc(struct user *t, const struct start *s, uint16_t port, uint16_t own_port,
		       struct user_conn *c)
{
	const struct sctp_connect to = {
		.peer = s->peer,
		.packet = s->packet,
		.npeer = s->n,
		.port = port,
		.local = s->local,
		.nlocal = s->nlocal,
		.own_port = own_port,
		.user = c,
		.covered_port = s->covered ? llp_user_port(t, USER_COVERED) : 0,
	};

	return sctp_assoc_connect(t->core, &to, &c->assoc);
}

int llp_user_begin(struct user_conn *c)
{
	struct user *t = llp_user_of(c);
	struct start s = {.covered = c->covered,
			  .n = 1,
			  .nlocal = 1,
			  .local = {c->local},
			  .peer = {llp_user_addr(&c->remote)}};
	int r = measure_route(t, &s, 0, c->remote.ss_family);

	c->waits = false;
	if (r < 0)
		return r;
	r = error_of(begin_assoc(t, &s, c->remote_port, c->own_port, c));
	if (r == 0 && c->report_acks)
		sctp_assoc_report_acks(c->assoc);
	return r;
}

/* Until the association begins, llp_user_info() knows its ends alone. */
static int begin_covered(struct user_conn *c, const struct start *s, uint16_t own_port)
{
	struct user *t = llp_user_of(c);
	int r;

	c->covered = true;
	c->own_port = own_port;
	c->local = s->local[0];
	c->last = (struct llp_info){.backend = "user",
				    .covered = true,
				    .local = t->sctp.addrs[c->local],
				    .remote = c->remote,
				    .remote_udp_port = llp_user_port(t, USER_COVERED),
				    .even = c->even};
	addr_set_port(&c->last.local, own_port);
	addr_set_port(&c->last.remote, c->remote_port);
	llp_user_cover_join(c);
	r = llp_user_cover_connect(c);
	c->waits = r == 0;
	return r == 1 ? llp_user_begin(c) : r;
}

int llp_user_connect(struct llp *llp, const struct llp_addrs *peer, uint16_t port,
		     const struct llp_addrs *from, uint16_t own_port, void *conn_user,
		     struct llp_conn **ret)
{
	struct user *t = (struct user *)llp;
	struct user_conn *c;
	struct start s;
	int r;

	llp_user_read_clock(t);
	r = prepare_start(t, peer, from, &s);
	if (r < 0)
		return r;
	c = llp_user_conn_new(t, NULL);
	if (!c)
		return -ENOMEM;
	c->sctp.base.user = conn_user;
	c->remote = peer->a[0];
	c->remote_port = port;
	c->even = own_port == 0;
	if (!s.covered)
		llp_user_guard_renew(t, USER_CLEAR);
	r = s.covered ? begin_covered(c, &s, own_port)
		      : error_of(begin_assoc(t, &s, port, own_port, c));
	if (r < 0) {
		llp_user_conn_free(&c->sctp.base);
		return r;
	}
	llp_sctp_connecting(&c->sctp);
	*ret = &c->sctp.base;
	return 0;
}

/* ---- ending ---- */

void llp_user_shutdown(struct llp_conn *lc)
{
	struct user_conn *c = (struct user_conn *)lc;
	struct user *t = llp_user_of(c);

	if (c->sctp.state == LLP_SCTP_UP && !c->sctp.ended) {
		llp_user_read_clock(t);
		sctp_assoc_shutdown(c->assoc, t->now_us);
		c->sctp.state = LLP_SCTP_CLOSING;
	} else if (c->sctp.state == LLP_SCTP_CONNECTING) {
		llp_sctp_end(&c->sctp, 0, "closed during setup");
	}
}

void llp_user_abort(struct llp_conn *lc, const char *reason)
{
	struct user_conn *c = (struct user_conn *)lc;

	if (c->sctp.state == LLP_SCTP_DOWN)
		return;
	if (c->assoc && !c->sctp.ended)
		sctp_assoc_abort(c->assoc, reason);
	llp_user_conn_release(c);
	list_del(&c->sctp.ready);
}

/* ---- messages ---- */

int llp_user_send(struct llp_conn *lc, const struct llp_msg *m)
{
	struct user_conn *c = (struct user_conn *)lc;

	if (c->sctp.state != LLP_SCTP_UP || c->sctp.ended)
		return LLP_E_DOWN;
	if (m->sid >= c->sctp.streams || m->len == 0 || m->len != span_total(m->part, m->n))
		return -EINVAL;
	switch (sctp_assoc_send(c->assoc, m->sid, m->ppid, m->urgent, m->part, m->n)) {
	case SCTP_E_OK:
		return LLP_E_OK;
	case SCTP_E_AGAIN:
	case SCTP_E_MEMORY:
		return LLP_E_AGAIN;
	case SCTP_E_TOO_LONG:
		return LLP_E_TOO_LONG;
	default:
		return LLP_E_DOWN; /* the event with the reason follows */
	}
}

uint32_t llp_user_room(const struct llp_conn *lc)
{
	const struct user_conn *c = (const struct user_conn *)lc;

	return c->assoc ? sctp_assoc_room(c->assoc) : 0;
}

/* Joins the spans if the first one is shorter than llp.h promises: only a message in fragments. */
static void make_head(struct user *t, struct sctp_msg *m)
{
	uint32_t head = m->len < USER_HEAD ? m->len : USER_HEAD;
	struct span whole = {t->joined, m->len};

	if (m->n == 1 || m->part[0].len >= head)
		return;
	span_copy(&whole, 1, m->part, m->n, 0, m->len);
	m->part[0] = whole;
	m->n = 1;
}

/* Has the next message in t->msg. False if it does not belong to this association. */
static bool take_message(struct user *t, const struct sctp_assoc *a)
{
	t->held = t->held || sctp_recv(t->core, &t->msg);
	if (!t->held || t->msg.assoc != a)
		return false;
	t->held = false;
	t->taken++;
	return true;
}

int llp_user_recv(struct llp_conn *lc, struct llp_msg *ret)
{
	struct user_conn *c = (struct user_conn *)lc;
	struct user *t = llp_user_of(c);
	struct sctp_msg *m = &t->msg;

	_Static_assert((int)SCTP_MAX_PARTS <= (int)LLP_MAX_SPANS, "a message has as many spans");
	if (c->sctp.state != LLP_SCTP_UP && c->sctp.state != LLP_SCTP_CLOSING)
		return LLP_E_DOWN;
	if (!take_message(t, c->assoc))
		return LLP_E_AGAIN;
	make_head(t, m);
	ret->sid = m->sid;
	ret->ppid = m->ppid;
	ret->len = m->len;
	ret->urgent = false;
	ret->ordered = m->ordered;
	ret->n = m->n;
	span_copy_list(ret->part, m->part, m->n);
	return LLP_E_OK;
}

/* ---- information ---- */

void llp_user_report_acks(struct llp_conn *lc)
{
	struct user_conn *c = (struct user_conn *)lc;

	c->report_acks = true;
	if (c->assoc)
		sctp_assoc_report_acks(c->assoc);
}

uint32_t llp_user_unacked(const struct llp_conn *lc)
{
	const struct user_conn *c = (const struct user_conn *)lc;
	struct sctp_info i;

	if (!c->assoc)
		return LLP_UNACKED_UNKNOWN;
	sctp_assoc_info(c->assoc, &i);
	return i.unacked;
}

void llp_user_info(const struct llp_conn *lc, struct llp_info *ret)
{
	const struct user_conn *c = (const struct user_conn *)lc;
	struct user *t = llp_user_of(c);
	struct sctp_info i;

	if (!c->assoc) {
		*ret = c->last;
		return;
	}
	sctp_assoc_info(c->assoc, &i);
	*ret = (struct llp_info){
		.backend = "user",
		.local = t->sctp.addrs[i.primary.local],
		.remote_udp_port = i.primary.udp_port,
		/* Both ends may begin sessions if the opener's port is one that it listens on. Both
		 * may have opened it then, and cannot know. */
		.even = c->even || i.lower_tag,
		.covered = i.primary.covered,
		.same_endpoint = i.primary.udp_port == llp_user_port(t, i.primary.covered),
		.gso = llp_user_gso(t, &i.primary, i.takes_batches),
		.streams = i.streams,
		.max_message = i.max_message,
		.mtu = i.mtu,
		.srtt_us = i.srtt_us,
		.rto_ms = i.rto_us / 1000,
		.cwnd = i.cwnd,
		.peer_rwnd = i.peer_rwnd,
		.unacked = i.unacked,
		.retransmits = i.retransmits,
		.spurious = i.spurious,
		.wrong_tags = i.wrong_tags,
		.acks = true,
	};
	addr_set_port(&ret->local, i.local_port);
	llp_user_sockaddr(&i.primary.peer, i.peer_port, &ret->remote);
}

bool llp_user_identity(const struct llp_conn *lc, struct llp_identity *ret)
{
	const struct user_conn *c = (const struct user_conn *)lc;
	struct sctp_info i;

	if (!c->assoc)
		return false;
	sctp_assoc_info(c->assoc, &i);
	return llp_user_cover_identity(llp_user_of(c), &i.primary, ret);
}

static enum llp_path_state state_of_path(enum sctp_path_state s)
{
	static const enum llp_path_state state[] = {
		[SCTP_PATH_UNCONFIRMED] = LLP_PATH_UNCONFIRMED,
		[SCTP_PATH_ACTIVE] = LLP_PATH_ACTIVE,
		[SCTP_PATH_FAILING] = LLP_PATH_FAILING,
		[SCTP_PATH_INACTIVE] = LLP_PATH_INACTIVE,
	};

	return state[s];
}

static enum llp_limit limit_of_path(enum sctp_limit l)
{
	static const enum llp_limit limit[] = {
		[SCTP_LIMIT_USER] = LLP_LIMIT_APPLICATION,
		[SCTP_LIMIT_BUFFER] = LLP_LIMIT_BUFFER,
		[SCTP_LIMIT_PEER] = LLP_LIMIT_PEER_WINDOW,
		[SCTP_LIMIT_CONGESTION] = LLP_LIMIT_CONGESTION,
		[SCTP_LIMIT_PACING] = LLP_LIMIT_PACING,
	};

	return limit[l];
}

unsigned llp_user_paths(const struct llp_conn *lc, struct llp_path ret[LLP_MAX_PATHS])
{
	const struct user_conn *c = (const struct user_conn *)lc;
	struct sctp_path_info path[SCTP_MAX_PATHS];
	unsigned n = c->assoc ? sctp_assoc_paths(c->assoc, path) : 0;

	_Static_assert((int)SCTP_MAX_PATHS == (int)LLP_MAX_PATHS, "all paths are reported");
	for (unsigned i = 0; i < n; i++) {
		ret[i] = (struct llp_path){
			.state = state_of_path(path[i].state),
			.primary = path[i].primary,
			.srtt_us = path[i].srtt_us,
			.rto_ms = path[i].rto_us / 1000,
			.cwnd = path[i].cwnd,
			.mtu = path[i].mtu,
			.flight = path[i].flight,
			.rate = path[i].rate,
			.pacing_rate = path[i].pacing_rate,
			.limit = limit_of_path(path[i].limit),
		};
		llp_user_sockaddr(&path[i].flow.peer, c->remote_port, &ret[i].remote);
	}
	return n;
}

int llp_user_set_primary(struct llp_conn *lc, const struct sockaddr_storage *remote)
{
	struct user_conn *c = (struct user_conn *)lc;
	struct sctp_addr a = llp_user_addr(remote);

	if (c->sctp.state != LLP_SCTP_UP || c->sctp.ended)
		return -ENOTCONN;
	switch (sctp_assoc_set_primary(c->assoc, &a)) {
	case SCTP_E_OK:
		return 0;
	case SCTP_E_NO_ADDR:
		return -ENOENT;
	case SCTP_E_INACTIVE:
		return -EHOSTDOWN;
	default:
		return -ENOTCONN;
	}
}
