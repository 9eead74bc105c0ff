/* SPDX-License-Identifier: BSD-2-Clause */
/* Raw queue pairs: DDP without RDMAP. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/row.h"
#include "tests/system/whole.h"

enum { QUEUES = 3, NOTIFY = 0x80, ROOM = RIG_HALF };

static const uint64_t ulp = 0x89abcdef01; /* 40 bits */

/* The private data identify the session for capture.py. */
static void open_raw(struct whole *w, struct session *s)
{
	struct ddp_conn_param request = DDP_INIT(ddp_conn_param);
	struct how how = {.request = &request};

	request.private_data = "raw";
	request.private_len = 3;

	for (int side = 0; side < 2; side++) {
		how.init[side].qp_type = DDP_QP_RAW;
		how.init[side].raw_queues = QUEUES;
		how.init[side].raw_notify = NOTIFY;
	}
	session_open(s, &w->a, &w->b, w->address, &how);
}

static void receive(const struct session *s, int side, uint32_t qn, size_t offset, uint32_t len)
{
	struct ddp_sge sge = end_sge(s->end[side], offset, len);
	struct ddp_recv_wr wr = {
		.wr_id = qn, .sg_list = &sge, .num_sge = qn != DDP_QN_TAGGED, .qn = qn};

	MUST(ddp_post_recv(s->qp[side], &wr, NULL));
}

/* An untagged message that must arrive. */
static void untagged(struct session *s, int from, uint32_t qn, uint32_t len)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND, .raw = {qn, ulp + qn}};
	struct end *e = s->end[from], *peer = s->end[!from];
	struct ddp_wc wc;

	end_fill(e, 0, len, qn + len);
	receive(s, !from, qn, ROOM, len);
	session_send(s, from, wr, 0, len);
	wc = end_done(peer, DDP_WC_RECV, DDP_WC_SUCCESS);
	is("its queue", wc.qn, qn);
	is("its RsvdULP", wc.imm_data, ulp + qn);
	is("its length", wc.byte_len, len);
	same("its bytes", end_at(peer, ROOM), end_at(e, 0), len);
	end_done(e, DDP_WC_SEND, DDP_WC_SUCCESS);
}

/* A tagged message without a notice, and one with it. */
static void tagged(struct session *s, uint32_t len)
{
	struct end *a = s->end[0], *b = s->end[1];
	struct ddp_send_wr wr = {.opcode = DDP_WR_RDMA_WRITE,
				 .rdma = {b->mr->iova + ROOM + 3, b->mr->rkey}};
	struct ddp_wc wc;

	end_fill(a, 0, len, len);
	receive(s, 1, DDP_QN_TAGGED, 0, 0);
	/* Two messages to one place may be placed in any order, so both have the same bytes. */
	wr.raw.rsvd = 0x7f;
	wr.rdma.remote_addr++;
	session_send(s, 0, wr, 1, len - 1);
	wr.raw.rsvd = NOTIFY | 0x15;
	wr.rdma.remote_addr--;
	session_send(s, 0, wr, 0, len);
	wc = end_done(b, DDP_WC_RECV_TAGGED, DDP_WC_SUCCESS);
	is("the key that the notice names", wc.stag, b->mr->rkey);
	is("RsvdULP of the notice", wc.imm_data, NOTIFY | 0x15);
	is("length of the message", wc.byte_len, len);
	same("its bytes", end_at(b, ROOM + 3), end_at(a, 0), len);
	for (int i = 0; i < 2; i++)
		end_done(a, DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
}

/* The last events of a session that one side ends first; the other one may still send. */
static void half_close(struct session *s, int first)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND};

	MUST(ddp_disconnect(s->id[first]));
	is("the peer's half is closed",
	   end_expect(s->end[!first], DDP_CM_HALF_CLOSED) == s->id[!first], 1);
	session_send(s, first, wr, 0, 8);
	untagged(s, !first, 1, 3000);
	ok("the other half still carries messages");
	MUST(ddp_disconnect(s->id[!first]));
	for (int side = 0; side < 2; side++) {
		struct ddp_cm_event *ev = end_event(s->end[side], DDP_CM_DISCONNECTED);

		is("the end is in order", (uint64_t)-ev->err, 0);
		ddp_ack_cm_event(ev);
	}
	end_done(s->end[first], DDP_WC_SEND, DDP_WC_FLUSH_ERR);
	ok("the closed one did not");
	session_free(s);
}

void whole_raw(struct whole *w)
{
	static const uint32_t lengths[] = {0, 1, 5000, 300000};
	struct ddp_qp_attr attr = DDP_INIT(ddp_qp_attr);
	struct session s;

	open_raw(w, &s);
	MUST(ddp_query_qp(s.qp[1], &attr));
	is("type of the queue pair", attr.qp_type, DDP_QP_RAW);
	is("it has no Reads", attr.max_ord + attr.max_ird, 0);
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (uint32_t qn = 0; qn < QUEUES; qn++)
			untagged(&s, i % 2, qn, lengths[i]);
	tagged(&s, 40);
	tagged(&s, 300000);
	row("4296-2.1.2-01 4296-2.1.2-02 4296-2.1.2-06 4296-2.1.2-13",
	    "untagged messages into several queues, tagged ones with and without a notice");
	half_close(&s, 0);
	open_raw(w, &s);
	half_close(&s, 1);
	row("5041-6.2.1-02 5041-6.2.1-04 5041-6.2.1-05 5041-6.2.1-06",
	    "after a half-close the other half continues, until its program ends it, too");
}

/* ---- errors ---- */

/* The event about a message to a queue that does not exist. */
static void expect_error_event(struct session *s)
{
	static const uint8_t header[18] = {0x41,   0x89, 0xab, 0xcd, 0xef, 0x01, 0, 0, 0,
					   QUEUES, 0,    0,    0,    1,    0,    0, 0, 0};
	struct ddp_cm_event *ev = end_event(s->end[1], DDP_CM_ERROR);

	is("an error of the peer's", (uint64_t)-ev->err, EPROTO);
	is("its code", ev->term, 0x1201);
	is("length of the segment", ev->segment_len, 18 + 100);
	is("length of the header", ev->header_len, sizeof(header));
	same("the header", ev->header, header, sizeof(header));
	is("its session", (uintptr_t)ev->id, (uintptr_t)s->id[1]);
	ddp_ack_cm_event(ev);
}

void whole_raw_error(struct whole *w)
{
	struct ddp_send_wr wrong = {.opcode = DDP_WR_SEND, .raw = {QUEUES, ulp}};
	struct ddp_send_wr last = {.opcode = DDP_WR_SEND, .raw = {2, 7}};
	struct session s;

	open_raw(w, &s);
	receive(&s, 1, 0, ROOM, 100);
	receive(&s, 0, 2, ROOM, 100);
	receive(&s, 0, 2, ROOM, 100);
	session_send(&s, 0, wrong, 0, 100);
	end_done(&w->a, DDP_WC_SEND, DDP_WC_SUCCESS);
	expect_error_event(&s);
	end_done(&w->b, DDP_WC_RECV, DDP_WC_FLUSH_ERR);
	ok("the receive is flushed");
	last.raw.qn = 0;
	session_send(&s, 0, last, 0, 100);
	end_done(&w->a, DDP_WC_SEND, DDP_WC_SUCCESS);
	last.raw.qn = 2;
	end_fill(&w->b, 0, 50, 8);
	session_send(&s, 1, last, 0, 50);
	end_done(&w->b, DDP_WC_SEND, DDP_WC_SUCCESS);
	is("a last message", end_done(&w->a, DDP_WC_RECV, DDP_WC_SUCCESS).byte_len, 50);
	same("its bytes", end_at(&w->a, ROOM), end_at(&w->b, 0), 50);
	session_send(&s, 1, last, 0, 50);
	MUST(ddp_disconnect(s.id[1]));
	end_expect(&w->a, DDP_CM_HALF_CLOSED);
	MUST(ddp_disconnect(s.id[0]));
	end_expect(&w->a, DDP_CM_DISCONNECTED);
	end_expect(&w->b, DDP_CM_DISCONNECTED);
	end_done(&w->b, DDP_WC_SEND, DDP_WC_FLUSH_ERR);
	ok("no second message after the error");
	session_free(&s);
	row("5041-6.2-01 5041-6.2.2-03 5041-6.2.2-04 5041-6.2.2-05 5041-6.2.2-06",
	    "an error is reported with its header; one more message is sent, and the program ends "
	    "the session");
}
