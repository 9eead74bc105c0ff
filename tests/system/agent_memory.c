/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registers memory that can neither be shared nor adopted. The library copies it: a peer writes,
 * reads and adds there, and sends to it and from it.
 *
 *   agent_memory SOCKET-OF-A SOCKET-OF-B ADDRESS-OF-B
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/system/rig.h"

enum {
	LEN = 300000,
	ADDS = 300,
	ROUNDS = 200,
	REGIONS = 600,
	FENCED = 100000,
	SKEW = 13, /* regions begin at odd addresses */
};

static struct end a, b;
static struct session s;
static size_t page;

/* ---- helpers ---- */

static struct ddp_mr *reg(void *addr, size_t len, unsigned access)
{
	struct ddp_mr *mr;

	MUST(ddp_reg_mr(b.pd, addr, len, access, NULL, &mr));
	return mr;
}

static struct ddp_mr *reg_copied(const char *what, void *addr, size_t len, unsigned access)
{
	struct ddp_mr_attr attr = DDP_INIT(ddp_mr_attr);
	struct ddp_mr *mr = reg(addr, len, access);

	MUST(ddp_query_mr(mr, &attr));
	if (attr.rung != DDP_MR_AGENT)
		fail("%s: rung %d: %s", what, (int)attr.rung, attr.reason);
	ok("%s is copied: %s", what, attr.reason);
	return mr;
}

static void *map_pages(size_t len, int flags, int fd)
{
	return mmap(NULL, len, PROT_READ | PROT_WRITE, flags, fd, 0);
}

static void posts(const struct ddp_mr *mr, enum ddp_wr_opcode op, uint64_t at, size_t mine,
		  uint32_t len)
{
	session_send(&s, 0, (struct ddp_send_wr){.opcode = op, .rdma = {at, mr->rkey}}, mine, len);
}

static void peer_writes(const struct ddp_mr *mr, uint64_t at, uint32_t len)
{
	posts(mr, DDP_WR_RDMA_WRITE, at, 0, len);
	end_done(&a, DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
}

/* To the second half of its memory. */
static void peer_reads(const struct ddp_mr *mr, uint64_t at, uint32_t len)
{
	posts(mr, DDP_WR_RDMA_READ, at, RIG_HALF, len);
	end_done(&a, DDP_WC_RDMA_READ, DDP_WC_SUCCESS);
}

/* One request with one element of any memory. */
static void post_of(int side, enum ddp_wr_opcode op, struct ddp_sge sge, uint64_t at, uint32_t rkey)
{
	session_post(&s, side,
		     (struct ddp_send_wr){
			     .opcode = op, .sg_list = &sge, .num_sge = 1, .rdma = {at, rkey}});
}

/* ---- what peers do ---- */

static void writes_and_reads(const char *what, const struct ddp_mr *mr, uint8_t *p)
{
	memset(p, 7, LEN);
	end_fill(&a, 0, LEN, 1);
	peer_writes(mr, mr->iova + 1, LEN - 2);
	peer_reads(mr, mr->iova, LEN);
	same(what, end_at(&a, RIG_HALF + 1), end_at(&a, 0), LEN - 2);
	same("a Write is in the memory when a later Read is answered", p + 1, end_at(&a, 0),
	     LEN - 2);
	is("the bytes beside it are not touched", p[0] == 7 && p[LEN - 1] == 7, true);
	p[5] = 99;
	peer_reads(mr, mr->iova + 5, 1);
	is("a Read sees the latest store", *end_at(&a, RIG_HALF), 99);
}

static void polls_last_byte(const struct ddp_mr *mr, uint8_t *p)
{
	volatile uint8_t *last = p + 1000;

	*last = 0;
	end_fill(&a, 0, 1000, 2);
	*end_at(&a, 1000) = 1;
	peer_writes(mr, mr->iova, 1001);
	while (!*last)
		;
	ok("a program that polls sees a Write without any call");
}

/* A Write, then a Send: when the receive has completed, the Write is there. */
static void keeps_order(const struct ddp_mr *mr, const uint8_t *p)
{
	struct ddp_sge sge = {mr->iova + 200000, 100, mr->lkey};
	struct ddp_recv_wr recv = {.sg_list = &sge, .num_sge = 1};

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint32_t len = 1 + i * 997 % 100000;

		MUST(ddp_post_recv(s.qp[1], &recv, NULL));
		end_fill(&a, 0, len, i);
		posts(mr, DDP_WR_RDMA_WRITE, mr->iova + i, 0, len);
		posts(mr, DDP_WR_SEND, 0, 0, 1 + i % 100);
		end_done(&b, DDP_WC_RECV, DDP_WC_SUCCESS);
		if (memcmp(p + i, end_at(&a, 0), len))
			fail("round %u: a Write of %u bytes is not there after the Send", i, len);
		if (memcmp(p + 200000, end_at(&a, 0), 1 + i % 100))
			fail("round %u: the message is not in the receive", i);
		end_done(&a, DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
		end_done(&a, DDP_WC_SEND, DDP_WC_SUCCESS);
	}
	ok("%d times a Write and a Send: both are there with the completion", ROUNDS);
}

static void sends_and_fetches(const struct ddp_mr *mr, uint8_t *p)
{
	struct ddp_sge sge = {mr->iova + 3, 5000, mr->lkey}, old = {mr->iova + 8, 8, mr->lkey};

	session_recv(&s, 0, 0, 10000);
	memset(p, 3, 6000);
	p[3] = 1;
	post_of(1, DDP_WR_SEND, sge, 0, 0);
	memset(p, 4, 6000); /* too late: the bytes were taken when it was posted */
	end_done(&a, DDP_WC_RECV, DDP_WC_SUCCESS);
	end_done(&b, DDP_WC_SEND, DDP_WC_SUCCESS);
	is("a Send of copied memory", *end_at(&a, 0) * 256U + *end_at(&a, 4999), 256 + 3);
	end_fill(&a, 0, 5000, 5);
	post_of(1, DDP_WR_RDMA_READ, sge, a.mr->iova, a.mr->rkey);
	end_done(&b, DDP_WC_RDMA_READ, DDP_WC_SUCCESS);
	same("a Read into copied memory", p + 3, end_at(&a, 0), 5000);
	post_of(1, DDP_WR_RDMA_WRITE, sge, a.mr->iova + 20000, a.mr->rkey);
	end_done(&b, DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
	peer_reads(mr, mr->iova, 1); /* the Write was placed before this is answered */
	memset(end_at(&a, 0), 0, 8);
	*end_at(&a, 0) = 42;
	post_of(1, DDP_WR_ATOMIC_FETCH_AND_ADD, old, a.mr->iova, a.mr->rkey);
	end_done(&b, DDP_WC_FETCH_ADD, DDP_WC_SUCCESS);
	is("the old value of an atomic", p[8], 42);
	same("a Write of copied memory", end_at(&a, 20000), p + 3, 5);
}

static void *adds(void *cell)
{
	for (unsigned i = 0; i < ADDS; i++)
		__atomic_fetch_add((uint64_t *)cell, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void adds_together(const struct ddp_mr *mr, uint8_t *p)
{
	uint64_t skew = (uint64_t)(-(uintptr_t)p) % 8, *cell = (uint64_t *)(void *)(p + skew);
	pthread_t thread;

	*cell = 0;
	if (pthread_create(&thread, NULL, adds, cell))
		fail("pthread_create");
	for (unsigned i = 0; i < ADDS; i++) {
		session_send(&s, 0,
			     (struct ddp_send_wr){.opcode = DDP_WR_ATOMIC_FETCH_AND_ADD,
						  .rdma = {mr->iova + skew, mr->rkey},
						  .atomic.compare_add = 1},
			     RIG_HALF, 8);
		end_done(&a, DDP_WC_FETCH_ADD, DDP_WC_SUCCESS);
	}
	pthread_join(thread, NULL);
	is("additions of both sides", *cell, 2 * ADDS);
	session_send(&s, 0,
		     (struct ddp_send_wr){
			     .opcode = DDP_WR_ATOMIC_CMP_AND_SWP,
			     .rdma = {mr->iova + skew, mr->rkey},
			     .atomic = {.compare_add = 2 * ADDS, .swap = 4711},
		     },
		     RIG_HALF, 8);
	is("the old value of a swap", end_done(&a, DDP_WC_CMP_SWAP, DDP_WC_SUCCESS).imm_data,
	   2 * ADDS);
	is("a swap", *cell, 4711);
}

static void binds_windows(struct ddp_mr *mr, uint8_t *p)
{
	struct ddp_mw *mw;

	MUST(ddp_alloc_mw(b.pd, DDP_MW_TYPE_1, &mw));
	MUST(ddp_bind_mw(mw, mr, mr->iova + 1000, 5000,
			 DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ));
	end_fill(&a, 0, 100, 6);
	session_send(&s, 0,
		     (struct ddp_send_wr){.opcode = DDP_WR_RDMA_WRITE,
					  .rdma = {mr->iova + 1200, mw->rkey}},
		     0, 100);
	end_done(&a, DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
	p[1300] = 77;
	session_send(&s, 0,
		     (struct ddp_send_wr){.opcode = DDP_WR_RDMA_READ,
					  .rdma = {mr->iova + 1200, mw->rkey}},
		     RIG_HALF, 101);
	end_done(&a, DDP_WC_RDMA_READ, DDP_WC_SUCCESS);
	same("a Write through a window", p + 1200, end_at(&a, 0), 100);
	same("a Read through it", end_at(&a, RIG_HALF), p + 1200, 101);
	MUST(ddp_dealloc_mw(mw));
}

static void registers_again(struct ddp_mr *mr, uint8_t *p)
{
	struct ddp_rereg_attr attr = DDP_INIT(ddp_rereg_attr);

	MUST(ddp_bind_mr(mr, s.qp[1]));
	p[0] = 11;
	peer_reads(mr, mr->iova, 1);
	is("a Read of a region that is tied to the queue pair", *end_at(&a, RIG_HALF), 11);
	attr.access = RIG_ALL;
	attr.pd = b.pd;
	MUST(ddp_rereg_mr(mr, DDP_REREG_ACCESS | DDP_REREG_PD, &attr));
	attr.access = DDP_ACCESS_LOCAL_WRITE | DDP_ACCESS_REMOTE_READ;
	MUST(ddp_rereg_mr(mr, DDP_REREG_ACCESS, &attr));
	attr.access = RIG_ALL; /* it may be written already, so peers may get that right */
	MUST(ddp_rereg_mr(mr, DDP_REREG_ACCESS, &attr));
	*end_at(&a, 0) = 12;
	peer_writes(mr, mr->iova, 1);
	peer_reads(mr, mr->iova, 1);
	is("a Write after ddp_rereg_mr()", p[0], 12);
}

/* A Read, then a Send with a fence, and one of other bytes that the Read brings. */
static void fences(const struct ddp_mr *mr, const uint8_t *p)
{
	struct ddp_sge all = {mr->iova + 3, LEN / 2, mr->lkey};
	struct ddp_sge head = {mr->iova + 3, FENCED, mr->lkey};
	struct ddp_sge tail = {mr->iova + 3 + FENCED, 500, mr->lkey};
	struct ddp_send_wr behind = {.opcode = DDP_WR_SEND,
				     .sg_list = &tail,
				     .num_sge = 1,
				     .send_flags = DDP_SEND_SIGNALED};
	struct ddp_send_wr fenced = {
		.opcode = DDP_WR_SEND,
		.sg_list = &head,
		.num_sge = 1,
		.send_flags = DDP_SEND_SIGNALED | DDP_SEND_FENCE,
		.next = &behind,
	};
	struct ddp_send_wr read = {
		.opcode = DDP_WR_RDMA_READ,
		.sg_list = &all,
		.num_sge = 1,
		.rdma = {a.mr->iova, a.mr->rkey},
		.send_flags = DDP_SEND_SIGNALED,
		.next = &fenced,
	};

	for (unsigned i = 0; i < ROUNDS / 10; i++) {
		session_recv(&s, 0, RIG_HALF, FENCED);
		session_recv(&s, 0, RIG_HALF + FENCED, 500);
		end_fill(&a, 0, LEN / 2, i);
		MUST(ddp_post_send(s.qp[1], &read, NULL));
		end_done(&b, DDP_WC_RDMA_READ, DDP_WC_SUCCESS);
		end_done(&b, DDP_WC_SEND, DDP_WC_SUCCESS);
		end_done(&b, DDP_WC_SEND, DDP_WC_SUCCESS);
		end_done(&a, DDP_WC_RECV, DDP_WC_SUCCESS);
		end_done(&a, DDP_WC_RECV, DDP_WC_SUCCESS);
		if (memcmp(p + 3, end_at(&a, 0), LEN / 2))
			fail("round %u: a Read", i);
		if (memcmp(end_at(&a, RIG_HALF), end_at(&a, 0), FENCED))
			fail("round %u: a Send with a fence lacks bytes of the Read", i);
		if (memcmp(end_at(&a, RIG_HALF + FENCED), end_at(&a, FENCED), 500))
			fail("round %u: a Send after it lacks bytes of the Read", i);
	}
	ok("%d times a Read, a Send with a fence and a Send after it", ROUNDS / 10);
}

/* p: of LEN + SKEW bytes. */
static void all_of(const char *what, uint8_t *p)
{
	struct ddp_mr *mr = reg_copied(what, p + SKEW, LEN, RIG_ALL);

	p += SKEW;
	writes_and_reads(what, mr, p);
	polls_last_byte(mr, p);
	keeps_order(mr, p);
	sends_and_fetches(mr, p);
	fences(mr, p);
	adds_together(mr, p);
	binds_windows(mr, p);
	registers_again(mr, p);
	*end_at(&a, 0) = 55;
	posts(mr, DDP_WR_RDMA_WRITE, mr->iova + 9, 0, 1);
	end_done(&a, DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
	posts(b.mr, DDP_WR_RDMA_READ, b.mr->iova, RIG_HALF, 0);
	end_done(&a, DDP_WC_RDMA_READ, DDP_WC_SUCCESS);
	is("a Write is there when an empty Read of another region is answered", p[9], 55);
	MUST(ddp_dereg_mr(mr));
}

/* ---- kinds of memory ---- */

static void takes_sysv(void)
{
	int id = shmget(IPC_PRIVATE, LEN + SKEW, IPC_CREAT | 0600);
	void *p = id < 0 ? (void *)-1 : shmat(id, NULL, 0), *second;

	if (p == (void *)-1) {
		printf("no System V shared memory here: %s\n", strerror(errno));
		return;
	}
	second = shmat(id, NULL, 0);
	shmctl(id, IPC_RMID, NULL);
	all_of("System V shared memory", p);
	is("its other users see it", ((uint8_t *)second)[SKEW + 9], 55);
	shmdt(second);
	shmdt(p);
}

static int temporary_file(off_t len)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/agent.XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(path);
	if (fd < 0 || ftruncate(fd, len) < 0)
		fail("%s: %s", path, strerror(errno));
	unlink(path);
	return fd;
}

static void takes_a_file(void)
{
	int fd = temporary_file(LEN + SKEW);
	uint8_t *p = map_pages(LEN + SKEW, MAP_SHARED, fd), byte = 0;

	all_of("a shared file", p);
	is("the file has it", pread(fd, &byte, 1, SKEW + 9) == 1 && byte == 55, true);
	munmap(p, LEN + SKEW);
	close(fd);
}

static void takes_anonymous(void)
{
	uint8_t *p = map_pages(LEN + SKEW, MAP_SHARED | MAP_ANONYMOUS, -1);

	all_of("shared memory without a name", p);
	munmap(p, LEN + SKEW);
}

static void takes_huge_pages(void)
{
	const size_t len = 2 << 20;
	uint8_t *p = map_pages(len, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);

	if (p == MAP_FAILED) {
		printf("no huge pages here: %s\n", strerror(errno));
		return;
	}
	all_of("a huge page", p);
	munmap(p, len);
}

static void takes_read_only_files(void)
{
	int fd = temporary_file((off_t)page);
	struct ddp_rereg_attr attr = DDP_INIT(ddp_rereg_attr);
	struct ddp_mr *mr;
	char *p;

	if (pwrite(fd, "constant", 9, 100) != 9)
		fail("pwrite: %s", strerror(errno));
	p = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
	REFUSED("the right to write to a read-only file",
		ddp_reg_mr(b.pd, p, page, RIG_ALL, NULL, &mr), EACCES);
	mr = reg_copied("a read-only file", p, page, DDP_ACCESS_REMOTE_READ);
	peer_reads(mr, mr->iova + 100, 9);
	same("a Read of it", end_at(&a, RIG_HALF), "constant", 9);
	attr.access = DDP_ACCESS_REMOTE_WRITE;
	REFUSED("this right later", ddp_rereg_mr(mr, DDP_REREG_ACCESS, &attr), EOPNOTSUPP);
	MUST(ddp_dereg_mr(mr));
	munmap(p, page);
	close(fd);
}

static void *waits(void *release)
{
	while (!__atomic_load_n((bool *)release, __ATOMIC_ACQUIRE))
		usleep(1000);
	return NULL;
}

/* Pages with the control block of a thread cannot be replaced. */
static void takes_thread_memory(void)
{
	static __thread char text[64];
	bool release = false;
	struct ddp_mr *mr;
	pthread_t thread;
	size_t len;
	void *head; /* of the list of robust mutexes, which lies in the control block */

	if (pthread_create(&thread, NULL, waits, &release))
		fail("pthread_create");
	strcpy(text, "of a thread");
	MUST((int)syscall(SYS_get_robust_list, 0, &head, &len));
	mr = reg_copied("the page of a thread's control block", head, 1, 0);
	MUST(ddp_dereg_mr(mr));
	mr = reg(text, sizeof(text), RIG_ALL);
	peer_reads(mr, mr->iova, sizeof(text));
	same("a Read of a thread's variable", end_at(&a, RIG_HALF), text, 12);
	MUST(ddp_dereg_mr(mr));
	__atomic_store_n(&release, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
}

static void takes_many_regions(void)
{
	struct ddp_mr *mrs[REGIONS];
	uint8_t *p = map_pages(REGIONS * 100, MAP_SHARED | MAP_ANONYMOUS, -1);

	for (size_t i = 0; i < REGIONS; i++)
		mrs[i] = reg(p + i * 100, 100, RIG_ALL);
	end_fill(&a, 0, REGIONS * 100, 9);
	for (size_t i = 0; i < REGIONS; i++) {
		posts(mrs[i], DDP_WR_RDMA_WRITE, mrs[i]->iova + 1, i * 100 + 1, 98);
		end_done(&a, DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
	}
	peer_reads(mrs[0], mrs[0]->iova, 100);
	for (size_t i = 0; i < REGIONS; i++) {
		uint8_t *at = p + i * 100;

		if (at[0] || at[99] || memcmp(at + 1, end_at(&a, i * 100 + 1), 98))
			fail("region %zu of %d", i, REGIONS);
	}
	ok("Writes to %d regions", REGIONS);
	for (size_t i = 0; i < REGIONS; i++)
		MUST(ddp_dereg_mr(mrs[i]));
	munmap(p, REGIONS * 100);
}

/* ---- what is refused ---- */

static void refuses(void)
{
	uint8_t *p = map_pages(page, MAP_SHARED | MAP_ANONYMOUS, -1);
	struct ddp_mr *mr = reg(p, page, RIG_ALL);
	struct ddp_sge sge = {mr->iova, 100, mr->lkey};
	struct ddp_send_wr wr = {
		.opcode = DDP_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
	};

	munmap(p, page);
	REFUSED("a Send of memory that is gone", ddp_post_send(s.qp[1], &wr, NULL), EFAULT);
	peer_writes(mr, mr->iova, 100);
	posts(b.mr, DDP_WR_RDMA_READ, b.mr->iova, RIG_HALF, 0);
	end_done(&a, DDP_WC_RDMA_READ, DDP_WC_SUCCESS);
	ok("a Write to memory that is gone harms nobody");
	posts(mr, DDP_WR_RDMA_READ, mr->iova, RIG_HALF, 10);
	session_broken(&s, 1, 0x0000);
	MUST(ddp_dereg_mr(mr));
}

/* From now on this process has no userfaultfd(2). */
static void forbid_userfaultfd(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		fail("seccomp: %s", strerror(errno));
}

/* The agent is a thread, so this process has several. */
static void works_without_userfaultfd(void)
{
	uint8_t *p;

	forbid_userfaultfd();
	p = map_pages(LEN + SKEW, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	all_of("private memory without userfaultfd", p);
	munmap(p, LEN + SKEW);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	page = (size_t)sysconf(_SC_PAGESIZE);
	end_open(&a, "a", argv[1]);
	end_open(&b, "b", argv[2]);
	end_listen(&b);
	session_open(&s, &a, &b, argv[3], NULL);
	takes_sysv();
	takes_a_file();
	takes_anonymous();
	takes_huge_pages();
	takes_read_only_files();
	takes_thread_memory();
	takes_many_regions();
	refuses();
	session_open(&s, &a, &b, argv[3], NULL);
	works_without_userfaultfd();
	session_close(&s, 0);
	end_close(&a);
	end_close(&b);
	return 0;
}
