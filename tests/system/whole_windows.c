/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory windows of both types: b has them, a uses them. */
#include <errno.h>
#include <string.h>

#include "tests/lib/row.h"
#include "tests/system/whole.h"

enum {
	RW = DDP_ACCESS_REMOTE_READ | DDP_ACCESS_REMOTE_WRITE,
	AT = 4096,   /* where a window begins in b's memory */
	SPAN = 1000, /* and its length */
};

static struct ddp_send_wr write_to(const struct end *e, size_t offset, uint32_t rkey)
{
	return (struct ddp_send_wr){.opcode = DDP_WR_RDMA_WRITE,
				    .rdma = {e->mr->iova + offset, rkey}};
}

static struct ddp_send_wr read_from(const struct end *e, size_t offset, uint32_t rkey)
{
	return (struct ddp_send_wr){.opcode = DDP_WR_RDMA_READ,
				    .rdma = {e->mr->iova + offset, rkey}};
}

/* Writes to all of a window, and reads it back. */
static void use(const struct session *s, uint32_t rkey, unsigned seed)
{
	struct end *a = s->end[0], *b = s->end[1];

	end_fill(a, 0, SPAN, seed);
	memset(end_at(a, SPAN), 0, SPAN);
	session_send(s, 0, write_to(b, AT, rkey), 0, SPAN);
	end_done(a, DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
	session_send(s, 0, read_from(b, AT, rkey), SPAN, SPAN);
	end_done(a, DDP_WC_RDMA_READ, DDP_WC_SUCCESS);
	same("what was written through a window", end_at(b, AT), end_at(a, 0), SPAN);
	same("what was read through it", end_at(a, SPAN), end_at(a, 0), SPAN);
}

/* A Write that b refuses, in a separate session. */
static void write_is_refused(struct whole *w, size_t offset, uint32_t len, uint32_t rkey,
			     uint16_t term)
{
	struct session s;
	uint8_t before[SPAN];

	memcpy(before, end_at(&w->b, AT), SPAN);
	end_fill(&w->a, 0, len, 77);
	whole_open(w, &s);
	session_send(&s, 0, write_to(&w->b, offset, rkey), 0, len);
	session_broken(&s, 1, term);
	same("memory after a refused Write", end_at(&w->b, AT), before, SPAN);
}

static void read_is_refused(struct whole *w, size_t offset, uint32_t len, uint32_t rkey,
			    uint16_t term)
{
	struct session s;

	whole_open(w, &s);
	session_send(&s, 0, read_from(&w->b, offset, rkey), 0, len);
	end_done(&w->a, DDP_WC_RDMA_READ, DDP_WC_REM_ACCESS_ERR);
	session_broken(&s, 1, term);
}

/* ---- type 1 ---- */

static void bind_1(struct end *e, struct ddp_mw *mw, size_t offset, size_t len, unsigned access)
{
	struct ddp_mw_attr attr = DDP_INIT(ddp_mw_attr);

	MUST(ddp_bind_mw(mw, e->mr, e->mr->iova + offset, len, access));
	MUST(ddp_query_mw(mw, &attr));
	is("a bound window", attr.bound, 1);
	is("its key", attr.rkey, mw->rkey);
	is("its rights", attr.access, access);
	is("its first byte", attr.addr, e->mr->iova + offset);
	is("its length", attr.length, len);
	is("its region", attr.mr_rkey, e->mr->rkey);
	is("it is bound for no single queue pair", attr.qp_num, 0);
}

static void busy_region(struct end *e)
{
	struct ddp_rereg_attr rereg = DDP_INIT(ddp_rereg_attr);
	struct ddp_mr_attr attr = DDP_INIT(ddp_mr_attr);

	rereg.access = RIG_ALL;
	MUST(ddp_query_mr(e->mr, &attr));
	is("windows of the region", attr.windows, 1);
	REFUSED("dereg of a region with a window", ddp_dereg_mr(e->mr), EBUSY);
	REFUSED("rereg of it", ddp_rereg_mr(e->mr, DDP_REREG_ACCESS, &rereg), EBUSY);
	MUST(ddp_query_mr(e->mr, &attr));
	is("the region's key after that", attr.rkey, e->mr->rkey);
}

void whole_windows_1(struct whole *w)
{
	struct end *b = &w->b;
	struct session s, other;
	struct ddp_mw *mw;
	uint32_t old;

	MUST(ddp_alloc_mw(b->pd, DDP_MW_TYPE_1, &mw));
	write_is_refused(w, AT, SPAN, mw->rkey, 0x1100);
	bind_1(b, mw, AT, SPAN, RW);
	busy_region(b);
	whole_open(w, &s);
	whole_open(w, &other);
	use(&s, mw->rkey, 1);
	use(&other, mw->rkey, 2);
	session_close(&other, 0);
	write_is_refused(w, AT + SPAN - 1, 2, mw->rkey, 0x1101);
	write_is_refused(w, AT - 1, 1, mw->rkey, 0x1101);
	read_is_refused(w, AT, SPAN + 1, mw->rkey, 0x0101);
	old = mw->rkey;
	bind_1(b, mw, AT, SPAN, DDP_ACCESS_REMOTE_READ);
	write_is_refused(w, AT, 1, old, 0x1100);
	write_is_refused(w, AT, 1, mw->rkey, 0x1100);
	bind_1(b, mw, AT, SPAN, DDP_ACCESS_REMOTE_WRITE);
	read_is_refused(w, AT, 1, mw->rkey, 0x0102);
	bind_1(b, mw, AT, SPAN, RW);
	use(&s, mw->rkey, 3);
	old = mw->rkey;
	MUST(ddp_bind_mw(mw, NULL, 0, 0, 0));
	read_is_refused(w, AT, 1, old, 0x0100);
	bind_1(b, mw, AT, SPAN, RW);
	old = mw->rkey;
	MUST(ddp_dealloc_mw(mw));
	write_is_refused(w, AT, 1, old, 0x1100);
	session_close(&s, 0);
	row("5041-8.3-01 5041-8.3.1-04 5041-8.3.1-05 5041-8.3.1-06",
	    "windows: bytes and rights as bound, nothing with an old key");
}

/* ---- type 2 ---- */

/* Posts a bind of the window with this key. */
static void bind_2(struct session *s, struct ddp_mw *mw, uint32_t rkey, enum ddp_wc_status status)
{
	struct end *b = s->end[1];
	struct ddp_send_wr wr = {.opcode = DDP_WR_BIND_MW};

	wr.bind.mw = mw;
	wr.bind.rkey = rkey;
	wr.bind.mr = b->mr;
	wr.bind.addr = b->mr->iova + AT;
	wr.bind.length = SPAN;
	wr.bind.access = RW;
	session_post(s, 1, wr);
	end_done(b, DDP_WC_BIND_MW, status);
}

static void query_2(struct session *s, struct ddp_mw *mw, uint32_t rkey)
{
	struct ddp_mw_attr attr = DDP_INIT(ddp_mw_attr);

	MUST(ddp_query_mw(mw, &attr));
	is("a bound window of type 2", attr.bound, 1);
	is("its key is the one that was asked for", attr.rkey, rkey);
	is("its queue pair", attr.qp_num, ddp_qp_num(s->qp[1]));
	is("its length", attr.length, SPAN);
}

static void invalidate(struct session *s, uint32_t rkey, enum ddp_wc_status status)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_LOCAL_INV, .invalidate_rkey = rkey};

	session_post(s, 1, wr);
	end_done(s->end[1], DDP_WC_LOCAL_INV, status);
}

static void invalidate_remotely(struct session *s, struct ddp_mw *mw, uint32_t rkey)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND_WITH_INV, .invalidate_rkey = rkey};
	struct ddp_mw_attr attr = DDP_INIT(ddp_mw_attr);
	struct ddp_wc wc;

	session_recv(s, 1, 0, 64);
	session_send(s, 0, wr, 0, 3);
	end_done(s->end[0], DDP_WC_SEND_INV, DDP_WC_SUCCESS);
	wc = end_done(s->end[1], DDP_WC_RECV, DDP_WC_SUCCESS);
	is("the peer has revoked the window", wc.wc_flags, DDP_WC_WITH_INV);
	is("by its key", wc.invalidated_rkey, rkey);
	MUST(ddp_query_mw(mw, &attr));
	is("it is not bound any more", attr.bound, 0);
}

void whole_windows_2(struct whole *w)
{
	struct end *b = &w->b;
	struct session s;
	struct ddp_mw *mw;
	uint32_t first, key;

	whole_open(w, &s);
	MUST(ddp_alloc_mw(b->pd, DDP_MW_TYPE_2, &mw));
	REFUSED("a request to bind a window of type 2", ddp_bind_mw(mw, b->mr, b->mr->iova, 1, RW),
		EINVAL);
	first = key = ddp_inc_rkey(mw->rkey);
	bind_2(&s, mw, key, DDP_WC_SUCCESS);
	query_2(&s, mw, key);
	use(&s, key, 4);
	write_is_refused(w, AT, 1, key, 0x1102);
	read_is_refused(w, AT, 1, key, 0x0103);
	bind_2(&s, mw, ddp_inc_rkey(key), DDP_WC_MW_BIND_ERR);
	query_2(&s, mw, key);
	invalidate(&s, key, DDP_WC_SUCCESS);
	invalidate(&s, key, DDP_WC_LOC_KEY_ERR);
	write_is_refused(w, AT, 1, key, 0x1100);
	key = ddp_inc_rkey(key);
	bind_2(&s, mw, key, DDP_WC_SUCCESS);
	use(&s, key, 5);
	invalidate_remotely(&s, mw, key);
	write_is_refused(w, AT, 1, key, 0x1100);
	key = ddp_inc_rkey(key);
	bind_2(&s, mw, key, DDP_WC_SUCCESS);
	use(&s, key, 6);
	is("only the last 8 bits of its key have changed", key >> 8, first >> 8);
	session_send(&s, 0, write_to(b, AT, first), 0, 1);
	session_broken(&s, 1, 0x1100);
	MUST(ddp_dealloc_mw(mw));
	row("5041-8.2-02 5041-8.3-02 5041-8.3-03 5041-8.3.1-02",
	    "a window of type 2: for the session that bound it, until one side revokes it");
}
