/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for libibverbs that forks. Promise: whatever the parent did before, the child can use
 * devices, also with contexts of its parent, and gets the right bytes; objects of the parent are
 * refused with ECHILD, and nothing waits without end; the parent's objects still work. A child that
 * is killed leaves nothing behind.
 *
 *   verbs_fork      exit status 0 if it held
 */
#include "tests/lib/patience.h"
#include "tests/system/verbs_rig.h"

#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

static void in_child(void (*run)(void *arg), void *arg)
{
	int status;
	pid_t pid = fork();

	VERB(pid >= 0);
	if (pid == 0) {
		alarm(LIFE_S); /* a child that waits without end */
		run(arg);
		_exit(0);
	}
	VERB(waitpid(pid, &status, 0) == pid);
	if (WIFSIGNALED(status))
		printf("the child got signal %d\n", WTERMSIG(status));
	VERB(status == 0);
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
	open_all(&o);
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
