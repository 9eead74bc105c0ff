/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that does not read its events: peers cannot make it end, nor fill the daemon. Its
 * objects bound what waits, and what it reads in the end is true.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "daemon/net/association.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/objects/sessions/session_request.h"
#include "tests/unit/client_rig.h"

enum { MANY = 600, BACKLOG = 80, SHARE = BACKLOG / 4, MAX = 256, EVENTS = 16 };

static struct rig_program server, peer;
static struct msg_event ev[MAX];

static void start(void)
{
	rig_start();
	rig_attach(&server);
	rig_attach(&peer);
	rig_listen(&server, BACKLOG);
}

TestSuite(unread, .init = start, .timeout = 60);

/* The peer ends the association with all that it has requested on it. */
static void abort_all(uint32_t qp)
{
	const struct qp *first = idtab_get(&peer.c->handles.qps, qp);

	association_abort(first->assoc, ECONNABORTED, "the peer aborts");
	rig_turns();
	rig_destroy_qp(&peer, qp);
}

/* The peer requests a session and gives up. */
static void request_in_vain(void)
{
	uint32_t qp = rig_make_qp(&peer);

	rig_connect(&peer, qp);
	abort_all(qp);
}

/* Whether the journal has an entry with these words. */
static bool said(const char *words)
{
	const struct journal *j = &rig.worker.journal;

	for (uint64_t n = journal_oldest(j); n <= j->count; n++)
		if (strstr(journal_get(j, n)->reason, words))
			return true;
	return false;
}

/* An event of a queue pair of the server. */
static void queue_event(uint32_t qp)
{
	struct msg_event lost = {.type = MSG_EV_FAILED};
	struct qp *q = idtab_get(&server.c->handles.qps, qp);

	client_event(server.c, &q->events.places[QP_EVENT_BEGIN], &lost);
}

/* Until the socket is full: what follows waits in the daemon. */
static void fill_socket(void)
{
	while (server.c->io.events.count == 0)
		queue_event(rig_make_qp(&server));
}

static void expect_alive(void)
{
	cr_expect(list_empty(&rig.worker.faulty));
	cr_expect_eq(rig.clients.used, 2);
}

static unsigned count(unsigned n, enum msg_event_type type)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n; i++)
		found += ev[i].type == type;
	return found;
}

/* Accepts the newest request, whose event need not have been read. Returns the queue pair. */
static struct qp *accept_last(void)
{
	struct msg_accept m = {.hdr = {MSG_ACCEPT, 1}};
	const struct session_request *r;
	uint32_t pos = 0, qp = rig_make_qp(&server);

	m.qp = qp;
	while ((r = idtab_next(&server.c->handles.requests, &pos)))
		m.request = r->handle;
	rig_call(&server, &m, sizeof(m));
	rig_turns();
	return idtab_get(&server.c->handles.qps, qp);
}

Test(unread, requests_that_are_withdrawn_do_not_pile_up)
{
	unsigned n;

	for (unsigned i = 0; i < MANY; i++)
		request_in_vain();
	expect_alive();
	cr_expect_leq(server.c->io.events.count, EVENTS);
	n = rig_read_events(&server, ev, MAX);
	cr_assert_leq(n, MAX);
	cr_expect_gt(n, 0);
	/* Each request of which the program hears is withdrawn once, after that. */
	cr_expect_eq(count(n, MSG_EV_REQUEST), count(n, MSG_EV_WITHDRAWN));
	for (unsigned i = 0; i < n; i++)
		if (ev[i].type == MSG_EV_WITHDRAWN) {
			unsigned k = 0;

			while (k < i &&
			       (ev[k].type != MSG_EV_REQUEST || ev[k].request != ev[i].request))
				k++;
			cr_expect_lt(k, i, "request 0x%x is withdrawn and was none", ev[i].request);
		}
}

Test(unread, the_program_never_hears_of_a_request_that_ended_before_it_read)
{
	uint32_t before, qp;

	fill_socket();
	before = server.c->io.events.count;
	qp = rig_make_qp(&peer);
	rig_connect(&peer, qp);
	cr_expect_eq(server.c->io.events.count, before + 1);
	abort_all(qp);
	cr_expect_eq(server.c->io.events.count, before);
	cr_expect_eq(server.c->handles.requests.used, 0);
}

Test(unread, a_peer_has_a_quarter_of_the_backlog)
{
	for (unsigned i = 0; i < BACKLOG; i++) {
		rig_connect(&peer, rig_make_qp(&peer));
		rig_read_events(&server, ev, MAX);
	}
	cr_expect_eq(server.c->handles.requests.used, SHARE);
	cr_expect(said("this peer's share of the program's backlog"));
	expect_alive();
}

Test(unread, requests_beyond_that_wait_for_its_answers)
{
	uint32_t qp[BACKLOG];
	unsigned established = 0;

	for (unsigned i = 0; i < BACKLOG; i++) {
		qp[i] = rig_make_qp(&peer);
		rig_connect(&peer, qp[i]);
		rig_read_events(&server, ev, MAX);
	}
	for (unsigned i = 0; i < BACKLOG; i++) {
		accept_last();
		rig_read_events(&server, ev, MAX);
		rig_read_events(&peer, ev, MAX);
		established += count(1, MSG_EV_ESTABLISHED);
		cr_expect_leq(server.c->handles.requests.used, SHARE);
	}
	cr_expect_eq(established, BACKLOG);
	for (unsigned i = 0; i < BACKLOG; i++)
		cr_expect_eq(((struct qp *)idtab_get(&peer.c->handles.qps, qp[i]))->state, QP_RTS);
}

Test(unread, refusals_leave_room_in_the_journal)
{
	uint64_t before;

	for (unsigned i = 0; i < SHARE; i++) {
		rig_connect(&peer, rig_make_qp(&peer));
		rig_read_events(&server, ev, MAX);
	}
	before = rig.worker.journal.count;
	for (unsigned i = 0; i < MANY; i++)
		rig_connect(&peer, rig_make_qp(&peer));
	/* One of the peer's side for each, and a few of this side. */
	cr_expect_leq(rig.worker.journal.count - before, MANY + 64);
}

Test(unread, the_end_of_a_session_waits_with_its_beginning_and_nothing_else)
{
	struct msg_path path = {.state = MSG_PATH_FAILING};
	uint32_t before, from = rig_make_qp(&peer);
	struct qp *qp;
	unsigned n;

	fill_socket();
	before = server.c->io.events.count;
	rig_connect(&peer, from);
	qp = accept_last();
	cr_expect_eq(server.c->io.events.count, before + 1, "the answered request is taken back");
	for (unsigned i = 0; i < MANY; i++) {
		path.srtt_us = i;
		qp_path(qp, &path, "the path fails");
	}
	cr_expect_eq(server.c->io.events.count, before + 2);
	abort_all(from);
	cr_expect_eq(server.c->io.events.count, before + 2);
	n = rig_read_events(&server, ev, MAX);
	cr_assert(n >= 2 && n <= MAX);
	cr_expect_eq(ev[n - 2].type, MSG_EV_ESTABLISHED);
	cr_expect_eq(ev[n - 1].type, MSG_EV_DISCONNECTED);
	expect_alive();
}

Test(unread, the_last_change_of_a_path_counts)
{
	struct msg_path path = {.state = MSG_PATH_FAILING};
	struct qp *qp;
	unsigned n;

	fill_socket();
	rig_connect(&peer, rig_make_qp(&peer));
	qp = accept_last();
	qp_path(qp, &path, "the path fails");
	path.state = MSG_PATH_ACTIVE;
	qp_path(qp, &path, "the path is well");
	n = rig_read_events(&server, ev, MAX);
	cr_assert(n >= 1 && n <= MAX);
	cr_expect_eq(ev[n - 1].type, MSG_EV_PATH);
	cr_expect_eq(ev[n - 1].path.state, MSG_PATH_ACTIVE);
	cr_expect_eq(count(n, MSG_EV_PATH), 1);
}

Test(unread, events_of_destroyed_queue_pairs_stay_up_to_the_limit)
{
	unsigned n;

	fill_socket();
	for (unsigned i = 0; i < MANY; i++) {
		uint32_t qp = rig_make_qp(&server);

		queue_event(qp);
		rig_destroy_qp(&server, qp);
		cr_assert_leq(server.c->io.events.count, EVENTS);
	}
	expect_alive();
	n = rig_read_events(&server, ev, MAX);
	cr_expect_geq(count(n, MSG_EV_FAILED), EVENTS / 2);
	cr_expect_eq(server.c->io.events.places, 2 * server.c->handles.qps.used);
}

Test(unread, a_program_that_does_not_read_gets_no_more_requests)
{
	uint32_t before;

	fill_socket();
	for (unsigned i = 0; i < 2 * EVENTS; i++)
		queue_event(rig_make_qp(&server));
	before = server.c->handles.requests.used;
	rig_connect(&peer, rig_make_qp(&peer));
	cr_expect_eq(server.c->handles.requests.used, before);
	cr_expect(said("the program does not read its events"));
	expect_alive();
}
