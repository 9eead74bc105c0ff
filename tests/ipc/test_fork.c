/* SPDX-License-Identifier: BSD-2-Clause */
/* A child of the process that opened a context gets -ECHILD from each call, whatever locks other
 * threads held, and can open a context of its own. The parent is not affected. */
#include <criterion/criterion.h>
#include <ddp/ddp.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/ipc/listening.h"

TestSuite(fork, .init = start, .fini = stop, .timeout = 30);

static struct ddp_mr *mr;
static struct ddp_mw *mw;
static struct ddp_srq *srq;
static struct ddp_id *id, *incoming;
static struct ddp_qp *qp;

static void make_all(void)
{
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);

	attr.max_wr = 4;
	cr_assert_eq(ddp_alloc_mr(pd, 4096, DDP_ACCESS_LOCAL_WRITE, &mr), 0);
	cr_assert_eq(ddp_alloc_mw(pd, DDP_MW_TYPE_1, &mw), 0);
	cr_assert_eq(ddp_create_srq(pd, &attr, &srq), 0);
	id = make_id();
	qp = ddp_id_qp(id);
	incoming = request(9);
}

/* In the child: the number of the line whose call did not return -ECHILD. */
#define CHILD(call)                                                                                \
	do {                                                                                       \
		if ((call) != -ECHILD || !strstr(ddp_last_reason(), "parent"))                     \
			return __LINE__;                                                           \
	} while (0)

static int use_objects(void)
{
	struct ddp_cq_attr cq_attr = {.struct_size = sizeof(cq_attr), .entries = 8};
	struct ddp_srq_attr srq_attr = {.struct_size = sizeof(srq_attr), .max_wr = 4};
	struct ddp_qp_init init = {.struct_size = sizeof(init), .send_cq = cq, .recv_cq = cq};
	char stack[64] = "";
	struct ddp_pd *new_pd;
	struct ddp_cq *new_cq;
	struct ddp_srq *new_srq;
	struct ddp_id *new_id;
	struct ddp_qp *new_qp;
	struct ddp_mr *new_mr;
	struct ddp_mw *new_mw;

	CHILD(ddp_alloc_pd(ctx, &new_pd));
	CHILD(ddp_create_cq(ctx, &cq_attr, &new_cq));
	CHILD(ddp_create_srq(pd, &srq_attr, &new_srq));
	CHILD(ddp_create_id(ctx, NULL, &new_id));
	CHILD(ddp_create_qp(incoming, pd, &init, &new_qp));
	CHILD(ddp_alloc_mr(pd, 4096, 0, &new_mr));
	CHILD(ddp_alloc_mw(pd, DDP_MW_TYPE_1, &new_mw));
	CHILD(ddp_reg_mr(pd, stack, sizeof(stack), 0, NULL, &new_mr));
	CHILD(ddp_reg_memfd(pd, -1, 0, 4096, NULL, 0, 0, &new_mr));
	CHILD(ddp_bind_mr(mr, qp));
	CHILD(ddp_bind_mw(mw, NULL, 0, 0, 0));
	CHILD(ddp_modify_srq(srq, &srq_attr, DDP_SRQ_LIMIT));
	CHILD(ddp_move_qp(qp, incoming));
	return 0;
}

static int use_queries(void)
{
	struct ddp_caps caps = DDP_INIT(ddp_caps);
	struct ddp_pd_attr pd_attr = DDP_INIT(ddp_pd_attr);
	struct ddp_mr_attr mr_attr = DDP_INIT(ddp_mr_attr);
	struct ddp_mw_attr mw_attr = DDP_INIT(ddp_mw_attr);
	struct ddp_cq_state cq_state = DDP_INIT(ddp_cq_state);
	struct ddp_srq_state srq_state = DDP_INIT(ddp_srq_state);
	struct ddp_qp_attr qp_attr = DDP_INIT(ddp_qp_attr);
	struct ddp_id_attr id_attr = DDP_INIT(ddp_id_attr);
	struct sockaddr_storage at;
	struct ddp_path path;
	struct ddp_async_event async;

	CHILD(ddp_query(ctx, &caps));
	CHILD(ddp_query_pd(pd, &pd_attr));
	CHILD(ddp_query_mr(mr, &mr_attr));
	CHILD(ddp_query_mw(mw, &mw_attr));
	CHILD(ddp_query_cq(cq, &cq_state));
	CHILD(ddp_query_srq(srq, &srq_state));
	CHILD(ddp_query_qp(qp, &qp_attr));
	CHILD(ddp_query_id(id, &id_attr));
	CHILD(ddp_query_addrs(ctx, &at, 1));
	CHILD(ddp_query_paths(id, &path, 1));
	CHILD(ddp_fd(ctx));
	CHILD(ddp_cq_fd(cq));
	CHILD(ddp_async_fd(ctx));
	CHILD(ddp_get_async_event(ctx, &async, 0));
	return ddp_find_id(ctx, ddp_qp_num(qp)) ? __LINE__ : 0;
}

static int use_sessions(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(1)};
	struct ddp_send_wr send = {.wr_id = 1}, *bad_send = NULL;
	struct ddp_recv_wr recv = {.wr_id = 1}, *bad_recv = NULL;
	struct ddp_wc wc;

	CHILD(ddp_listen(id, NULL, 1, 0));
	CHILD(ddp_connect(id, (struct sockaddr *)&to, NULL));
	CHILD(ddp_connect_name(id, "127.0.0.1", 1, NULL));
	CHILD(ddp_accept(incoming, NULL));
	CHILD(ddp_reject(incoming, NULL));
	CHILD(ddp_disconnect(id));
	CHILD(ddp_set_primary(id, (struct sockaddr *)&to));
	CHILD(ddp_get_cm_event(ctx, &ev, 0));
	CHILD(ddp_post_send(qp, &send, &bad_send));
	CHILD(ddp_post_recv(qp, &recv, &bad_recv));
	if (bad_send != &send || bad_recv != &recv)
		return __LINE__;
	CHILD(ddp_post_srq_recv(srq, &recv, NULL));
	CHILD(ddp_poll_cq(cq, 1, &wc));
	CHILD(ddp_req_notify_cq(cq, 0));
	CHILD(ddp_wait_cq(cq, 1, &wc, 0));
	CHILD(ddp_get_cq_event(cq, 0));
	return 0;
}

static int end_all(void)
{
	CHILD(ddp_destroy_qp(qp));
	CHILD(ddp_destroy_id(id));
	CHILD(ddp_destroy_id(listener));
	CHILD(ddp_destroy_srq(srq));
	CHILD(ddp_dealloc_mw(mw));
	CHILD(ddp_dereg_mr(mr));
	CHILD(ddp_destroy_cq(cq));
	CHILD(ddp_dealloc_pd(pd));
	CHILD(ddp_close(ctx));
	return 0;
}

/* The line that failed in the child, or 0. */
static int result(pid_t pid)
{
	int status;

	cr_assert(pid > 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* An exit status has 8 bits, so the steps have children of their own. */
static void in_a_child(const char *name, int (*step)(void))
{
	pid_t pid;
	int line;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		line = step();
		if (line)
			dprintf(STDERR_FILENO, "%s: line %d: %s\n", name, line, ddp_last_reason());
		_exit(line != 0);
	}
	cr_expect_eq(result(pid), 0, "%s", name);
}

Test(fork, each_call_of_the_child_fails_and_the_parent_goes_on)
{
	struct ddp_caps caps = DDP_INIT(ddp_caps);
	unsigned before;

	make_all();
	before = fake.nrec;
	in_a_child("objects", use_objects);
	in_a_child("queries", use_queries);
	in_a_child("sessions", use_sessions);
	in_a_child("ends", end_all);
	cr_assert_eq(fake.nrec, before, "the daemon has heard nothing");
	cr_assert_eq(ddp_query(ctx, &caps), 0);
	cr_assert_eq(ring_avail(&fake.qp[0].sq), 0, "nothing was posted");
}

/* fork() calls the handlers of the C library; the system call alone does not. */
Test(fork, a_raw_system_call_is_noticed_too)
{
	pid_t pid;

	make_all();
	fflush(NULL);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0)
		_exit(ddp_fd(ctx) == -ECHILD ? 0 : 1);
	cr_assert_eq(result(pid), 0);
}

Test(fork, a_child_can_have_a_context_of_its_own)
{
	struct fake other;
	struct ddp_ctx *own;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		struct ddp_caps caps = DDP_INIT(ddp_caps);

		fake_start(&other);
		if (ddp_open(NULL, &own) || ddp_query(own, &caps) || ddp_close(own))
			_exit(1);
		fake_stop(&other);
		_exit(0);
	}
	cr_assert_eq(result(pid), 0);
}

Test(fork, an_event_of_the_parent_can_be_freed)
{
	struct ddp_cm_event *held;
	pid_t pid;

	make_all();
	fake_event(&fake,
		   (struct msg_event){.type = MSG_EV_REQUEST, .cookie = cookie(), .request = 5});
	cr_assert_eq(ddp_get_cm_event(ctx, &held, -1), 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		ddp_ack_cm_event(held);
		_exit(0);
	}
	cr_assert_eq(result(pid), 0);
	cr_assert_eq(ddp_destroy_id(held->id), -EBUSY, "the parent still has it");
	cr_assert(strstr(ddp_last_reason(), "ddp_ack_cm_event"));
	ddp_ack_cm_event(held);
}
