/* SPDX-License-Identifier: BSD-2-Clause */
/* RFC 5040 5.2, 6.1: the client reads from us; we answer correctly, wrongly, or never. */
#include <string.h>

#include "tests/raw/case.h"
#include "tests/raw/fault.h"
#include "tests/raw/stage.h"
#include "util/be.h"

enum { SOURCE = 0x5eed5eed, FROM = 0x7000, LEN = 1000 };

static uint8_t bytes[LEN + 8];

/* The client reads n bytes into the region at off. */
static void post_read(struct pair *p, const struct client_region *r, uint64_t off, uint32_t n,
		      uint64_t wr_id)
{
	struct ddp_sge sge = {r->mr->iova + off, n, r->mr->lkey};
	struct ddp_send_wr wr = {.wr_id = wr_id, .opcode = DDP_WR_RDMA_READ};

	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.rdma.rkey = SOURCE;
	wr.rdma.remote_addr = FROM + off;
	client_post(&p->v, wr);
}

/* Checks the request on the wire except its sink. */
static struct raw_read take_read_request(struct pair *p, uint32_t msn, uint64_t off, uint32_t n)
{
	struct raw_msg m = link_take(p->l, p->sid), want;
	const uint8_t *body = m.b + RAW_HOP + RAW_UNTAGGED;
	struct raw_read r = {be_get32(body), be_get64(body + 4), n, SOURCE, FROM + off};

	want = raw_read(msn, r);
	if (!raw_same(&m, &want)) {
		stage_hex("expected", want.b, want.len);
		stage_hex("came", m.b, m.len);
		stage_fail("not the Read Request");
	}
	return r;
}

static void answer(struct pair *p, struct raw_read r)
{
	pair_tx(p, raw_response(r.sink_stag, r.sink_to, bytes, r.size));
}

static void done(struct pair *p, uint64_t wr_id, enum ddp_wc_opcode op, uint32_t n)
{
	struct ddp_wc wc = client_wc(p->v.scq);

	EXPECT(wc.status == DDP_WC_SUCCESS && wc.wr_id == wr_id && wc.opcode == op &&
		       (op != DDP_WC_RDMA_READ || wc.byte_len == n),
	       "%s %u of %u bytes: %s", ddp_wc_opcode_str(wc.opcode), (unsigned)wc.wr_id,
	       wc.byte_len, ddp_wc_status_str(wc.status));
}

struct reader {
	struct pair p;
	struct client_region sink, other;
};

static struct reader open_with(uint16_t ord)
{
	struct client_opts o = {.recvs = 4, .size = 64, .ord = ord};
	struct reader x = {.p = pair_new(&o)};

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 3 + 1);
	x.sink = client_region(client_pd(), LEN, 0x20000, DDP_ACCESS_LOCAL_WRITE);
	x.other = client_region(client_pd(), LEN, 0x20000, DDP_ACCESS_REMOTE_WRITE);
	return x;
}

static void good(void)
{
	struct reader x = open_with(0);
	struct raw_read r;

	post_read(&x.p, &x.sink, 0, LEN, 1);
	r = take_read_request(&x.p, 1, 0, LEN);
	client_idle(x.p.v.scq);
	/* In three segments; the last one completes it. */
	pair_tx(&x.p, raw_tagged(RAW_T, RAW_READ_RSP, r.sink_stag, r.sink_to, bytes, 1));
	pair_tx(&x.p, raw_tagged(RAW_T, RAW_READ_RSP, r.sink_stag, r.sink_to + 1, bytes + 1, 500));
	pair_alive(&x.p);
	client_idle(x.p.v.scq);
	pair_tx(&x.p,
		raw_tagged(RAW_TL, RAW_READ_RSP, r.sink_stag, r.sink_to + 501, bytes + 501, 499));
	done(&x.p, 1, DDP_WC_RDMA_READ, LEN);
	EXPECT(memcmp(x.sink.p, bytes, LEN) == 0, "other bytes arrived");
	client_guards(&x.sink);
	post_read(&x.p, &x.sink, 7, 1, 2);
	answer(&x.p, take_read_request(&x.p, 2, 7, 1));
	done(&x.p, 2, DDP_WC_RDMA_READ, 1);
	pair_end(&x.p);
}

/* A Read of 0 bytes: one empty segment each way. */
static void empty(void)
{
	struct reader x = open_with(0);
	struct raw_msg m;
	uint32_t n;

	post_read(&x.p, &x.sink, 0, 0, 1);
	m = link_take(x.p.l, x.p.sid);
	(void)raw_body(&m, &n);
	EXPECT(raw_opcode(&m) == 1 && n == RAW_READ &&
		       be_get32(m.b + RAW_HOP + RAW_UNTAGGED + 12) == 0,
	       "not a Read Request of 0 bytes");
	pair_tx(&x.p, raw_response(be_get32(m.b + RAW_HOP + RAW_UNTAGGED),
				   be_get64(m.b + RAW_HOP + RAW_UNTAGGED + 4), NULL, 0));
	done(&x.p, 1, DDP_WC_RDMA_READ, 0);
	client_untouched(&x.sink, 0, 0);
	pair_end(&x.p);
}

/* The source of a Read is not written, and operations complete in the order of posting. */
static void completion_order(void)
{
	struct reader x = open_with(0);
	struct ddp_send_wr send = {.wr_id = 2, .opcode = DDP_WR_SEND};
	struct raw_msg want = raw_send(1, NULL, 0);
	struct raw_read r;

	post_read(&x.p, &x.sink, 0, LEN, 1);
	client_post(&x.p.v, send);
	r = take_read_request(&x.p, 1, 0, LEN);
	link_expect(x.p.l, x.p.sid, &want, "the Send, which does not wait for the Read");
	pair_marker(x.p.l);
	client_idle(x.p.v.scq);
	answer(&x.p, r);
	done(&x.p, 1, DDP_WC_RDMA_READ, LEN);
	done(&x.p, 2, DDP_WC_SEND, 0);
	/* With the fence it waits. */
	post_read(&x.p, &x.sink, 0, LEN, 3);
	send.wr_id = 4;
	send.send_flags = DDP_SEND_FENCE;
	client_post(&x.p.v, send);
	r = take_read_request(&x.p, 2, 0, LEN);
	pair_marker(x.p.l);
	EXPECT(link_waiting(x.p.l, x.p.sid) == 0, "a fenced Send was sent");
	answer(&x.p, r);
	want = raw_send(2, NULL, 0);
	link_expect(x.p.l, x.p.sid, &want, "the fenced Send");
	done(&x.p, 3, DDP_WC_RDMA_READ, LEN);
	done(&x.p, 4, DDP_WC_SEND, 0);
	pair_end(&x.p);
}

static void depth(void)
{
	struct reader x = open_with(2);
	struct raw_read r[3];

	for (unsigned i = 0; i < 10; i++)
		post_read(&x.p, &x.sink, i, 1, i);
	r[0] = take_read_request(&x.p, 1, 0, 1);
	r[1] = take_read_request(&x.p, 2, 1, 1);
	pair_marker(x.p.l);
	EXPECT(link_waiting(x.p.l, x.p.sid) == 0, "a third Read is outstanding");
	for (uint32_t i = 0; i < 10; i++) {
		answer(&x.p, r[i % 2]);
		done(&x.p, i, DDP_WC_RDMA_READ, 1);
		if (i < 8)
			r[i % 2] = take_read_request(&x.p, i + 3, i + 2, 1);
		pair_marker(x.p.l);
		EXPECT(link_waiting(x.p.l, x.p.sid) == 0, "a third Read is outstanding");
	}
	pair_end(&x.p);
}

/* A peer that never answers: every request ends once, with an error. */
static void unanswered(void)
{
	struct reader x = open_with(4);
	struct raw_msg end = raw_control(RAW_END, NULL, 0);

	for (unsigned i = 0; i < 40; i++)
		post_read(&x.p, &x.sink, 0, 8, i);
	for (uint32_t i = 0; i < 4; i++)
		(void)take_read_request(&x.p, i + 1, 0, 8);
	pair_tx(&x.p, end);
	for (unsigned i = 0; i < 40; i++) {
		struct ddp_wc wc = client_wc(x.p.v.scq);

		EXPECT(wc.wr_id == i && wc.status == DDP_WC_FLUSH_ERR, "Read %u: %s",
		       (unsigned)wc.wr_id, ddp_wc_status_str(wc.status));
	}
	client_idle(x.p.v.scq);
	link_expect(x.p.l, x.p.sid, &end, "Session Terminate");
	ddp_ack_cm_event(client_event(DDP_CM_DISCONNECTED));
	client_flushed(&x.p.v);
	client_untouched(&x.sink, 0, 0);
}

/* ---- invalid answers ---- */

enum {
	OPCODE = RAW_ERR(0, 2, 6),
	LENGTH = RAW_ERR(0, 2, 0xff),
	T_STAG = RAW_ERR(1, 1, 0),
	T_BOUNDS = RAW_ERR(1, 1, 1),
	T_STREAM = RAW_ERR(1, 1, 2),
};

/* In a session with at most one Read outstanding. The Read ends in error. */
static void wrong(struct reader *x, const char *detail, struct raw_msg m, bool outstanding)
{
	/* RFC 5040 does not define the code. */
	static const uint16_t any[] = {T_BOUNDS, T_STAG, T_STREAM, OPCODE, LENGTH};

	stage.detail = detail;
	pair_tx(&x->p, m);
	if (outstanding)
		EXPECT(client_wc(x->p.v.scq).status != DDP_WC_SUCCESS, "the Read was completed");
	pair_refused_any(&x->p, any, 5, &m);
	client_untouched(&x->other, 0, 0);
	client_guards(&x->sink);
	pair_next(&x->p);
	stage.detail = NULL;
}

static struct raw_read outstanding(struct reader *x)
{
	post_read(&x->p, &x->sink, 100, 100, 1);
	return take_read_request(&x->p, 1, 100, 100);
}

static void mismatch(void)
{
	struct reader x = open_with(0);
	struct raw_read r = outstanding(&x);

	wrong(&x, "another STag of the client",
	      raw_response(x.other.mr->rkey, x.other.mr->iova, bytes, 100), true);
	r = outstanding(&x);
	wrong(&x, "no such STag", raw_response(r.sink_stag ^ 1, r.sink_to, bytes, 100), true);
	r = outstanding(&x);
	wrong(&x, "one byte further", raw_response(r.sink_stag, r.sink_to + 1, bytes, 100), true);
	r = outstanding(&x);
	wrong(&x, "one byte before", raw_response(r.sink_stag, r.sink_to - 1, bytes, 100), true);
	r = outstanding(&x);
	wrong(&x, "one byte longer", raw_response(r.sink_stag, r.sink_to, bytes, 101), true);
	client_untouched(&x.sink, 0, 0);
	r = outstanding(&x);
	wrong(&x, "one byte shorter", raw_response(r.sink_stag, r.sink_to, bytes, 99), true);
	r = outstanding(&x);
	wrong(&x, "empty", raw_response(r.sink_stag, r.sink_to, NULL, 0), true);
	r = outstanding(&x);
	pair_tx(&x.p, raw_tagged(RAW_T, RAW_READ_RSP, r.sink_stag, r.sink_to, bytes, 50));
	wrong(&x, "a gap", raw_response(r.sink_stag, r.sink_to + 60, bytes, 40), true);
	client_untouched(&x.sink, 100, 100);
}

static void unsolicited(void)
{
	struct reader x = open_with(0);
	struct raw_read r;

	wrong(&x, "never take_read_request",
	      raw_response(x.other.mr->rkey, x.other.mr->iova, bytes, 8), false);
	wrong(&x, "not requested, empty", raw_response(0, 0, NULL, 0), false);
	r = outstanding(&x);
	answer(&x.p, r);
	done(&x.p, 1, DDP_WC_RDMA_READ, 100);
	wrong(&x, "twice", raw_response(r.sink_stag, r.sink_to, bytes + 1, 100), false);
	EXPECT(memcmp(x.sink.p + 100, bytes, 100) == 0, "the second answer was placed");
	/* The second of two first: neither is complete, and only their own sinks may have changed.
	 */
	(void)outstanding(&x);
	post_read(&x.p, &x.sink, 300, 100, 2);
	r = take_read_request(&x.p, 2, 300, 100);
	pair_tx(&x.p, raw_response(r.sink_stag, r.sink_to, bytes, 100));
	EXPECT(client_wc(x.p.v.scq).status != DDP_WC_SUCCESS, "the first Read was completed");
	EXPECT(client_wc(x.p.v.scq).status != DDP_WC_SUCCESS, "the second Read was completed");
	client_untouched(&x.sink, 100, 300);
	client_untouched(&x.other, 0, 0);
}

/* A Write to the sink of a Read is refused: its STag was never advertised. */
static void sink_is_private(void)
{
	struct reader x = open_with(0);
	struct raw_read r = outstanding(&x);
	struct raw_msg m = raw_write(r.sink_stag, r.sink_to, bytes, 8);

	wrong(&x, "a Write", m, true);
	client_untouched(&x.sink, 0, 0);
}

/* The peer answers with an error: the Read has that error, later requests are flushed. */
static void refused(void)
{
	struct reader x = open_with(0);
	struct raw_read r = outstanding(&x);
	struct raw_msg m = raw_read(1, r), end = raw_control(RAW_END, NULL, 0);
	struct ddp_wc wc;

	post_read(&x.p, &x.sink, 0, 8, 2);
	(void)take_read_request(&x.p, 2, 0, 8);
	pair_tx(&x.p, raw_terminate_for(RAW_ERR(0, 1, 1), &m));
	pair_tx(&x.p, end);
	wc = client_wc(x.p.v.scq);
	EXPECT(wc.wr_id == 1 && wc.status == DDP_WC_REM_ACCESS_ERR && wc.term == RAW_ERR(0, 1, 1),
	       "Read %u: %s, %04x", (unsigned)wc.wr_id, ddp_wc_status_str(wc.status), wc.term);
	wc = client_wc(x.p.v.scq);
	EXPECT(wc.wr_id == 2 && wc.status == DDP_WC_FLUSH_ERR, "Read %u: %s", (unsigned)wc.wr_id,
	       ddp_wc_status_str(wc.status));
	link_expect(x.p.l, x.p.sid, &end, "Session Terminate");
	pair_disconnected(&x.p, true, RAW_ERR(0, 1, 1));
}

#define ROWS "5040-5.2.2-04 5040-5.2.2-06 "

const struct raw_case case_request[] = {
	{"request",
	 "5040-4.4-01 5040-4.4-04 5040-5.2-01 5040-5.2.1-01 5040-5.2.1-06 5040-5.2.1-07 "
	 "5040-5.2.1-09 5040-5.2.1-10 5040-5.2.2-03 5040-5.5-15 5040-5.5-18 5041-4.3-07 "
	 "4296-2.2.1-03",
	 good},
	{"request-empty", "5040-5.2.1-12 5041-5.2-08", empty},
	{"completion-order", "5040-5.5-08 5040-5.5-09 5040-5.5-11 4296-2.2.1-10", completion_order},
	{"read-depth", "5040-6.1-03 5040-6.1-04 5040-8.1.1-06", depth},
	{"never-answered", "5040-6.1-04 5041-6.2.2-04", unanswered},
	{"read-mismatch", ROWS "5040-5.5-05", mismatch},
	{"read-unsolicited", ROWS "5040-5.5-05", unsolicited},
	{"sink-is-private", "5041-7.1-11 5041-8.3.1-05", sink_is_private},
	{"read-refused", "5040-3.2-08 5040-6.2.1-02", refused},
	{0},
};
