/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends of all kinds, Writes, Reads, Immediate Data. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/row.h"
#include "tests/system/whole.h"

/* None, one byte, those of one segment and of many on a loopback interface, and odd ones. */
static const uint32_t lengths[] = {0, 1, 17, 1400, 65536, 300001, RIG_HALF};

enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

/* ---- Sends ---- */

/* One Send from a to b of these bytes; the receive's completion. */
static struct ddp_wc send_bytes(struct session *s, struct ddp_send_wr wr, uint32_t len)
{
	struct end *a = s->end[0], *b = s->end[1];
	struct ddp_wc wc;

	end_fill(a, 0, len, len + wr.opcode + wr.send_flags);
	memset(end_at(b, 0), 0, len);
	session_recv(s, 1, 0, RIG_HALF);
	session_send(s, 0, wr, 0, len);
	end_done(a, wr.opcode == DDP_WR_SEND ? DDP_WC_SEND : DDP_WC_SEND_INV, DDP_WC_SUCCESS);
	wc = end_done(b, DDP_WC_RECV, DDP_WC_SUCCESS);
	is("length of a Send", wc.byte_len, len);
	same("bytes of a Send", end_at(b, 0), end_at(a, 0), len);
	is("queue pair of a Send", wc.qp_num, ddp_qp_num(s->qp[1]));
	return wc;
}

/* A Send with Invalidate of a region that is tied to b's queue pair. */
static void send_invalidating(struct session *s, struct ddp_mr *mr, unsigned flags)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND_WITH_INV, .send_flags = flags};
	struct ddp_mr_attr attr = DDP_INIT(ddp_mr_attr);
	struct ddp_wc wc;

	MUST(ddp_bind_mr(mr, s->qp[1]));
	MUST(ddp_query_mr(mr, &attr));
	is("a tied region is valid", attr.valid, 1);
	is("its queue pair", attr.qp_num, ddp_qp_num(s->qp[1]));
	wr.invalidate_rkey = mr->rkey;
	wc = send_bytes(s, wr, 4000);
	is("flags of a Send with Invalidate", wc.wc_flags,
	   DDP_WC_WITH_INV | (flags ? DDP_WC_SOLICITED : 0));
	is("the key that it revoked", wc.invalidated_rkey, mr->rkey);
	MUST(ddp_query_mr(mr, &attr));
	is("the region is not valid any more", attr.valid, 0);
}

static bool readable(int fd, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return MUST(poll(&p, 1, timeout_ms)) == 1;
}

/* Waits until so many completions are there, and the daemon has rung for them if it must. */
static void wait_for(struct end *e, uint32_t waiting)
{
	struct ddp_cq_state st = DDP_INIT(ddp_cq_state);

	while (st.waiting < waiting)
		MUST(ddp_query_cq(e->cq, &st));
	MUST(ddp_query_cq(e->cq, &st));
	is("completions that wait", st.waiting, waiting);
}

static void send_unsolicited(struct session *s, unsigned flags)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND, .send_flags = flags};

	session_recv(s, 1, 0, 64);
	session_send(s, 0, wr, 0, 1);
	end_done(s->end[0], DDP_WC_SEND, DDP_WC_SUCCESS);
}

static void take(struct end *b, unsigned flags)
{
	struct ddp_wc wc;

	is("a completion", (uint64_t)MUST(ddp_poll_cq(b->cq, 1, &wc)), 1);
	is("its flags", wc.wc_flags, flags);
}

/* A queue that is armed for solicited completions rings only for those, and for no earlier ones. */
static void send_solicited(struct session *s)
{
	struct end *b = s->end[1];

	/* The queue may still be armed at the first one. */
	for (int i = 0; i < 2; i++) {
		send_unsolicited(s, DDP_SEND_SOLICITED);
		wait_for(b, 1);
		take(b, DDP_WC_SOLICITED);
	}
	is("the queue is empty when it is armed", (uint64_t)MUST(ddp_req_notify_cq(b->cq, 1)), 0);
	send_unsolicited(s, 0);
	wait_for(b, 1);
	is("a plain Send does not ring", readable(ddp_cq_fd(b->cq), 0), false);
	send_unsolicited(s, DDP_SEND_SOLICITED);
	is("a solicited Send rings", readable(ddp_cq_fd(b->cq), RIG_WAIT_MS), true);
	take(b, 0);
	take(b, DDP_WC_SOLICITED);
	is("the bell is empty after that", readable(ddp_cq_fd(b->cq), 0), false);
}

/* Several elements on both sides, and inline data. */
static void send_pieces(struct session *s)
{
	struct end *a = s->end[0], *b = s->end[1];
	struct ddp_sge out[3] = {end_sge(a, 0, 1000), end_sge(a, 5000, 0), end_sge(a, 1000, 1500)};
	struct ddp_sge in[3] = {end_sge(b, 0, 7), end_sge(b, 7, 1600), end_sge(b, 1607, 1600)};
	struct ddp_sge text = {(uintptr_t) "inline", 6, 0};
	struct ddp_recv_wr recv = {.sg_list = in, .num_sge = 3};
	struct ddp_send_wr wr = {.sg_list = out, .num_sge = 3};

	end_fill(a, 0, 2500, 3);
	MUST(ddp_post_recv(s->qp[1], &recv, NULL));
	session_post(s, 0, wr);
	end_done(a, DDP_WC_SEND, DDP_WC_SUCCESS);
	is("length of three pieces", end_done(b, DDP_WC_RECV, DDP_WC_SUCCESS).byte_len, 2500);
	same("their bytes in three others", end_at(b, 0), end_at(a, 0), 2500);
	MUST(ddp_post_recv(s->qp[1], &recv, NULL));
	wr = (struct ddp_send_wr){.sg_list = &text, .num_sge = 1, .send_flags = DDP_SEND_INLINE};
	session_post(s, 0, wr);
	end_done(a, DDP_WC_SEND, DDP_WC_SUCCESS);
	is("length of inline data", end_done(b, DDP_WC_RECV, DDP_WC_SUCCESS).byte_len, 6);
	same("inline data", end_at(b, 0), "inline", 6);
}

void whole_sends(struct whole *w)
{
	struct ddp_send_wr plain = {.opcode = DDP_WR_SEND};
	struct ddp_mr *mr;
	struct session s;

	whole_open(w, &s);
	MUST(ddp_alloc_mr(w->b.pd, 4096, DDP_ACCESS_REMOTE_WRITE, &mr));
	for (int i = 0; i < LENGTHS; i++)
		is("flags of a Send", send_bytes(&s, plain, lengths[i]).wc_flags, 0);
	send_invalidating(&s, mr, 0);
	send_invalidating(&s, mr, DDP_SEND_SOLICITED);
	send_solicited(&s);
	send_pieces(&s);
	MUST(ddp_dereg_mr(mr));
	session_close(&s, 0);
	row("5040-3.2-01 5040-3.2-02",
	    "Sends of the four kinds arrive with length, bytes, event and revoked STag");
}

/* ---- Writes and Reads ---- */

static void write_bytes(struct session *s, uint32_t len, size_t offset)
{
	struct end *a = s->end[0], *b = s->end[1];
	struct ddp_send_wr wr = {.opcode = DDP_WR_RDMA_WRITE,
				 .rdma = {b->mr->iova + RIG_HALF + offset, b->mr->rkey}};
	struct ddp_send_wr write_count = {.opcode = DDP_WR_SEND};

	end_fill(a, 0, len, len);
	memset(end_at(b, RIG_HALF), 0xee, RIG_HALF);
	session_recv(s, 1, 0, 1);
	session_send(s, 0, wr, 0, len);
	session_send(s, 0, write_count, 0, 1);
	end_done(a, DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
	end_done(a, DDP_WC_SEND, DDP_WC_SUCCESS);
	end_done(b, DDP_WC_RECV, DDP_WC_SUCCESS);
	same("bytes of a Write", end_at(b, RIG_HALF + offset), end_at(a, 0), len);
	if (offset)
		is("the byte before them", *end_at(b, RIG_HALF + offset - 1), 0xee);
	if (offset + len < RIG_HALF)
		is("the byte after them", *end_at(b, RIG_HALF + offset + len), 0xee);
}

static void read_bytes(struct session *s, uint32_t len, size_t offset)
{
	struct end *a = s->end[0], *b = s->end[1];
	struct ddp_send_wr wr = {.opcode = DDP_WR_RDMA_READ,
				 .rdma = {b->mr->iova + offset, b->mr->rkey}};
	struct ddp_wc wc;

	end_fill(b, offset, len, len + 1);
	memset(end_at(a, RIG_HALF), 0, len);
	session_send(s, 0, wr, RIG_HALF, len);
	wc = end_done(a, DDP_WC_RDMA_READ, DDP_WC_SUCCESS);
	is("length of a Read", wc.byte_len, len);
	same("bytes of a Read", end_at(a, RIG_HALF), end_at(b, offset), len);
	is("the source gets no completion", (uint64_t)MUST(ddp_poll_cq(b->cq, 1, &wc)), 0);
}

/* A Read, and a fenced Send that must not overtake it. */
static void read_and_fence(struct session *s)
{
	struct end *a = s->end[0], *b = s->end[1];
	struct ddp_send_wr wr = {.opcode = DDP_WR_RDMA_READ, .rdma = {b->mr->iova, b->mr->rkey}};
	struct ddp_send_wr send = {.opcode = DDP_WR_SEND, .send_flags = DDP_SEND_FENCE};

	end_fill(b, 0, RIG_HALF, 99);
	session_recv(s, 1, RIG_HALF, RIG_HALF);
	session_send(s, 0, wr, 0, RIG_HALF);
	session_send(s, 0, send, 0, RIG_HALF);
	end_done(a, DDP_WC_RDMA_READ, DDP_WC_SUCCESS);
	end_done(a, DDP_WC_SEND, DDP_WC_SUCCESS);
	end_done(b, DDP_WC_RECV, DDP_WC_SUCCESS);
	same("the bytes that were read and sent back after a fence", end_at(b, RIG_HALF),
	     end_at(b, 0), RIG_HALF);
}

void whole_writes_and_reads(struct whole *w)
{
	struct session s;

	whole_open(w, &s);
	for (int i = 0; i < LENGTHS; i++) {
		write_bytes(&s, lengths[i], lengths[i] < RIG_HALF ? 13 : 0);
		read_bytes(&s, lengths[i], lengths[i] < RIG_HALF ? 29 : 0);
	}
	read_and_fence(&s);
	session_close(&s, 1);
	row("5040-3.2-04 5040-3.2-06 5040-3.2-07",
	    "Writes and Reads of 0 to 524288 bytes: the source of a Read gets no completion");
}

/* ---- Immediate Data ---- */

void whole_immediate(struct whole *w)
{
	const uint64_t number = 0x0123456789abcdef;
	struct ddp_send_wr wr = {.opcode = DDP_WR_IMM_DATA, .imm_data = number};
	struct session s;

	whole_open(w, &s);
	memset(end_at(&w->b, 0), 0xee, 64);
	for (int i = 0; i < 2; i++) {
		struct ddp_wc wc;

		session_recv(&s, 1, 0, 64);
		session_post(&s, 0, wr);
		end_done(&w->a, DDP_WC_IMM_DATA, DDP_WC_SUCCESS);
		wc = end_done(&w->b, DDP_WC_RECV, DDP_WC_SUCCESS);
		is("Immediate Data", wc.imm_data, number);
		is("no bytes with it", wc.byte_len, 0);
		is("its flags", wc.wc_flags,
		   DDP_WC_WITH_IMM | (wr.send_flags ? DDP_WC_SOLICITED : 0));
		is("the receive's memory is unchanged", *end_at(&w->b, 0), 0xee);
		wr.send_flags = DDP_SEND_SOLICITED;
	}
	session_close(&s, 0);
	row("7306-6.3-02 7306-6.3-03",
	    "Immediate Data, plain and solicited, take a receive each and deliver the number");
}
