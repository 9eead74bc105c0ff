/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends, their sessions and their work. Who waits for one end looks at the other one, too: the fault
 * may be there. */
#include <errno.h>
#include <string.h>

#include "tests/faults/program.h"

enum { SLICE_MS = 20 };

static int undo_ctx(void *ctx)
{
	return ddp_close(ctx);
}
static int undo_pd(void *pd)
{
	return ddp_dealloc_pd(pd);
}
static int undo_cq(void *cq)
{
	return ddp_destroy_cq(cq);
}
static int undo_mr(void *mr)
{
	return ddp_dereg_mr(mr);
}
static int undo_id(void *id)
{
	return ddp_destroy_id(id);
}
static int undo_qp(void *qp)
{
	return ddp_destroy_qp(qp);
}

struct ddp_mr *new_region(struct end *e, size_t length)
{
	struct ddp_mr *mr;

	TRY(ddp_alloc_mr(e->pd, length, 31, &mr));
	later(undo_mr, mr);
	return mr;
}

void end_open(struct program *p, int side)
{
	struct end *e = &p->end[side];
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);
	struct ddp_cq_attr cq = DDP_INIT(ddp_cq_attr);

	attr.socket = p->socket[side];
	attr.timeout_ms = WAIT_MS;
	TRY(ddp_open(&attr, &e->ctx));
	later(undo_ctx, e->ctx);
	TRY(ddp_alloc_pd(e->ctx, &e->pd));
	later(undo_pd, e->pd);
	cq.entries = 128;
	TRY(ddp_create_cq(e->ctx, &cq, &e->cq));
	later(undo_cq, e->cq);
	e->mr = new_region(e, SIZE);
}

/* ---- events ---- */

/* An event of that type and no other, or NULL after the time. */
static struct ddp_cm_event *next_event(struct end *e, enum ddp_cm_event_type type, int ms)
{
	struct ddp_cm_event *ev;
	int r = ddp_get_cm_event(e->ctx, &ev, ms);
	char words[256];

	if (r == -EAGAIN)
		return NULL;
	TRY(r);
	if (ev->type == type)
		return ev;
	if (ev->type == DDP_CM_PATH) {
		ddp_ack_cm_event(ev);
		return NULL;
	}
	strncpy(words, ev->reason, sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	if (ev->type == DDP_CM_CONNECT_REQUEST)
		later(undo_id, ev->id);
	ddp_ack_cm_event(ev);
	give_up("another event: %s", words);
}

struct ddp_cm_event *end_event(struct program *p, int side, enum ddp_cm_event_type type)
{
	for (int ms = 0; ms < WAIT_MS; ms += SLICE_MS) {
		struct ddp_cm_event *ev = next_event(&p->end[side], type, SLICE_MS);

		if (ev)
			return ev;
		/* Only failures of the other end: its other events stay for later. */
		if (type == DDP_CM_CONNECT_REQUEST || type == DDP_CM_REJECTED)
			(void)next_event(&p->end[!side], type, 0);
	}
	complain("no event %s", ddp_event_str(type));
}

/* ---- sessions ---- */

static void make_qp(struct end *e, const struct ddp_qp_init *init)
{
	struct ddp_qp_init q = init ? *init : (struct ddp_qp_init)DDP_INIT(ddp_qp_init);

	q.send_cq = q.recv_cq = e->cq;
	q.srq = e->srq;
	q.max_send_wr = DEPTH;
	q.max_recv_wr = q.srq ? 0 : DEPTH;
	q.max_send_sge = 4;
	q.max_recv_sge = q.srq ? 0 : 4;
	q.max_inline = 64;
	TRY(ddp_create_qp(e->id, e->pd, &q, &e->qp));
	later(undo_qp, e->qp);
}

static void listen_at(struct end *e)
{
	struct ddp_id_attr attr = DDP_INIT(ddp_id_attr);

	TRY(ddp_create_id(e->ctx, NULL, &e->listener));
	later(undo_id, e->listener);
	TRY(ddp_listen(e->listener, NULL, 7001, 0));
	TRY(ddp_query_id(e->listener, &attr));
}

static void request_of(struct program *p)
{
	struct ddp_cm_event *ev = end_event(p, 1, DDP_CM_CONNECT_REQUEST);

	p->end[1].id = ev->id;
	later(undo_id, ev->id);
	ddp_ack_cm_event(ev);
}

void connect_ends(struct program *p, const struct ddp_qp_init *init, struct ddp_conn_param *request,
		  struct ddp_conn_param *answer)
{
	struct end *a = &p->end[0], *b = &p->end[1];

	if (!b->listener)
		listen_at(b);
	TRY(ddp_create_id(a->ctx, NULL, &a->id));
	later(undo_id, a->id);
	make_qp(a, init);
	TRY(ddp_connect_name(a->id, p->address, 7001, request));
	request_of(p);
	make_qp(b, init);
	TRY(ddp_accept(b->id, answer));
	for (int side = 1; side >= 0; side--)
		ddp_ack_cm_event(end_event(p, side, DDP_CM_ESTABLISHED));
}

void disconnect_ends(struct program *p, int first)
{
	TRY(ddp_disconnect(p->end[first].id));
	for (int side = 0; side < 2; side++)
		ddp_ack_cm_event(end_event(p, side, DDP_CM_DISCONNECTED));
}

/* ---- work ---- */

static void has_ended(struct end *e)
{
	struct ddp_cm_event *ev = next_event(e, DDP_CM_DISCONNECTED, 0);
	char words[256];

	if (!ev)
		return;
	strncpy(words, ev->reason, sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	ddp_ack_cm_event(ev);
	give_up("the session has ended: %s", words);
}

void end_done(struct program *p, int side, enum ddp_wc_opcode opcode)
{
	struct ddp_wc wc;
	char words[256];

	for (int ms = 0; ms < WAIT_MS; ms += SLICE_MS) {
		int n = ddp_wait_cq(p->end[side].cq, 1, &wc, SLICE_MS);

		TRY(n == -EAGAIN || n == -ETIMEDOUT ? 0 : n);
		if (n == 1) {
			ddp_explain(&wc, words, sizeof(words));
			if (wc.status != DDP_WC_SUCCESS)
				give_up("%s: %s", ddp_wc_opcode_str(opcode), words);
			if (wc.opcode != opcode)
				complain("%s instead of %s", ddp_wc_opcode_str(wc.opcode),
					 ddp_wc_opcode_str(opcode));
			return;
		}
		has_ended(&p->end[!side]);
	}
	complain("no completion of %s", ddp_wc_opcode_str(opcode));
}

void post(struct program *p, int side, struct ddp_send_wr wr, uint32_t offset, uint32_t len)
{
	struct ddp_mr *mr = p->end[side].mr;
	struct ddp_sge sge = {mr->iova + offset, len, mr->lkey};

	if (len) {
		wr.sg_list = &sge;
		wr.num_sge = 1;
	}
	wr.send_flags |= DDP_SEND_SIGNALED;
	TRY(ddp_post_send(p->end[side].qp, &wr, NULL));
}

void post_recv(struct program *p, int side, uint32_t offset, uint32_t len)
{
	struct ddp_mr *mr = p->end[side].mr;
	struct ddp_sge sge = {mr->iova + offset, len, mr->lkey};
	struct ddp_recv_wr wr = {.sg_list = &sge, .num_sge = 1};

	TRY(p->end[side].srq ? ddp_post_srq_recv(p->end[side].srq, &wr, NULL)
			     : ddp_post_recv(p->end[side].qp, &wr, NULL));
}
