/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client leaves: what its objects cause while they end, entries of the journal and bells among
 * it, does not reach the client any more.
 */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/base/state.h"
#include "daemon/net/association.h"
#include "daemon/objects/assoc_events.h"
#include "daemon/objects/client.h"
#include "daemon/objects/cq.h"
#include "daemon/objects/qp.h"
#include "daemon/objects/stags.h"
#include "daemon/service/attach.h"
#include "daemon/service/record.h"
#include "daemon/turn.h"
#include "ipc/conn.h"
#include "ipc/ctl.h"
#include "ipc/version.h"

enum { PORT = 5043 };

static const struct msg_addr here = {.family = AF_INET, .port = PORT, .bytes = {127, 0, 0, 1}};

static struct daemon d;
static struct worker *const w = &d.worker;
static struct client *c;
static int client_end;
static _Alignas(8) uint8_t rec[MSG_MAX];

static void start(void)
{
	struct llp_config net = {.addrs = d.cfg.listen, .streams = 8};
	uint32_t pos = 0;
	int pair[2];

	signal(SIGPIPE, SIG_IGN);
	log_set_level(LOG_LEVEL_ERR);
	config_default(&d.cfg);
	worker_init(w, &d, 16);
	w->now_ms = 1;
	w->assoc_events = &assoc_events;
	cr_assert_eq(llp_loop_open(&net, &association_llp_events, &w->net), 0);
	net.naddrs = d.cfg.naddrs;
	cr_assert_eq(llp_loop_open(&net, &association_llp_events, &w->self), 0);
	cr_assert_eq(acct_new(&d.cfg.limits, &d.acct), 0);
	cr_assert_eq(event_loop_new(&turn_hooks, w, 0, &w->loop), 0);
	cr_assert_eq(stags_new(64, getrandom, &d.stags), 0);
	idtab_init(&d.clients, 4);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	cr_assert_eq(attach_client(w, pair[0]), 0);
	client_end = pair[1];
	c = idtab_next(&d.clients, &pos);
}

TestSuite(leave, .init = start, .timeout = 30);

/* A record that must succeed. Returns the handle in its reply. Descriptors stay open: a client
 * whose event socket is closed is ended. */
static uint32_t call(const void *req, size_t len)
{
	const struct msg_handle *h = (const void *)rec;
	int fds[MSG_MAX_FDS];
	unsigned n = 0;
	size_t got;

	record_handle(c, req, len, NULL, 0);
	do
		cr_assert_eq(conn_recv(client_end, rec, sizeof(rec), &got, fds, &n), CONN_E_OK);
	while (h->hdr.op == MSG_CTL_RECORD);
	cr_assert_eq(h->hdr.op, ((const struct msg_hdr *)req)->op, "%s",
		     ((const struct msg_error *)(const void *)h)->reason);
	return h->handle;
}

static void greet(void)
{
	const struct msg_hello hello = {.hdr = {MSG_HELLO, 1}, .major = IPC_VERSION_MAJOR};

	call(&hello, sizeof(hello));
}

static void watch(void)
{
	const struct ctl_do req = {
		.hdr = {MSG_CTL_DO, 1}, .version = CTL_VERSION, .verb = CTL_WATCH};

	call(&req, sizeof(req));
}

static uint32_t make_qp(void)
{
	const struct msg_hdr pd = {MSG_ALLOC_PD, 1};
	const struct msg_create_cq cq = {.hdr = {MSG_CREATE_CQ, 1}, .entries = 16};
	struct msg_create_qp qp = {
		.hdr = {MSG_CREATE_QP, 1},
		.sq_entries = 8,
		.rq_entries = 8,
		.max_send_sge = 1,
		.max_recv_sge = 1,
	};

	qp.pd = call(&pd, sizeof(pd));
	qp.send_cq = qp.recv_cq = call(&cq, sizeof(cq));
	return call(&qp, sizeof(qp));
}

/* The client connects to itself and does not answer its own request. */
static void make_session(void)
{
	struct msg_listen listening = {.hdr = {MSG_LISTEN, 1}, .port = PORT, .naddrs = 1};
	struct msg_connect connect = {.hdr = {MSG_CONNECT, 1}, .npeers = 1};

	listening.addrs[0] = here;
	connect.peers[0] = here;
	connect.qp = make_qp();
	call(&listening, sizeof(listening));
	call(&connect, sizeof(connect));
	for (unsigned i = 0; i < 8; i++)
		turn_hooks.turn(w, w->now_ms + 1);
	cr_assert_eq(c->requests.used, 1);
}

/* The daemon works and has nothing of the client. */
static void expect_gone(void)
{
	cr_expect_eq(d.clients.used, 0);
	cr_expect(list_empty(&w->faulty));
	cr_expect(list_empty(&w->polled));
	cr_expect(list_empty(&w->dirty_async));
	cr_expect(list_empty(&w->dirty_cqs));
	cr_expect(list_empty(&w->journal.watchers));
	for (unsigned i = 0; i < 8; i++)
		turn_hooks.turn(w, w->now_ms + 1);
	cr_expect_null(acct_free(d.acct));
}

Test(leave, the_end_of_a_session_does_not_reach_its_client_that_watches)
{
	greet();
	make_session();
	watch();
	close(client_end);
	attach_free(c);
	expect_gone();
}

Test(leave, a_client_at_fault_that_watches_its_own_end_is_ended_once)
{
	greet();
	make_session();
	watch();
	close(client_end);
	client_fault(c, "first");
	cr_assert(attach_end_faulty(w));
	expect_gone();
}

Test(leave, nothing_reaches_a_client_that_leaves)
{
	struct msg_event ev = {.type = MSG_EV_SRQ_LIMIT};
	struct qp *qp;

	greet();
	qp = idtab_get(&c->qps, make_qp());
	watch();
	client_fault(c, "first");
	client_leave(c);
	cr_expect(list_empty(&w->faulty));
	client_fault(c, "second");
	client_event(c, &ev);
	client_ring(c, qp);
	client_poll_bells(c);
	async_post(c, &qp->async, MSG_ASYNC_QP_FATAL);
	cr_expect(list_empty(&w->faulty));
	cr_expect(list_empty(&w->polled));
	cr_expect(list_empty(&w->dirty_async));
	cr_expect(list_empty(&w->journal.watchers));
	cr_expect_not(list_linked(&qp->async.link));
	cr_expect_str_eq(c->fault, "first");
	attach_free(c);
	expect_gone();
}
