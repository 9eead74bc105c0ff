/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/peer.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/listener.h"
#include "daemon/log.h"
#include "daemon/path.h"
#include "daemon/qp.h"
#include "daemon/why.h"
#include "util/addr.h"

enum {
	RX_BUDGET = 256,          /* messages of one association in a row */
	TX_BUDGET = 256,          /* segments, likewise */
	MEASURE_MS = 1000,        /* how often the largest message of an association is looked at */
	ACCEPTOR_WAITS_MS = 3000, /* longer than the opener of an association without sessions */
};

/* ---- making and freeing ---- */

static struct peer *peer_new(struct daemon *d, bool opener)
{
	struct peer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	if (idtab_add(&d->peers, p, &p->handle)) {
		free(p);
		return NULL;
	}
	p->daemon = d;
	p->id = ++d->last_peer;
	p->opener = opener;
	list_init(&p->waiting);
	list_init(&p->active);
	return p;
}

static void trace(void *user, uint16_t sid, const char *from, const char *to, const char *event)
{
	const struct peer *p = user;

	log_debug("assoc %u stream %u: %s -> %s (%s)", p->id, sid, from, to, event);
}

static void on_event(void *user, const struct assoc_event *ev);

/* The association is up: its streams are known, sessions are possible. */
static int make_assoc(struct peer *p)
{
	const struct config_session *s = &p->daemon->cfg.session;
	struct llp_info info;
	struct assoc_cfg cfg;
	void *mem;

	llp_info(p->conn, &info);
	cfg = (struct assoc_cfg){
		.streams = info.streams,
		.opener = p->opener,
		.pending_max = (uint16_t)s->pending_max,
		.records_max = s->records,
		.stash_max = (uint32_t)s->stash,
		.answer_ms = s->answer_ms,
		.close_ms = s->close_ms,
		.plain_only = s->enhanced != CONFIG_ON,
	};
	mem = calloc(1, assoc_size(&cfg));
	if (!mem)
		return -ENOMEM;
	p->assoc = assoc_init(mem, &cfg);
	assoc_set_trace(p->assoc, trace, p);
	assoc_tick(p->assoc, p->daemon->now_ms);
	p->remote = info.remote;
	p->dp = (struct datapath){
		.assoc = p->assoc, .conn = p->conn, .on_event = on_event, .user = p};
	dp_update_mulpdu(&p->dp);
	p->state = PEER_UP;
	return 0;
}

struct peer *peer_free(struct peer *p)
{
	if (!p)
		return NULL;
	listener_peer_gone(p->daemon, p);
	idtab_del(&p->daemon->peers, p->handle);
	list_del(&p->active);
	llp_conn_free(p->conn);
	free(p->assoc);
	free(p);
	return NULL;
}

/* ---- sessions that programs of ours begin ---- */

static bool usable(const struct peer *p, const struct ends *ends)
{
	return p->opener && p->state <= PEER_UP && ends_same(&p->ends, ends) &&
	       !(p->assoc && assoc_full(p->assoc));
}

static int open_assoc(struct peer *p, const struct ends *ends)
{
	const struct llp_addrs to = ends_addrs(&ends->peer), from = ends_addrs(&ends->local);
	struct llp *t = ends_transport(p->daemon, &ends->peer);

	p->ends = *ends;
	p->remote = ends->peer.a[0];
	return llp_connect_at(t, &to, ends->port, &from, p, &p->conn);
}

int peer_get(struct daemon *d, const struct ends *ends, struct peer **ret)
{
	uint32_t pos = 0;
	struct peer *p;
	int r;

	while ((p = idtab_next(&d->peers, &pos))) {
		if (usable(p, ends)) {
			*ret = p;
			return 0;
		}
	}
	p = peer_new(d, true);
	if (!p)
		return -ENOMEM;
	r = open_assoc(p, ends);
	if (r) {
		peer_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

void peer_initiate(struct peer *p, struct qp *qp)
{
	qp->peer = p;
	p->idle_since_ms = 0;
	if (p->state == PEER_UP)
		qp_initiate(qp);
	else
		list_add_tail(&p->waiting, &qp->waiting);
}

/* ---- upcalls of the transport ---- */

static void *incoming(void *listener_user, struct llp_conn *c)
{
	struct listener *l = listener_user;
	struct daemon *d = listener_daemon(l);
	struct peer *p = peer_new(d, false);
	char text[ADDR_TEXT_MAX];

	if (!p)
		return NULL;
	p->conn = c;
	p->listener = l;
	if (make_assoc(p)) {
		p->conn = NULL; /* the transport aborts it */
		peer_free(p);
		return NULL;
	}
	log_info("assoc %u: up, from %s", p->id, addr_text(&p->remote, text));
	return p;
}

static void fail_waiting(struct peer *p, int err, const char *why)
{
	struct qp_news news = {.err = err, .reason = why};
	struct list *l;

	while ((l = list_pop(&p->waiting)))
		qp_failed(list_entry(l, struct qp, waiting), MSG_EV_FAILED, &news);
}

static void up(void *user)
{
	struct peer *p = user;
	char text[ADDR_TEXT_MAX];
	struct list *l;

	if (make_assoc(p)) {
		fail_waiting(p, ENOMEM, "out of memory for the association");
		llp_abort(p->conn, "out of memory");
		p->state = PEER_DOWN;
		return;
	}
	log_info("assoc %u: up, to %s", p->id, addr_text(&p->remote, text));
	while ((l = list_pop(&p->waiting)))
		qp_initiate(list_entry(l, struct qp, waiting));
}

static void down(void *user, int err, const char *why)
{
	struct peer *p = user;
	char text[ADDR_TEXT_MAX];

	if (p->assoc || err == 0)
		log_info("assoc %u: down, %s: %s", p->id, addr_text(&p->remote, text), why);
	p->state = PEER_DOWN;
	p->lost_err = err;
	fail_waiting(p, err ? err : ECONNRESET, why);
	if (p->assoc) {
		assoc_lost(p->assoc);
		dp_events(&p->dp);
	}
}

static bool readable(void *user)
{
	struct peer *p = user;
	bool more = dp_rx(&p->dp, RX_BUDGET);

	peer_activate(p);
	return more;
}

static void writable(void *user)
{
	peer_activate(user);
}

static void acked(void *user)
{
	struct peer *p = user;

	if (p->assoc) {
		assoc_tx_acked(p->assoc);
		peer_activate(p);
	}
}

static void path(void *user, const struct llp_path *path, const char *what)
{
	path_changed(user, path, what);
}

const struct llp_events peer_events = {
	.incoming = incoming,
	.up = up,
	.down = down,
	.readable = readable,
	.writable = writable,
	.acked = acked,
	.path = path,
};

/* ---- events of the protocol ---- */

static void session_closed(struct peer *p, const struct assoc_event *ev)
{
	struct qp *qp = rdmap_user(ev->ep);
	char why[MSG_REASON_MAX];
	struct qp_news news = {
		.err = why_closed(ev, p->lost_err, why, sizeof(why)),
		.reason = why,
		.term = ev->at.term,
		.blamed = ev->term,
	};

	if (ev->why == ASSOC_WHY_VIOLATION || ev->why == ASSOC_WHY_ERROR)
		log_info("assoc %u stream %u: session ended: %s", p->id, ev->sid, why);
	if (qp->state != QP_CONNECTING) {
		qp_closed(qp, &news);
		return;
	}
	if (!news.err)
		news.err = ECONNRESET;
	qp_failed(qp, MSG_EV_FAILED, &news);
}

static void stream_error(struct peer *p, const struct assoc_event *ev)
{
	char why[MSG_REASON_MAX];
	struct qp_news news = {
		.err = why_error(ev, why, sizeof(why)),
		.reason = why,
		.term = ev->at.term,
		.blamed = ev->term,
	};

	log_info("assoc %u stream %u: %s", p->id, ev->sid, why);
	qp_error(rdmap_user(ev->ep), &news);
}

/* Events that tell a queue pair what its peer said. */
static void answered(struct qp *qp, const struct assoc_event *ev)
{
	struct qp_news news = {
		.enh = ev->enhanced ? &ev->enh : NULL,
		.private_data = ev->priv,
		.private_len = ev->priv_len,
	};

	if (ev->type == ASSOC_EV_ACCEPTED) {
		qp_established(qp, &news);
		return;
	}
	news.err = ECONNREFUSED;
	news.reason = "the peer's program rejected the session";
	qp_failed(qp, MSG_EV_REJECTED, &news);
}

static void on_event(void *user, const struct assoc_event *ev)
{
	struct peer *p = user;

	switch (ev->type) {
	case ASSOC_EV_REQUEST:
		listener_request(p->listener, p, ev);
		break;
	case ASSOC_EV_WITHDRAWN:
		listener_withdrawn(p, ev->sid);
		break;
	case ASSOC_EV_ACCEPTED:
	case ASSOC_EV_REJECTED:
		answered(rdmap_user(ev->ep), ev);
		break;
	case ASSOC_EV_REFUSED:
		qp_refused(rdmap_user(ev->ep));
		break;
	case ASSOC_EV_CLOSED:
		session_closed(p, ev);
		break;
	case ASSOC_EV_ERROR:
		stream_error(p, ev);
		break;
	case ASSOC_EV_HALF_CLOSED:
		qp_half_closed(rdmap_user(ev->ep));
		break;
	}
}

/* ---- turns ---- */

void peer_activate(struct peer *p)
{
	if (p->state == PEER_UP && !list_linked(&p->active))
		list_add_tail(&p->daemon->active, &p->active);
}

static void give_up(struct peer *p)
{
	static const char why[] = "the transport refuses a segment that it announced to take";

	llp_abort(p->conn, why);
	down(p, EIO, why);
}

bool peer_send_all(struct daemon *d)
{
	struct list turn, *l;
	bool any = false;

	/* Those that become active meanwhile have their turn next time. */
	list_init(&turn);
	list_splice_tail(&turn, &d->active);
	while ((l = list_pop(&turn))) {
		struct peer *p = list_entry(l, struct peer, active);
		uint64_t before = p->dp.sent;

		if (dp_tx(&p->dp, TX_BUDGET))
			peer_activate(p);
		dp_events(&p->dp);
		if (p->dp.broken)
			give_up(p);
		any |= p->dp.sent != before;
	}
	return any;
}

/* Whoever wanted the association has given up, or it is gone. */
static bool unwanted(const struct peer *p)
{
	return p->state == PEER_DOWN || (p->state == PEER_CONNECTING && list_empty(&p->waiting));
}

/* Sessions begin at the opener. Were the other side to shut down at the same time, it would cut the
 * next one off; so it waits longer. */
static uint32_t idle_ms(const struct peer *p)
{
	if (p->daemon->stopping)
		return 0;
	return p->daemon->cfg.session.idle_ms + (p->opener ? 0 : ACCEPTOR_WAITS_MS);
}

/* An association without sessions is kept a while for the next one, then shut down. */
static void retire(struct peer *p)
{
	uint64_t now = p->daemon->now_ms;

	if (p->state != PEER_UP || !assoc_idle(p->assoc)) {
		p->idle_since_ms = 0;
	} else if (p->idle_since_ms == 0) {
		p->idle_since_ms = now ? now : 1;
	} else if (now - p->idle_since_ms >= idle_ms(p)) {
		p->state = PEER_ENDING;
		llp_shutdown(p->conn);
	}
}

/* A segment that is too long for the path tells that it became narrower; nothing tells that it
 * became wider, as it does when the primary path answers again. */
static void follow_path(struct peer *p)
{
	uint64_t now = p->daemon->now_ms;

	if (now - p->measured_ms < MEASURE_MS)
		return;
	p->measured_ms = now;
	dp_update_mulpdu(&p->dp);
}

void peer_tick_all(struct daemon *d)
{
	uint32_t pos = 0;
	struct peer *p;

	while ((p = idtab_next(&d->peers, &pos))) {
		if (unwanted(p)) {
			peer_free(p);
			continue;
		}
		if (p->state == PEER_UP) {
			assoc_tick(p->assoc, d->now_ms);
			dp_events(&p->dp);
			follow_path(p);
			peer_activate(p);
		}
		retire(p);
	}
}

uint64_t peer_expiry(const struct daemon *d)
{
	uint64_t next = UINT64_MAX;
	uint32_t pos = 0;
	const struct peer *p;

	while ((p = idtab_next(&d->peers, &pos))) {
		uint64_t at = UINT64_MAX;

		if (unwanted(p))
			return d->now_ms;
		if (p->idle_since_ms)
			at = p->idle_since_ms + idle_ms(p);
		if (p->state == PEER_UP && assoc_expiry(p->assoc) < at)
			at = assoc_expiry(p->assoc);
		if (at < next)
			next = at;
	}
	return next;
}

const char *peer_state_str(enum peer_state s)
{
	static const char *const names[] = {"connecting", "up", "ending", "down"};

	return names[s];
}
