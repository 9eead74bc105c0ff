/* SPDX-License-Identifier: BSD-2-Clause */
/* RFC 7306 6, Immediate Data both ways; 5, atomic operations of the client. */
#include <string.h>

#include "tests/raw/case.h"
#include "tests/raw/fault.h"
#include "tests/raw/stage.h"
#include "util/be.h"

enum {
	OPCODE = RAW_ERR(0, 2, 6),
	VERSION = RAW_ERR(0, 2, 5),
	LENGTH = RAW_ERR(0, 2, 0xff),
	U_QN = RAW_ERR(1, 2, 1),
	U_BUFFER = RAW_ERR(1, 2, 2),
	U_MSN = RAW_ERR(1, 2, 3),
	U_LONG = RAW_ERR(1, 2, 5),
	STAG = 0x12345678,
	TO = 0x4008,
};

static const uint64_t value = 0x1122334455667788;

/* ---- received ---- */

static void imm_is(struct ddp_wc wc, uint64_t v, unsigned flags)
{
	EXPECT(wc.wc_flags == (DDP_WC_WITH_IMM | flags) && wc.imm_data == v, "flags %x, %llx",
	       wc.wc_flags, (unsigned long long)wc.imm_data);
}

static void received(void)
{
	struct fault f = fault_new(&(struct client_opts){.recvs = 6, .size = 16});
	struct raw_msg m = raw_imm(RAW_IMM, 5, 1);

	pair_tx(&f.p, raw_send(1, "before", 6));
	pair_tx(&f.p, raw_write(f.r.mr->rkey, FAULT_BASE, "data", 4));
	pair_tx(&f.p, raw_imm(RAW_IMM, 2, value));
	pair_tx(&f.p, raw_imm(RAW_IMM_SE, 3, UINT64_MAX));
	pair_tx(&f.p, raw_send(4, "after", 5));
	memset(m.b + RAW_HOP + 2, 0xee, 4); /* Invalidate STag */
	m.b[RAW_HOP] |= 0x3c;
	m.b[RAW_HOP + 1] |= 0x30;
	pair_tx(&f.p, m);
	client_received(&f.p.v, 0, 6);
	imm_is(client_received(&f.p.v, 1, 0), value, 0);
	EXPECT(memcmp(f.r.p, "data", 4) == 0, "the Write before it is not there");
	imm_is(client_received(&f.p.v, 2, 0), UINT64_MAX, DDP_WC_SOLICITED);
	client_received(&f.p.v, 3, 5);
	imm_is(client_received(&f.p.v, 4, 0), 1, 0);
	f.p.msn = 6;
	pair_alive(&f.p);
	pair_end(&f.p);
}

static void wrong(void)
{
	static const uint8_t more[8];
	static const uint16_t length[] = {LENGTH, U_LONG};
	struct fault f = fault_new(NULL);
	struct raw_msg m = raw_imm(RAW_IMM, 2, value);

	m.len--;
	fault_try(&f, "7 bytes", m, LENGTH);
	m.len -= 7;
	fault_try(&f, "0 bytes", m, LENGTH);
	m.len += 8;
	raw_put(&m, more, 1);
	fault_try(&f, "9 bytes", m, LENGTH);
	raw_put(&m, more, 7);
	fault_try_any(&f, "16 bytes", m, length, 2);
	m = raw_imm(RAW_IMM_SE, 2, value);
	m.len--;
	fault_try(&f, "7 bytes with SE", m, LENGTH);
	m = raw_imm(RAW_IMM, 2, value);
	m.b[RAW_HOP + 1] = 0x08;
	fault_try_any(&f, "RV 0", m, (uint16_t[]){VERSION, OPCODE}, 2);
	fault_try(&f, "old MSN", raw_imm(RAW_IMM, 1, value), U_MSN);
	f.p.opts.recvs = 0;
	pair_end(&f.p);
	pair_next(&f.p);
	fault_try(&f, "no receive", raw_imm(RAW_IMM, 1, value), U_BUFFER);
}

/* ---- sent ---- */

static void sent(void)
{
	struct pair p = pair_new(NULL);
	struct ddp_send_wr wr = {.opcode = DDP_WR_IMM_DATA, .imm_data = value};
	struct raw_msg want = raw_imm(RAW_IMM, 1, value);

	client_post(&p.v, wr);
	link_expect(p.l, p.sid, &want, "Immediate Data");
	wr.send_flags = DDP_SEND_SOLICITED;
	client_post(&p.v, wr);
	want = raw_imm(RAW_IMM_SE, 2, value);
	link_expect(p.l, p.sid, &want, "Immediate Data with SE");
	for (unsigned i = 0; i < 2; i++) {
		struct ddp_wc wc = client_wc(p.v.scq);

		EXPECT(wc.status == DDP_WC_SUCCESS && wc.opcode == DDP_WC_IMM_DATA, "%s: %s",
		       ddp_wc_opcode_str(wc.opcode), ddp_wc_status_str(wc.status));
	}
	pair_alive(&p);
	pair_end(&p);
}

/* ---- atomics of the client ---- */

struct requester {
	struct pair p;
	struct client_region sink;
};

static struct requester open_with(uint16_t ord)
{
	struct client_opts o = {.recvs = 4, .size = 64, .ord = ord};
	struct requester x = {.p = pair_new(&o)};

	x.sink = client_region(client_pd(), 64, 0x20000, DDP_ACCESS_LOCAL_WRITE);
	return x;
}

static struct ddp_send_wr atomic(enum ddp_wr_opcode op, uint64_t wr_id)
{
	struct ddp_send_wr wr = {.wr_id = wr_id, .opcode = op};

	wr.rdma.rkey = STAG;
	wr.rdma.remote_addr = TO;
	wr.atomic.compare_add = 0x15;
	wr.atomic.swap = 0x99;
	wr.atomic.add_mask = 0x8000000080000000;
	wr.atomic.compare_mask = 0xff00;
	wr.atomic.swap_mask = 0x00ff;
	return wr;
}

/* Checks the request on the wire except its identifier, which is returned. */
static uint32_t take_atomic_request(struct requester *x, uint32_t msn, enum ddp_wr_opcode op)
{
	struct raw_msg m = link_take(x->p.l, x->p.sid), want;
	bool adds = op == DDP_WR_ATOMIC_FETCH_AND_ADD || op == DDP_WR_MASKED_FETCH_AND_ADD;
	bool masked = op == DDP_WR_MASKED_FETCH_AND_ADD || op == DDP_WR_MASKED_CMP_AND_SWP;
	struct raw_atomic a = {.op = adds ? 0 : 2, .stag = STAG, .to = TO};

	a.id = be_get32(m.b + RAW_HOP + RAW_UNTAGGED + 4);
	a.data = adds ? 0x15 : 0x99;
	a.mask = adds ? 0x8000000080000000 : 0xff;
	a.compare = adds ? 0 : 0x15;
	a.compare_mask = adds ? UINT64_MAX : 0xff00;
	if (!masked) {
		a.mask = adds ? 0 : UINT64_MAX;
		a.compare_mask = UINT64_MAX;
	}
	want = raw_atomic(msn, a);
	if (!raw_same(&m, &want)) {
		stage_hex("expected", want.b, want.len);
		stage_hex("came", m.b, m.len);
		stage_fail("not the Atomic Request");
	}
	return a.id;
}

static void done(struct requester *x, uint64_t wr_id, enum ddp_wc_opcode op, uint64_t old)
{
	struct ddp_wc wc = client_wc(x->p.v.scq);

	EXPECT(wc.status == DDP_WC_SUCCESS && wc.wr_id == wr_id && wc.opcode == op &&
		       wc.imm_data == old,
	       "%s %u: %s, %llx", ddp_wc_opcode_str(wc.opcode), (unsigned)wc.wr_id,
	       ddp_wc_status_str(wc.status), (unsigned long long)wc.imm_data);
}

static void requests(void)
{
	static const enum ddp_wr_opcode op[] = {
		DDP_WR_ATOMIC_FETCH_AND_ADD, DDP_WR_ATOMIC_CMP_AND_SWP, DDP_WR_MASKED_FETCH_AND_ADD,
		DDP_WR_MASKED_CMP_AND_SWP};
	struct requester x = open_with(0);

	for (uint32_t i = 0; i < 4; i++) {
		struct ddp_sge sge = {x.sink.mr->iova + 8 * i, 8, x.sink.mr->lkey};
		struct ddp_send_wr wr = atomic(op[i], i);
		uint32_t id;

		wr.sg_list = &sge;
		wr.num_sge = i % 2;
		client_post(&x.p.v, wr);
		id = take_atomic_request(&x, i + 1, op[i]);
		pair_marker(x.p.l);
		client_idle(x.p.v.scq);
		pair_tx(&x.p, raw_atomic_answer(i + 1, id, value + i));
		done(&x, i, i % 2 ? DDP_WC_CMP_SWAP : DDP_WC_FETCH_ADD, value + i);
		EXPECT(memcmp(x.sink.p + 8 * i, &(uint64_t){value + i}, 8) == 0 || i % 2 == 0,
		       "the old value is not in the sink");
	}
	pair_alive(&x.p);
	pair_end(&x.p);
}

/* Reads and atomics count together; each is sent in order, when there is room. */
static void depth(void)
{
	struct requester x = open_with(1);
	struct ddp_sge sge = {x.sink.mr->iova, 8, x.sink.mr->lkey};
	struct ddp_send_wr read = {.sg_list = &sge, .num_sge = 1, .opcode = DDP_WR_RDMA_READ};
	struct raw_msg m;
	uint32_t id;

	read.rdma.rkey = STAG;
	client_post(&x.p.v, atomic(DDP_WR_ATOMIC_FETCH_AND_ADD, 1));
	client_post(&x.p.v, read);
	client_post(&x.p.v, atomic(DDP_WR_ATOMIC_CMP_AND_SWP, 3));
	id = take_atomic_request(&x, 1, DDP_WR_ATOMIC_FETCH_AND_ADD);
	pair_marker(x.p.l);
	EXPECT(link_waiting(x.p.l, x.p.sid) == 0, "a second request is outstanding");
	pair_tx(&x.p, raw_atomic_answer(1, id, 1));
	m = link_take(x.p.l, x.p.sid);
	EXPECT(raw_opcode(&m) == 1 && raw_queue_of(&m).msn == 2, "not the Read");
	pair_marker(x.p.l);
	EXPECT(link_waiting(x.p.l, x.p.sid) == 0, "a second request is outstanding");
	pair_tx(&x.p, raw_response(be_get32(m.b + RAW_HOP + RAW_UNTAGGED),
				   be_get64(m.b + RAW_HOP + RAW_UNTAGGED + 4), "12345678", 8));
	id = take_atomic_request(&x, 3, DDP_WR_ATOMIC_CMP_AND_SWP);
	pair_tx(&x.p, raw_atomic_answer(2, id, 2));
	done(&x, 1, DDP_WC_FETCH_ADD, 1);
	EXPECT(client_wc(x.p.v.scq).opcode == DDP_WC_RDMA_READ, "not the Read");
	done(&x, 3, DDP_WC_CMP_SWAP, 2);
	pair_end(&x.p);
}

/* The maximum number outstanding, all answered at once. */
static void several(void)
{
	struct requester x = open_with(16);
	uint32_t id[16];

	for (uint32_t i = 0; i < 40; i++)
		client_post(&x.p.v, atomic(DDP_WR_ATOMIC_FETCH_AND_ADD, i));
	for (uint32_t i = 0; i < 16; i++)
		id[i] = take_atomic_request(&x, i + 1, DDP_WR_ATOMIC_FETCH_AND_ADD);
	pair_marker(x.p.l);
	EXPECT(link_waiting(x.p.l, x.p.sid) == 0, "more than 16 are outstanding");
	for (uint32_t i = 0; i < 16; i++) {
		for (uint32_t k = 0; k < i; k++)
			EXPECT(id[i] != id[k], "two requests with one identifier");
		pair_tx(&x.p, raw_atomic_answer(i + 1, id[i], i));
	}
	for (uint32_t i = 0; i < 16; i++)
		done(&x, i, DDP_WC_FETCH_ADD, i);
}

/* ---- invalid answers ---- */

static void refused(struct requester *x, const char *detail, struct raw_msg m, unsigned outstanding)
{
	static const uint16_t any[] = {OPCODE, LENGTH,           U_MSN, U_BUFFER,
				       U_LONG, RAW_ERR(0, 2, 7), U_QN};

	stage.detail = detail;
	pair_tx(&x->p, m);
	while (outstanding--)
		EXPECT(client_wc(x->p.v.scq).status != DDP_WC_SUCCESS, "the atomic was completed");
	pair_refused_any(&x->p, any, 7, &m);
	client_untouched(&x->sink, 0, 0);
	pair_next(&x->p);
	stage.detail = NULL;
}

static uint32_t outstanding(struct requester *x)
{
	struct ddp_sge sge = {x->sink.mr->iova, 8, x->sink.mr->lkey};
	struct ddp_send_wr wr = atomic(DDP_WR_ATOMIC_FETCH_AND_ADD, 1);

	wr.sg_list = &sge;
	wr.num_sge = 1;
	client_post(&x->p.v, wr);
	return take_atomic_request(x, 1, DDP_WR_ATOMIC_FETCH_AND_ADD);
}

static void mismatch(void)
{
	static const uint8_t more[1];
	struct requester x = open_with(0);
	uint32_t id = outstanding(&x);
	struct raw_msg m;

	refused(&x, "another identifier", raw_atomic_answer(1, id + 1, value), 1);
	id = outstanding(&x);
	refused(&x, "MSN 0", raw_atomic_answer(0, id, value), 1);
	id = outstanding(&x);
	refused(&x, "MSN 2", raw_atomic_answer(2, id, value), 1);
	m = raw_atomic_answer(1, outstanding(&x), value);
	m.len--;
	refused(&x, "11 bytes", m, 1);
	m = raw_atomic_answer(1, outstanding(&x), value);
	raw_put(&m, more, 1);
	refused(&x, "13 bytes", m, 1);
	(void)outstanding(&x);
	refused(&x, "a Read Response", raw_response(x.sink.mr->rkey, x.sink.mr->iova, &value, 8),
		1);
	refused(&x, "never asked", raw_atomic_answer(1, 1, value), 0);
}

/* Responses of all kinds have the order of the requests: an atomic is not complete before an
 * earlier Read. */
static void out_of_turn(void)
{
	struct requester x = open_with(0);
	struct ddp_sge sge = {x.sink.mr->iova, 8, x.sink.mr->lkey};
	struct ddp_send_wr read = {.sg_list = &sge, .num_sge = 1, .opcode = DDP_WR_RDMA_READ};

	read.rdma.rkey = STAG;
	client_post(&x.p.v, read);
	client_post(&x.p.v, atomic(DDP_WR_ATOMIC_FETCH_AND_ADD, 2));
	(void)link_take(x.p.l, x.p.sid);
	refused(&x, "before the Read",
		raw_atomic_answer(1, take_atomic_request(&x, 2, DDP_WR_ATOMIC_FETCH_AND_ADD),
				  value),
		2);
}

const struct raw_case case_imm[] = {
	{"imm-received", "7306-6.3-02 7306-6.3-03 7306-6.4-01 7306-4.1-04", received},
	{"imm-wrong", "7306-6.3-06 7306-8.1-02 7306-8.2-01", wrong},
	{"imm-sent", "7306-4.1-01 7306-4.1-02 7306-4.1-03 7306-6.3-01 7306-6.3-04 7306-6.3-05",
	 sent},
	{"atomic-requests",
	 "7306-4.1-01 7306-4.1-02 7306-4.1-03 7306-4.2-01 7306-5.2-01 7306-5.2.1-03 7306-5.2.1-08 "
	 "7306-5.2.2-04 7306-5.4-01 7306-5.4-06 7306-5.1.1-06",
	 requests},
	{"atomic-and-read-depth", "5040-6.1-04 7306-5.2.1-08 7306-5.2.2-03", depth},
	{"atomics-outstanding", "7306-5.2.2-03 7306-5-06", several},
	{"atomic-mismatch", "7306-5-06 7306-5.2.2-05 7306-8.1-02", mismatch},
	{"atomic-out-of-turn", "7306-5.2.2-05 7306-5.4-06", out_of_turn},
	{0},
};
