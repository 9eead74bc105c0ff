/* SPDX-License-Identifier: BSD-2-Clause */
/* RFC 7306 against a peer that the test simulates: which messages are accepted, and which Terminate
 * answers the others. */
#include <criterion/criterion.h>
#include <string.h>

#include "proto/rdmap/rdmap_ep.h"
#include "tests/lib/assoc_test.h"
#include "tests/lib/fake.h"
#include "util/be.h"

TestSuite(atomic_rx, .init = fake_setup, .fini = fake_teardown);

static uint64_t get_cell(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* ---- the responder ---- */

static struct pair_msg atomic_message(uint16_t ssn, uint32_t msn, const struct wire_atomic_req *r)
{
	struct wire_ddp h = fake_header(WIRE_OP_ATOMIC_REQ);
	uint8_t body[WIRE_ATOMIC_REQ_LEN];

	h.qn = WIRE_QN_READ_REQ;
	h.msn = msn;
	wire_atomic_req_put(body, r);
	return pair_segment(FAKE_SID, ssn, &h, body, sizeof(body));
}

/* rows: 7306-5.1.1-01 7306-5.1.1-02 7306-5.1.1-03 7306-5.1.1-04 7306-5.1.2-02 7306-5.1.2-03 */
/* rows: 7306-5.1.2-04 7306-8.2-02 7306-8.1-02 7306-5.2.1-07 7306-8.2-01 */
Test(atomic_rx, target_is_checked)
{
	static const struct {
		uint8_t aop;
		uint32_t stag;
		uint64_t to;
		enum perr want;
	} row[] = {
		{0, FAKE_STAG, FAKE_BASE, PERR_NONE},
		{2, FAKE_STAG, FAKE_BASE + FAKE_MEM - 8, PERR_NONE},
		{0, FAKE_STAG, FAKE_BASE + FAKE_MEM - 7, PERR_ACCESS_BOUNDS},
		{0, FAKE_STAG, FAKE_BASE - 8, PERR_ACCESS_BOUNDS},
		{0, FAKE_STAG, UINT64_MAX - 3, PERR_ACCESS_WRAP},
		{0, 0x9900, FAKE_BASE, PERR_ACCESS_STAG},
		{0, 0x500, FAKE_BASE, PERR_ACCESS_RIGHTS},
		{0, 0x600, FAKE_BASE, PERR_ACCESS_SCOPE},
		{0, FAKE_STAG, FAKE_BASE + 4, PERR_STREAM_CATASTROPHIC},
		{2, FAKE_STAG, FAKE_BASE + 1, PERR_STREAM_CATASTROPHIC},
		{1, FAKE_STAG, FAKE_BASE, PERR_OPCODE},
		{3, FAKE_STAG, FAKE_BASE, PERR_OPCODE},
		{15, FAKE_STAG, FAKE_BASE, PERR_OPCODE},
		{0, 0x700, 3, PERR_NONE}, /* memory is aligned, its offset is not */
		{0, 0x700, 8, PERR_STREAM_CATASTROPHIC},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct wire_atomic_req r = {.aop = row[i].aop,
					    .id = 7,
					    .stag = row[i].stag,
					    .to = row[i].to,
					    .data = 1,
					    .mask = UINT64_MAX,
					    .compare_mask = UINT64_MAX};
		struct pair_msg m = atomic_message(1, 1, &r);
		struct wire_term t;

		fake_teardown();
		fake_setup();
		pair_region(&fake.node, 0x500, FAKE_BASE, 64,
			    STAG_LOCAL_WRITE | STAG_REMOTE_WRITE | STAG_REMOTE_READ, 0);
		pair_region(&fake.node, 0x600, FAKE_BASE, 64, FAKE_ALL, 999);
		pair_region(&fake.node, 0x700, 3, 64, FAKE_ALL, 0);
		fake_push(m);
		if (row[i].want == PERR_NONE) {
			cr_assert(pair_pull(&fake.node, &m), "row %u", i);
			cr_expect_eq(m.len, 2 + 18 + 12);
			cr_expect_eq(be_get32(m.b + 20), 7);
			continue;
		}
		t = fake_expect_terminate(row[i].want);
		cr_expect(t.has_len && t.has_ddp && !t.has_read, "row %u", i);
		cr_expect_eq(t.seg_len, 18 + 52);
		for (unsigned k = 0; k < FAKE_MEM; k++)
			cr_assert_eq(fake.mem[k], 0, "memory is unchanged");
	}
}

/* rows: 7306-4.1-04 */
Test(atomic_rx, reserved_bits_and_invalidate_stag_mean_nothing)
{
	const struct wire_atomic_req r = {.id = 9, .stag = FAKE_STAG, .to = FAKE_BASE, .data = 1};
	struct pair_msg m = atomic_message(1, 1, &r);

	memset(m.b + 4, 0xee, 4);  /* Invalidate STag */
	memset(m.b + 20, 0xff, 3); /* reserved, before the atomic opcode */
	m.b[23] |= 0xf0;
	fake_push(m);
	cr_assert(pair_pull(&fake.node, &m));
	cr_expect_eq(fake.mem[0], 1);
	cr_expect(stag_find(fake.node.stags, FAKE_STAG)->valid);
}

/* rows: 7306-6.3-06 7306-8.1-02 7306-8.2-01 7306-6.3-02 */
Test(atomic_rx, immediate_data_has_8_bytes_and_a_receive)
{
	static const uint8_t bytes[16];

	for (uint32_t len = 0; len <= 10; len++) {
		struct wire_ddp h = fake_header(WIRE_OP_IMM);

		h.msn = 1;
		fake_teardown();
		fake_setup();
		fake_post_recvs(1, 100);
		fake_push(pair_segment(FAKE_SID, 1, &h, bytes, len));
		if (len == 8)
			fake_expect_done(0, RDMAP_SUCCESS, 0);
		else
			cr_expect_not(fake_expect_terminate(PERR_RDMAP_LENGTH).has_read);
	}
	{
		struct wire_ddp h = fake_header(WIRE_OP_IMM);

		h.msn = 1;
		fake_teardown();
		fake_setup();
		fake_push(pair_segment(FAKE_SID, 1, &h, bytes, 8));
		fake_expect_terminate(PERR_NO_BUFFER);
	}
}

/* A segment of a Write without L: the next one belongs to it. */
static struct pair_msg write_part(uint16_t ssn, uint32_t stag, uint64_t to, uint32_t len)
{
	static const uint8_t bytes[FAKE_MEM];
	struct wire_ddp h = fake_header(WIRE_OP_WRITE);

	h.tagged = true;
	h.last = false;
	h.stag = stag;
	h.to = to;
	return pair_segment(FAKE_SID, ssn, &h, bytes, len);
}

/* The Write ends with an empty segment, and Immediate Data follow: bytes of the Write. */
static uint32_t written_before(uint16_t ssn, uint32_t stag, uint64_t to)
{
	struct pair_msg end = write_part(ssn, stag, to, 0);
	struct wire_ddp imm = fake_header(WIRE_OP_IMM);

	end.b[2] |= 0x40;
	imm.msn = 1;
	fake_post_recvs(1, 8);
	fake_push(end);
	fake_push(pair_segment(FAKE_SID, (uint16_t)(ssn + 1), &imm, "8 bytes!", 8));
	return pair_done(fake.qp).inv_stag;
}

Test(atomic_rx, segments_of_a_write_count_in_their_order)
{
	fake_push(write_part(2, FAKE_STAG, FAKE_BASE + 1400, 600));
	fake_push(write_part(1, FAKE_STAG, FAKE_BASE, 1400));
	cr_expect_eq(written_before(3, FAKE_STAG, FAKE_BASE + 2000), 2000);
}

/* A program takes it for the bytes of one range in its region. */
Test(atomic_rx, a_write_counts_no_byte_twice_and_no_gap)
{
	static const struct {
		uint32_t stag; /* of the first segment, which has 1,400 bytes */
		uint64_t first, next;
	} row[] = {
		{FAKE_STAG, FAKE_BASE, FAKE_BASE},
		{FAKE_STAG, FAKE_BASE, FAKE_BASE + 1399},
		{FAKE_STAG, FAKE_BASE, FAKE_BASE + 1401},
		{0x700, FAKE_BASE - 1400, FAKE_BASE},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		fake_teardown();
		fake_setup();
		pair_region(&fake.node, 0x700, FAKE_BASE - 1400, FAKE_MEM, FAKE_ALL, 0);
		fake_push(write_part(1, row[i].stag, row[i].first, 1400));
		fake_push(write_part(2, FAKE_STAG, row[i].next, 100));
		fake_push(write_part(3, FAKE_STAG, row[i].next + 100, 200));
		cr_expect_eq(written_before(4, FAKE_STAG, row[i].next + 300), 300, "row %u", i);
	}
}

/* UINT32_MAX is that of a daemon that does not know it. */
Test(atomic_rx, the_bytes_of_a_write_do_not_wrap)
{
	fake_push(write_part(1, FAKE_STAG, FAKE_BASE, 100));
	fake.qp->ep->written.len = UINT32_MAX - 100;
	fake_push(write_part(2, FAKE_STAG, FAKE_BASE + 100, 1400));
	cr_expect_eq(written_before(3, FAKE_STAG, FAKE_BASE + 1500), UINT32_MAX - 1);
}

/* rows: 7306-1.1-01 7306-1.1-03 */
Test(atomic_rx, endpoint_without_rfc_7306_answers_as_section_1_1_says)
{
	const struct rdmap_cfg plain = {.ord = 2, .ird = 2, .plain_rdmap = true};
	static const struct {
		uint8_t opcode, qn;
		enum perr want;
	} row[] = {
		{WIRE_OP_IMM, 0, PERR_OPCODE},
		{WIRE_OP_IMM_SE, 0, PERR_OPCODE},
		{WIRE_OP_ATOMIC_REQ, 1, PERR_OPCODE},
		{WIRE_OP_ATOMIC_RESP, 3, PERR_QN},
	};

	for (unsigned i = 0; i < 4; i++) {
		struct wire_ddp h = fake_header(row[i].opcode);
		static const uint8_t body[52];

		h.qn = row[i].qn;
		h.msn = 1;
		fake_teardown();
		fake_setup_as(&plain);
		fake_post_recvs(1, 100);
		fake_push(pair_segment(FAKE_SID, 1, &h, body, sizeof(body)));
		fake_expect_terminate(row[i].want);
	}
	for (enum rdmap_op op = RDMAP_IMM; op <= RDMAP_CMP_SWAP; op++) {
		struct rdmap_wr wr = {.op = (uint8_t)op};

		fake_teardown();
		fake_setup_as(&plain);
		pair_post(fake.qp, &wr);
		fake_expect_nothing_sent();
		fake_expect_done(0, RDMAP_LOC_OP_ERR, 0);
	}
}

/* rows: 7306-4.1-01 */
Test(atomic_rx, rdmap_version_0_has_no_such_messages)
{
	struct wire_ddp h = fake_header(WIRE_OP_IMM);

	h.rv = 0;
	h.msn = 1;
	fake_post_recvs(1, 100);
	fake_push(pair_segment(FAKE_SID, 1, &h, "8 bytes!", 8));
	fake_expect_terminate(PERR_RDMAP_VERSION);
}

/* ---- the requester ---- */

static void post_atomics(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct rdmap_wr wr = {.cookie = i,
				      .op = RDMAP_FETCH_ADD,
				      .flags = RDMAP_SIGNALED,
				      .nsge = 1,
				      .sge = {{FAKE_BASE + 8 * i, 8, FAKE_STAG}}};
		struct pair_msg m;

		pair_post(fake.qp, &wr);
		cr_assert(pair_pull(&fake.node, &m));
		cr_expect_eq(be_get32(m.b + 24), i, "identifiers increase by 1");
	}
}

static struct pair_msg atomic_answer(uint16_t ssn, uint32_t msn, uint32_t id, uint64_t value)
{
	const struct wire_atomic_resp r = {id, value};
	struct wire_ddp h = fake_header(WIRE_OP_ATOMIC_RESP);
	uint8_t body[WIRE_ATOMIC_RESP_LEN];

	h.qn = WIRE_QN_ATOMIC_RESP;
	h.msn = msn;
	wire_atomic_resp_put(body, &r);
	return pair_segment(FAKE_SID, ssn, &h, body, sizeof(body));
}

/* rows: 7306-5-06 7306-5.2.2-05 */
Test(atomic_rx, responses_are_matched_by_number_and_identifier)
{
	static const struct {
		uint32_t msn, id;
		enum perr want;
	} row[] = {
		{1, 0, PERR_NONE},      {1, 1, PERR_OPCODE},    {2, 1, PERR_OPCODE},
		{3, 0, PERR_NO_BUFFER}, {0, 0, PERR_MSN_RANGE},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		fake_teardown();
		fake_setup();
		post_atomics(2);
		fake_push(atomic_answer(1, row[i].msn, row[i].id, 77));
		if (row[i].want == PERR_NONE) {
			struct rdmap_done d = pair_done(fake.qp);

			cr_expect_eq(d.status, RDMAP_SUCCESS);
			cr_expect_eq(d.imm, 77);
			cr_expect_eq(get_cell(fake.mem), 77);
		} else {
			fake_expect_terminate(row[i].want);
		}
	}
}

/* rows: 7306-5.2.2-05 */
Test(atomic_rx, unrequested_responses_and_those_of_the_wrong_kind_are_errors)
{
	fake_push(atomic_answer(1, 1, 0, 77));
	fake_expect_terminate(PERR_NO_BUFFER);

	fake_teardown();
	fake_setup();
	fake_post_read(1, 0, 8);
	fake_push(atomic_answer(1, 1, 0, 77));
	fake_expect_terminate(PERR_NO_BUFFER);

	fake_teardown();
	fake_setup();
	post_atomics(1);
	fake_push(fake_response(1, FAKE_STAG, FAKE_BASE, true, "8 bytes!"));
	fake_expect_terminate(PERR_OPCODE);

	/* A Read that was requested first is answered first. */
	fake_teardown();
	fake_setup();
	fake_post_read(9, 64, 8);
	{
		struct rdmap_wr wr = {.cookie = 1, .op = RDMAP_FETCH_ADD};
		struct pair_msg m;

		pair_post(fake.qp, &wr);
		cr_assert(pair_pull(&fake.node, &m));
	}
	fake_push(atomic_answer(1, 1, 1, 77));
	fake_expect_terminate(PERR_OPCODE);
}

/* rows: 7306-5.2.2-05 */
Test(atomic_rx, responses_have_12_bytes)
{
	for (uint32_t len = 10; len <= 14; len++) {
		struct pair_msg m = atomic_answer(1, 1, 0, 77);

		fake_teardown();
		fake_setup();
		post_atomics(1);
		m.len = 20 + len;
		fake_push(m);
		if (len != 12)
			fake_expect_terminate(PERR_RDMAP_LENGTH);
	}
}

/* rows: 7306-5.2.2-03 */
Test(atomic_rx, responses_may_arrive_out_of_order)
{
	post_atomics(2);
	fake_push(atomic_answer(2, 2, 1, 20));
	fake_expect_none();
	fake_push(atomic_answer(1, 1, 0, 10));
	cr_expect_eq(pair_done(fake.qp).imm, 10);
	cr_expect_eq(pair_done(fake.qp).imm, 20);
	cr_expect_eq(get_cell(fake.mem + 8), 20);
}

/* Revoking the sink of an atomic in flight fails only that request. */
Test(atomic_rx, sink_that_was_revoked_fails_only_its_request)
{
	struct rdmap_done d;

	post_atomics(1);
	cr_assert(stag_remove(fake.node.stags, FAKE_STAG));
	fake_push(atomic_answer(1, 1, 0, 10));
	d = pair_done(fake.qp);
	cr_expect_eq(d.status, RDMAP_LOC_KEY_ERR);
	cr_expect_eq(d.imm, 10);
	fake_expect_open();
}
