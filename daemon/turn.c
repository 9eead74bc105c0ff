/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/turn.h"

#include "daemon/base/state.h"
#include "daemon/net/sending.h"
#include "daemon/objects/memory/agent.h"
#include "daemon/objects/client/async.h"
#include "daemon/objects/sessions/bells.h"
#include "daemon/objects/queues/cq.h"
#include "daemon/objects/memory/notice.h"
#include "daemon/objects/memory/unmapping.h"
#include "daemon/objects/queues/srq.h"
#include "daemon/service/attach.h"
#include "util/minmax.h"

enum {
	RX_BUDGET = 512, /* packets a turn */
	TX_ALONE = 256,  /* segments a turn of a user alone */
};

static void expire(struct worker *w, uint64_t now_ms)
{
	if (now_ms == w->now_ms)
		return;
	w->now_ms = now_ms;
	llp_tick(w->net, now_ms);
	llp_tick(w->self, now_ms);
	timer_run(&w->timers, now_ms);
}

/* A user alone sends much in a row, so that its programs are woken rarely, until another one rings.
 */
static bool send_segments(struct worker *w)
{
	unsigned sent = sending_run(w), more = sent;

	while (more > 0 && sent < TX_ALONE && sending_is_alone(w)) {
		bells_take(w);
		more = sending_run(w);
		sent += more;
	}
	return sent > 0;
}

/* At least 1. */
static uint64_t time_so_far(const struct worker *w)
{
	if (!drr_has_work(&w->requests))
		return 1; /* nobody asks */
	return event_loop_clock_us(w->loop) - event_loop_now_us(w->loop) + 1;
}

/* Placed and delivered within the transports' upcalls. Work of a bell that ended a gap is sent
 * first: the network was looked at just before, or is known to be quiet. Bells of the next turns do
 * not delay it, for this one has work. */
static bool read_network(struct worker *w, bool rung)
{
	bool arrived;

	if (rung && event_loop_has_no_news(w->loop)) {
		moderation_skip(&w->moderation);
		return false;
	}
	arrived = llp_input(w->net, RX_BUDGET);
	moderation_note(&w->moderation, arrived, llp_patience_us(w->net),
			event_loop_now_us(w->loop));
	if (rung)
		moderation_skip(&w->moderation);
	return arrived;
}

/* Completions and events to the clients. */
static bool tell_clients(struct worker *w)
{
	bool any = notice_write(w);

	any |= cq_ring_bells(w);
	any |= agent_ring_bells(w);
	any |= srq_queue_low_events(w);
	any |= async_ring_bells(w);
	return any;
}

static bool turn_run(void *user, uint64_t now_ms)
{
	struct worker *w = user;
	bool any, rung, sent;

	/* 1. Deadlines first, so that all steps below work with the time after a sleep. */
	expire(w, now_ms);
	if (w->daemon->stopping && w->assocs.used == 0)
		event_loop_stop(w->loop);

	/* 2. Work that clients have posted. */
	any = rung = bells_take(w);

	/* 3. Messages from the network, and acknowledgments within this daemon. */
	any |= read_network(w, rung);
	any |= llp_input(w->self, RX_BUDGET);

	/* 4. Segments that can be sent, and 5. completions and events to the clients. If the
	 * clients gave no segment, packets of the transport, acknowledgments above all, leave when
	 * the programs are awake. */
	any |= sent = send_segments(w);
	if (sent)
		llp_flush(w->net);
	any |= tell_clients(w);
	if (!sent)
		llp_flush(w->net);

	/* 6. Requests, after the bells, so that no program waits longer for one. Clients at fault
	 * are ended. */
	any |= attach_take_records(w, any ? time_so_far(w) : 0);
	any |= attach_end_faulty(w);
	any |= unmapping_run(w);
	block_pool_check(&w->pool, &w->timers, w->now_ms);
	return any;
}

static uint64_t llp_expiry(const struct worker *w)
{
	return min_u64(llp_expiry_us(w->net), llp_expiry_us(w->self));
}

static uint64_t expiry_us(void *user)
{
	struct worker *w = user;
	uint64_t timer_ms = timer_expiry(&w->timers);
	uint64_t llp_us = min_u64(llp_expiry(w), moderation_expiry_us(&w->moderation));

	return timer_ms <= llp_us / 1000 ? timer_ms * 1000 : llp_us;
}

static bool about_to_sleep(void *user)
{
	struct worker *w = user;

	return bells_sleep(w) && !sending_is_due(w) && !drr_has_work(&w->requests);
}

static void awake(void *user)
{
	struct worker *w = user;

	moderation_end(&w->moderation);
	bells_awake(w);
}

static bool pauses(void *user)
{
	struct worker *w = user;

	return moderation_begin(&w->moderation, llp_expiry(w), event_loop_now_us(w->loop));
}

static bool is_patient(void *user)
{
	return ((const struct worker *)user)->moderation.patience_us != 0;
}

const struct event_loop_hooks turn_hooks = {
	.turn = turn_run,
	.expiry_us = expiry_us,
	.sleep = about_to_sleep,
	.awake = awake,
	.pauses = pauses,
	.patient = is_patient,
};
