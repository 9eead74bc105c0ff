/* SPDX-License-Identifier: BSD-2-Clause */
/* Taking completions out of a CQ, and waiting for them. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "client-lib/work/flush.h"
#include "ipc/doorbell.h"
#include "ipc/wqe.h"
#include "util/yield.h"

/* A program that only polls detects the end of the daemon after this many empty polls. */
enum { IDLE_POLLS = 1024 };

/* ddp_wait() looks for events at least once in as many calls. */
enum { EVENT_EVERY = 64 };

#define X(name, kind, text, subject, predicate)                                                    \
	_Static_assert((int)DDP_WC_##name == CQE_##name, #name " keeps its number");
WC_STATUS_TABLE(X)
#undef X
_Static_assert((int)DDP_WC_SEND == WQE_SEND && (int)DDP_WC_SEND_INV == WQE_SEND_INV &&
		       (int)DDP_WC_RDMA_WRITE == WQE_WRITE && (int)DDP_WC_RDMA_READ == WQE_READ &&
		       (int)DDP_WC_IMM_DATA == WQE_IMM && (int)DDP_WC_FETCH_ADD == WQE_FETCH_ADD &&
		       (int)DDP_WC_CMP_SWAP == WQE_CMP_SWAP && (int)DDP_WC_BIND_MW == WQE_BIND &&
		       (int)DDP_WC_LOCAL_INV == WQE_LOCAL_INV && (int)DDP_WC_RECV == WQE_RECV &&
		       (int)DDP_WC_RECV_TAGGED == WQE_RECV_TAGGED &&
		       (int)DDP_WC_WRITE_NOTICE == WQE_WRITE_NOTICE,
	       "opcodes keep their numbers");
_Static_assert((int)DDP_WC_WITH_INV == CQE_WITH_INV && (int)DDP_WC_SOLICITED == CQE_SOLICITED &&
		       (int)DDP_WC_WITH_IMM == CQE_WITH_IMM,
	       "flags keep their bits");

/* False if the entry has an unknown status or opcode. */
static bool translate(const struct wqe_cqe *entry, struct ddp_wc *wc)
{
	struct wqe_cqe e = *entry;
	bool tagged = e.opcode == WQE_RECV_TAGGED || e.opcode == WQE_WRITE_NOTICE;

	*wc = (struct ddp_wc){
		.wr_id = e.wr_id,
		.status = (enum ddp_wc_status)e.status,
		.opcode = (enum ddp_wc_opcode)e.opcode,
		.byte_len = e.byte_len,
		.qp_num = e.qp_num,
		.wc_flags = e.flags,
		.invalidated_rkey = tagged ? 0 : e.inv_rkey,
		.term = e.err_term,
		.err_kind = e.err_perr,
		.err_stag = e.err_stag,
		.err_to = e.err_to,
		.err_len = e.err_len,
		.imm_data = e.imm,
		.qn = e.qn,
		.stag = tagged ? e.inv_rkey : 0,
	};
	return e.status < CQE_STATUS_COUNT && e.opcode < WQE_OPCODE_COUNT;
}

/* Daemons without IPC_MINOR_ALL_ADDRS do not say it. Datagrams have a sender there. */
static void say_unknown(const struct ddp_ctx *ctx, struct ddp_wc *wc)
{
	if (wc->wc_flags & DDP_WC_WITH_IMM && !wc->written && ctx->minor < IPC_MINOR_ALL_ADDRS)
		wc->written = UINT32_MAX;
}

/* The ring has room again: wakes each QP that may have waited for it. Without one it was a notice
 * of a region, for which the bell of any slot serves. */
static void wake_users(struct ddp_cq *cq)
{
	bool wake = list_empty(&cq->users) && bell_ring((struct bell_page *)cq->ctx->page.addr, 0);

	list_foreach (it, &cq->users)
		wake |= bell_ring((struct bell_page *)cq->ctx->page.addr,
				  list_entry(it, struct cq_user, link)->slot);
	if (wake)
		context_wake(cq->ctx, "ddp_poll_cq");
}

/* Takes up to n entries. Returns how many, or -EPROTO if the next entry is invalid. */
static int take_completions(struct ddp_cq *cq, int n, struct ddp_wc *wc)
{
	int got = 0;

	while (got < n && !cq->broken) {
		int avail = ring_avail(&cq->ring);

		if (avail == 0)
			break;
		if (avail == RING_BROKEN || !translate(ring_peek(&cq->ring), &wc[got])) {
			cq->broken = true;
			break;
		}
		say_unknown(cq->ctx, &wc[got]);
		ring_release(&cq->ring, 1);
		got++;
	}
	if (got > 0 && ring_unblock(&cq->ring))
		wake_users(cq);
	if (got > 0)
		agent_sync(cq->ctx); /* bytes that were placed before the completions */
	if (got == 0 && n > 0 && cq->broken)
		return reason_fail(-EPROTO,
				   "ddp_poll_cq: the daemon corrupted the completion ring");
	return got;
}

/* Asks the daemon to ring, and counts the ring unless one is due already. Returns ring_avail(). */
static int arm(struct ddp_cq *cq, uint32_t what)
{
	uint32_t before =
		what == RING_SLEEPS ? ring_sleep(&cq->ring, what) : ring_sleep_solicited(&cq->ring);

	if (before == RING_RUNS && !cq->keep_events)
		cq->unread_rings++;
	return ring_avail(&cq->ring);
}

/* Drains the bell, so that the descriptor is not readable any more. While the flag in the ring is
 * set, the daemon has not rung yet for one of the unread rings; if that is the only one, no system
 * call is needed. Returns 0, or -EPIPE if the daemon cannot ring any more. */
static int drain_rings(struct ddp_cq *cq)
{
	unsigned to_come = ring_sleeper(&cq->ring) != RING_RUNS;
	int rings;

	if (cq->unread_rings <= to_come)
		return 0;
	rings = doorbell_drain(cq->bell);
	if (rings > 0)
		cq->unread_rings -=
			(unsigned)rings < cq->unread_rings ? (unsigned)rings : cq->unread_rings;
	return rings == -EPIPE ? -EPIPE : 0;
}

/* Whether the daemon that made the queue has ended; ddp_reopen() may have found another one. */
static bool is_hung_up(const struct ddp_cq *cq)
{
	struct pollfd p = {.fd = cq->bell}; /* POLLHUP needs no request */

	return poll(&p, 1, 0) > 0;
}

/* Polls once. waits: within a call that waits, and returns what it got before the bell is drained;
 * that is done before it sleeps. Returns like ddp_poll_cq(): -EPIPE if there is no completion and
 * the daemon has ended. */
static int poll_once(struct ddp_cq *cq, int n, struct ddp_wc *wc, bool waits)
{
	int got = take_completions(cq, n, wc);
	int last;

	if (!cq->sleeper && !(waits && got > 0) && drain_rings(cq) < 0)
		cq->hung_up = true;
	if (got != 0 || n == 0) {
		cq->idle = 0;
		return got;
	}
	if (++cq->idle % IDLE_POLLS == 0 && is_hung_up(cq))
		cq->hung_up = true;
	if (!cq->hung_up)
		return 0;
	last = take_completions(cq, n, wc); /* completions that the daemon wrote before it ended */
	if (last == 0)
		last = flush_take(cq, n, wc);
	return last ? last : reason_daemon_gone("ddp_poll_cq");
}

int ddp_poll_cq(struct ddp_cq *cq, int n, struct ddp_wc *wc)
{
	int got = context_here(cq->ctx, "ddp_poll_cq");

	if (got)
		return got;
	if (n < 0)
		return reason_fail(-EINVAL, "ddp_poll_cq: %d completions", n);
	pthread_mutex_lock(&cq->lock);
	got = poll_once(cq, n, wc, false);
	pthread_mutex_unlock(&cq->lock);
	return got;
}

int ddp_req_notify_cq(struct ddp_cq *cq, int solicited_only)
{
	uint32_t what = solicited_only ? RING_SLEEPS_SOLICITED : RING_SLEEPS;
	int avail = context_here(cq->ctx, "ddp_req_notify_cq");

	if (avail)
		return avail;
	pthread_mutex_lock(&cq->lock);
	avail = arm(cq, cq->sleeper ? RING_SLEEPS : what);
	pthread_mutex_unlock(&cq->lock);
	if (avail == RING_BROKEN)
		return reason_fail(-EPROTO,
				   "ddp_req_notify_cq: the daemon's index is out of range");
	return avail > 0;
}

/* ---- waiting ---- */

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Milliseconds for poll(), rounded up; -1: no limit. */
static int left_ms(uint64_t deadline, uint64_t now)
{
	uint64_t ms;

	if (deadline == UINT64_MAX)
		return -1;
	ms = deadline > now ? (deadline - now + 999) / 1000 : 0;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* A call that waits. */
struct wait {
	uint64_t start, deadline; /* of now_us() */
	bool events;              /* until an event of sessions, too */
};

static struct wait wait_from_now(int timeout_ms, bool events)
{
	uint64_t now = now_us();

	return (struct wait){
		.start = now,
		.deadline = timeout_ms < 0 ? UINT64_MAX : now + (uint64_t)timeout_ms * 1000,
		.events = events,
	};
}

/* There is an event of sessions, or the daemon is gone. */
static bool event_ready(struct ddp_cq *cq)
{
	struct pollfd p = {.fd = cq->ctx->event_fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

/* Sleeps on the bell. The lock is held before and after. */
static void sleep_on_bell(struct ddp_cq *cq, const struct wait *w)
{
	struct pollfd p[2] = {
		{.fd = cq->bell, .events = POLLIN},
		/* It hangs up when the daemon ends. */
		{.fd = cq->ctx->event_fd, .events = w->events ? POLLIN : 0},
	};

	if (arm(cq, RING_SLEEPS) != 0)
		return;
	cq->sleeper = true;
	pthread_mutex_unlock(&cq->lock);
	poll(p, 2, left_ms(w->deadline, now_us()));
	pthread_mutex_lock(&cq->lock);
	cq->sleeper = false;
	if ((p[0].revents & ~POLLIN) || (p[1].revents & ~POLLIN))
		cq->hung_up = true;
}

/* Another thread sleeps on the bell; it signals when it wakes up. The lock is held. */
static void sleep_for_turn(struct ddp_cq *cq, uint64_t deadline)
{
	struct timespec t = {
		.tv_sec = (time_t)(deadline / 1000000),
		.tv_nsec = (long)(deadline % 1000000) * 1000,
	};

	if (deadline == UINT64_MAX)
		pthread_cond_wait(&cq->turn, &cq->lock);
	else
		pthread_cond_timedwait(&cq->turn, &cq->lock, &t);
}

/* How long to poll. The thread may have got its policy and its processor after ddp_open(). */
static uint32_t spin_time(struct ddp_cq *cq, uint64_t now)
{
	uint32_t us = cq->spin_always ? cq->spin.max_us : spin_window(&cq->spin, now);

	return us > 0 && yield_is_vain() ? 0 : us;
}

/* Yields the CPU between two polls. False if others used it for long. */
static bool yield(struct ddp_cq *cq, uint64_t before)
{
	uint64_t now;

	pthread_mutex_unlock(&cq->lock);
	yield_cpu(false);
	pthread_mutex_lock(&cq->lock);
	now = now_us();
	if (cq->spin_always || now - before < SPIN_LOST_US)
		return true;
	spin_lost(&cq->spin, now);
	return false;
}

/* Spins, then sleeps: ddp_wait_cq() after an empty poll. */
static int wait_until(struct ddp_cq *cq, int n, struct ddp_wc *wc, const struct wait *w)
{
	uint64_t now = w->start;
	uint32_t left = spin_time(cq, now);
	int got;

	do {
		if (now - w->start < left) {
			if (!yield(cq, now))
				left = 0;
		} else if (cq->sleeper) {
			sleep_for_turn(cq, w->deadline);
		} else {
			sleep_on_bell(cq, w);
		}
		got = poll_once(cq, n, wc, true);
		now = now_us();
	} while (got == 0 && now < w->deadline && !(w->events && event_ready(cq)));
	if (got > 0 || now - w->start > cq->spin.max_us)
		spin_gap(&cq->spin, now - w->start);
	return got;
}

/* Returns like ddp_wait_cq(); also 0 when event_ready() if that is wanted. */
static int poll_or_wait(struct ddp_cq *cq, int n, struct ddp_wc *wc, const struct wait *w)
{
	int got;

	pthread_mutex_lock(&cq->lock);
	got = poll_once(cq, n, wc, true);
	if (got == 0 && w->deadline != w->start && !(w->events && event_ready(cq)))
		got = wait_until(cq, n, wc, w);
	/* A thread that waits for its turn takes over: entries may be left, and one thread must
	 * wait on the bell. */
	if (!cq->sleeper)
		pthread_cond_broadcast(&cq->turn);
	pthread_mutex_unlock(&cq->lock);
	return got;
}

static int check_wait(struct ddp_cq *cq, const char *call, int n)
{
	int r = context_here(cq->ctx, call);

	if (r)
		return r;
	if (n <= 0)
		return reason_fail(-EINVAL, "%s: %d completions", call, n);
	if (cq->keep_events)
		return reason_fail(-EINVAL, "%s: the queue keeps its events for ddp_get_cq_event()",
				   call);
	return 0;
}

int ddp_wait_cq(struct ddp_cq *cq, int n, struct ddp_wc *wc, int timeout_ms)
{
	struct wait w = wait_from_now(timeout_ms, false);
	int r = check_wait(cq, "ddp_wait_cq", n);

	return r ? r : poll_or_wait(cq, n, wc, &w);
}

/* Whether to check for events: without a completion always, else once in EVENT_EVERY calls, so that
 * a queue that is never empty does not delay events without limit. */
static bool event_due(struct ddp_cq *cq, int got)
{
	bool due = true;

	if (got > 0) {
		pthread_mutex_lock(&cq->lock);
		due = ++cq->busy_waits % EVENT_EVERY == 0;
		pthread_mutex_unlock(&cq->lock);
	}
	return due;
}

/* The daemon has ended, and its events are taken. */
static int last_completions(struct ddp_cq *cq, int n, struct ddp_wc *wc)
{
	int got;

	pthread_mutex_lock(&cq->lock);
	cq->hung_up = true;
	got = poll_once(cq, n, wc, true);
	pthread_mutex_unlock(&cq->lock);
	return got;
}

int ddp_wait(struct ddp_cq *cq, int n, struct ddp_wc *wc, struct ddp_cm_event **ret_ev,
	     int timeout_ms)
{
	struct wait w = wait_from_now(timeout_ms, true);
	struct ddp_cm_event *ev = NULL;
	int got = check_wait(cq, "ddp_wait", n);

	if (got)
		return got;
	for (;;) {
		int r = -EAGAIN;

		got = poll_or_wait(cq, n, wc, &w);
		if (event_due(cq, got) && event_ready(cq))
			r = ddp_get_cm_event(cq->ctx, &ev, 0);
		if (got == 0 && r == -EPIPE)
			got = last_completions(cq, n, wc);
		if (r == 0 && got < 0)
			got = 0; /* the next call returns it: it stays so */
		if (got == 0 && r < 0 && r != -EAGAIN)
			return r;
		w.start = now_us();
		if (got || ev || w.start >= w.deadline)
			break;
	}
	if (got >= 0)
		*ret_ev = ev;
	return got;
}

/* ---- events ---- */

int ddp_get_cq_event(struct ddp_cq *cq, int timeout_ms)
{
	uint64_t deadline = timeout_ms < 0 ? UINT64_MAX : now_us() + (uint64_t)timeout_ms * 1000;
	struct pollfd p = {.fd = cq->bell, .events = POLLIN};
	int r = context_here(cq->ctx, "ddp_get_cq_event");

	if (r)
		return r;
	if (!cq->keep_events)
		return reason_fail(-EINVAL,
				   "ddp_get_cq_event: the queue was made without keep_events");
	/* Another thread may take the event that poll() has seen. */
	while ((r = doorbell_take(cq->bell)) == 0) {
		int left = left_ms(deadline, now_us());

		if (left == 0 || poll(&p, 1, left) == 0)
			return reason_fail(-EAGAIN, "ddp_get_cq_event: no event in time");
	}
	return r > 0 ? 0 : reason_daemon_gone("ddp_get_cq_event");
}
