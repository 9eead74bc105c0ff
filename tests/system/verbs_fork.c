/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for libibverbs that forks. Promise: whatever the parent did before, the child can use
 * devices, also with contexts of its parent, and gets the right bytes and events; objects of the
 * parent are refused with ECHILD, and nothing waits without end; the parent's objects still work. A
 * child that is killed leaves nothing behind.
 *
 *   verbs_fork      exit status 0 if it held
 */
#include "tests/lib/patience.h"
#include "tests/system/verbs_rig.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a parent has. */
struct objects {
	struct side a, b;
	struct pair p;
	struct ibv_comp_channel *ch;
	struct rdma_event_channel *events;
	struct rdma_cm_id *listener;
};

static pid_t begin_child(void (*run)(void *arg), void *arg)
{
	pid_t pid = fork();

	VERB(pid >= 0);
	if (pid == 0) {
		alarm(LIFE_S); /* a child that waits without end */
		run(arg);
		_exit(0);
	}
	return pid;
}

static void end_child(pid_t pid)
{
	int status;

	VERB(waitpid(pid, &status, 0) == pid);
	if (WIFSIGNALED(status))
		printf("the child got signal %d\n", WTERMSIG(status));
	VERB(status == 0);
}

static void in_child(void (*run)(void *arg), void *arg)
{
	end_child(begin_child(run, arg));
}

/* Everything of its own. */
static void exchange(void *arg)
{
	struct side a, b;
	struct pair p;

	(void)arg;
	side_open(&a, 0);
	side_open(&b, 1);
	pair_open(&p, &a, &b);
	for (unsigned i = 0; i < 6; i++)
		pair_send(&p, i & 1, 1 + i * 3000, i);
	pair_close(&p);
	side_close(&a);
	side_close(&b);
}

static void open_all(struct objects *o)
{
	struct sockaddr_storage any = {.ss_family = AF_INET};

	side_open(&o->a, 0);
	side_open(&o->b, 1);
	pair_open(&o->p, &o->a, &o->b);
	pair_send(&o->p, 0, 2000, 1);
	VERB(o->ch = ibv_create_comp_channel(o->a.ctx));
	VERB(o->events = rdma_create_event_channel());
	VERB(rdma_create_id(o->events, &o->listener, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_bind_addr(o->listener, (struct sockaddr *)&any) == 0);
	VERB(rdma_listen(o->listener, 4) == 0);
}

static void close_all(struct objects *o)
{
	pair_send(&o->p, 1, 5000, 2);
	VERB(rdma_destroy_id(o->listener) == 0);
	rdma_destroy_event_channel(o->events);
	VERB(ibv_destroy_comp_channel(o->ch) == 0);
	pair_close(&o->p);
	side_close(&o->a);
	side_close(&o->b);
}

/* The parent's objects are refused. */
static void refuse(void *arg)
{
	struct objects *o = arg;
	struct ibv_sge sge = side_sge(&o->a, 0, 8);
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr send = {.opcode = IBV_WR_SEND};
	struct rdma_cm_event *ev;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *user;

	VERB(post(&o->p, 0, &send, &sge) == ECHILD);
	VERB(ibv_post_recv(o->p.qp[0], &wr, &bad_recv) == ECHILD);
	VERB(ibv_poll_cq(o->a.cq, 1, &wc) < 0);
	VERB(ibv_req_notify_cq(o->a.cq, 0) == ECHILD);
	VERB(!ibv_reg_mr(o->a.pd, o, sizeof(*o), 0) && errno == ECHILD);
	VERB(ibv_get_cq_event(o->ch, &cq, &user) == -1 && errno == ECHILD);
	VERB(rdma_get_cm_event(o->events, &ev) == -1 && errno == ECHILD);
	VERB(rdma_listen(o->listener, 1) == -1 && errno == ECHILD);
	VERB(rdma_destroy_id(o->listener) == -1 && errno == ECHILD);
	VERB(ibv_destroy_qp(o->p.qp[0]) == ECHILD);
	VERB(ibv_dereg_mr(o->a.mr) == ECHILD);
}

/* The parent's contexts and channels serve new objects. */
static void reuse(void *arg)
{
	struct objects *o = arg;
	struct side a = o->a, b = o->b;
	struct rdma_cm_id *id;
	struct sockaddr_storage any = {.ss_family = AF_INET};
	struct ibv_cq *cq;
	void *user;
	struct pair p;

	for (int i = 0; i < 2; i++) {
		struct side *s = i ? &b : &a;

		VERB(s->pd = ibv_alloc_pd(s->ctx));
		VERB(s->cq = ibv_create_cq(s->ctx, 64, s, i ? NULL : o->ch, 0));
		VERB(posix_memalign((void **)&s->mem, 4096, RIG_SIZE) == 0);
		VERB(s->mr = ibv_reg_mr(s->pd, s->mem, RIG_SIZE, IBV_ACCESS_LOCAL_WRITE));
	}
	pair_open(&p, &a, &b);
	VERB(ibv_req_notify_cq(a.cq, 0) == 0);
	pair_send(&p, 0, 7000, 3);
	VERB(ibv_get_cq_event(o->ch, &cq, &user) == 0 && cq == a.cq);
	VERB(rdma_create_id(o->events, &id, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_bind_addr(id, (struct sockaddr *)&any) == 0 && rdma_listen(id, 1) == 0);
	VERB(rdma_destroy_id(id) == 0);
	/* It leaves without destroying anything. */
}

/* ---- rdma_cm alone ---- */

static void expect_next(struct rdma_event_channel *ch, enum rdma_cm_event_type type,
			struct rdma_cm_id **ret)
{
	struct rdma_cm_event *ev;

	VERB(rdma_get_cm_event(ch, &ev) == 0 && ev->event == type);
	*ret = ev->id;
	VERB(rdma_ack_cm_event(ev) == 0);
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};

	VERB(rdma_create_qp(id, NULL, &init) == 0);
}

static void end_id(struct rdma_event_channel *ch, struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	VERB(rdma_destroy_id(id) == 0);
	if (ch)
		rdma_destroy_event_channel(ch);
}

/* Listens at all devices, and writes the port. */
static void serve(void *arg)
{
	const int *fd = arg;
	struct sockaddr_in any = {.sin_family = AF_INET};
	struct rdma_event_channel *ch;
	struct rdma_cm_id *l, *id;
	__be16 port;

	VERB(ch = rdma_create_event_channel());
	VERB(rdma_create_id(ch, &l, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_bind_addr(l, (struct sockaddr *)&any) == 0 && rdma_listen(l, 1) == 0);
	port = rdma_get_src_port(l);
	VERB(write(*fd, &port, sizeof(port)) == sizeof(port));
	expect_next(ch, RDMA_CM_EVENT_CONNECT_REQUEST, &id);
	make_qp(id);
	VERB(rdma_accept(id, NULL) == 0);
	expect_next(ch, RDMA_CM_EVENT_ESTABLISHED, &id);
	expect_next(ch, RDMA_CM_EVENT_DISCONNECTED, &id);
	end_id(NULL, id);
	end_id(ch, l);
}

static void call(void *arg)
{
	struct rdma_conn_param param = {.rnr_retry_count = 7};
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id;

	VERB(ch = rdma_create_event_channel());
	VERB(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_resolve_addr(id, NULL, arg, PATIENCE_MS) == 0);
	expect_next(ch, RDMA_CM_EVENT_ADDR_RESOLVED, &id);
	VERB(rdma_resolve_route(id, PATIENCE_MS) == 0);
	expect_next(ch, RDMA_CM_EVENT_ROUTE_RESOLVED, &id);
	make_qp(id);
	VERB(rdma_connect(id, &param) == 0);
	expect_next(ch, RDMA_CM_EVENT_ESTABLISHED, &id);
	VERB(rdma_disconnect(id) == 0);
	expect_next(ch, RDMA_CM_EVENT_DISCONNECTED, &id);
	end_id(ch, id);
}

/* The parent has devices of rdma_cm, and each child its own events. A server waits at the last
 * device, which is not that of the client. */
static void meet(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	struct ibv_context **list;
	union ibv_gid gid;
	int n, fd[2];
	pid_t server;

	VERB((list = rdma_get_devices(&n)) && n == 2);
	VERB(ibv_query_gid(list[1], 1, 0, &gid) == 0);
	rdma_free_devices(list);
	memcpy(&at.sin_addr, gid.raw + 12, sizeof(at.sin_addr));
	VERB(pipe(fd) == 0);
	server = begin_child(serve, &fd[1]);
	VERB(close(fd[1]) == 0);
	VERB(read(fd[0], &at.sin_port, sizeof(at.sin_port)) == sizeof(at.sin_port));
	in_child(call, &at);
	end_child(server);
	VERB(close(fd[0]) == 0);
}

static void killed(void *arg)
{
	int status, ready[2];
	char byte;
	pid_t pid;

	(void)arg;
	VERB(pipe(ready) == 0 && (pid = fork()) >= 0);
	if (pid == 0) {
		struct side a, b;
		struct pair p;

		side_open(&a, 0);
		side_open(&b, 1);
		pair_open(&p, &a, &b);
		pair_send(&p, 0, 100, 1);
		VERB(write(ready[1], "x", 1) == 1);
		pause();
	}
	VERB(read(ready[0], &byte, 1) == 1);
	VERB(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	close(ready[0]);
	close(ready[1]);
}

/* Registers memory while another thread forks. */
static void *busy(void *arg)
{
	struct side *s = arg;
	struct ibv_mr *mr;

	while (!__atomic_load_n(&s->ctx, __ATOMIC_ACQUIRE))
		;
	while (__atomic_load_n(&s->ctx, __ATOMIC_ACQUIRE)) {
		VERB(mr = ibv_reg_mr(s->pd, s->mem, 8192, IBV_ACCESS_LOCAL_WRITE));
		VERB(ibv_dereg_mr(mr) == 0);
	}
	return NULL;
}

static void alloc_one(void *arg)
{
	struct ibv_pd *pd = ibv_alloc_pd(((struct side *)arg)->ctx);

	VERB(pd && ibv_dealloc_pd(pd) == 0);
}

static void many_forks(void)
{
	struct side s, seen;
	pthread_t thread;

	side_open(&s, 0);
	seen = s;
	VERB(pthread_create(&thread, NULL, busy, &seen) == 0);
	for (int i = 0; i < 20; i++)
		in_child(alloc_one, &s);
	__atomic_store_n(&seen.ctx, NULL, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	side_close(&s);
}

static void grandchild(void *arg)
{
	in_child(exchange, NULL);
	reuse(arg);
}

int main(void)
{
	struct objects o;

	setvbuf(stdout, NULL, _IOLBF, 0);
	in_child(exchange, NULL);
	printf("ok a child before its parent uses a device\n");
	meet();
	printf("ok children with rdma_cm alone\n");
	open_all(&o);
	meet();
	printf("ok the same where the parent has connections\n");
	in_child(exchange, NULL);
	printf("ok a child with devices of its own\n");
	in_child(refuse, &o);
	printf("ok a child is refused objects of its parent\n");
	in_child(reuse, &o);
	printf("ok a child with contexts and channels of its parent\n");
	in_child(grandchild, &o);
	printf("ok a child of a child\n");
	killed(NULL);
	printf("ok a child that is killed\n");
	close_all(&o);
	printf("ok the parent continues\n");
	many_forks();
	printf("ok forks while a thread registers memory\n");
	return 0;
}
