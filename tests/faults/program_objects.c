/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects of one end. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/faults/program.h"

static int undo_mr(void *mr)
{
	return ddp_dereg_mr(mr);
}
static int undo_mw(void *mw)
{
	return ddp_dealloc_mw(mw);
}
static int undo_cq(void *cq)
{
	return ddp_destroy_cq(cq);
}
static int undo_srq(void *srq)
{
	return ddp_destroy_srq(srq);
}
static int undo_qp(void *qp)
{
	return ddp_destroy_qp(qp);
}
static int undo_id(void *id)
{
	return ddp_destroy_id(id);
}

void part_attach(struct program *p)
{
	struct ddp_caps caps = DDP_INIT(ddp_caps);
	struct sockaddr_storage addrs[4];
	struct ddp_async_event ev = {0};

	end_open(p, 0);
	TRY(ddp_query(p->end[0].ctx, &caps));
	TRY(ddp_query_addrs(p->end[0].ctx, addrs, 4));
	TRY(ddp_async_fd(p->end[0].ctx));
	(void)ddp_get_async_event(p->end[0].ctx, &ev, 0);
}

/* A memfd and its mapping, which the program frees at once: the regions of it stay. */
static int shared(size_t n, void **ret)
{
	int fd = memfd_create("faults", MFD_ALLOW_SEALING | MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)n) < 0)
		complain("memfd of the program");
	*ret = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*ret == MAP_FAILED)
		complain("mapping of the program");
	return fd;
}

static void windows(struct end *e)
{
	struct ddp_mw *mw;
	struct ddp_mw_attr attr = DDP_INIT(ddp_mw_attr);

	TRY(ddp_alloc_mw(e->pd, DDP_MW_TYPE_1, &mw));
	later(undo_mw, mw);
	TRY(ddp_bind_mw(mw, e->mr, e->mr->iova, 100, DDP_ACCESS_REMOTE_WRITE));
	TRY(ddp_query_mw(mw, &attr));
	now(mw);
}

static void move_region(struct end *e, struct ddp_mr *mr, int fd, void *map, size_t n)
{
	struct ddp_rereg_attr attr = DDP_INIT(ddp_rereg_attr);
	struct ddp_mr_attr is = DDP_INIT(ddp_mr_attr);

	attr.fd = fd;
	attr.length = n;
	attr.addr = map;
	attr.iova = 1ULL << 40;
	attr.pd = e->pd;
	attr.access = 31;
	TRY(ddp_rereg_mr(mr, DDP_REREG_TRANSLATION | DDP_REREG_PD | DDP_REREG_ACCESS, &attr));
	TRY(ddp_query_mr(mr, &is));
}

static int close_file(void *fd)
{
	return close(*(int *)fd);
}
static int unmap(void *p)
{
	return munmap(p, 1 << 20);
}

/* Memory that the daemon maps to read, and then to write. */
static void write_later(struct end *e, int fd)
{
	const unsigned access[] = {DDP_ACCESS_REMOTE_READ, DDP_ACCESS_REMOTE_WRITE};
	struct ddp_mr *mr;

	for (int i = 0; i < 2; i++) {
		TRY(ddp_reg_memfd(e->pd, fd, 8192, 4096, NULL, 0, access[i], &mr));
		later(undo_mr, mr);
	}
}

void part_memory(struct program *p)
{
	struct end *e = &p->end[0];
	static int fd;
	struct ddp_mr *mr, *small;
	void *map;

	fd = shared(1 << 20, &map);
	later(close_file, &fd);
	later(unmap, map);
	end_open(p, 0);
	small = new_region(e, 100);
	TRY(ddp_reg_memfd(e->pd, fd, 0, 1 << 20, map, 0, 31, &mr));
	later(undo_mr, mr);
	TRY(ddp_notify_mr(mr, e->cq, 1));
	TRY(ddp_notify_mr(mr, NULL, 0));
	windows(e);
	move_region(e, small, fd, map, 4096);
	now(mr);
	now(small);
	write_later(e, fd);
	for (int i = 0; i < 300; i++)
		(void)new_region(e, 1000);
}

static void register_own(struct end *e, void *mem, size_t n)
{
	struct ddp_mr *mr;

	TRY(ddp_reg_mr(e->pd, mem, n, 31, NULL, &mr));
	later(undo_mr, mr);
}

static int unmap_own(void *p)
{
	return munmap(p, 64 << 10);
}
static int free_own(void *p)
{
	free(p);
	return 0;
}

static char *map_own(int flags)
{
	char *mem = mmap(NULL, 64 << 10, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		complain("memory of the program");
	later(unmap_own, mem);
	memset(mem, 7, 64 << 10);
	return mem;
}

static void register_list(struct end *e, char *mem)
{
	const struct iovec range[] = {{mem, 4096}, {mem + 100, 8192}};
	struct ddp_mr *mr[2];

	TRY(ddp_reg_mrs(e->pd, range, 2, 31, NULL, mr));
	for (int i = 0; i < 2; i++)
		later(undo_mr, mr[i]);
}

void part_own_memory(struct program *p)
{
	struct end *e = &p->end[0];
	char *heap = malloc(100000), *mapped, *copied;

	later(free_own, heap);
	memset(heap, 7, 100000);
	mapped = map_own(MAP_PRIVATE);
	copied = map_own(MAP_SHARED);
	end_open(p, 0);
	register_own(e, heap + 100, 90000);
	register_own(e, mapped, 64 << 10);
	register_own(e, mapped + 4096, 8192);
	register_list(e, mapped);
	register_own(e, copied, 64 << 10);
	for (size_t i = 0; i < 64 << 10; i++)
		if (mapped[i] != 7 || copied[i] != 7 || heap[i] != 7)
			complain("a byte of memory has changed");
}

/* ---- memory of a program with threads, and of its child ---- */

static pthread_barrier_t barrier;
static pthread_t other;

static void *wait_twice(void *arg)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return arg;
}

static int end_thread(void *thread)
{
	pthread_barrier_wait(&barrier);
	pthread_join(*(pthread_t *)thread, NULL);
	return pthread_barrier_destroy(&barrier);
}

/* Another thread may store while the pages move. */
void part_threads(struct program *p)
{
	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&other, NULL, wait_twice, NULL))
		complain("thread of the program");
	pthread_barrier_wait(&barrier);
	later(end_thread, &other);
	part_own_memory(p);
}

/* The child of a program with adopted memory has a copy, or ends with a reason. */
void part_fork(struct program *p)
{
	struct end *e = &p->end[0];
	char *mem = map_own(MAP_PRIVATE);
	pid_t child;
	int status;

	end_open(p, 0);
	register_own(e, mem, 64 << 10);
	child = fork();
	if (child == 0)
		_exit(mem[0] == 7 && mem[65535] == 7 ? 0 : 3);
	if (child < 0 || waitpid(child, &status, 0) != child)
		complain("fork of the program");
	if (!WIFEXITED(status) || WEXITSTATUS(status) == 3)
		complain("the child ended with %x", (unsigned)status);
	for (size_t i = 0; i < 64 << 10; i++)
		if (mem[i] != 7)
			complain("a byte of memory has changed");
	if (WEXITSTATUS(status))
		give_up("the child ended with %d", WEXITSTATUS(status));
}

/* ---- queues ---- */

static void shared_queue(struct end *e)
{
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);
	struct ddp_srq_state state = DDP_INIT(ddp_srq_state);
	struct ddp_srq *srq;

	attr.max_wr = 16;
	TRY(ddp_create_srq(e->pd, &attr, &srq));
	later(undo_srq, srq);
	attr.limit = 1;
	TRY(ddp_modify_srq(srq, &attr, DDP_SRQ_LIMIT));
	TRY(ddp_query_srq(srq, &state));
}

/* A call that waited in vain. */
static void expect_none(int r)
{
	if (r > 0)
		complain("%d completions of no work", r);
	TRY(r == -EAGAIN || r == -ETIMEDOUT ? 0 : r);
}

void part_queues(struct program *p)
{
	struct end *e = &p->end[0];
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);
	struct ddp_cq_state state = DDP_INIT(ddp_cq_state);
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_qp_attr is = DDP_INIT(ddp_qp_attr);
	struct ddp_cm_event *ev;
	struct ddp_cq *cq;
	struct ddp_wc wc;

	end_open(p, 0);
	attr.entries = 16;
	attr.keep_events = 1;
	TRY(ddp_create_cq(e->ctx, &attr, &cq));
	later(undo_cq, cq);
	TRY(ddp_resize_cq(cq, 5000));
	TRY(ddp_query_cq(cq, &state));
	TRY(ddp_cq_fd(cq));
	TRY(ddp_req_notify_cq(cq, 0));
	expect_none(ddp_get_cq_event(cq, 1));
	expect_none(ddp_wait_cq(e->cq, 1, &wc, 1));
	expect_none(ddp_wait(e->cq, 1, &wc, &ev, 1));
	shared_queue(e);
	TRY(ddp_create_id(e->ctx, NULL, &e->id));
	later(undo_id, e->id);
	init.send_cq = init.recv_cq = cq;
	init.max_send_wr = init.max_recv_wr = 100;
	init.max_send_sge = init.max_recv_sge = 4;
	TRY(ddp_create_qp(e->id, e->pd, &init, &e->qp));
	later(undo_qp, e->qp);
	TRY(ddp_query_qp(e->qp, &is));
	TRY(ddp_set_qp_access(e->qp, DDP_ACCESS_REMOTE_READ));
}

void part_listen(struct program *p)
{
	struct end *e = &p->end[1];
	struct ddp_id_attr is = DDP_INIT(ddp_id_attr);

	end_open(p, 1);
	for (uint16_t i = 0; i < 20; i++) {
		struct ddp_id *id;

		TRY(ddp_create_id(e->ctx, NULL, &id));
		later(undo_id, id);
		TRY(ddp_listen(id, NULL, (uint16_t)(7100 + i), 0));
		TRY(ddp_query_id(id, &is));
	}
}
