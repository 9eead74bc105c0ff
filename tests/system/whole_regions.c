/* SPDX-License-Identifier: BSD-2-Clause */
/* Regions: the permitted accesses from registration to its end, and registering again. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/lib/row.h"
#include "tests/system/whole.h"

enum { LEN = 6000, IOVA = 1000, BEYOND = 2000 };

static struct ddp_send_wr to(enum ddp_wr_opcode op, uint64_t addr, uint32_t rkey)
{
	return (struct ddp_send_wr){.opcode = op, .rdma = {addr, rkey}};
}

/* The first LEN bytes of the region, written and read back; mem is b's address of them. */
static void reach(const struct session *s, const struct ddp_mr *mr, const uint8_t *mem)
{
	struct end *a = s->end[0];
	uint32_t len = mr->length < LEN ? (uint32_t)mr->length : LEN;

	end_fill(a, 0, len, mr->rkey);
	memset(end_at(a, RIG_HALF), 0, len);
	session_send(s, 0, to(DDP_WR_RDMA_WRITE, mr->iova, mr->rkey), 0, len);
	end_done(a, DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
	session_send(s, 0, to(DDP_WR_RDMA_READ, mr->iova, mr->rkey), RIG_HALF, len);
	end_done(a, DDP_WC_RDMA_READ, DDP_WC_SUCCESS);
	same("what was written to a region", mem, end_at(a, 0), len);
	same("what was read from it", end_at(a, RIG_HALF), mem, len);
}

/* One byte there, in a session of its own, for which the peer has these codes. */
static void out_of_reach(struct whole *w, uint64_t addr, uint32_t rkey, uint16_t write,
			 uint16_t read)
{
	struct session s;

	whole_open(w, &s);
	session_send(&s, 0, to(DDP_WR_RDMA_WRITE, addr, rkey), 0, 1);
	session_broken(&s, 1, write);
	whole_open(w, &s);
	session_send(&s, 0, to(DDP_WR_RDMA_READ, addr, rkey), 0, 1);
	end_done(&w->a, DDP_WC_RDMA_READ, DDP_WC_REM_ACCESS_ERR);
	session_broken(&s, 1, read);
	ok("0x%04x for a Write, 0x%04x for a Read", write, read);
}

static int memfd(size_t len, void **ret_map)
{
	int fd = MUST(memfd_create("whole", MFD_ALLOW_SEALING | MFD_CLOEXEC));

	MUST(ftruncate(fd, (off_t)len));
	*ret_map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*ret_map == MAP_FAILED)
		fail("mmap of %zu bytes", len);
	return fd;
}

static void describe(struct ddp_mr *mr, unsigned access, uint32_t qp_num)
{
	struct ddp_mr_attr attr = DDP_INIT(ddp_mr_attr);

	MUST(ddp_query_mr(mr, &attr));
	is("a region's key", attr.rkey, mr->rkey);
	is("its rights", attr.access, access);
	is("its first address", attr.iova, mr->iova);
	is("its length", attr.length, mr->length);
	is("its queue pair", attr.qp_num, qp_num);
	is("it is valid", attr.valid, 1);
	is("windows of it", attr.windows, 0);
}

/* ---- registration ---- */

static void domain(struct whole *w, struct ddp_mr *mr)
{
	struct ddp_pd_attr attr = DDP_INIT(ddp_pd_attr);
	struct ddp_pd *other;
	struct session s;
	struct how how = {0};

	MUST(ddp_alloc_pd(w->b.ctx, &other));
	how.pd[1] = other;
	session_open(&s, &w->a, &w->b, w->address, &how);
	session_send(&s, 0, to(DDP_WR_RDMA_WRITE, mr->iova, mr->rkey), 0, 1);
	session_broken(&s, 1, 0x1102);
	ok("a session of another domain cannot reach it");
	MUST(ddp_dealloc_pd(other));
	MUST(ddp_query_pd(w->b.pd, &attr));
	is("regions of b's domain", attr.mrs, 2);
	is("its queue pairs", attr.qps, 1);
	is("its windows", attr.mws, 0);
	is("its shared queues", attr.srqs, 0);
}

void whole_regions(struct whole *w)
{
	const unsigned access = DDP_ACCESS_REMOTE_READ | DDP_ACCESS_REMOTE_WRITE;
	struct session s;
	struct ddp_mr *mr;
	uint8_t *map;
	int fd = memfd(LEN + 500, (void **)&map);
	uint32_t old;

	whole_open(w, &s);
	MUST(ddp_reg_memfd(w->b.pd, fd, 500, LEN, map + 500, IOVA, access, &mr));
	MUST(close(fd));
	describe(mr, access | DDP_ACCESS_LOCAL_WRITE, 0);
	reach(&s, mr, map + 500);
	out_of_reach(w, IOVA - 1, mr->rkey, 0x1101, 0x0101);
	out_of_reach(w, IOVA + LEN, mr->rkey, 0x1101, 0x0101);
	domain(w, mr);
	old = mr->rkey;
	MUST(ddp_bind_mr(mr, s.qp[1]));
	describe(mr, access | DDP_ACCESS_LOCAL_WRITE, ddp_qp_num(s.qp[1]));
	reach(&s, mr, map + 500);
	out_of_reach(w, IOVA, old, 0x1100, 0x0100);
	out_of_reach(w, IOVA, mr->rkey, 0x1102, 0x0103);
	row("5041-8.2-03 5041-8.2-04",
	    "a region belongs to a domain, and to one session once ddp_bind_mr() ties it");
	old = mr->rkey;
	MUST(ddp_dereg_mr(mr));
	out_of_reach(w, IOVA, old, 0x1100, 0x0100);
	reach(&s, w->b.mr, end_at(&w->b, 0));
	session_close(&s, 0);
	MUST(munmap(map, LEN + 500));
}

/* ---- registering again ---- */

/* Other memory, under another address and length. */
static void *translate(struct whole *w, struct ddp_mr *mr, const struct session *s)
{
	struct ddp_rereg_attr attr = DDP_INIT(ddp_rereg_attr);
	uint32_t old = mr->rkey;
	void *map;
	int fd = memfd(BEYOND, &map);

	attr.fd = fd;
	attr.length = BEYOND;
	attr.addr = map;
	attr.iova = 1ULL << 40;
	MUST(ddp_rereg_mr(mr, DDP_REREG_TRANSLATION, &attr));
	MUST(close(fd));
	is("the new address", mr->iova, attr.iova);
	is("the new length", mr->length, BEYOND);
	describe(mr, RIG_ALL, 0);
	reach(s, mr, map);
	out_of_reach(w, mr->iova, old, 0x1100, 0x0100);
	out_of_reach(w, mr->iova + BEYOND, mr->rkey, 0x1101, 0x0101);
	attr.length = BEYOND + 1;
	attr.fd = fd;
	old = mr->rkey;
	if (ddp_rereg_mr(mr, DDP_REREG_TRANSLATION, &attr) >= 0 || mr->rkey != old)
		fail("a closed descriptor was accepted");
	ok("a failure changes nothing: %s", ddp_last_reason());
	return map;
}

static void change_domain(struct whole *w, struct ddp_mr *mr, const uint8_t *mem)
{
	struct ddp_rereg_attr attr = DDP_INIT(ddp_rereg_attr);
	struct ddp_pd *other;
	struct how how = {0};
	struct session s;

	MUST(ddp_alloc_pd(w->b.ctx, &other));
	attr.pd = how.pd[1] = other;
	MUST(ddp_rereg_mr(mr, DDP_REREG_PD, &attr));
	is("the region names its domain", (uintptr_t)mr->pd, (uintptr_t)other);
	out_of_reach(w, mr->iova, mr->rkey, 0x1102, 0x0103);
	session_open(&s, &w->a, &w->b, w->address, &how);
	reach(&s, mr, mem);
	session_close(&s, 0);
	REFUSED("dealloc of the domain with it", ddp_dealloc_pd(other), EBUSY);
	attr.pd = w->b.pd;
	MUST(ddp_rereg_mr(mr, DDP_REREG_PD, &attr));
	MUST(ddp_dealloc_pd(other));
}

static void change_rights(struct whole *w, struct ddp_mr *mr)
{
	struct ddp_rereg_attr attr = DDP_INIT(ddp_rereg_attr);
	struct session s;

	attr.access = DDP_ACCESS_REMOTE_READ;
	MUST(ddp_rereg_mr(mr, DDP_REREG_ACCESS, &attr));
	describe(mr, DDP_ACCESS_REMOTE_READ, 0);
	whole_open(w, &s);
	session_send(&s, 0, to(DDP_WR_RDMA_READ, mr->iova, mr->rkey), 0, 8);
	end_done(&w->a, DDP_WC_RDMA_READ, DDP_WC_SUCCESS);
	session_send(&s, 0, to(DDP_WR_RDMA_WRITE, mr->iova, mr->rkey), 0, 8);
	session_broken(&s, 1, 0x1100);
	whole_open(w, &s);
	session_send(&s, 0, to(DDP_WR_ATOMIC_FETCH_AND_ADD, mr->iova, mr->rkey), 0, 8);
	end_done(&w->a, DDP_WC_FETCH_ADD, DDP_WC_REM_ACCESS_ERR);
	session_broken(&s, 1, 0x0102);
	ok("read access permits neither Writes nor atomics");
}

/* With other rights, which hold from then on. */
static void keep_key(const struct session *s, struct ddp_mr *mr, const uint8_t *mem)
{
	struct ddp_rereg_attr attr = DDP_INIT(ddp_rereg_attr);
	uint32_t old = mr->rkey;

	attr.access = RIG_ALL;
	MUST(ddp_rereg_mr(mr, DDP_REREG_ACCESS | DDP_REREG_SAME_KEY, &attr));
	is("a key that was to stay", mr->rkey, old);
	describe(mr, RIG_ALL, 0);
	reach(s, mr, mem);
}

void whole_rereg(struct whole *w)
{
	struct session s;
	struct ddp_mr *mr;
	uint8_t *map;
	uint32_t old;

	whole_open(w, &s);
	MUST(ddp_alloc_mr(w->b.pd, LEN, RIG_ALL, &mr));
	reach(&s, mr, mr->addr);
	map = translate(w, mr, &s);
	change_domain(w, mr, map);
	reach(&s, mr, map);
	change_rights(w, mr);
	keep_key(&s, mr, map);
	old = mr->rkey;
	MUST(ddp_dereg_mr(mr));
	out_of_reach(w, 1ULL << 40, old, 0x1100, 0x0100);
	reach(&s, w->b.mr, end_at(&w->b, 0));
	session_close(&s, 0);
	MUST(munmap(map, BEYOND));
	row("5040-3.2-09",
	    "regions registered, tied, registered again and ended: access inside is permitted; "
	    "access outside, later and from other sessions is refused; other regions stay usable");
}
