/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/association.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/log.h"
#include "daemon/base/state.h"
#include "daemon/net/association_index.h"
#include "daemon/net/association_memory.h"
#include "daemon/net/association_network.h"
#include "daemon/net/peer_access.h"
#include "util/addr.h"

enum {
	RX_BUDGET = 256,   /* messages of one association in a row */
	ENDS = 32,         /* sessions of a lost association that end in a turn */
	MEASURE_MS = 1000, /* how often the largest message of an association is read */
	/* An opener shuts its idle associations down. The acceptor does so only for an opener that
	 * does not. It cannot know of an Initiate that is still being retransmitted, so it waits as
	 * long as an opener may wait for the answer: the maximum of session.connect_ms. */
	ACCEPTOR_WAITS_MS = 600000,
};

/* ---- making and freeing ---- */

static void expire(struct timer *t);

static struct association *association_new(struct worker *w, bool opener)
{
	struct association *assoc = calloc(1, sizeof(*assoc));

	if (!assoc)
		return NULL;
	if (idtab_add(&w->assocs, assoc, &assoc->handle)) {
		free(assoc);
		return NULL;
	}
	assoc->worker = w;
	assoc->id = ++w->daemon->last_assoc;
	association_index_id(assoc);
	assoc->opener = opener;
	list_init(&assoc->waiting);
	asking_init(&assoc->asking);
	list_init(&assoc->requests);
	list_init(&assoc->unclaimed);
	list_init(&assoc->active);
	list_init(&assoc->served);
	list_init(&assoc->by_peer);
	timer_init(&assoc->timer, expire);
	return assoc;
}

static void trace(void *user, uint16_t sid, const char *from, const char *to, const char *event)
{
	const struct association *assoc = user;

	log_debug("assoc %u stream %u: %s -> %s (%s)", assoc->id, sid, from, to, event);
}

static void pass_event(void *user, const struct assoc_event *ev)
{
	struct association *assoc = user;

	assoc->worker->assoc_events->event(assoc, ev);
}

static void on_placed(void *user, const struct span *dst, unsigned n)
{
	struct association *assoc = user;

	assoc->worker->assoc_events->placed(assoc, dst, n);
}

/* The association is up: its streams are known, sessions are possible. */
static int make_assoc(struct association *assoc)
{
	struct llp_info info;
	int r;

	llp_info(assoc->conn, &info);
	assoc->remote = info.remote;
	association_network_join(assoc);
	r = association_memory_make(assoc, &info);
	if (r)
		return r;
	assoc_set_trace(assoc->ddp, trace, assoc);
	assoc_tick(assoc->ddp, assoc->worker->now_ms);
	assoc->dp = (struct datapath){
		.ddp = assoc->ddp,
		.conn = assoc->conn,
		.on_event = pass_event,
		.on_placed = assoc->worker->assoc_events->placed ? on_placed : NULL,
		.user = assoc,
	};
	dp_update_mulpdu(&assoc->dp);
	assoc->state = ASSOCIATION_UP;
	association_activate(assoc);
	return 0;
}

/* Objects that end with it may not have entered it into a list again. */
static void assert_unused(const struct association *assoc)
{
	list_assert_out(&assoc->active);
	list_assert_out(&assoc->served);
	list_assert_out(&assoc->by_peer);
	list_assert_out(&assoc->same_id);
	list_assert_out(&assoc->waiting);
	list_assert_out(&assoc->asking.refused);
	list_assert_out(&assoc->requests);
	list_assert_out(&assoc->unclaimed);
	timer_assert_out(&assoc->timer);
}

struct association *association_free(struct association *assoc)
{
	if (!assoc)
		return NULL;
	assoc->worker->assoc_events->gone(assoc);
	timer_cancel(&assoc->worker->timers, &assoc->timer);
	idtab_del(&assoc->worker->assocs, assoc->handle);
	list_del(&assoc->active);
	list_del(&assoc->served);
	list_del(&assoc->by_peer);
	list_del(&assoc->same_id);
	llp_conn_free(assoc->conn);
	association_memory_free(assoc);
	association_network_leave(assoc);
	acct_release(&assoc->paid.socket);
	acct_release(&assoc->paid.opened);
	free(assoc->addrs);
	free(assoc->lost);
	worker_freed(assoc->worker);
	assert_unused(assoc);
	free(assoc);
	return NULL;
}

/* ---- for sessions of programs of this daemon ---- */

static int open_assoc(struct association *assoc, const struct endpoint_addrs *addrs)
{
	const struct llp_addrs to = addr_set_llp(&addrs->peer), from = addr_set_llp(&addrs->local);
	struct llp *t = endpoint_addrs_transport(assoc->worker, &addrs->peer);
	int r;

	if (!association_index_addrs(assoc, addrs))
		return -ENOMEM;
	assoc->remote = addrs->peer.a[0];
	r = llp_connect_at(t, &to, addrs->port, &from, addrs->own_port, assoc, &assoc->conn);
	if (r == -EADDRINUSE && addrs->own_port)
		r = llp_connect_at(t, &to, addrs->port, &from, 0, assoc, &assoc->conn);
	return r;
}

int association_get(struct worker *w, const struct endpoint_addrs *addrs,
		    struct association_charges *charges, struct association **ret)
{
	struct association *assoc;
	int r;

	*ret = association_index_find(w, addrs);
	if (*ret)
		return 0;
	assoc = association_new(w, true);
	if (!assoc) {
		acct_release(&charges->socket);
		acct_release(&charges->opened);
		return -ENOMEM;
	}
	assoc->paid = *charges; /* they are moved */
	*charges = (struct association_charges){0};
	r = association_memory_reserve(assoc) ? open_assoc(assoc, addrs) : -ENOMEM;
	if (r) {
		association_free(assoc);
		return r;
	}
	*ret = assoc;
	return 0;
}

static void begin_waiting(struct association *assoc)
{
	while (asking_has_room(&assoc->asking) && !list_empty(&assoc->waiting))
		assoc->worker->assoc_events->initiate(assoc, list_pop(&assoc->waiting));
}

void association_wait(struct association *assoc, struct list *waiter)
{
	assoc->idle_since_ms = 0;
	list_add_tail(&assoc->waiting, waiter);
	if (assoc->state == ASSOCIATION_UP)
		begin_waiting(assoc);
}

void association_asks(struct association *assoc)
{
	asking_begin(&assoc->asking);
}

void association_answered(struct association *assoc)
{
	asking_answered(&assoc->asking, &assoc->waiting);
}

void association_asked(struct association *assoc)
{
	asking_end(&assoc->asking, &assoc->waiting);
	if (!list_empty(&assoc->waiting))
		association_activate(assoc);
}

bool association_refused(struct association *assoc, struct list *waiter)
{
	struct list all, *l;

	if (asking_refused(&assoc->asking, waiter))
		return true;
	list_init(&all);
	list_splice_tail(&all, &assoc->asking.refused);
	while ((l = list_pop(&all)))
		assoc->worker->assoc_events->refused(assoc, l);
	return false;
}

struct assoc *association_ddp(struct association *assoc)
{
	if (assoc->ddp)
		assoc_set_time(assoc->ddp, assoc->worker->now_ms);
	return assoc->ddp;
}

void association_report_acks(struct association *assoc)
{
	llp_report_acks(assoc->conn);
}

/* ---- upcalls of the transport ---- */

static void note_association(const struct association *assoc, enum ctl_event_kind kind, int err,
			     const char *reason)
{
	struct worker *w = assoc->worker;
	struct ctl_event ev = {.assoc = assoc->id, .remote = assoc->remote, .err = err};

	snprintf(ev.reason, sizeof(ev.reason), "%s", reason);
	journal_add(&w->journal, w->now_ms, kind, &ev);
}

/* The rules do not allow the peer. It gets the reason before memory is allocated. */
static bool is_refused(struct worker *w, struct llp_conn *c)
{
	char reason[PEER_ACCESS_REASON];
	struct ctl_event ev = {.err = EACCES};
	struct llp_info info;

	if (!peer_access_refuses(w, c, PEER_ACCEPT, reason))
		return false;
	llp_info(c, &info);
	ev.remote = info.remote;
	snprintf(ev.reason, sizeof(ev.reason), "%s", reason);
	journal_add(&w->journal, w->now_ms, CTL_EVENT_ASSOC_REFUSE, &ev);
	llp_abort(c, reason);
	return true;
}

static void *conn_incoming(void *user, struct llp_conn *c)
{
	struct association_listener *l = user;
	struct association *assoc;

	if (is_refused(l->worker, c))
		return NULL;
	/* It would be shut down at once, and the opener would begin again. */
	if (l->worker->daemon->stopping)
		return NULL;
	assoc = association_new(l->worker, false);
	if (!assoc)
		return NULL;
	assoc->conn = c;
	assoc->listener = l;
	if (make_assoc(assoc)) {
		assoc->conn = NULL; /* the transport aborts it */
		association_free(assoc);
		return NULL;
	}
	if (!association_network_accept(assoc)) {
		assoc->conn = NULL;
		association_free(assoc);
		return NULL;
	}
	association_index_incoming(assoc);
	note_association(assoc, CTL_EVENT_ASSOC_UP, 0, "opened by the peer");
	return assoc;
}

static void fail_waiting(struct association *assoc, int err, const char *reason)
{
	struct list *l;

	list_splice_tail(&assoc->waiting, &assoc->asking.refused);
	while ((l = list_pop(&assoc->waiting)))
		assoc->worker->assoc_events->failed(assoc, l, err, reason);
}

/* Frees it as soon as none of its upcalls is running. */
static void free_soon(struct association *assoc)
{
	assoc->state = ASSOCIATION_DOWN;
	timer_set(&assoc->worker->timers, &assoc->timer, assoc->worker->now_ms);
}

/* Its sessions hear why, and so does the peer. */
static void end_unborn(struct association *assoc, int err, const char *reason)
{
	fail_waiting(assoc, err, reason);
	llp_abort(assoc->conn, reason);
	free_soon(assoc);
}

static void conn_up(void *user)
{
	struct association *assoc = user;
	char reason[PEER_ACCESS_REASON];

	/* The rules may be others than when it began, and the peer may have listed addresses. */
	if (peer_access_refuses(assoc->worker, assoc->conn, PEER_CONNECT, reason)) {
		end_unborn(assoc, EACCES, reason);
		return;
	}
	if (make_assoc(assoc)) {
		end_unborn(assoc, ENOMEM, "out of memory for the association");
		return;
	}
	note_association(assoc, CTL_EVENT_ASSOC_UP, 0, "opened by this side");
	begin_waiting(assoc);
}

/* The sessions of a lost association end, some in each turn. True if there are more. */
static bool end_some(struct association *assoc)
{
	return assoc->ddp && dp_some_events(&assoc->dp, ENDS);
}

static void conn_down(void *user, int err, const char *reason)
{
	struct association *assoc = user;

	if (assoc->ddp || err == 0)
		note_association(assoc, CTL_EVENT_ASSOC_DOWN, err, reason);
	free_soon(assoc);
	assoc->lost_err = err;
	if (!assoc->lost)
		assoc->lost = strdup(reason);
	fail_waiting(assoc, err ? err : ECONNRESET, reason);
	if (association_ddp(assoc)) {
		assoc_lost(assoc->ddp);
		end_some(assoc);
	}
}

static bool conn_readable(void *user)
{
	struct association *assoc = user;
	bool more;

	association_ddp(assoc);
	more = dp_rx(&assoc->dp, RX_BUDGET);
	association_activate(assoc);
	return more;
}

static void conn_writable(void *user)
{
	association_activate(user);
}

static void conn_acked(void *user)
{
	struct association *assoc = user;

	if (association_ddp(assoc)) {
		assoc_tx_acked(assoc->ddp);
		association_activate(assoc);
	}
}

static void conn_progress(void *user, uint32_t unacked)
{
	struct association *assoc = user;

	if (association_ddp(assoc)) {
		assoc_tx_progress(assoc->ddp, unacked);
		association_activate(assoc);
	}
}

static void conn_path_changed(void *user, const struct llp_path *path, const char *change)
{
	struct association *assoc = user;

	assoc->worker->assoc_events->path(assoc, path, change);
}

static void conn_resized(void *user)
{
	struct association *assoc = user;
	uint32_t before = assoc->dp.mulpdu;
	char text[128];

	if (!assoc->ddp)
		return;
	dp_update_mulpdu(&assoc->dp);
	if (assoc->dp.mulpdu >= before)
		return;
	snprintf(text, sizeof(text),
		 "path MTU decreased: largest DDP segment now %u bytes (was %u)", assoc->dp.mulpdu,
		 before);
	note_association(assoc, CTL_EVENT_PATH, 0, text);
}

const struct llp_events association_llp_events = {
	.incoming = conn_incoming,
	.up = conn_up,
	.down = conn_down,
	.readable = conn_readable,
	.writable = conn_writable,
	.acked = conn_acked,
	.progress = conn_progress,
	.path = conn_path_changed,
	.resized = conn_resized,
};

/* ---- deadlines ---- */

/* No session or request needs it any more, or it is gone. */
static bool unwanted(const struct association *assoc)
{
	return assoc->state == ASSOCIATION_DOWN ||
	       (assoc->state == ASSOCIATION_CONNECTING && list_empty(&assoc->waiting));
}

static uint32_t idle_ms(const struct association *assoc)
{
	const struct daemon *d = assoc->worker->daemon;

	if (d->stopping)
		return 0;
	return d->cfg.session.idle_ms + (assoc->opener ? 0 : ACCEPTOR_WAITS_MS);
}

static void note_idle(struct association *assoc)
{
	uint64_t now = assoc->worker->now_ms;

	if (assoc->state != ASSOCIATION_UP || !assoc_idle(assoc->ddp) ||
	    !list_empty(&assoc->waiting))
		assoc->idle_since_ms = 0;
	else if (assoc->idle_since_ms == 0)
		assoc->idle_since_ms = now ? now : 1;
}

static uint64_t next_deadline(const struct association *assoc)
{
	uint64_t at = UINT64_MAX;

	if (unwanted(assoc))
		return assoc->worker->now_ms;
	if (assoc->idle_since_ms)
		at = assoc->idle_since_ms + idle_ms(assoc);
	if (assoc->state == ASSOCIATION_UP && assoc_expiry(assoc->ddp) < at)
		at = assoc_expiry(assoc->ddp);
	return at;
}

static void schedule(struct association *assoc)
{
	association_network_sessions(assoc);
	note_idle(assoc);
	timer_set(&assoc->worker->timers, &assoc->timer, next_deadline(assoc));
}

static void expire(struct timer *t)
{
	struct association *assoc = list_entry(t, struct association, timer);
	uint64_t now = assoc->worker->now_ms;

	if (assoc->state == ASSOCIATION_DOWN && end_some(assoc)) {
		timer_set(&assoc->worker->timers, &assoc->timer, now + 1);
		return;
	}
	if (unwanted(assoc)) {
		association_free(assoc);
		return;
	}
	if (assoc->state == ASSOCIATION_UP) {
		assoc_tick(assoc->ddp, now);
		dp_events(&assoc->dp);
		association_activate(assoc);
	}
	note_idle(assoc);
	if (assoc->idle_since_ms && now - assoc->idle_since_ms >= idle_ms(assoc)) {
		assoc->state = ASSOCIATION_ENDING;
		assoc->idle_since_ms = 0;
		llp_shutdown(assoc->conn);
	}
	schedule(assoc);
}

void association_stop_all(struct worker *w)
{
	uint32_t pos = 0;
	struct association *assoc;

	while ((assoc = idtab_next(&w->assocs, &pos)))
		schedule(assoc);
}

/* ---- turns ---- */

void association_activate(struct association *assoc)
{
	if (assoc->state != ASSOCIATION_UP)
		schedule(assoc);
	else if (!list_linked(&assoc->active))
		list_add_tail(&assoc->worker->active, &assoc->active);
}

void association_abort(struct association *assoc, int err, const char *reason)
{
	llp_abort(assoc->conn, reason);
	conn_down(assoc, err, reason);
}

void association_disallow(struct association *assoc, bool theirs, const char *reason)
{
	association_ddp(assoc);
	if (!theirs)
		fail_waiting(assoc, EACCES, reason);
	assoc->worker->assoc_events->disallowed(assoc, theirs, reason);
	association_activate(assoc);
}

/* A segment that is too long for the path shows that the path MTU decreased. With the transport
 * `kernel` no event reports that it became wider, for example when the primary path recovers. */
static void follow_path(struct association *assoc)
{
	uint64_t now = assoc->worker->now_ms;

	if (now - assoc->measured_ms < MEASURE_MS)
		return;
	assoc->measured_ms = now;
	dp_update_mulpdu(&assoc->dp);
}

bool association_begin_turn(struct association *assoc)
{
	if (assoc->state != ASSOCIATION_UP)
		return false;
	assoc_tick(assoc->ddp, assoc->worker->now_ms);
	follow_path(assoc);
	begin_waiting(assoc);
	assoc_tx_report(assoc->ddp);
	if (dp_resume(&assoc->dp, RX_BUDGET))
		association_activate(assoc);
	assoc->full = false;
	assoc_share_release_all(assoc->ddp);
	return true;
}

void association_end_turn(struct association *assoc)
{
	if (assoc->state != ASSOCIATION_UP)
		return;
	dp_events(&assoc->dp);
	if (assoc->dp.broken)
		association_abort(assoc, EIO,
				  "the transport refuses a segment of the size it announced");
	schedule(assoc);
}

const char *association_state_str(enum association_state s)
{
	static const char *const names[] = {"connecting", "up", "ending", "down"};

	return names[s];
}
