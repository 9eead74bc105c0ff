/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads into no element, and into several: each element has a Read Request of its own, and the
 * request completes once.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/lib/two.h"

enum { OTHER_A = 0x00bead00, REQUEST_AT = 2 + WIRE_UNTAGGED_LEN };

TestSuite(read_parts, .init = two_setup, .fini = two_teardown);

/* Element i of n has 100 + i bytes, 200 bytes after the one before it, except that the second has
 * none. The source is the beginning of b's region. */
static struct rdmap_wr read_of(uint64_t cookie, unsigned n)
{
	struct rdmap_wr wr = two_request(RDMAP_READ, cookie, 0, 0);

	wr.nsge = (uint8_t)n;
	for (unsigned i = 0; i < n; i++)
		wr.sge[i] = (struct sgl_elem){TWO_TO + (uint64_t)i * 200, i == 1 ? 0 : 100 + i,
					      TWO_STAG_A};
	return wr;
}

/* Fills b's region. */
static void fill(void)
{
	for (unsigned i = 0; i < TWO_MEM; i++)
		two.mb[i] = (uint8_t)(i * 5 + i / 253 + 1);
}

/* Whether a's memory has the bytes of the Read, one after the other in its elements. */
static bool arrived(const struct rdmap_wr *wr)
{
	uint32_t at = 0;

	for (unsigned i = 0; i < wr->nsge; i++) {
		if (memcmp(two.ma + (wr->sge[i].to - TWO_TO), two.mb + at, wr->sge[i].len) != 0)
			return false;
		at += wr->sge[i].len;
	}
	return true;
}

/* a sends a Read Request, which b gets. */
static struct wire_read_req move_request(void)
{
	struct wire_read_req req = {0};
	struct wire_ddp h;
	struct pair_msg m;

	cr_assert(pair_pull(&two.a, &m));
	wire_ddp_get(m.b + 2, m.len - 2, &h);
	cr_assert_eq(h.opcode, WIRE_OP_READ_REQ);
	wire_read_req_get(m.b + REQUEST_AT, &req);
	pair_push(&two.b, &m);
	return req;
}

static unsigned outstanding(const struct pair_qp *qp)
{
	struct rdmap_info info;

	rdmap_query(qp->ep, &info);
	return info.reads_out;
}

static void expect_done(uint64_t cookie, enum rdmap_status status, uint32_t len)
{
	struct rdmap_done done = pair_done(two.qa);

	cr_expect_eq(done.cookie, cookie);
	cr_expect_eq(done.status, status, "status %u of %u", done.status, (unsigned)cookie);
	cr_expect_eq(done.op, RDMAP_READ);
	cr_expect_eq(done.len, len);
	two_expect_none(two.qa);
}

static void restart(uint16_t reads)
{
	const struct rdmap_cfg cfg = {.ord = reads, .ird = reads};

	two_teardown();
	two_setup_as(&cfg);
	fill();
}

/* ---- no element ---- */

/* RFC 5040 5.2.1: nothing is checked for it, at either end. */
/* rows: 5040-5.2.1-07 5040-5.2.1-12 5040-5.2.1-14 */
Test(read_parts, without_an_element_is_a_read_of_no_bytes)
{
	struct rdmap_wr wr = read_of(1, 0);
	struct wire_read_req req;

	memset(wr.sge, 0xff, sizeof(wr.sge));
	wr.rstag = 0xbad;
	wr.rto = UINT64_MAX;
	two_post(two.qa, wr);
	req = move_request();
	cr_expect_eq(req.size, 0);
	cr_expect_eq(req.sink_stag, 0);
	cr_expect_eq(req.sink_to, 0);
	cr_expect_eq(req.src_stag, 0xbad);
	cr_expect_eq(req.src_to, UINT64_MAX);
	cr_expect_not(two_move(&two.a, &two.b), "there is one message");
	pair_pump(&two.a, &two.b);
	expect_done(1, RDMAP_SUCCESS, 0);
	two_post(two.qa, read_of(2, 1));
	pair_pump(&two.a, &two.b);
	expect_done(2, RDMAP_SUCCESS, 100);
}

/* ---- several ---- */

Test(read_parts, each_element_has_a_request_and_the_last_response_completes_it)
{
	struct rdmap_wr wr = read_of(1, 3);
	uint32_t at = 0;

	restart(4);
	two_post(two.qa, wr);
	for (unsigned i = 0; i < 3; i++) {
		struct wire_read_req req = move_request();

		cr_expect_eq(req.sink_stag, TWO_STAG_A);
		cr_expect_eq(req.sink_to, wr.sge[i].to);
		cr_expect_eq(req.size, wr.sge[i].len);
		cr_expect_eq(req.src_to, TWO_TO + at);
		cr_expect_eq(outstanding(two.qa), i + 1);
		at += req.size;
	}
	cr_expect_not(two_move(&two.a, &two.b));
	for (unsigned i = 0; i < 3; i++) {
		two_expect_none(two.qa);
		cr_assert(two_move(&two.b, &two.a));
	}
	expect_done(1, RDMAP_SUCCESS, 100 + 0 + 102);
	cr_expect(arrived(&wr));
}

/* With any depth, behind a full send queue: never more outstanding than ORD, in order. */
Test(read_parts, any_number_with_any_depth_completes_once_and_in_order)
{
	for (uint16_t reads = 1; reads <= SGL_MAX + 1; reads++) {
		restart(reads);
		for (unsigned n = 0; n <= SGL_MAX; n++) {
			struct rdmap_wr wr = read_of(n + 1, n);

			for (unsigned i = 0; i < PAIR_DEPTH; i++)
				two_post(two.qa, read_of(100 + i, 0));
			two_post(two.qa, wr);
			do {
				while (two_move(&two.a, &two.b))
					cr_assert_leq(outstanding(two.qa), reads);
			} while (two_move(&two.b, &two.a));
			for (unsigned i = 0; i < PAIR_DEPTH; i++)
				two_expect_done(two.qa, 100 + i, RDMAP_SUCCESS);
			expect_done(n + 1, RDMAP_SUCCESS, (uint32_t)sgl_total(wr.sge, n));
			cr_expect(arrived(&wr), "%u elements, depth %u", n, reads);
			two.qa->posted = two.qa->taken = two.qa->ndone = two.qa->nseen = 0;
		}
	}
}

Test(read_parts, longer_ones_are_answered_in_segments)
{
	struct rdmap_wr wr = read_of(1, 3);

	wr.sge[0].len = 3000;
	wr.sge[1] = (struct sgl_elem){TWO_TO + 4000, 5000, TWO_STAG_A};
	wr.sge[2] = (struct sgl_elem){TWO_TO + 10000, 1, TWO_STAG_A};
	fill();
	two_post(two.qa, wr);
	pair_pump(&two.a, &two.b);
	expect_done(1, RDMAP_SUCCESS, 8001);
	cr_expect(arrived(&wr));
}

/* A fence waits for all parts, and one at the Read itself holds back only the first. */
Test(read_parts, they_are_one_request_for_a_fence)
{
	struct rdmap_wr fenced = read_of(2, 3), write = two_request(RDMAP_WRITE, 3, 0, 8);

	restart(4);
	fenced.flags |= RDMAP_FENCE;
	write.flags |= RDMAP_FENCE;
	two_post(two.qa, read_of(1, 2));
	two_post(two.qa, fenced);
	two_post(two.qa, write);
	move_request();
	move_request();
	cr_expect_not(two_move(&two.a, &two.b), "the fence waits for both");
	cr_assert(two_move(&two.b, &two.a));
	cr_expect_not(two_move(&two.a, &two.b));
	cr_assert(two_move(&two.b, &two.a));
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	for (unsigned i = 0; i < 3; i++)
		move_request();
	for (unsigned i = 0; i < 3; i++) {
		cr_expect_not(two_move(&two.a, &two.b), "the Write waits for all of them");
		cr_assert(two_move(&two.b, &two.a));
	}
	two_expect_done(two.qa, 2, RDMAP_SUCCESS);
	cr_assert(two_move(&two.a, &two.b));
	two_expect_done(two.qa, 3, RDMAP_SUCCESS);
}

/* No message overtakes the parts that wait for ORD, and responses to the peer go on. */
Test(read_parts, a_later_request_waits_for_the_last_one)
{
	restart(1);
	two_post(two.qa, read_of(1, 3));
	two_post(two.qa, two_request(RDMAP_WRITE, 2, 0, 8));
	two_post(two.qb, read_of(3, 0));
	move_request();
	cr_expect_not(two_move(&two.a, &two.b));
	cr_assert(two_move(&two.b, &two.a), "the response of b");
	cr_assert(two_move(&two.b, &two.a), "the Read Request of b");
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_done(two.qa, 2, RDMAP_SUCCESS);
	two_expect_done(two.qb, 3, RDMAP_SUCCESS);
}

/* ---- errors ---- */

/* All elements are checked in their order before the first request is sent. */
Test(read_parts, a_bad_element_sends_nothing)
{
	static const struct {
		unsigned at;
		struct sgl_elem sink;
		enum rdmap_status want;
	} bad[] = {
		{0, {TWO_TO, 8, 0xbad}, RDMAP_LOC_KEY_ERR},
		{2, {TWO_TO, 8, 0xbad}, RDMAP_LOC_KEY_ERR},
		{2, {TWO_TO + TWO_MEM - 7, 8, TWO_STAG_A}, RDMAP_LOC_BOUNDS_ERR},
		{2, {TWO_TO, 8, OTHER_A}, RDMAP_LOC_ACCESS_ERR},
	};

	pair_region(&two.a, OTHER_A, TWO_TO, 64, STAG_REMOTE_WRITE, 0);
	for (unsigned i = 0; i < 4; i++) {
		struct rdmap_wr wr = read_of(1, 3);
		struct rdmap_done done;

		wr.sge[bad[i].at] = bad[i].sink;
		two_post(two.qa, wr);
		cr_expect_not(two_move(&two.a, &two.b));
		done = pair_done(two.qa);
		cr_expect_eq(done.status, bad[i].want);
		cr_expect_eq(done.at.stag, bad[i].sink.stag);
		two_expect_none(two.qa);
	}
}

/* A part may not begin at offset 0 because the range of the Read has wrapped. */
Test(read_parts, a_source_beyond_the_last_offset_sends_nothing)
{
	struct rdmap_wr wr = read_of(1, 3);

	wr.rto = UINT64_MAX - 150;
	two_post(two.qa, wr);
	cr_expect_not(two_move(&two.a, &two.b));
	expect_done(1, RDMAP_LOC_LEN_ERR, 0);
}

/* Memory that goes away while a part waits fails the request alone, once the others are answered.
 */
Test(read_parts, an_element_that_is_revoked_in_between_fails_the_request_once)
{
	for (unsigned answered = 0; answered < 2; answered++) {
		struct rdmap_wr wr = read_of(1, 3);

		restart(1);
		pair_region(&two.a, OTHER_A, TWO_TO, 64, TWO_ALL, 0);
		wr.sge[2] = (struct sgl_elem){TWO_TO, 64, OTHER_A};
		two_post(two.qa, wr);
		move_request();
		if (answered) {
			cr_assert(two_move(&two.b, &two.a));
			move_request();
		}
		stag_remove(two.a.stags, OTHER_A);
		two_expect_none(two.qa);
		pair_pump(&two.a, &two.b);
		expect_done(1, RDMAP_LOC_KEY_ERR, 0);
		two_post(two.qa, read_of(2, 2));
		pair_pump(&two.a, &two.b);
		expect_done(2, RDMAP_SUCCESS, 100);
	}
}

/* With room for all parts the first response is outstanding when the check fails. */
Test(read_parts, a_revoked_element_waits_for_the_parts_that_were_sent)
{
	struct rdmap_wr wr = read_of(1, 3);

	pair_region(&two.a, OTHER_A, TWO_TO, 64, TWO_ALL, 0);
	wr.sge[2] = (struct sgl_elem){TWO_TO, 64, OTHER_A};
	two_post(two.qa, wr);
	move_request();
	move_request();
	cr_expect_not(two_move(&two.a, &two.b), "ORD is %d", PAIR_READS);
	stag_remove(two.a.stags, OTHER_A);
	cr_assert(two_move(&two.b, &two.a));
	cr_expect_not(two_move(&two.a, &two.b));
	two_expect_none(two.qa);
	cr_assert(two_move(&two.b, &two.a));
	expect_done(1, RDMAP_LOC_KEY_ERR, 0);
}

/* The Terminate names the message of a part. */
Test(read_parts, a_part_that_the_peer_refuses_fails_the_request)
{
	struct rdmap_wr wr = read_of(2, 3);

	restart(8);
	wr.rto = TWO_TO + TWO_MEM - 150;
	two_post(two.qa, read_of(1, 1));
	two_post(two.qa, wr);
	two_post(two.qa, read_of(3, 1));
	while (two_move(&two.a, &two.b))
		;
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_FLUSH_ERR);
	two_expect_done(two.qa, 2, RDMAP_REM_ACCESS_ERR);
	two_expect_done(two.qa, 3, RDMAP_FLUSH_ERR);
	two_expect_closed(&two.a, ASSOC_REASON_REMOTE, PERR_ACCESS_BOUNDS);
}

/* A response belongs to the part whose turn it is. */
Test(read_parts, a_response_of_another_length_is_refused)
{
	struct wire_ddp h = {.dv = 1, .rv = 1, .tagged = true, .opcode = WIRE_OP_READ_RESP};
	struct pair_msg m;

	restart(4);
	two_post(two.qa, read_of(1, 3));
	while (two_move(&two.a, &two.b))
		;
	h.stag = TWO_STAG_A;
	h.to = TWO_TO;
	h.last = true;
	cr_assert(pair_pull(&two.b, &m));
	m = pair_segment(two.sid, (uint16_t)(m.b[0] << 8 | m.b[1]), &h, two.mb, 99);
	pair_push(&two.a, &m);
	two_expect_done(two.qa, 1, RDMAP_FLUSH_ERR);
	pair_pump(&two.a, &two.b);
	two_expect_closed(&two.a, ASSOC_REASON_ERROR, PERR_RDMAP_LENGTH);
}

/* ---- the end of the session ---- */

Test(read_parts, the_end_of_the_session_flushes_it_once)
{
	for (unsigned moves = 0; moves < 4; moves++) {
		restart(1);
		two_post(two.qa, read_of(1, 3));
		for (unsigned i = 0; i < moves; i++) {
			two_move(&two.a, &two.b);
			two_move(&two.b, &two.a);
		}
		if (moves == 3) {
			expect_done(1, RDMAP_SUCCESS, 202);
			continue;
		}
		two_move(&two.a, &two.b);
		assoc_close(two.a.assoc, two.qa->ep);
		pair_pump(&two.a, &two.b);
		expect_done(1, RDMAP_FLUSH_ERR, 0);
	}
}
