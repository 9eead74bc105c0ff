/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for libibverbs and librdmacm that ends after its first call, another one after its
 * second, and so on: killed, by exit() without destroying anything, or killed while a child that it
 * has forked lives on. Promise: verbs-own.sh finds nothing of them in the daemons.
 *
 *   verbs_ends ADDRESS-OF-FIRST-DEVICE      prints "ended" when all have ended but the children,
 *                                           which end when this process is terminated
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/system/verbs_rig.h"

enum { WHOLE = 42 }; /* exit status of a program that came to its end */

static struct sockaddr_in addr;
static unsigned left; /* calls until the end */
static void (*end)(void);
static int gate[2]; /* the children read it until its end */

/* ---- ends ---- */

static void die(void)
{
	raise(SIGKILL);
}

static void leave(void)
{
	exit(0);
}

static void leave_child(void)
{
	pid_t pid = fork();
	char c;

	if (pid < 0)
		exit(1);
	if (pid > 0)
		raise(SIGKILL);
	alarm(RIG_WAIT_MS / 1000);
	while (read(gate[0], &c, 1) > 0)
		;
	_exit(0);
}

static void count_down(void)
{
	if (left-- == 0)
		end();
}

/* ---- what the program does ---- */

static void expect(struct rdma_event_channel *ch, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;

	VERB(rdma_get_cm_event(ch, &ev) == 0);
	VERB(ev->event == type);
	VERB(rdma_ack_cm_event(ev) == 0);
}

/* A request that its listener has not answered. */
static void ask(void)
{
	struct rdma_event_channel *client = rdma_create_event_channel();
	struct rdma_event_channel *server = rdma_create_event_channel();
	struct rdma_conn_param param = {.initiator_depth = 1, .responder_resources = 1};
	struct sockaddr_in to = addr;
	struct rdma_cm_id *listener, *id, *asked;
	struct rdma_cm_event *ev;
	struct ibv_qp_init_attr init = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_srq_init_attr queue = {.attr = {.max_wr = 8, .max_sge = 1}};

	VERB(client && server);
	VERB(rdma_create_id(server, &listener, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_bind_addr(listener, (struct sockaddr *)&to) == 0);
	VERB(rdma_listen(listener, 4) == 0);
	to.sin_port = rdma_get_src_port(listener);
	VERB(rdma_create_id(client, &id, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000) == 0);
	expect(client, RDMA_CM_EVENT_ADDR_RESOLVED);
	VERB(rdma_resolve_route(id, 2000) == 0);
	expect(client, RDMA_CM_EVENT_ROUTE_RESOLVED);
	VERB(rdma_create_srq(id, NULL, &queue) == 0);
	VERB(rdma_create_qp(id, NULL, &init) == 0);
	VERB(id->qp->srq == id->srq && init.srq == id->srq);
	VERB(rdma_connect(id, &param) == 0);
	VERB(rdma_get_cm_event(server, &ev) == 0);
	VERB(ev->event == RDMA_CM_EVENT_CONNECT_REQUEST);
	asked = ev->id;
	VERB(rdma_ack_cm_event(ev) == 0);
	VERB(rdma_destroy_id(asked) == 0);
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
	VERB(rdma_destroy_id(id) == 0);
	VERB(rdma_destroy_id(listener) == 0);
	rdma_destroy_event_channel(client);
	rdma_destroy_event_channel(server);
}

/* A queue pair with a shared receive queue, a channel and a window. */
static void share(const struct side *s)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_qp_init_attr init = side_init(s);
	struct ibv_comp_channel *ch;
	struct ibv_qp *qp;
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_mw *mw;

	VERB(ch = ibv_create_comp_channel(s->ctx));
	VERB(cq = ibv_create_cq(s->ctx, 8, NULL, ch, 0));
	VERB(ibv_req_notify_cq(cq, 0) == 0);
	VERB(srq = ibv_create_srq(s->pd, &attr));
	VERB(mw = ibv_alloc_mw(s->pd, IBV_MW_TYPE_2));
	init.srq = srq;
	init.recv_cq = cq;
	VERB(qp = ibv_create_qp(s->pd, &init));
	VERB(ibv_destroy_qp(qp) == 0);
	VERB(ibv_dealloc_mw(mw) == 0);
	VERB(ibv_destroy_srq(srq) == 0);
	VERB(ibv_destroy_cq(cq) == 0);
	VERB(ibv_destroy_comp_channel(ch) == 0);
}

static void run(void)
{
	struct side a, b;
	struct pair p;

	side_open(&a, 0);
	side_open(&b, 1);
	share(&a);
	pair_open(&p, &a, &b);
	pair_send(&p, 0, 2000, 1);
	pair_send(&p, 1, 30000, 2);
	ask();
	pair_close(&p);
	side_close(&a);
	side_close(&b);
}

/* ---- all programs ---- */

/* The program that ends before that call. True if it has no such call. */
static bool try_call(unsigned call, void (*how)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		close(gate[1]);
		alarm(RIG_WAIT_MS / 1000);
		left = call;
		end = how;
		rig_before_call = count_down;
		run();
		_exit(WHOLE);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("verbs_ends");
		exit(1);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == WHOLE)
		return true;
	if (!(WIFEXITED(status) && WEXITSTATUS(status) == 0) &&
	    !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) {
		printf("FAILED: the program that ends before call %u: status %#x\n", call, status);
		exit(1);
	}
	return false;
}

static void try_all(const char *name, void (*how)(void))
{
	unsigned n = 0;

	while (!try_call(n, how))
		n++;
	printf("%s before each of %u calls\n", name, n);
	if (n < 50)
		exit(1);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	addr.sin_family = AF_INET;
	if (argc != 2 || inet_pton(AF_INET, argv[1], &addr.sin_addr) != 1 || pipe(gate) != 0)
		return 2;
	try_all("killed", die);
	try_all("exit()", leave);
	try_all("killed, with a child that lives on,", leave_child);
	printf("ended\n");
	for (;;)
		pause();
}
