/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client leaves: what its objects cause while they end, entries of the journal and bells among
 * it, does not reach the client any more.
 */
#include <criterion/criterion.h>
#include <unistd.h>

#include "daemon/net/association.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/service/attach.h"
#include "ipc/ctl.h"
#include "tests/unit/client_rig.h"

static struct worker *const w = &rig.worker;
static struct rig_program p;

static void start(void)
{
	rig_start();
	rig_attach(&p);
}

TestSuite(leave, .init = start, .timeout = 30);

static void watch(void)
{
	const struct ctl_do req = {
		.hdr = {MSG_CTL_DO, 1}, .version = CTL_VERSION, .verb = CTL_WATCH};

	rig_call(&p, &req, sizeof(req));
}

/* The client connects to itself and does not answer its own request. */
static void make_session(void)
{
	rig_listen(&p, 0);
	rig_connect(&p, rig_make_qp(&p));
	cr_assert_eq(p.c->handles.requests.used, 1);
}

/* The daemon works and has no object of the client. */
static void expect_gone(void)
{
	struct association *assoc;

	cr_expect_eq(rig.clients.used, 0);
	cr_expect(list_empty(&w->faulty));
	cr_expect(list_empty(&w->polled));
	cr_expect(list_empty(&w->dirty_async));
	cr_expect(list_empty(&w->dirty_cqs));
	cr_expect(list_empty(&w->journal.watchers));
	rig_turns();
	for (uint32_t pos = 0; (assoc = idtab_next(&w->assocs, &pos));)
		association_free(assoc);
	cr_expect_null(acct_free(rig.acct));
}

Test(leave, the_end_of_a_session_does_not_reach_its_client_that_watches)
{
	make_session();
	watch();
	close(p.fd);
	attach_free(p.c);
	expect_gone();
}

Test(leave, a_client_at_fault_that_watches_its_own_end_is_ended_once)
{
	make_session();
	watch();
	close(p.fd);
	client_fault(p.c, "first");
	cr_assert(attach_end_faulty(w));
	expect_gone();
}

Test(leave, nothing_reaches_a_client_that_leaves)
{
	struct qp *qp = idtab_get(&p.c->handles.qps, rig_make_qp(&p));
	struct msg_event ev = {.type = MSG_EV_PATH};

	watch();
	client_fault(p.c, "first");
	client_leave(p.c);
	cr_expect(list_empty(&w->faulty));
	client_fault(p.c, "second");
	client_event(p.c, &qp->events.places[QP_EVENT_PATH], &ev);
	client_ring(p.c, qp->handle);
	client_poll_bells(p.c);
	async_post(p.c, &qp->events.async, MSG_ASYNC_QP_FATAL, qp->handle);
	cr_expect(list_empty(&w->faulty));
	cr_expect(list_empty(&w->polled));
	cr_expect(list_empty(&w->dirty_async));
	cr_expect(list_empty(&w->journal.watchers));
	cr_expect_not(list_linked(&qp->events.async.link));
	cr_expect_str_eq(p.c->fault.reason, "first");
	attach_free(p.c);
	expect_gone();
}
