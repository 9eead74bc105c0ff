/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that does not read its events: what a peer requests and gives up does not end it. */
#include <stdio.h>

#include "tests/raw/case.h"
#include "tests/raw/pair.h"
#include "tests/raw/stage.h"

/* raw-peer.sh sets session.pending_max to 8, for each association, and limits.events to 16. */
enum { LINKS = 3, EACH = 8, BACKLOG = 64, SHARE = BACKLOG / 4 };

static void request(struct link *l, uint16_t sid)
{
	struct raw_msg m = raw_control(RAW_INITIATE, NULL, 0);

	link_begin(l, sid, false);
	link_send(l, sid, &m);
}

static void listen_with_backlog(void)
{
	client_open(0);
	client_listen(BACKLOG);
}

static struct link *another_link(void)
{
	return link_to(stage.daemon[0].addr, stage.port);
}

static void ask(struct link *good)
{
	struct raw_msg m = raw_control(RAW_INITIATE, "good", 4);

	link_begin(good, 0, false);
	link_send(good, 0, &m);
}

/* The kernel may report a request before it reports the ends of older associations: then the
 * listener has no room, and the peer that asks (NULL: none) does so again. */
static struct ddp_cm_event *next_event(struct link *asks)
{
	const struct raw_msg refusal = raw_control(RAW_END, NULL, 0);
	struct ddp_cm_event *ev = NULL;

	while (!ev) {
		UNTIL(ddp_get_cm_event(client_ctx(), &ev, 0) == 0 ||
			      (asks && link_waiting(asks, 0) > 0),
		      ddp_fd(client_ctx()), "an event");
		if (ev)
			break;
		link_expect(asks, 0, &refusal, "the refusal");
		ask(asks);
	}
	EXPECT(ev->type == DDP_CM_CONNECT_REQUEST || ev->type == DDP_CM_REQUEST_GONE, "event %s",
	       ddp_event_str(ev->type));
	return ev;
}

/*
 * Each request that the program gets ends later, but for that of the good peer, which has private
 * data and is rejected. Returns how many requests of others the program got: none if the daemon
 * withdrew them before it sent an event.
 */
static unsigned read_requests(struct link *good)
{
	const struct raw_msg no = raw_control(RAW_REJECT, NULL, 0);
	unsigned asked = 0, gone = 0;
	bool met = false;

	ask(good);
	while (!met || gone < asked) {
		struct ddp_cm_event *ev = next_event(met ? NULL : good);
		struct ddp_id *id = ev->id;
		bool is_good = ev->type == DDP_CM_CONNECT_REQUEST && ev->private_len == 4;
		bool is_gone = ev->type == DDP_CM_REQUEST_GONE;

		ddp_ack_cm_event(ev);
		met |= is_good;
		gone += is_gone;
		asked += !is_good && !is_gone;
		if (is_good)
			MUST(ddp_reject(id, NULL));
		if (is_good || is_gone)
			MUST(ddp_destroy_id(id));
	}
	link_expect(good, 0, &no, "Reject");
	return asked;
}

static void requests_then_abort(void)
{
	struct link *l[LINKS], *good;
	struct pair p;

	listen_with_backlog();
	for (unsigned i = 0; i < LINKS; i++) {
		l[i] = another_link();
		for (uint16_t s = 0; s < EACH; s++)
			request(l[i], (uint16_t)(2 * s));
	}
	for (unsigned i = 0; i < LINKS; i++)
		link_wait_acked(l[i]);
	for (unsigned i = 0; i < LINKS; i++)
		link_abort(l[i]);
	good = another_link();
	EXPECT(read_requests(good) < SHARE, "it hears of requests that ended before it read");
	p = pair_passive(good, 2, NULL);
	pair_alive(&p);
	pair_end(&p);
}

/* With the program's help: it reads each request, and leaves it waiting. */
static void share_of_a_peer(void)
{
	struct link *l[SHARE / EACH + 1];
	struct raw_msg end = raw_control(RAW_END, NULL, 0);

	listen_with_backlog();
	for (unsigned i = 0; i < SHARE; i++) {
		if (i % EACH == 0)
			l[i / EACH] = another_link();
		request(l[i / EACH], (uint16_t)(2 * (i % EACH)));
		ddp_ack_cm_event(client_event(DDP_CM_CONNECT_REQUEST));
	}
	l[SHARE / EACH] = another_link();
	request(l[SHARE / EACH], 0);
	link_expect(l[SHARE / EACH], 0, &end, "the refusal");
	client_no_event();
}

const struct raw_case case_unread[] = {
	{"requests-then-abort", "5040-8.1.2-01 5042-6.4.3-01", requests_then_abort},
	{"share-of-a-peer", "5043-5.2.3-08 5043-5.2.3-09", share_of_a_peer},
	{0},
};
