/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/raw/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/raw/stage.h"

enum { INBOX = 1 << 18, DEPTH = 64, BIG_DEPTH = 4096 };

static struct ddp_ctx *ctx;
static struct ddp_pd *pd;
static struct client_region inbox;

void client_open(unsigned daemon)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);

	attr.socket = stage.daemon[daemon].socket;
	MUST(ddp_open(&attr, &ctx));
	MUST(ddp_alloc_pd(ctx, &pd));
	inbox = client_region(pd, INBOX, 0x100000, DDP_ACCESS_LOCAL_WRITE);
}

struct ddp_pd *client_pd(void)
{
	return pd;
}

struct ddp_ctx *client_ctx(void)
{
	return ctx;
}

struct ddp_id *client_listen(int backlog)
{
	struct ddp_id *id;

	MUST(ddp_create_id(ctx, NULL, &id));
	MUST(ddp_listen(id, NULL, stage.port, backlog));
	return id;
}

/* ---- events ---- */

struct ddp_cm_event *client_event(enum ddp_cm_event_type type)
{
	struct ddp_cm_event *ev = NULL;
	int r;

	UNTIL((r = ddp_get_cm_event(ctx, &ev, 0)) != -EAGAIN, ddp_fd(ctx), ddp_event_str(type));
	MUST(r);
	EXPECT(ev->type == type, "expected event %s, %s came: err %d, term %04x: %s",
	       ddp_event_str(type), ddp_event_str(ev->type), ev->err, ev->term, ev->reason);
	return ev;
}

void client_no_event(void)
{
	struct ddp_cm_event *ev;
	int r = ddp_get_cm_event(ctx, &ev, 0);

	EXPECT(r == -EAGAIN, "expected no event, %s came: err %d, term %04x: %s",
	       ddp_event_str(ev->type), ev->err, ev->term, ev->reason);
}

void client_dump(void)
{
	struct ddp_cm_event *ev;

	while (ctx && ddp_get_cm_event(ctx, &ev, 0) == 0)
		printf("  event left: %s: err %d, term %04x: %s\n", ddp_event_str(ev->type),
		       ev->err, ev->term, ev->reason);
}

/* ---- ends ---- */

static struct ddp_cq *make_cq(uint32_t entries)
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);
	struct ddp_cq *cq;

	attr.entries = entries;
	MUST(ddp_create_cq(ctx, &attr, &cq));
	return cq;
}

static void post_recvs(struct client_end *e, const struct client_opts *o)
{
	EXPECT((uint64_t)o->recvs * o->size <= INBOX, "the inbox is too small");
	for (unsigned i = 0; i < o->recvs; i++) {
		struct ddp_sge sge = {inbox.mr->iova + (uint64_t)i * o->size, o->size,
				      inbox.mr->lkey};
		struct ddp_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = o->size > 0};

		MUST(ddp_post_recv(e->qp, &wr, NULL));
	}
	e->posted = o->recvs;
}

struct client_end client_end(struct ddp_id *id, const struct client_opts *o)
{
	static const struct client_opts none;
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct client_end e = {.id = id};
	uint32_t depth;

	o = o ? o : &none;
	depth = o->recvs > DEPTH ? BIG_DEPTH : DEPTH;
	if (!e.id)
		MUST(ddp_create_id(ctx, NULL, &e.id));
	e.scq = make_cq(2 * DEPTH);
	e.rcq = make_cq(2 * depth);
	init.send_cq = e.scq;
	init.recv_cq = e.rcq;
	init.max_send_wr = DEPTH;
	init.max_recv_wr = depth;
	init.max_inline = 128;
	init.max_ird = o->ird;
	init.max_ord = o->ord;
	init.srq = o->srq;
	MUST(ddp_create_qp(e.id, pd, &init, &e.qp));
	if (o->recvs) {
		memset(inbox.p, CLIENT_FILL, inbox.len);
		post_recvs(&e, o);
	}
	return e;
}

void client_end_free(struct client_end *e)
{
	MUST(ddp_destroy_qp(e->qp));
	MUST(ddp_destroy_id(e->id));
	MUST(ddp_destroy_cq(e->scq));
	MUST(ddp_destroy_cq(e->rcq));
	*e = (struct client_end){0};
}

const uint8_t *client_inbox(const struct client_opts *o, unsigned i)
{
	return inbox.p + (size_t)i * o->size;
}

/* ---- work ---- */

static int poll_one(struct ddp_cq *cq, struct ddp_wc *ret)
{
	int r = ddp_poll_cq(cq, 1, ret);

	if (r == 0 && ddp_req_notify_cq(cq, 0) == 1)
		r = ddp_poll_cq(cq, 1, ret);
	MUST(r);
	return r;
}

struct ddp_wc client_wc(struct ddp_cq *cq)
{
	struct ddp_wc wc;

	UNTIL(poll_one(cq, &wc) == 1, ddp_cq_fd(cq), "a completion");
	return wc;
}

struct ddp_wc client_received(struct client_end *e, uint64_t wr_id, uint32_t len)
{
	struct ddp_wc wc = client_wc(e->rcq);

	e->posted--;
	EXPECT(wc.status == DDP_WC_SUCCESS && wc.opcode == DDP_WC_RECV && wc.wr_id == wr_id &&
		       wc.byte_len == len,
	       "receive %u of %u bytes expected, %s of %u: %u bytes, %s came", (unsigned)wr_id, len,
	       ddp_wc_opcode_str(wc.opcode), (unsigned)wc.wr_id, wc.byte_len,
	       ddp_wc_status_str(wc.status));
	return wc;
}

void client_idle(struct ddp_cq *cq)
{
	struct ddp_wc wc = {0};

	EXPECT(ddp_poll_cq(cq, 1, &wc) == 0, "completion of %s %u, %s: none was expected",
	       ddp_wc_opcode_str(wc.opcode), (unsigned)wc.wr_id, ddp_wc_status_str(wc.status));
}

void client_flushed(struct client_end *e)
{
	for (; e->posted; e->posted--) {
		struct ddp_wc wc = client_wc(e->rcq);

		EXPECT(wc.status == DDP_WC_FLUSH_ERR || wc.status == DDP_WC_REM_OP_ERR ||
			       wc.status == DDP_WC_LOC_LEN_ERR,
		       "receive %u should be flushed: %s", (unsigned)wc.wr_id,
		       ddp_wc_status_str(wc.status));
	}
	client_idle(e->rcq);
}

void client_post(struct client_end *e, struct ddp_send_wr wr)
{
	wr.send_flags |= DDP_SEND_SIGNALED;
	MUST(ddp_post_send(e->qp, &wr, NULL));
}

/* ---- memory ---- */

struct client_region client_region(struct ddp_pd *domain, size_t len, uint64_t iova,
				   unsigned access)
{
	struct client_region r = {.len = len};
	size_t whole = len + 2 * CLIENT_GUARD;
	int fd = memfd_create("region", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	uint8_t *p;

	EXPECT(fd >= 0 && ftruncate(fd, (off_t)whole) == 0, "memfd: %s", strerror(errno));
	p = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	EXPECT(p != MAP_FAILED, "mmap: %s", strerror(errno));
	memset(p, CLIENT_WALL, whole);
	r.p = p + CLIENT_GUARD;
	memset(r.p, CLIENT_FILL, len);
	MUST(ddp_reg_memfd(domain, fd, CLIENT_GUARD, len, r.p, iova, access, &r.mr));
	close(fd);
	return r;
}

void client_guards(const struct client_region *r)
{
	for (unsigned i = 0; i < CLIENT_GUARD; i++) {
		EXPECT(r->p[-1 - (int)i] == CLIENT_WALL, "byte -%u of the region was written",
		       i + 1);
		EXPECT(r->p[r->len + i] == CLIENT_WALL, "byte %u after the region was written", i);
	}
}

void client_untouched(const struct client_region *r, size_t from, size_t n)
{
	client_guards(r);
	for (size_t i = 0; i < r->len; i++)
		EXPECT((i >= from && i < from + n) || r->p[i] == CLIENT_FILL,
		       "byte %zu of the region was written: %02x", i, r->p[i]);
}
