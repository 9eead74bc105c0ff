/* SPDX-License-Identifier: BSD-2-Clause */
/* RFC 5041 4, 6, 7 as seen by a program that uses DDP without RDMAP, and the errors that end
 * sessions. */
#include <string.h>

#include "tests/raw/case.h"
#include "tests/raw/fault.h"
#include "tests/raw/stage.h"
#include "tests/raw/whole.h"

enum { SIZE = 64, RECVS = 3, BASE = 0x5000, LEN = 4096, STAG = 0x12345678, TO = 0x4008 };

struct bare {
	struct link *l;
	uint16_t sid;
	struct ddp_id *id;
	struct ddp_qp *qp;
	struct ddp_cq *scq, *rcq;
	struct client_region inbox, r;
};

static struct ddp_cq *make_cq(void)
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);
	struct ddp_cq *cq;

	attr.entries = 64;
	MUST(ddp_create_cq(client_ctx(), &attr, &cq));
	return cq;
}

/* RECVS receives for each of the queues 0 and 1, and as many for notices. */
static void post_recvs(struct bare *b)
{
	for (uint32_t i = 0; i < 3 * RECVS; i++) {
		struct ddp_sge sge = {b->inbox.mr->iova + i * SIZE, SIZE, b->inbox.mr->lkey};
		struct ddp_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1, .qn = i % 3};

		if (i % 3 == 2) {
			wr.qn = DDP_QN_TAGGED;
			wr.num_sge = 0;
		}
		MUST(ddp_post_recv(b->qp, &wr, NULL));
	}
}

static struct bare bare_new(void)
{
	struct bare b = {.l = pair_listener(0)};
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct raw_msg m = raw_control(RAW_INITIATE, NULL, 0);
	struct ddp_cm_event *ev;

	b.inbox = client_region(client_pd(), 3 * RECVS * SIZE, 0x200000, DDP_ACCESS_LOCAL_WRITE);
	b.r = client_region(client_pd(), LEN, BASE, DDP_ACCESS_REMOTE_WRITE);
	init.send_cq = b.scq = make_cq();
	init.recv_cq = b.rcq = make_cq();
	init.max_send_wr = init.max_recv_wr = 16;
	init.max_inline = 64;
	init.qp_type = DDP_QP_RAW;
	init.raw_queues = 2;
	init.raw_notify = 0x80;
	link_send(b.l, 0, &m);
	ev = client_event(DDP_CM_CONNECT_REQUEST);
	b.id = ev->id;
	ddp_ack_cm_event(ev);
	MUST(ddp_create_qp(b.id, client_pd(), &init, &b.qp));
	post_recvs(&b);
	MUST(ddp_accept(b.id, NULL));
	ddp_ack_cm_event(client_event(DDP_CM_ESTABLISHED));
	(void)link_take(b.l, 0);
	return b;
}

static void tx(struct bare *b, struct raw_msg m)
{
	link_send(b->l, b->sid, &m);
}

static struct raw_msg untagged(uint8_t first, uint32_t rest, uint32_t qn, uint32_t msn,
			       const char *text)
{
	struct raw_queue q = {.inv = rest, .qn = qn, .msn = msn};

	return raw_untagged(RAW_UL, first, q, text, strlen(text));
}

static void got(struct bare *b, uint64_t wr_id, uint32_t qn, uint64_t rsvd, const char *text)
{
	struct ddp_wc wc = client_wc(b->rcq);

	EXPECT(wc.status == DDP_WC_SUCCESS && wc.opcode == DDP_WC_RECV && wc.wr_id == wr_id &&
		       wc.qn == qn && wc.imm_data == rsvd && wc.byte_len == strlen(text),
	       "receive %u: queue %u, %llx, %u bytes: %s", (unsigned)wc.wr_id, wc.qn,
	       (unsigned long long)wc.imm_data, wc.byte_len, ddp_wc_status_str(wc.status));
	EXPECT(memcmp(b->inbox.p + wr_id * SIZE, text, wc.byte_len) == 0, "other bytes");
}

static void noticed(struct bare *b, uint64_t wr_id, uint8_t rsvd, uint32_t n)
{
	struct ddp_wc wc = client_wc(b->rcq);

	EXPECT(wc.status == DDP_WC_SUCCESS && wc.opcode == DDP_WC_RECV_TAGGED &&
		       wc.wr_id == wr_id && wc.imm_data == rsvd && wc.byte_len == n &&
		       wc.stag == b->r.mr->rkey,
	       "notice %u: %llx, %u bytes, STag %x: %s", (unsigned)wc.wr_id,
	       (unsigned long long)wc.imm_data, wc.byte_len, wc.stag, ddp_wc_status_str(wc.status));
}

/* ---- received ---- */

static void received(void)
{
	struct bare b = bare_new();
	uint32_t key = b.r.mr->rkey;

	tx(&b, untagged(0xab, 0x01020304, 0, 1, "queue 0"));
	tx(&b, untagged(0x00, 0, 1, 1, "queue 1"));
	tx(&b, untagged(0xff, UINT32_MAX, 1, 2, ""));
	got(&b, 0, 0, 0xab01020304, "queue 0");
	got(&b, 1, 1, 0, "queue 1");
	got(&b, 4, 1, 0xffffffffff, "");
	/* Tagged: without a notice, then with a notice of three segments, then of an empty message.
	 */
	tx(&b, raw_tagged(RAW_TL, 0x7f, key, BASE, "silent", 6));
	tx(&b, raw_tagged(RAW_T, 0x85, key, BASE + 10, "one", 3));
	tx(&b, raw_tagged(RAW_T, 0x85, key, BASE + 13, "two", 3));
	tx(&b, raw_tagged(RAW_TL, 0x85, key, BASE + 16, "three", 5));
	noticed(&b, 2, 0x85, 11);
	EXPECT(memcmp(b.r.p, "silent", 6) == 0 && memcmp(b.r.p + 10, "onetwothree", 11) == 0,
	       "bytes are missing");
	tx(&b, untagged(0x40, 0, 0, 2, "after"));
	got(&b, 3, 0, 0x4000000000, "after");
	tx(&b, raw_tagged(RAW_TL, 0xc0, key, 0, NULL, 0));
	noticed(&b, 5, 0xc0, 0);
	client_guards(&b.r);
	client_no_event();
}

/* Messages of all kinds are delivered in order. */
static void ordered(void)
{
	struct bare b = bare_new();
	struct raw_msg m[] = {
		raw_tagged(RAW_TL, 0x81, b.r.mr->rkey, BASE, "x", 1),
		untagged(1, 1, 1, 1, "one"),
		untagged(2, 2, 0, 1, "two"),
	};

	for (unsigned i = 3; i > 0; i--) {
		pair_marker(b.l);
		client_idle(b.rcq);
		link_send_as(b.l, 0, (uint16_t)i, &m[i - 1]);
	}
	noticed(&b, 2, 0x81, 1);
	got(&b, 1, 1, 0x0100000001, "one");
	got(&b, 0, 0, 0x0200000002, "two");
}

/* ---- sent ---- */

static void sent(void)
{
	struct ddp_caps caps = DDP_INIT(ddp_caps);
	struct bare b = bare_new();
	struct ddp_sge sge = {(uintptr_t) "bytes", 5, 0};
	struct ddp_send_wr wr = {.sg_list = &sge, .num_sge = 1, .send_flags = DDP_SEND_INLINE};
	struct raw_msg want;

	MUST(ddp_query(client_ctx(), &caps));
	EXPECT(caps.features & DDP_CAP_RAW && caps.max_raw_queues > 2, "no raw queue pairs");
	wr.raw.qn = caps.max_raw_queues - 1;
	wr.raw.rsvd = 0xab01020304;
	want = untagged(0xab, 0x01020304, wr.raw.qn, 1, "bytes");
	MUST(ddp_post_send(b.qp, &wr, NULL));
	link_expect(b.l, 0, &want, "an untagged message");
	wr.raw.qn = 1;
	wr.raw.rsvd = 0;
	MUST(ddp_post_send(b.qp, &wr, NULL));
	want = untagged(0, 0, 1, 1, "bytes");
	link_expect(b.l, 0, &want, "a message of another queue, whose numbers begin with 1");
	wr.opcode = DDP_WR_RDMA_WRITE;
	wr.raw.rsvd = 0xfe;
	wr.rdma.rkey = STAG;
	wr.rdma.remote_addr = TO;
	MUST(ddp_post_send(b.qp, &wr, NULL));
	want = raw_tagged(RAW_TL, 0xfe, STAG, TO, "bytes", 5);
	link_expect(b.l, 0, &want, "a tagged message");
}

/* ---- errors ---- */

/* The error is only reported: DDP does not end the stream. The header is that of the segment. */
static void expect_error_event(struct bare *b, const struct raw_msg *bad, uint16_t err)
{
	struct raw_msg end = raw_control(RAW_END, NULL, 0);
	uint32_t n = bad->b[RAW_HOP] & 0x80 ? RAW_TAGGED : RAW_UNTAGGED;
	struct ddp_cm_event *ev;

	link_send(b->l, 0, bad);
	ev = client_event(DDP_CM_ERROR);
	EXPECT(ev->err && ev->term == err && ev->segment_len == bad->len - RAW_HOP,
	       "err %d, %04x, length %u", ev->err, ev->term, ev->segment_len);
	EXPECT(ev->header_len == n && memcmp(ev->header, bad->b + RAW_HOP, n) == 0,
	       "a header of %zu bytes, or another one", ev->header_len);
	ddp_ack_cm_event(ev);
	for (unsigned i = 0; i < 3 * RECVS; i++)
		EXPECT(client_wc(b->rcq).status == DDP_WC_FLUSH_ERR, "a receive is not flushed");
	tx(b, raw_tagged(RAW_TL, 0, b->r.mr->rkey, BASE, "late", 4));
	link_send(b->l, 0, bad);
	pair_marker(b->l);
	client_no_event();
	EXPECT(link_waiting(b->l, 0) == 0, "the daemon sends a message without the program");
	client_untouched(&b->r, 0, 0);
	{
		/* One more message may be sent, and no second one. */
		struct ddp_send_wr wr = {.opcode = DDP_WR_SEND, .raw = {.qn = 7, .rsvd = 9}};
		struct raw_msg want = untagged(0, 9, 7, 1, "");

		wr.send_flags = DDP_SEND_SIGNALED;
		MUST(ddp_post_send(b->qp, &wr, NULL));
		link_expect(b->l, 0, &want, "the last message");
		EXPECT(client_wc(b->scq).status == DDP_WC_SUCCESS, "the last message failed");
		MUST(ddp_post_send(b->qp, &wr, NULL));
		EXPECT(client_wc(b->scq).status == DDP_WC_FLUSH_ERR,
		       "a message after the last one");
	}
	MUST(ddp_disconnect(b->id));
	link_expect(b->l, 0, &end, "Session Terminate");
	tx(b, end);
	ddp_ack_cm_event(client_event(DDP_CM_DISCONNECTED));
	link_nothing_left(b->l);
}

static void bounds(void)
{
	struct bare b = bare_new();
	struct raw_msg bad = raw_tagged(RAW_TL, 0, b.r.mr->rkey, BASE + LEN - 3, "oops", 4);

	expect_error_event(&b, &bad, RAW_ERR(1, 1, 1));
}

static void queue(void)
{
	struct bare b = bare_new();
	struct raw_msg bad = untagged(0, 0, 2, 1, "oops");

	expect_error_event(&b, &bad, RAW_ERR(1, 2, 1));
}

/* The peer ends its half: the program may still send, and then ends the other half. */
static void half_closed(void)
{
	struct bare b = bare_new();
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND};
	struct raw_msg end = raw_control(RAW_END, NULL, 0);

	tx(&b, end);
	ddp_ack_cm_event(client_event(DDP_CM_HALF_CLOSED));
	pair_marker(b.l);
	EXPECT(link_waiting(b.l, 0) == 0, "the other half ends without the program");
	for (uint32_t i = 1; i <= 3; i++) {
		struct raw_msg want = untagged(0, 0, 0, i, "");

		MUST(ddp_post_send(b.qp, &wr, NULL));
		link_expect(b.l, 0, &want, "a message in the other direction");
	}
	MUST(ddp_disconnect(b.id));
	link_expect(b.l, 0, &end, "Session Terminate");
	{
		struct ddp_cm_event *ev = client_event(DDP_CM_DISCONNECTED);

		EXPECT(ev->err == 0, "err %d: %s", ev->err, ev->reason);
		ddp_ack_cm_event(ev);
	}
}

/* ---- the end of an ordinary session ---- */

static void expect_disconnect(struct pair *p, uint16_t term, const struct raw_msg *m, uint32_t n)
{
	struct ddp_cm_event *ev = client_event(DDP_CM_DISCONNECTED);

	EXPECT(ev->term == term && ev->header_len == n &&
		       (n == 0 || memcmp(ev->header, m->b + RAW_HOP, n) == 0),
	       "Terminate %04x, a header of %zu bytes, or another one", ev->term, ev->header_len);
	EXPECT(n == 0 || ev->segment_len == m->len - RAW_HOP, "length %u", ev->segment_len);
	ddp_ack_cm_event(ev);
	client_flushed(&p->v);
	client_end_free(&p->v);
}

static void headers(void)
{
	struct fault f = fault_new(NULL);
	struct raw_msg write = raw_write(f.r.mr->rkey, FAULT_BASE - 1, "oops", 4);
	struct raw_msg read = raw_read(1, (struct raw_read){1, 2, 3, f.r.mr->rkey ^ 1, 5});
	struct raw_msg send = raw_send(1, "too long, according to the peer", 18);
	const struct raw_msg *m[] = {&write, &read, &send};
	static const uint16_t err[] = {RAW_ERR(1, 1, 1), RAW_ERR(0, 1, 0), RAW_ERR(1, 2, 5)};
	static const uint32_t n[] = {RAW_TAGGED, RAW_UNTAGGED + RAW_READ, RAW_UNTAGGED};
	struct raw_msg end = raw_control(RAW_END, NULL, 0);

	for (unsigned i = 0; i < 3; i++) {
		pair_tx(&f.p, raw_terminate_for(err[i], m[i])); /* sent by us */
		pair_tx(&f.p, end);
		link_expect(f.p.l, f.p.sid, &end, "Session Terminate");
		expect_disconnect(&f.p, err[i], m[i], n[i]);
		pair_next(&f.p);
		if (i == 2)
			break;
		pair_tx(&f.p, *m[i]); /* found by the daemon */
		(void)link_take(f.p.l, f.p.sid);
		link_expect(f.p.l, f.p.sid, &end, "Session Terminate");
		pair_tx(&f.p, end);
		expect_disconnect(&f.p, err[i], m[i], n[i]);
		pair_next(&f.p);
	}
	pair_tx(&f.p, raw_terminate(0, NULL, 0));
	pair_tx(&f.p, end);
	link_expect(f.p.l, f.p.sid, &end, "Session Terminate");
	expect_disconnect(&f.p, 0, NULL, 0);
}

#define ROWS "5041-6.2-01 5041-6.2.2-03 5041-6.2.2-04 5041-6.2.2-05 5041-6.2.2-06 "

const struct raw_case case_bare[] = {
	{"bare-received",
	 "5041-4.2-03 5041-4.2-07 5041-4.3-03 5041-5.4-03 5041-5.4-04 4296-2.1.2-03 "
	 "4296-2.1.2-06 4296-2.1.2-15 4296-2.1.2-02",
	 received},
	{"bare-ordered", "5041-5.3-06 5041-5.4-02 4296-2.1.3-01", ordered},
	{"bare-sent", "5041-4.2-02 5041-4.3-02 5041-4.3-05 5041-4.3-07 4296-2.1.2-01 4296-2.1.2-02",
	 sent},
	{"bare-bounds", ROWS "5041-7.1-16 5041-7.1-17 5041-7.1-18 4296-2.1.2-14", bounds},
	{"bare-queue", ROWS "5041-7.1-01", queue},
	{"bare-half-closed", "5041-6.2.1-04 5041-6.2.1-05 5041-3-11", half_closed},
	{"end-headers", "5040-3.2-10 5040-3.1-05 5040-3.2-03 5040-3.2-05 5040-3.2-08", headers},
	{0},
};
