/* SPDX-License-Identifier: BSD-2-Clause */
/* The messages that the daemon sends for a program: RFC 5041 4 and 5, RFC 5040 4. */
#include <string.h>

#include "tests/raw/case.h"
#include "tests/raw/pair.h"
#include "tests/raw/stage.h"
#include "tests/raw/whole.h"

enum { STAG = 0x12345678, TO = 0x4000, BASE = 0x900000, LEN = 1 << 20 };

struct source {
	struct pair p;
	struct client_region r;
};

static struct source source_new(void)
{
	struct source s = {.p = pair_new(&(struct client_opts){.recvs = 2, .size = 64})};

	s.r = client_region(client_pd(), LEN, BASE, DDP_ACCESS_LOCAL_WRITE);
	for (size_t i = 0; i < LEN; i++)
		s.r.p[i] = (uint8_t)(i * 5 + (i >> 9));
	return s;
}

static void post(struct source *s, enum ddp_wr_opcode op, unsigned flags, uint64_t off, uint32_t n)
{
	struct ddp_sge sge = {BASE + off, n, s->r.mr->lkey};
	struct ddp_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = op, .send_flags = flags};

	wr.invalidate_rkey = 0x0badcafe;
	wr.rdma.rkey = STAG;
	wr.rdma.remote_addr = TO;
	client_post(&s->p.v, wr);
}

static void complete(struct source *s)
{
	struct ddp_wc wc = client_wc(s->p.v.scq);

	EXPECT(wc.status == DDP_WC_SUCCESS, "%s: %s", ddp_wc_opcode_str(wc.opcode),
	       ddp_wc_status_str(wc.status));
}

static void expect(struct source *s, struct raw_msg want)
{
	link_expect(s->p.l, s->p.sid, &want, "the message");
	complete(s);
}

/* Each message in one segment, as in the vectors. */
static void short_ones(void)
{
	struct source s = source_new();
	struct raw_queue q = {.inv = 0x0badcafe, .msn = 4};

	post(&s, DDP_WR_SEND, 0, 0, 5);
	expect(&s, raw_send(1, s.r.p, 5));
	post(&s, DDP_WR_SEND_WITH_INV, 0, 1, 4);
	expect(&s, raw_send_inv(2, 0x0badcafe, s.r.p + 1, 4));
	post(&s, DDP_WR_SEND, DDP_SEND_SOLICITED, 0, 0);
	expect(&s, raw_untagged(RAW_UL, RAW_SEND_SE, (struct raw_queue){.msn = 3}, NULL, 0));
	post(&s, DDP_WR_SEND_WITH_INV, DDP_SEND_SOLICITED, 0, 1);
	expect(&s, raw_untagged(RAW_UL, RAW_SEND_SE_INV, q, s.r.p, 1));
	post(&s, DDP_WR_RDMA_WRITE, 0, 3, 20);
	expect(&s, raw_write(STAG, TO, s.r.p + 3, 20));
	post(&s, DDP_WR_RDMA_WRITE, 0, 0, 0);
	expect(&s, raw_write(STAG, TO, NULL, 0));
	pair_marker(s.p.l);
	link_nothing_left(s.p.l);
	pair_alive(&s.p);
	pair_end(&s.p);
}

/* Segments of the largest length, and one message per request. */
static void long_ones(void)
{
	static const uint32_t n[] = {2048, 5000, LEN};
	struct source s = source_new();
	struct ddp_qp_attr attr = DDP_INIT(ddp_qp_attr);

	MUST(ddp_query_qp(s.p.v.qp, &attr));
	EXPECT(attr.max_tagged == attr.max_untagged + 4 && attr.max_tagged > 1200 &&
		       attr.max_tagged < 1450,
	       "segments of %u and %u bytes", attr.max_tagged, attr.max_untagged);
	for (unsigned i = 0; i < 6; i++) {
		uint32_t max = i % 2 ? attr.max_tagged : attr.max_untagged, len = n[i / 2];
		struct whole w;

		post(&s, i % 2 ? DDP_WR_RDMA_WRITE : DDP_WR_SEND, 0, 0, len);
		w = whole_take(s.p.l, s.p.sid);
		complete(&s);
		EXPECT(w.len == len && memcmp(w.data, s.r.p, len) == 0, "%u bytes of %u", w.len,
		       len);
		EXPECT(w.segments == (len + max - 1) / max, "%u bytes in %u segments of %u", len,
		       w.segments, max);
		EXPECT(w.tagged ? w.stag == STAG && w.to == TO
				: w.q.qn == 0 && w.q.inv == 0 && w.q.msn == i / 2 + 1,
		       "the wrong header");
	}
	pair_end(&s.p);
}

static void exact(void)
{
	struct source s = source_new();
	struct ddp_qp_attr attr = DDP_INIT(ddp_qp_attr);

	MUST(ddp_query_qp(s.p.v.qp, &attr));
	for (uint32_t more = 0; more < 2; more++) {
		struct whole w;

		post(&s, DDP_WR_SEND, 0, 0, attr.max_untagged + more);
		w = whole_take(s.p.l, s.p.sid);
		EXPECT(w.segments == 1 + more, "%u segments", w.segments);
		post(&s, DDP_WR_RDMA_WRITE, 0, 0, attr.max_tagged + more);
		w = whole_take(s.p.l, s.p.sid);
		EXPECT(w.segments == 1 + more, "%u segments", w.segments);
	}
	pair_end(&s.p);
}

/* A message has one sink, even if its source has several elements. */
static void gathered(void)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct source s = source_new();
	struct ddp_cm_event *ev;
	struct raw_msg m = raw_control(RAW_INITIATE, NULL, 0);
	struct ddp_sge sge[3] = {{BASE, 3, s.r.mr->lkey},
				 {BASE + 100, 0, s.r.mr->lkey},
				 {BASE + 200, 4, s.r.mr->lkey}};
	struct ddp_send_wr wr = {.sg_list = sge, .num_sge = 3, .opcode = DDP_WR_RDMA_WRITE};
	uint8_t bytes[7];
	struct ddp_qp *qp;

	wr.rdma.rkey = STAG;
	wr.rdma.remote_addr = TO;
	link_begin(s.p.l, 50, false);
	link_send(s.p.l, 50, &m);
	ev = client_event(DDP_CM_CONNECT_REQUEST);
	init.send_cq = s.p.v.scq;
	init.recv_cq = s.p.v.rcq;
	init.max_send_wr = init.max_recv_wr = 4;
	init.max_send_sge = 3;
	MUST(ddp_create_qp(ev->id, client_pd(), &init, &qp));
	MUST(ddp_accept(ev->id, NULL));
	ddp_ack_cm_event(ev);
	ddp_ack_cm_event(client_event(DDP_CM_ESTABLISHED));
	(void)link_take(s.p.l, 50);
	MUST(ddp_post_send(qp, &wr, NULL));
	memcpy(bytes, s.r.p, 3);
	memcpy(bytes + 3, s.r.p + 200, 4);
	m = raw_write(STAG, TO, bytes, 7);
	link_expect(s.p.l, 50, &m, "the Write");
}

/* In the order of posting, with separate numbers for each queue. */
static void in_order(void)
{
	struct source s = source_new();
	uint32_t sends = 0, reads = 0;

	for (uint32_t i = 0; i < 12; i++)
		post(&s,
		     i % 3 == 0   ? DDP_WR_SEND
		     : i % 3 == 1 ? DDP_WR_RDMA_READ
				  : DDP_WR_RDMA_WRITE,
		     0, i, 10 + i);
	for (uint32_t i = 0; i < 12; i++) {
		struct whole w = whole_take(s.p.l, s.p.sid);

		if (i % 3 == 0)
			EXPECT(w.rdmap == RAW_SEND && w.q.qn == 0 && w.q.msn == ++sends, "Send");
		else if (i % 3 == 1)
			EXPECT(w.rdmap == RAW_READ_REQ && w.q.qn == 1 && w.q.msn == ++reads &&
				       w.len == RAW_READ && w.q.inv == 0,
			       "Read");
		else
			EXPECT(w.rdmap == RAW_WRITE && w.len == 10 + i, "Write");
	}
	pair_marker(s.p.l);
	link_nothing_left(s.p.l);
}

/* The initiator is silent before the answer. */
static void before_accept(void)
{
	struct client_opts o = {.recvs = 2, .size = 64};
	struct pair p = pair_requested(&o);
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND};
	struct raw_msg initiate = raw_control(RAW_INITIATE, NULL, 0);
	struct raw_msg accept = raw_control(RAW_ACCEPT, NULL, 0), send = raw_send(1, NULL, 0);
	struct raw_msg end = raw_control(RAW_END, NULL, 0);

	MUST(ddp_post_send(p.v.qp, &wr, NULL));
	link_send(p.l, 251, &initiate); /* no listener there */
	link_expect(p.l, 251, &end, "Session Terminate");
	EXPECT(link_waiting(p.l, p.sid) == 0, "a segment before the Accept");
	pair_tx(&p, accept);
	ddp_ack_cm_event(client_event(DDP_CM_ESTABLISHED));
	link_expect(p.l, p.sid, &send, "the Send");
	pair_end(&p);
}

/* After the program asked for the end, it can send no more. */
static void after_end(void)
{
	struct source s = source_new();
	struct raw_msg end = raw_control(RAW_END, NULL, 0);

	MUST(ddp_disconnect(s.p.v.id));
	post(&s, DDP_WR_SEND, 0, 0, 5);
	EXPECT(client_wc(s.p.v.scq).status == DDP_WC_FLUSH_ERR, "a Send after the end");
	link_expect(s.p.l, s.p.sid, &end, "Session Terminate");
	pair_tx(&s.p, end);
	pair_disconnected(&s.p, false, 0);
	link_nothing_left(s.p.l);
}

const struct raw_case case_sender[] = {
	{"send-short",
	 "5043-4-01 5043-5.2-01 5043-5.2.1-01 5043-5.2.2-01 5041-4.1-03 5041-4.1-08 5041-4.1-10 "
	 "5041-4.2-01 5041-4.3-01 5041-4.3-07 5041-5.2-08 5040-3.1-02 5040-3.1-04 5040-4.1-01 "
	 "5040-4.1-02 5040-4.1-03 5040-4.1-04 5040-4.1-05 5040-4.1-06 5040-4.1-08 5040-4.1-10 "
	 "5040-5.1-01 5040-5.1-09 5040-5.3-01 5040-5.3-08 5040-5.3-10 5040-5.3-12 4296-2.2.1-01",
	 short_ones},
	{"send-long",
	 "5041-4.1-04 5041-4.1-05 5041-4.1-06 5041-4.2-04 5041-4.2-06 5041-4.3-02 5041-4.3-05 "
	 "5041-4.3-09 5041-4.3-10 5041-5.2-01 5041-5.2-03 5041-5.2-05 5041-5.2-07 5041-5.3-02 "
	 "5040-3.1-03 5043-9-01 4296-2.1.2-10",
	 long_ones},
	{"send-exact", "5041-5.2-01 5041-5.2-08", exact},
	{"send-gathered", "5040-5.1-08", gathered},
	{"send-order",
	 "5041-5.3-01 5041-4.3-06 5041-4.3-07 5040-5.1-06 5040-5.2.1-07 5040-5.3-09 5040-5.5-09",
	 in_order},
	{"before-accept", "5043-2-01 5043-6.6-02 5043-6.6-03", before_accept},
	{"after-end", "5041-6.2.1-02 5043-6.2-03", after_end},
	{0},
};
