/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/service/attach.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/base/log.h"
#include "daemon/objects/memory/agent.h"
#include "daemon/objects/client/async.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/datagrams/ah.h"
#include "daemon/objects/queues/cq.h"
#include "daemon/objects/sessions/carriers.h"
#include "daemon/objects/sessions/listener.h"
#include "daemon/objects/memory/mr.h"
#include "daemon/objects/memory/mw.h"
#include "daemon/objects/client/pd.h"
#include "daemon/objects/sessions/bells.h"
#include "daemon/objects/sessions/posted.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/objects/client/rings.h"
#include "daemon/objects/sessions/session_request.h"
#include "daemon/objects/queues/srq.h"
#include "daemon/service/capture.h"
#include "daemon/service/record.h"
#include "daemon/service/show.h"
#include "ipc/conn.h"
#include "util/minmax.h"

enum {
	/* Records of a turn. */
	RECORDS_BUSY = 8, /* while there is other work */
	RECORDS_IDLE = 64,
	POSTED_COST = 8, /* records that count for one before which posted work was sent */
	/* So long at most: there may be other work by then. The last one may take longer. */
	MOST_US = 100,
	MOST_DEBT_US = 20000, /* an excess of a record, or of another process meanwhile */
	ENDS = 8,             /* clients that end in a turn ... */
	FREED = 64,           /* ... and objects of each that are freed at once */
	READABLE = EVENT_LOOP_READ | EVENT_LOOP_EARLY,
};

/* ---- the end ---- */

static void send_fault(struct client *c)
{
	struct msg_error e = {.hdr = {MSG_ERROR, c->fault.seq},
			      .err = c->fault.err ? c->fault.err : EPROTO,
			      .fatal = 1};

	memcpy(e.reason, c->fault.reason, sizeof(e.reason));
	conn_try_send(c->io.fd, &e, sizeof(e), NULL, 0); /* fails if the client is gone already */
}

static void note(struct client *c, enum ctl_event_kind kind, int err, const char *reason)
{
	struct worker *w = c->worker;
	struct ctl_event ev = {.client = c->id, .pid = (uint32_t)c->pid, .uid = c->uid, .err = err};

	memcpy(ev.comm, c->comm, sizeof(ev.comm));
	snprintf(ev.reason, sizeof(ev.reason), "%s", reason);
	journal_add(&w->journal, w->now_ms, kind, &ev);
}

/* Frees objects of a table through their own function, n at most. */
#define FREE_SOME(table, type, fn)                                                                 \
	do {                                                                                       \
		struct type *o_;                                                                   \
                                                                                                   \
		if ((table).size == 0)                                                             \
			break;                                                                     \
		for (; n > 0 && (o_ = idtab_next(&(table), &c->freed)); n--)                       \
			fn(o_);                                                                    \
		if (n == 0)                                                                        \
			return false;                                                              \
		assert((table).used == 0);                                                         \
		idtab_deinit(&(table));                                                            \
		c->freed = 0;                                                                      \
	} while (0)

/* Listeners are first: no object comes after them. Returns true if all are freed. */
static bool free_objects(struct client *c, uint32_t n)
{
	FREE_SOME(c->handles.listeners, listener, listener_free);
	FREE_SOME(c->handles.requests, session_request, session_request_free);
	FREE_SOME(c->handles.qps, qp, qp_free);
	FREE_SOME(c->handles.srqs, srq, srq_free);
	FREE_SOME(c->handles.ahs, ah, ah_free);
	FREE_SOME(c->handles.mws, mw, mw_free);
	FREE_SOME(c->handles.mrs, mr, mr_free);
	FREE_SOME(c->handles.cqs, cq, cq_free);
	FREE_SOME(c->handles.pds, pd, pd_free);
	return true;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* The ends of its objects must not have put it into a list again. */
static void assert_free(const struct client *c)
{
	list_assert_out(&c->fault.link);
	list_assert_out(&c->bells.polled);
	list_assert_out(&c->watching.watcher.link);
	list_assert_out(&c->async.dirty);
	list_assert_out(&c->bells.posted);
	list_assert_out(&c->bells.notices.link);
	list_assert_out(&c->bells.notices.active);
	list_assert_out(&c->bells.notices.quiet);
	list_assert_out(&c->handles.scopes);
	drr_assert_out(&c->turn);
	drr_assert_out(&c->io.turn);
	drr_assert_out(&c->bells.turn);
	assert(!c->io.watch && !c->bells.watch && !c->show && !c->regions.mappings);
	assert(!c->io.replies.loop && !c->io.events.loop);
}

static void stop_client(struct client *c)
{
	if (c->leaving)
		return;
	client_leave(c);
	show_abandon(c);
	capture_end(c);
	c->rings.slabs.final = true; /* it finds its rings as they are, and then the reason */
}

/* Its objects are freed. */
static void free_client(struct client *c)
{
	drr_del(&c->io.turn);
	c->agent = agent_free(c->agent);
	if (c->bells.page)
		munmap(c->bells.page, sizeof(*c->bells.page));
	close_fd(c->bells.doorbell);
	async_channel_deinit(&c->async);
	close_fd(c->io.event_fd);
	close_fd(c->io.fd);
	idtab_del(&c->daemon->clients, c->handle);
	slab_deinit(&c->rings.slabs);
	acct_release(&c->rings.fds);
	acct_release(&c->rings.maps);
	acct_release(&c->rings.memory);
	acct_release(&c->memory);
	acct_release(&c->io.fds);
	acct_release(&c->charge);
	assert_free(c);
	free(c);
}

void attach_free(struct client *c)
{
	stop_client(c);
	free_objects(c, UINT32_MAX);
	free_client(c);
}

/* The rest of it has turns from now on. */
static void begin_end(struct client *c)
{
	if (c->fault.reason[0]) {
		/* It stays in the list meanwhile, so that its first fault counts. */
		note(c, CTL_EVENT_CLIENT_END, c->fault.err ? c->fault.err : EPROTO,
		     c->fault.reason);
		send_fault(c);
	}
	stop_client(c);
	if (free_objects(c, FREED))
		free_client(c);
	else
		drr_add(&c->io.turn);
}

bool attach_end_faulty(struct worker *w)
{
	unsigned n = 0;

	for (; n < ENDS && !list_empty(&w->faulty); n++)
		begin_end(list_entry(w->faulty.next, struct client, fault.link));
	return n > 0;
}

void attach_free_all(struct daemon *d)
{
	uint32_t pos = 0;
	struct client *c;

	while ((c = idtab_next(&d->clients, &pos)))
		attach_free(c);
	carriers_free(&d->worker);
}

/* ---- the beginning ---- */

/* While replies wait, the daemon reads no record of the client, for each causes another reply. */
static bool pause_reading(struct client *c)
{
	bool waits = c->io.replies.count > 0 || c->show;

	event_loop_watch_set(c->io.watch, waits ? 0 : READABLE);
	return waits;
}

static void drained(void *user)
{
	struct client *c = user;

	if (pause_reading(c) && c->show)
		drr_add(&c->io.turn);
}

/* It has its turn in turn_run(). */
static void readable(void *user, unsigned what)
{
	struct client *c = user;

	(void)what;
	drr_add(&c->io.turn);
}

/* Reads one record, after the bells before it. Returns the cost; 0: there is none, or the client is
 * ending. */
static uint32_t read_record(struct client *c)
{
	_Alignas(8) unsigned char rec[MSG_MAX];
	int fds[MSG_MAX_FDS];
	unsigned nfds = 0;
	size_t len = 0;
	int r;

	if (list_linked(&c->fault.link) || !conn_has_news(c->io.fd))
		return 0;
	if (!bells_take_before(c))
		return POSTED_COST;
	r = conn_try_recv(c->io.fd, rec, sizeof(rec), &len, fds, &nfds);
	if (r == CONN_E_AGAIN)
		return 0;
	if (r == CONN_E_OK)
		return record_handle(c, rec, len, fds, nfds) ? POSTED_COST : 1;
	if (r == CONN_E_NO_FDS) {
		record_without_fds(c, rec, len);
		return 1;
	}
	if (r == CONN_E_TRUNCATED) {
		client_fault(c, "a record of more than %d bytes or %d descriptors", MSG_MAX,
			     MSG_MAX_FDS);
		return 0;
	}
	posted_take(c);
	client_fault(c, "%s", ""); /* gone: it cannot read a reason */
	return 0;
}

/* A part of the answer for ddpctl, else one record. */
static uint32_t serve_one(struct client *c)
{
	if (!c->show)
		return read_record(c);
	show_continue(c);
	return 1;
}

/* That, or some objects of a client that has ended. Returns the cost in records. */
static uint32_t take_turn(struct client *c, bool *ret_more)
{
	uint32_t cost;

	if (c->leaving) {
		*ret_more = !free_objects(c, FREED);
		return 1;
	}
	cost = serve_one(c);
	*ret_more = cost > 0 && (!pause_reading(c) || show_is_due(c));
	return max_u32(cost, 1);
}

/* The next turn of the tree. Returns its cost in records, and when it was over. */
static uint32_t run_turn(struct worker *w, struct drr *leaf, uint64_t *now_us)
{
	struct client *c = list_entry(leaf, struct client, io.turn);
	uint64_t begin_us = *now_us;
	bool more;
	uint32_t cost = take_turn(c, &more);

	*now_us = event_loop_clock_us(w->loop);
	drr_charge(leaf, cost + (uint32_t)min_u64(*now_us - begin_us, MOST_DEBT_US));
	if (more)
		return cost;
	drr_del(leaf);
	if (c->leaving)
		free_client(c);
	return cost;
}

/* How long they may take in this turn, which may be over already. */
static int64_t grant_time(struct worker *w, uint64_t others_us)
{
	uint64_t most = (uint64_t)(MOST_US - w->requests_us);

	w->requests_us += (int64_t)(others_us ? min_u64(others_us, most) : most);
	return w->requests_us;
}

bool attach_take_records(struct worker *w, uint64_t others_us)
{
	int64_t left_us = grant_time(w, others_us), n = others_us ? RECORDS_BUSY : RECORDS_IDLE;
	struct drr *leaf = drr_next(&w->requests);
	bool any = false;
	uint64_t now_us;

	if (!leaf)
		return false;
	now_us = event_loop_clock_us(w->loop);
	for (; n > 0 && left_us > 0 && leaf; leaf = drr_next(&w->requests)) {
		uint64_t begin_us = now_us;

		n -= run_turn(w, leaf, &now_us);
		left_us -= (int64_t)min_u64(now_us - begin_us, MOST_DEBT_US);
		any = true;
	}
	w->requests_us = left_us;
	return any;
}

static int credentials(struct client *c)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(c->io.fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	c->pid = cred.pid;
	c->uid = cred.uid;
	c->gid = cred.gid;
	return 0;
}

static int refuse(struct client *c, const char *reason)
{
	snprintf(c->fault.reason, sizeof(c->fault.reason), "%s", reason);
	c->fault.err = EDQUOT;
	send_fault(c);
	note(c, CTL_EVENT_CLIENT_REFUSE, EDQUOT, reason);
	return -EDQUOT;
}

static int charge_fds(struct client *c, char reason[ACCT_REASON_MAX])
{
	return acct_charge(c->daemon->acct, c->uid, ACCT_DESCRIPTORS, CLIENT_FDS, &c->io.fds,
			   reason, ACCT_REASON_MAX);
}

/* The oldest connection of the user's reserve that said no hello, or NULL. ddpctl says it at once.
 */
static struct client *find_silent(const struct client *c, enum acct_kind kind)
{
	struct client *other, *oldest = NULL;
	uint32_t pos = 0;

	while ((other = idtab_next(&c->daemon->clients, &pos)))
		if (other->uid == c->uid && other->charge.kind == kind && !other->hello.done &&
		    (!oldest || other->id < oldest->id))
			oldest = other;
	return oldest;
}

/* Room in a full reserve. False: all of it is in use. */
static bool end_silent(const struct client *c, enum acct_kind kind)
{
	struct client *silent = find_silent(c, kind);

	if (!silent)
		return false;
	refuse(silent, silent->hello.refusal);
	attach_free(silent);
	return true;
}

/* Beyond the limit of its uid. ddpctl gets in nevertheless; hello refuses other programs. For an
 * administrator the descriptors are there whatever users have. */
static int reserve(struct client *c, const char *reason)
{
	enum acct_kind kind = client_is_admin(c) ? ACCT_ADMINS : ACCT_RESERVE;
	char more[ACCT_REASON_MAX];
	struct acct *a = c->daemon->acct;
	int r = acct_charge(a, c->uid, kind, 1, &c->charge, more, sizeof(more));

	if (r > 0 && end_silent(c, kind))
		r = acct_charge(a, c->uid, kind, 1, &c->charge, more, sizeof(more));
	snprintf(c->hello.refusal, sizeof(c->hello.refusal), "%s", reason);
	if (!r && kind == ACCT_RESERVE)
		r = charge_fds(c, more);
	return r > 0 ? refuse(c, reason) : r;
}

static int attach(struct client *c)
{
	struct daemon *d = c->daemon;
	char reason[ACCT_REASON_MAX];
	int r = credentials(c);

	if (!r)
		r = acct_charge(d->acct, c->uid, ACCT_CLIENTS, 1, &c->charge, reason,
				sizeof(reason));
	if (!r)
		r = charge_fds(c, reason);
	if (r > 0) {
		acct_release(&c->charge);
		r = reserve(c, reason);
	}
	if (r < 0)
		return r;
	drr_init(&c->turn, acct_turn(&c->charge, ACCT_SENDS, &c->worker->users));
	drr_init(&c->io.turn, acct_turn(&c->charge, ACCT_REQUESTS, &c->worker->requests));
	drr_init(&c->bells.turn, acct_turn(&c->charge, ACCT_BELLS, &c->worker->bells));
	if (idtab_add(&d->clients, c, &c->handle))
		return -ENOMEM;
	outq_init(&c->io.replies, c->worker->loop, c->io.fd, CLIENT_REPLIES_MAX,
		  client_queue_failed, c);
	outq_on_drained(&c->io.replies, drained);
	return event_loop_watch(c->worker->loop, c->io.fd, READABLE, readable, c, &c->io.watch);
}

int attach_client(struct worker *w, int fd)
{
	struct client *c = calloc(1, sizeof(*c));
	int r;

	if (!c) {
		close(fd);
		return -ENOMEM;
	}
	c->daemon = w->daemon;
	c->worker = w;
	c->io.fd = fd;
	c->io.event_fd = c->bells.doorbell = -1;
	c->id = ++w->daemon->last_client;
	c->since_ms = w->now_ms;
	strcpy(c->comm, "?"); /* until it says hello */
	list_init(&c->fault.link);
	list_init(&c->bells.polled);
	list_init(&c->bells.posted);
	list_init(&c->bells.notices.link);
	list_init(&c->bells.notices.active);
	list_init(&c->bells.notices.quiet);
	list_init(&c->handles.scopes);
	list_init(&c->watching.watcher.link);
	drr_init(&c->turn, NULL);
	drr_init(&c->io.turn, NULL);
	drr_init(&c->bells.turn, NULL);
	async_channel_init(&c->async);
	slab_init(&c->rings.slabs, RINGS_NAME, RINGS_SLAB_BYTES);
	client_allow(c);
	if (w->port_down)
		async_post(c, &c->async.port, MSG_ASYNC_PORT_DOWN, 0);
	r = attach(c);
	if (r)
		attach_free(c);
	return r;
}
