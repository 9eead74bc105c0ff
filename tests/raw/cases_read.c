/* SPDX-License-Identifier: BSD-2-Clause */
/* RFC 5040 5.2: the daemon answers our Read Requests or sends the right error. */
#include <string.h>

#include "tests/raw/case.h"
#include "tests/raw/fault.h"
#include "tests/raw/stage.h"
#include "tests/raw/whole.h"
#include "util/be.h"

enum {
	R_STAG = RAW_ERR(0, 1, 0),
	R_BOUNDS = RAW_ERR(0, 1, 1),
	R_RIGHTS = RAW_ERR(0, 1, 2),
	R_STREAM = RAW_ERR(0, 1, 3),
	R_WRAP = RAW_ERR(0, 1, 4),
	R_LENGTH = RAW_ERR(0, 2, 0xff),
	U_BUFFER = RAW_ERR(1, 2, 2),
	U_MSN = RAW_ERR(1, 2, 3),
	END = FAULT_BASE + FAULT_LEN,
	SINK = 0xc0ffee,
};

static void fill(const struct client_region *r)
{
	for (size_t i = 0; i < r->len; i++)
		r->p[i] = (uint8_t)(i * 11 + (i >> 8) + (i >> 16));
}

static struct raw_read from(const struct client_region *r, uint64_t off, uint32_t n)
{
	return (struct raw_read){SINK, 0x100, n, r->mr->rkey, r->mr->iova + off};
}

/* ---- answers ---- */

static void sizes(void)
{
	static const uint32_t n[] = {1, 2, 5, 6, 1400, 1440, 1450, 2900, FAULT_LEN - 7};
	struct fault f = fault_new(NULL);
	uint32_t msn = 1;

	fill(&f.r);
	for (unsigned i = 0; i < 9; i++) {
		struct raw_read r = from(&f.r, i % 8, n[i]);

		r.sink_to = i * 0x100000001ull;
		pair_tx(&f.p, raw_read(msn++, r));
		whole_response(f.p.l, f.p.sid, r, f.r.p + i % 8);
	}
	pair_marker(f.p.l); /* the client got no event */
	client_idle(f.p.v.rcq);
	client_idle(f.p.v.scq);
	pair_alive(&f.p);
	pair_end(&f.p);
}

/* The responder does not interpret the sink; all of its bits come back. */
static void sinks(void)
{
	struct fault f = fault_new(NULL);
	struct client_region own = client_region(client_pd(), 64, 0, DDP_ACCESS_REMOTE_READ);
	uint32_t stag[] = {0, 1, UINT32_MAX, 0x12345678, own.mr->rkey, f.r.mr->rkey};
	uint64_t to[] = {0, 1, UINT64_MAX - 5, 1ull << 63, 0, FAULT_BASE};

	fill(&f.r);
	for (uint32_t i = 0; i < 6; i++) {
		struct raw_read r = from(&f.r, 3, 6);

		r.sink_stag = stag[i];
		r.sink_to = to[i];
		pair_tx(&f.p, raw_read(i + 1, r));
		whole_response(f.p.l, f.p.sid, r, f.r.p + 3);
	}
	client_untouched(&own, 0, 0);
	pair_alive(&f.p);
	pair_end(&f.p);
}

static void nothing(void)
{
	struct fault f = fault_new(NULL);
	struct raw_read r[] = {
		{0, 0, 0, UINT32_MAX, UINT64_MAX},
		{SINK, 0x100, 0, 0, 0},
		{SINK, UINT64_MAX, 0, f.r.mr->rkey, 0},
		{SINK, 1, 0, f.r.mr->rkey ^ 1, FAULT_BASE},
	};

	for (uint32_t i = 0; i < 4; i++) {
		struct raw_msg want = raw_response(r[i].sink_stag, r[i].sink_to, NULL, 0);

		pair_tx(&f.p, raw_read(i + 1, r[i]));
		link_expect(f.p.l, f.p.sid, &want, "an empty Read Response");
	}
	pair_alive(&f.p);
	pair_end(&f.p);
}

/* Fields that are ignored in a Read Request, and a request in two segments. */
static void forms(void)
{
	struct fault f = fault_new(NULL);
	struct raw_read r = from(&f.r, 0, 4);
	struct raw_msg m = raw_read(1, r), half;
	struct raw_queue q = {.qn = 1, .msn = 2};

	fill(&f.r);
	be_put32(m.b + RAW_HOP + 2, f.r.mr->rkey); /* Invalidate STag */
	m.b[RAW_HOP] |= 0x3c;
	m.b[RAW_HOP + 1] |= 0x30;
	pair_tx(&f.p, m);
	whole_response(f.p.l, f.p.sid, r, f.r.p);
	m = raw_read(2, r);
	half = raw_untagged(RAW_U, RAW_READ_REQ, q, m.b + RAW_HOP + RAW_UNTAGGED, 14);
	pair_tx(&f.p, half);
	q.mo = 14;
	half = raw_untagged(RAW_UL, RAW_READ_REQ, q, m.b + RAW_HOP + RAW_UNTAGGED + 14, 14);
	pair_tx(&f.p, half);
	whole_response(f.p.l, f.p.sid, r, f.r.p);
	pair_alive(&f.p);
	pair_end(&f.p);
}

/* ---- order ---- */

static void in_order(void)
{
	struct pair p = pair_new(&(struct client_opts){.ird = 8});
	struct client_region r =
		client_region(client_pd(), 1 << 20, 0x4000, DDP_ACCESS_REMOTE_READ);

	fill(&r);
	pair_tx(&p, raw_read(1, from(&r, 0, 1 << 20)));
	for (uint32_t i = 2; i <= 8; i++)
		pair_tx(&p, raw_read(i, from(&r, i * 1000, i == 5 ? 0 : i)));
	whole_response(p.l, p.sid, from(&r, 0, 1 << 20), r.p);
	for (uint32_t i = 2; i <= 8; i++)
		whole_response(p.l, p.sid, from(&r, i * 1000, i == 5 ? 0 : i), r.p + i * 1000);
	pair_end(&p);
}

/* A Read returns the data of earlier Writes, even if it arrived first. */
static void after_write(void)
{
	struct fault f = fault_new(NULL);
	struct raw_read r = from(&f.r, 8, 8), none = {SINK, 0, 0, 0, 0};
	struct raw_msg write = raw_write(f.r.mr->rkey, FAULT_BASE + 8, "written!", 8);
	struct raw_msg read = raw_read(1, r), empty = raw_read(2, none);

	link_send_as(f.p.l, f.p.sid, 2, &read);
	link_send_as(f.p.l, f.p.sid, 3, &empty);
	pair_marker(f.p.l);
	EXPECT(link_waiting(f.p.l, f.p.sid) == 0, "a Response before the Write came");
	link_send_as(f.p.l, f.p.sid, 1, &write);
	whole_response(f.p.l, f.p.sid, r, (const uint8_t *)"written!");
	whole_response(f.p.l, f.p.sid, none, NULL);
	link_skip(f.p.l, f.p.sid, 3);
	pair_alive(&f.p);
	pair_end(&f.p);
}

/* ---- errors ---- */

static void bad_stag(void)
{
	struct fault f = fault_new(NULL);
	struct raw_read r = from(&f.r, 0, 8);

	r.src_stag ^= 0x01000000;
	fault_try(&f, "no such STag", raw_read(1, r), R_STAG);
	r.src_stag ^= 0x01000001;
	fault_try(&f, "another key", raw_read(1, r), R_STAG);
	r.src_stag = 0;
	fault_try(&f, "STag 0", raw_read(1, r), R_STAG);
}

static void bad_bounds(void)
{
	struct fault f = fault_new(NULL);
	struct raw_read r = from(&f.r, 0, 8);

	r.src_to = FAULT_BASE - 1;
	fault_try(&f, "one byte below", raw_read(1, r), R_BOUNDS);
	r.src_to = END;
	fault_try(&f, "after the end", raw_read(1, r), R_BOUNDS);
	r.src_to = END - 7;
	fault_try(&f, "one byte too many", raw_read(1, r), R_BOUNDS);
	r.src_to = FAULT_BASE;
	r.size = UINT32_MAX;
	fault_try(&f, "4 GiB", raw_read(1, r), R_BOUNDS);
	r.size = 8;
	r.src_to = UINT64_MAX - 3;
	fault_try(&f, "wrap", raw_read(1, r), R_WRAP);
	r.src_to = UINT64_MAX - 7;
	fault_try(&f, "a sum of 2^64", raw_read(1, r), R_WRAP);
}

static void bad_rights(void)
{
	struct fault f = fault_new(NULL);
	struct pair other = pair_passive(f.p.l, 100, NULL);
	struct client_region wo = client_region(client_pd(), 64, 0x4000, DDP_ACCESS_REMOTE_WRITE);
	struct client_region tied = client_region(client_pd(), 64, 0x4000, DDP_ACCESS_REMOTE_READ);
	struct client_region other_domain;
	struct ddp_pd *pd;

	MUST(ddp_alloc_pd(client_ctx(), &pd));
	other_domain = client_region(pd, 64, 0x4000, DDP_ACCESS_REMOTE_READ);
	MUST(ddp_bind_mr(tied.mr, other.v.qp));
	fault_try(&f, "not to be read", raw_read(1, from(&wo, 0, 8)), R_RIGHTS);
	fault_try(&f, "another domain", raw_read(1, from(&other_domain, 0, 8)), R_STREAM);
	fault_try(&f, "another session's", raw_read(1, from(&tied, 0, 8)), R_STREAM);
	pair_tx(&other, raw_read(1, from(&tied, 0, 8)));
	whole_response(other.l, other.sid, from(&tied, 0, 8), tied.p);
}

static struct raw_msg cut(struct raw_msg m, uint32_t n)
{
	static const uint8_t more[2];

	m.len = RAW_HOP + RAW_UNTAGGED + (n < RAW_READ ? n : RAW_READ);
	if (n > RAW_READ)
		raw_put(&m, more, n - RAW_READ);
	return m;
}

static void bad_form(void)
{
	struct fault f = fault_new(NULL);
	struct raw_msg m = raw_read(1, from(&f.r, 0, 8));
	uint16_t far[] = {U_MSN, U_BUFFER};

	fault_try(&f, "27 bytes", cut(m, 27), R_LENGTH);
	fault_try(&f, "29 bytes", cut(m, 29), R_LENGTH);
	fault_try(&f, "0 bytes", cut(m, 0), R_LENGTH);
	fault_try(&f, "MSN 0", raw_read(0, from(&f.r, 0, 8)), U_MSN);
	fault_try(&f, "MSN 2", raw_read(2, from(&f.r, 0, 8)), U_MSN);
	fault_try_any(&f, "MSN 100000", raw_read(100000, from(&f.r, 0, 8)), far, 2);
}

/* ---- the number of Reads ---- */

enum { HUGE_LEN = 16 << 20 };

/* The first answer is longer than all buffers to us: until it is read, the others are outstanding.
 * One request more than negotiated has no buffer; the answer stops at once. */
static void too_many(void)
{
	struct pair p = pair_new(&(struct client_opts){.ird = 4});
	struct client_region r = client_region(client_pd(), HUGE_LEN, 0, DDP_ACCESS_REMOTE_READ);
	struct raw_msg fifth = raw_read(5, from(&r, 0, 0)), want;
	struct raw_msg end = raw_control(RAW_END, NULL, 0);
	struct whole w;

	pair_tx(&p, raw_read(1, from(&r, 0, HUGE_LEN)));
	for (uint32_t i = 2; i <= 4; i++)
		pair_tx(&p, raw_read(i, from(&r, 0, 0)));
	pair_tx(&p, fifth);
	w = whole_take(p.l, p.sid);
	EXPECT(w.cut, "the Read was answered completely");
	want = raw_terminate_for(U_BUFFER, &fifth);
	EXPECT(raw_same(&w.term, &want), "Terminate %04x", raw_error(&w.term));
	link_expect(p.l, p.sid, &end, "Session Terminate");
	pair_tx(&p, end);
	pair_disconnected(&p, true, U_BUFFER);
}

/* The negotiated number is accepted, and then again. */
static void enough(void)
{
	struct pair p = pair_new(&(struct client_opts){.ird = 4});
	struct client_region r = client_region(client_pd(), HUGE_LEN, 0, DDP_ACCESS_REMOTE_READ);
	uint32_t msn = 1;

	fill(&r);
	for (unsigned round = 0; round < 2; round++) {
		pair_tx(&p, raw_read(msn++, from(&r, 0, HUGE_LEN)));
		for (uint32_t i = 1; i < 4; i++)
			pair_tx(&p, raw_read(msn++, from(&r, i, 8)));
		whole_response(p.l, p.sid, from(&r, 0, HUGE_LEN), r.p);
		for (uint32_t i = 1; i < 4; i++)
			whole_response(p.l, p.sid, from(&r, i, 8), r.p + i);
	}
	pair_end(&p);
}

/* The source is revoked in the middle of the answer: the copy of the request shows its progress.
 */
static void interrupted(void)
{
	struct pair p = pair_new(&(struct client_opts){.ird = 4});
	struct client_region r = client_region(client_pd(), HUGE_LEN, 0, DDP_ACCESS_REMOTE_READ);
	struct raw_read rest = from(&r, 0, HUGE_LEN);
	struct raw_msg m = raw_read(1, rest), want;
	struct raw_msg end = raw_control(RAW_END, NULL, 0);
	struct whole w;

	pair_tx(&p, m);
	(void)link_new_stream(p.l);
	link_pause(p.l, true);
	MUST(ddp_dereg_mr(r.mr));
	link_pause(p.l, false);
	w = whole_take(p.l, p.sid);
	EXPECT(w.cut, "the Read was answered completely");
	rest.sink_to += w.len;
	rest.src_to += w.len;
	rest.size -= w.len;
	m = raw_read(1, rest);
	want = raw_terminate_for(R_STAG, &m);
	if (!raw_same(&w.term, &want)) {
		stage_hex("expected", want.b, want.len);
		stage_hex("came", w.term.b, w.term.len);
		stage_fail("another Terminate after %u bytes", w.len);
	}
	link_expect(p.l, p.sid, &end, "Session Terminate");
	pair_tx(&p, end);
	pair_disconnected(&p, true, R_STAG);
}

#define ROWS "5040-5.2.1-05 5040-5.2.1-13 5040-7.1-04 5040-4.8-09 5040-4.8-10 "

const struct raw_case case_read[] = {
	{"read-sizes",
	 "5040-4.4-03 5040-4.4-05 5040-4.4-06 5040-5.2-01 5040-5.2.1-03 5040-5.2.1-04 "
	 "5040-5.2.1-11 5040-5.2.2-01 5040-5.2.2-07 5040-3.2-07 4296-2.2-01",
	 sizes},
	{"read-sinks", "5040-4.4-02 5040-4.4-03 5040-4.4-04", sinks},
	{"read-nothing", "5040-5.2.1-14 5040-5.2.1-15 5041-5.2-08", nothing},
	{"read-forms", "5040-4.1-09 5040-4.1-11 5041-4.1-09", forms},
	{"read-order", "5040-5.2.1-08 5040-5.2.2-05 5040-5.5-16", in_order},
	{"read-after-write", "5040-5.5-06 5040-5.5-13", after_write},
	{"read-bad-stag", ROWS "5040-7.2-06 5040-3.2-08", bad_stag},
	{"read-bad-bounds", ROWS "5040-7.2-08 5040-7.2-09 5040-7.2-10 5041-8.3.1-03", bad_bounds},
	{"read-bad-rights", ROWS "5040-7.2-07 5040-8.1.1-07 5041-8.3.1-05", bad_rights},
	{"read-bad-form", "5040-4.4-01 5040-4.2-01", bad_form},
	{"read-too-many", "5040-6.1-05 5040-5.2.1-02", too_many},
	{"read-enough", "5040-6.1-02 5040-5.2.2-02", enough},
	{"read-interrupted", "5040-4.8-10", interrupted},
	{0},
};
