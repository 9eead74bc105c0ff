/* SPDX-License-Identifier: BSD-2-Clause */
/* RFC 5040 4.8, 5.4: Terminates that we send; 5.3: Sends with Invalidate. */
#include <string.h>

#include "tests/raw/case.h"
#include "tests/raw/fault.h"
#include "tests/raw/stage.h"

enum {
	T_STAG = RAW_ERR(1, 1, 0),
	INV_1 = RAW_ERR(0, 1, 9),
	INV_2 = RAW_ERR(0, 2, 9),
};

/* ---- Terminates ---- */

/* Sends it, and requires that only a Session Terminate comes back. */
static void send_terminate(struct pair *p, const char *detail, struct raw_msg m, uint16_t term)
{
	struct raw_msg end = raw_control(RAW_END, NULL, 0);

	stage.detail = detail;
	pair_tx(p, m);
	pair_tx(p, end);
	link_expect(p->l, p->sid, &end, "a Session Terminate and nothing else");
	pair_disconnected(p, true, term);
	pair_next(p);
	stage.detail = NULL;
}

static uint32_t word(uint16_t err, unsigned bits)
{
	return (uint32_t)err << 16 | bits;
}

static void lengths(void)
{
	static const struct client_opts none;
	struct pair p = pair_new(&none); /* no receive is posted */
	struct raw_msg write = raw_write(1, 2, "x", 1), send = raw_send(1, "x", 1);
	struct raw_msg read = raw_read(1, (struct raw_read){1, 2, 3, 4, 5});
	uint8_t zeros[196] = {0, 22, 0xc1, 0x40};
	uint16_t err = RAW_ERR(1, 1, 1);

	send_terminate(&p, "4 bytes", raw_terminate(0, NULL, 0), 0);
	send_terminate(&p, "6 bytes", raw_terminate(word(err, RAW_M), zeros, 2), err);
	send_terminate(&p, "20 bytes", raw_terminate_for(err, &write), err);
	send_terminate(&p, "24 bytes", raw_terminate_for(RAW_ERR(1, 2, 5), &send),
		       RAW_ERR(1, 2, 5));
	send_terminate(&p, "52 bytes", raw_terminate_for(RAW_ERR(0, 1, 2), &read),
		       RAW_ERR(0, 1, 2));
	send_terminate(&p, "200 bytes", raw_terminate(word(err, RAW_M | RAW_DH), zeros, 196), err);
	send_terminate(&p, "zeros instead of nothing", raw_terminate(0, zeros + 4, 48), 0);
	send_terminate(&p, "length without header", raw_terminate(word(err, RAW_M), zeros, 16),
		       err);
	send_terminate(&p, "all bits", raw_terminate(word(RAW_ERR(0, 1, 0), 0xe000), read.b, 48),
		       RAW_ERR(0, 1, 0));
}

/* Every error of the tables, and some unknown ones, are reported unchanged. */
static void values(void)
{
	static const uint16_t err[] = {
		RAW_ERR(0, 0, 0),    RAW_ERR(0, 0, 0x77), RAW_ERR(0, 1, 0xff), RAW_ERR(0, 2, 5),
		RAW_ERR(0, 2, 7),    RAW_ERR(0, 2, 8),    RAW_ERR(1, 0, 0),    RAW_ERR(1, 1, 4),
		RAW_ERR(1, 2, 6),    RAW_ERR(1, 3, 1),    RAW_ERR(2, 0, 6),    RAW_ERR(3, 1, 1),
		RAW_ERR(15, 15, 255)};
	struct pair p = pair_new(NULL);

	for (unsigned i = 0; i < sizeof(err) / sizeof(err[0]); i++) {
		send_terminate(&p, "value", raw_terminate(word(err[i], 0), NULL, 0), err[i]);
		send_terminate(&p, "value and reserved bits",
			       raw_terminate(word(err[i], 0x1fff), NULL, 0), err[i]);
	}
}

/* A Terminate is never answered with a Terminate, even if it is malformed. */
static void truncated(void)
{
	static const uint8_t bytes[8] = {0, 22, 0xc1, 0x40};
	struct pair p = pair_new(NULL);
	uint16_t err = RAW_ERR(1, 1, 1);

	for (uint32_t n = 1; n <= 4; n++) {
		struct raw_msg m = raw_terminate(word(err, 0), NULL, 0);
		struct raw_msg end = raw_control(RAW_END, NULL, 0);

		m.len -= n;
		pair_tx(&p, m);
		link_expect(p.l, p.sid, &end, "a Session Terminate and nothing else");
		pair_tx(&p, end);
		{
			struct ddp_cm_event *ev = client_event(DDP_CM_DISCONNECTED);

			EXPECT(ev->err && ev->reason[0], "an error without a reason");
			ddp_ack_cm_event(ev);
		}
		client_flushed(&p.v);
		client_end_free(&p.v);
		pair_next(&p);
	}
	send_terminate(&p, "M and nothing", raw_terminate(word(err, RAW_M), NULL, 0), err);
	send_terminate(&p, "half a length", raw_terminate(word(err, RAW_M), bytes, 1), err);
	send_terminate(&p, "D and nothing", raw_terminate(word(err, RAW_M | RAW_DH), bytes, 2),
		       err);
	send_terminate(&p, "half a header", raw_terminate(word(err, RAW_M | RAW_DH), bytes, 8),
		       err);
	send_terminate(&p, "R and nothing", raw_terminate(word(err, 0xe000), bytes, 8), err);
}

/* A Terminate is the last message; later messages have no effect. */
static void last(void)
{
	struct fault f = fault_new(NULL);
	struct raw_msg end = raw_control(RAW_END, NULL, 0);
	uint16_t err = RAW_ERR(0, 2, 7);

	pair_tx(&f.p, raw_terminate(word(err, 0), NULL, 0));
	pair_tx(&f.p, raw_write(f.r.mr->rkey, FAULT_BASE, "late", 4));
	pair_tx(&f.p, raw_send(1, "late", 4));
	pair_tx(&f.p, raw_terminate(word(RAW_ERR(1, 1, 1), 0), NULL, 0));
	pair_tx(&f.p, end);
	link_expect(f.p.l, f.p.sid, &end, "a Session Terminate and nothing else");
	pair_disconnected(&f.p, true, err);
	client_untouched(&f.r, 0, 0);
	pair_marker(f.p.l);
	link_nothing_left(f.p.l);
}

/* All posted requests end in error, once each, and no more is sent. */
static void flush(void)
{
	struct fault f = fault_new(&(struct client_opts){.recvs = 40, .size = 16, .ord = 1});
	struct ddp_sge sge = {FAULT_BASE, 8, f.r.mr->lkey};
	struct ddp_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = DDP_WR_RDMA_READ};
	struct raw_msg end = raw_control(RAW_END, NULL, 0);

	for (wr.wr_id = 0; wr.wr_id < 30; wr.wr_id++) {
		wr.opcode = wr.wr_id % 2 ? DDP_WR_RDMA_WRITE : DDP_WR_RDMA_READ;
		client_post(&f.p.v, wr);
	}
	(void)link_take(f.p.l, f.p.sid); /* the first Read, never answered */
	(void)link_take(f.p.l, f.p.sid); /* the Write after it */
	pair_tx(&f.p, raw_terminate(0, NULL, 0));
	pair_tx(&f.p, end);
	for (unsigned i = 0; i < 30; i++) {
		struct ddp_wc wc = client_wc(f.p.v.scq);

		EXPECT(wc.wr_id == i && wc.status != DDP_WC_SUCCESS, "request %u: %s",
		       (unsigned)wc.wr_id, ddp_wc_status_str(wc.status));
	}
	client_idle(f.p.v.scq);
	link_expect(f.p.l, f.p.sid, &end, "a Session Terminate and nothing else");
	pair_disconnected(&f.p, true, 0);
	link_nothing_left(f.p.l);
}

/* ---- Sends with Invalidate ---- */

static void invalidate(void)
{
	struct pair p = pair_new(NULL);
	struct client_region r = client_region(client_pd(), 64, 0x4000, DDP_ACCESS_REMOTE_WRITE);
	struct raw_queue q = {.msn = 2};
	struct raw_msg m;
	struct ddp_wc wc;
	uint32_t key;

	MUST(ddp_bind_mr(r.mr, p.v.qp));
	pair_tx(&p, raw_write(r.mr->rkey, 0x4000, "1", 1));
	pair_tx(&p, raw_send_inv(1, r.mr->rkey, "gone", 4));
	wc = client_received(&p.v, 0, 4);
	EXPECT(wc.wc_flags == DDP_WC_WITH_INV && wc.invalidated_rkey == r.mr->rkey,
	       "flags %x, rkey %x", wc.wc_flags, wc.invalidated_rkey);
	/* After a new bind it works, with another STag. */
	key = r.mr->rkey;
	MUST(ddp_bind_mr(r.mr, p.v.qp));
	EXPECT(r.mr->rkey != key, "the same rkey again");
	pair_tx(&p, raw_write(r.mr->rkey, 0x4001, "2", 1));
	q.inv = key = r.mr->rkey;
	pair_tx(&p, raw_untagged(RAW_UL, RAW_SEND_SE_INV, q, NULL, 0));
	wc = client_received(&p.v, 1, 0);
	EXPECT(wc.wc_flags == (DDP_WC_WITH_INV | DDP_WC_SOLICITED) && wc.invalidated_rkey == key,
	       "flags %x, rkey %x", wc.wc_flags, wc.invalidated_rkey);
	EXPECT(memcmp(r.p, "12", 2) == 0, "a Write is not there");
	m = raw_write(key, 0x4002, "3", 1);
	pair_tx(&p, m);
	pair_refused(&p, T_STAG, &m);
	client_untouched(&r, 0, 2);
}

static void not_invalidated(void)
{
	static const uint16_t any[] = {INV_2, INV_1};
	struct fault f = fault_new(NULL);
	struct pair other = pair_passive(f.p.l, 100, NULL);
	struct client_region r = client_region(client_pd(), 64, 0x4000, DDP_ACCESS_REMOTE_WRITE);
	struct raw_queue q = {.inv = 0x12345678, .msn = 2};

	MUST(ddp_bind_mr(r.mr, other.v.qp));
	fault_try_any(&f, "unknown", raw_send_inv(2, f.r.mr->rkey ^ 0x01000000, "x", 1), any, 2);
	fault_try_any(&f, "STag 0", raw_send_inv(2, 0, "x", 1), any, 2);
	fault_try_any(&f, "SE, unknown", raw_untagged(RAW_UL, RAW_SEND_SE_INV, q, "x", 1), any, 2);
	fault_try_any(&f, "shared", raw_send_inv(2, f.r.mr->rkey, "x", 1), any, 2);
	fault_try_any(&f, "another session's", raw_send_inv(2, r.mr->rkey, "x", 1), any, 2);
	/* Both work as before. */
	pair_tx(&other, raw_write(r.mr->rkey, 0x4000, "mine", 4));
	pair_tx(&other, raw_write(f.r.mr->rkey, FAULT_BASE, "ours", 4));
	pair_alive(&other);
	EXPECT(memcmp(r.p, "mine", 4) == 0 && memcmp(f.r.p, "ours", 4) == 0,
	       "a region was invalidated");
}

/* Messages before the Send may use the STag, even if they arrive later. */
static void invalidate_in_order(void)
{
	struct pair p = pair_new(NULL);
	struct client_region r = client_region(client_pd(), 64, 0x4000, DDP_ACCESS_REMOTE_WRITE);
	struct raw_msg write, inv;

	MUST(ddp_bind_mr(r.mr, p.v.qp));
	write = raw_write(r.mr->rkey, 0x4000, "in time", 7);
	inv = raw_send_inv(1, r.mr->rkey, "gone", 4);
	link_send_as(p.l, p.sid, 2, &inv);
	pair_marker(p.l);
	client_idle(p.v.rcq);
	link_send_as(p.l, p.sid, 1, &write);
	link_skip(p.l, p.sid, 2);
	client_received(&p.v, 0, 4);
	EXPECT(memcmp(r.p, "in time", 7) == 0, "the Write is not there");
	p.msn = 2;
	pair_alive(&p);
	pair_end(&p);
}

const struct raw_case case_term[] = {
	{"terminate-lengths",
	 "5040-5.4-03 5040-5.4-04 5040-5.4-05 5040-3.2-03 5040-3.2-05 5040-3.2-10 5040-6.2.1-03",
	 lengths},
	{"terminate-values", "5040-4.8-05 5040-5.4-05 4296-3.2-01", values},
	{"terminate-truncated", "5040-5.4-06", truncated},
	{"terminate-last", "5040-5.4-08 5040-7-02", last},
	{"terminate-flush", "5040-5.4-07 5040-5.4-09 5040-6.2.1-02 5041-6.2.2-04", flush},
	{"invalidate", "5040-5.3-14 5040-3.2-02 5041-4.3-03 5041-5.4-04", invalidate},
	{"not-invalidated", "5040-5.3-13 5040-5.3-15 5040-7.2-04 5040-7.2-05 5040-8.1.1-01",
	 not_invalidated},
	{"invalidate-in-order", "5040-5.3-14 5043-6.1-02", invalidate_in_order},
	{0},
};
