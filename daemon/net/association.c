/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/association.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/objects/listener.h"
#include "daemon/base/log.h"
#include "daemon/net/path.h"
#include "daemon/objects/qp.h"
#include "daemon/objects/reason.h"
#include "util/addr.h"

enum {
	RX_BUDGET = 256,          /* messages of one association in a row */
	TX_BUDGET = 256,          /* segments, likewise */
	MEASURE_MS = 1000,        /* how often the largest message of an association is looked at */
	ACCEPTOR_WAITS_MS = 3000, /* longer than the opener of an association without sessions */
};

/* ---- making and freeing ---- */

static struct association *association_new(struct daemon *d, bool opener)
{
	struct association *assoc = calloc(1, sizeof(*assoc));

	if (!assoc)
		return NULL;
	if (idtab_add(&d->assocs, assoc, &assoc->handle)) {
		free(assoc);
		return NULL;
	}
	assoc->daemon = d;
	assoc->id = ++d->last_assoc;
	assoc->opener = opener;
	list_init(&assoc->waiting);
	list_init(&assoc->active);
	return assoc;
}

static void trace(void *user, uint16_t sid, const char *from, const char *to, const char *event)
{
	const struct association *assoc = user;

	log_debug("assoc %u stream %u: %s -> %s (%s)", assoc->id, sid, from, to, event);
}

static void on_event(void *user, const struct assoc_event *ev);

/* The association is up: its streams are known, sessions are possible. */
static int make_assoc(struct association *assoc)
{
	const struct config_session *s = &assoc->daemon->cfg.session;
	struct llp_info info;
	struct assoc_cfg cfg;
	void *mem;

	llp_info(assoc->conn, &info);
	cfg = (struct assoc_cfg){
		.streams = info.streams,
		.opener = assoc->opener,
		.pending_max = (uint16_t)s->pending_max,
		.records_max = s->records,
		.early_max = (uint32_t)s->early_bytes,
		.answer_ms = s->answer_ms,
		.close_ms = s->close_ms,
		.plain_only = s->enhanced != CONFIG_ON,
	};
	mem = calloc(1, assoc_size(&cfg));
	if (!mem)
		return -ENOMEM;
	assoc->ddp = assoc_init(mem, &cfg);
	assoc_set_trace(assoc->ddp, trace, assoc);
	assoc_tick(assoc->ddp, assoc->daemon->now_ms);
	assoc->remote = info.remote;
	assoc->dp = (struct datapath){
		.ddp = assoc->ddp, .conn = assoc->conn, .on_event = on_event, .user = assoc};
	dp_update_mulpdu(&assoc->dp);
	assoc->state = ASSOCIATION_UP;
	return 0;
}

struct association *association_free(struct association *assoc)
{
	if (!assoc)
		return NULL;
	listener_assoc_gone(assoc->daemon, assoc);
	idtab_del(&assoc->daemon->assocs, assoc->handle);
	list_del(&assoc->active);
	llp_conn_free(assoc->conn);
	free(assoc->ddp);
	free(assoc);
	return NULL;
}

/* ---- sessions that programs of ours begin ---- */

static bool usable(const struct association *assoc, const struct endpoint_addrs *addrs)
{
	return assoc->opener && assoc->state <= ASSOCIATION_UP &&
	       endpoint_addrs_same(&assoc->addrs, addrs) && !(assoc->ddp && assoc_full(assoc->ddp));
}

static int open_assoc(struct association *assoc, const struct endpoint_addrs *addrs)
{
	const struct llp_addrs to = addr_set_llp(&addrs->peer), from = addr_set_llp(&addrs->local);
	struct llp *t = endpoint_addrs_transport(assoc->daemon, &addrs->peer);

	assoc->addrs = *addrs;
	assoc->remote = addrs->peer.a[0];
	return llp_connect_at(t, &to, addrs->port, &from, assoc, &assoc->conn);
}

int association_get(struct daemon *d, const struct endpoint_addrs *addrs, struct association **ret)
{
	uint32_t pos = 0;
	struct association *assoc;
	int r;

	while ((assoc = idtab_next(&d->assocs, &pos))) {
		if (usable(assoc, addrs)) {
			*ret = assoc;
			return 0;
		}
	}
	assoc = association_new(d, true);
	if (!assoc)
		return -ENOMEM;
	r = open_assoc(assoc, addrs);
	if (r) {
		association_free(assoc);
		return r;
	}
	*ret = assoc;
	return 0;
}

void association_initiate(struct association *assoc, struct qp *qp)
{
	qp->assoc = assoc;
	assoc->idle_since_ms = 0;
	if (assoc->state == ASSOCIATION_UP)
		qp_initiate(qp);
	else
		list_add_tail(&assoc->waiting, &qp->waiting);
}

/* ---- upcalls of the transport ---- */

static void *incoming(void *listener_user, struct llp_conn *c)
{
	struct listener *l = listener_user;
	struct daemon *d = listener_daemon(l);
	struct association *assoc = association_new(d, false);
	char text[ADDR_TEXT_MAX];

	if (!assoc)
		return NULL;
	assoc->conn = c;
	assoc->listener = l;
	if (make_assoc(assoc)) {
		assoc->conn = NULL; /* the transport aborts it */
		association_free(assoc);
		return NULL;
	}
	log_info("assoc %u: up, from %s", assoc->id, addr_text(&assoc->remote, text));
	return assoc;
}

static void fail_waiting(struct association *assoc, int err, const char *reason)
{
	struct session_event event = {.err = err, .reason = reason};
	struct list *l;

	while ((l = list_pop(&assoc->waiting)))
		qp_failed(list_entry(l, struct qp, waiting), MSG_EV_FAILED, &event);
}

static void up(void *user)
{
	struct association *assoc = user;
	char text[ADDR_TEXT_MAX];
	struct list *l;

	if (make_assoc(assoc)) {
		fail_waiting(assoc, ENOMEM, "out of memory for the association");
		llp_abort(assoc->conn, "out of memory");
		assoc->state = ASSOCIATION_DOWN;
		return;
	}
	log_info("assoc %u: up, to %s", assoc->id, addr_text(&assoc->remote, text));
	while ((l = list_pop(&assoc->waiting)))
		qp_initiate(list_entry(l, struct qp, waiting));
}

static void down(void *user, int err, const char *reason)
{
	struct association *assoc = user;
	char text[ADDR_TEXT_MAX];

	if (assoc->ddp || err == 0)
		log_info("assoc %u: down, %s: %s", assoc->id, addr_text(&assoc->remote, text),
			 reason);
	assoc->state = ASSOCIATION_DOWN;
	assoc->lost_err = err;
	fail_waiting(assoc, err ? err : ECONNRESET, reason);
	if (assoc->ddp) {
		assoc_lost(assoc->ddp);
		dp_events(&assoc->dp);
	}
}

static bool readable(void *user)
{
	struct association *assoc = user;
	bool more = dp_rx(&assoc->dp, RX_BUDGET);

	association_activate(assoc);
	return more;
}

static void writable(void *user)
{
	association_activate(user);
}

static void acked(void *user)
{
	struct association *assoc = user;

	if (assoc->ddp) {
		assoc_tx_acked(assoc->ddp);
		association_activate(assoc);
	}
}

static void path(void *user, const struct llp_path *path, const char *what)
{
	path_changed(user, path, what);
}

const struct llp_events association_llp_events = {
	.incoming = incoming,
	.up = up,
	.down = down,
	.readable = readable,
	.writable = writable,
	.acked = acked,
	.path = path,
};

/* ---- events of the protocol ---- */

static void session_closed(struct association *assoc, const struct assoc_event *ev)
{
	struct qp *qp = rdmap_user(ev->ep);
	char reason[MSG_REASON_MAX];
	struct session_event event = {
		.err = reason_closed(ev, assoc->lost_err, reason, sizeof(reason)),
		.reason = reason,
		.term = ev->at.term,
		.blamed = ev->term,
	};

	if (ev->reason == ASSOC_REASON_VIOLATION || ev->reason == ASSOC_REASON_ERROR)
		log_info("assoc %u stream %u: session ended: %s", assoc->id, ev->sid, reason);
	if (qp->state != QP_CONNECTING) {
		qp_closed(qp, &event);
		return;
	}
	if (!event.err)
		event.err = ECONNRESET;
	qp_failed(qp, MSG_EV_FAILED, &event);
}

static void stream_error(struct association *assoc, const struct assoc_event *ev)
{
	char reason[MSG_REASON_MAX];
	struct session_event event = {
		.err = reason_error(ev, reason, sizeof(reason)),
		.reason = reason,
		.term = ev->at.term,
		.blamed = ev->term,
	};

	log_info("assoc %u stream %u: %s", assoc->id, ev->sid, reason);
	qp_error(rdmap_user(ev->ep), &event);
}

/* Events that tell a queue pair what its peer said. */
static void answered(struct qp *qp, const struct assoc_event *ev)
{
	struct session_event event = {
		.enh = ev->enhanced ? &ev->enh : NULL,
		.private_data = ev->priv,
		.private_len = ev->priv_len,
	};

	if (ev->type == ASSOC_EV_ACCEPTED) {
		qp_established(qp, &event);
		return;
	}
	event.err = ECONNREFUSED;
	event.reason = "the peer's program rejected the session";
	qp_failed(qp, MSG_EV_REJECTED, &event);
}

static void on_event(void *user, const struct assoc_event *ev)
{
	struct association *assoc = user;

	switch (ev->type) {
	case ASSOC_EV_REQUEST:
		listener_request(assoc->listener, assoc, ev);
		break;
	case ASSOC_EV_WITHDRAWN:
		listener_withdrawn(assoc, ev->sid);
		break;
	case ASSOC_EV_ACCEPTED:
	case ASSOC_EV_REJECTED:
		answered(rdmap_user(ev->ep), ev);
		break;
	case ASSOC_EV_REFUSED:
		qp_refused(rdmap_user(ev->ep));
		break;
	case ASSOC_EV_CLOSED:
		session_closed(assoc, ev);
		break;
	case ASSOC_EV_ERROR:
		stream_error(assoc, ev);
		break;
	case ASSOC_EV_HALF_CLOSED:
		qp_half_closed(rdmap_user(ev->ep));
		break;
	}
}

/* ---- turns ---- */

void association_activate(struct association *assoc)
{
	if (assoc->state == ASSOCIATION_UP && !list_linked(&assoc->active))
		list_add_tail(&assoc->daemon->active, &assoc->active);
}

static void give_up(struct association *assoc)
{
	static const char reason[] = "the transport refuses a segment that it announced to take";

	llp_abort(assoc->conn, reason);
	down(assoc, EIO, reason);
}

bool association_send_all(struct daemon *d)
{
	struct list turn, *l;
	bool any = false;

	/* Those that become active meanwhile have their turn next time. */
	list_init(&turn);
	list_splice_tail(&turn, &d->active);
	while ((l = list_pop(&turn))) {
		struct association *assoc = list_entry(l, struct association, active);
		uint64_t before = assoc->dp.sent;

		if (dp_tx(&assoc->dp, TX_BUDGET))
			association_activate(assoc);
		dp_events(&assoc->dp);
		if (assoc->dp.broken)
			give_up(assoc);
		any |= assoc->dp.sent != before;
	}
	return any;
}

/* Whoever wanted the association has given up, or it is gone. */
static bool unwanted(const struct association *assoc)
{
	return assoc->state == ASSOCIATION_DOWN ||
	       (assoc->state == ASSOCIATION_CONNECTING && list_empty(&assoc->waiting));
}

/* Sessions begin at the opener. Were the other side to shut down at the same time, it would cut the
 * next one off; so it waits longer. */
static uint32_t idle_ms(const struct association *assoc)
{
	if (assoc->daemon->stopping)
		return 0;
	return assoc->daemon->cfg.session.idle_ms + (assoc->opener ? 0 : ACCEPTOR_WAITS_MS);
}

/* An association without sessions is kept a while for the next one, then shut down. */
static void retire(struct association *assoc)
{
	uint64_t now = assoc->daemon->now_ms;

	if (assoc->state != ASSOCIATION_UP || !assoc_idle(assoc->ddp)) {
		assoc->idle_since_ms = 0;
	} else if (assoc->idle_since_ms == 0) {
		assoc->idle_since_ms = now ? now : 1;
	} else if (now - assoc->idle_since_ms >= idle_ms(assoc)) {
		assoc->state = ASSOCIATION_ENDING;
		llp_shutdown(assoc->conn);
	}
}

/* A segment that is too long for the path tells that it became narrower; nothing tells that it
 * became wider, as it does when the primary path answers again. */
static void follow_path(struct association *assoc)
{
	uint64_t now = assoc->daemon->now_ms;

	if (now - assoc->measured_ms < MEASURE_MS)
		return;
	assoc->measured_ms = now;
	dp_update_mulpdu(&assoc->dp);
}

void association_tick_all(struct daemon *d)
{
	uint32_t pos = 0;
	struct association *assoc;

	while ((assoc = idtab_next(&d->assocs, &pos))) {
		if (unwanted(assoc)) {
			association_free(assoc);
			continue;
		}
		if (assoc->state == ASSOCIATION_UP) {
			assoc_tick(assoc->ddp, d->now_ms);
			dp_events(&assoc->dp);
			follow_path(assoc);
			association_activate(assoc);
		}
		retire(assoc);
	}
}

uint64_t association_expiry(const struct daemon *d)
{
	uint64_t next = UINT64_MAX;
	uint32_t pos = 0;
	const struct association *assoc;

	while ((assoc = idtab_next(&d->assocs, &pos))) {
		uint64_t at = UINT64_MAX;

		if (unwanted(assoc))
			return d->now_ms;
		if (assoc->idle_since_ms)
			at = assoc->idle_since_ms + idle_ms(assoc);
		if (assoc->state == ASSOCIATION_UP && assoc_expiry(assoc->ddp) < at)
			at = assoc_expiry(assoc->ddp);
		if (at < next)
			next = at;
	}
	return next;
}

const char *association_state_str(enum association_state s)
{
	static const char *const names[] = {"connecting", "up", "ending", "down"};

	return names[s];
}
