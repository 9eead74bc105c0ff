/* SPDX-License-Identifier: BSD-2-Clause */
/* RFC 5041 7: errors of segments, each with its code. */
#include <string.h>

#include "tests/raw/case.h"
#include "tests/raw/fault.h"
#include "tests/raw/stage.h"

/* RFC 5041 7.2 */
enum {
	T_STAG = RAW_ERR(1, 1, 0),
	T_BOUNDS = RAW_ERR(1, 1, 1),
	T_STREAM = RAW_ERR(1, 1, 2),
	T_WRAP = RAW_ERR(1, 1, 3),
	T_VERSION = RAW_ERR(1, 1, 4),
	U_QN = RAW_ERR(1, 2, 1),
	U_BUFFER = RAW_ERR(1, 2, 2),
	U_MSN = RAW_ERR(1, 2, 3),
	U_MO = RAW_ERR(1, 2, 4),
	U_LONG = RAW_ERR(1, 2, 5),
	U_VERSION = RAW_ERR(1, 2, 6),
};

enum { END = FAULT_BASE + FAULT_LEN };

static const uint8_t bytes[512] = "these bytes must not be placed";

static void versions(void)
{
	static const uint8_t tagged[] = {0xc0, 0xc2, 0xc3, 0x80}, untagged[] = {0x40, 0x42, 0x43};
	struct fault f = fault_new(NULL);
	struct raw_queue q = {.msn = 2};

	for (unsigned i = 0; i < 4; i++)
		fault_try(&f, "tagged",
			  raw_tagged(tagged[i], RAW_WRITE, f.r.mr->rkey, FAULT_BASE, bytes, 8),
			  T_VERSION);
	for (unsigned i = 0; i < 3; i++)
		fault_try(&f, "untagged", raw_untagged(untagged[i], RAW_SEND, q, bytes, 8),
			  U_VERSION);
	/* Also where all other fields are ignored. */
	fault_try(&f, "without bytes", raw_tagged(0xc2, RAW_WRITE, 0, 0, NULL, 0), T_VERSION);
}

static void stags(void)
{
	struct fault f = fault_new(NULL);
	uint32_t key = f.r.mr->rkey;

	fault_try(&f, "no such STag", raw_write(key ^ 0x01000000, FAULT_BASE, bytes, 8), T_STAG);
	fault_try(&f, "another key", raw_write(key ^ 1, FAULT_BASE, bytes, 8), T_STAG);
	fault_try(&f, "STag 0", raw_write(0, FAULT_BASE, bytes, 8), T_STAG);
	fault_try(&f, "STag 0xffffffff", raw_write(UINT32_MAX, FAULT_BASE, bytes, 1), T_STAG);
}

static void bounds(void)
{
	struct fault f = fault_new(NULL);
	uint32_t key = f.r.mr->rkey;

	fault_try(&f, "one byte below", raw_write(key, FAULT_BASE - 1, bytes, 8), T_BOUNDS);
	fault_try(&f, "TO 0", raw_write(key, 0, bytes, 1), T_BOUNDS);
	fault_try(&f, "after the end", raw_write(key, END, bytes, 1), T_BOUNDS);
	fault_try(&f, "one byte too many", raw_write(key, END - 7, bytes, 8), T_BOUNDS);
	fault_try(&f, "2^32 further", raw_write(key, FAULT_BASE + (1ull << 32), bytes, 8),
		  T_BOUNDS);
	fault_try(&f, "half of all", raw_write(key, 1ull << 63, bytes, 8), T_BOUNDS);
	fault_try(&f, "wrap", raw_write(key, UINT64_MAX - 3, bytes, 8), T_WRAP);
	fault_try(&f, "a sum of 2^64", raw_write(key, UINT64_MAX - 7, bytes, 8), T_WRAP);
	fault_try(&f, "wrap around to the region", raw_write(key, UINT64_MAX, bytes, 512), T_WRAP);
}

static void rights(void)
{
	struct fault f = fault_new(NULL);
	struct client_region ro = client_region(client_pd(), 64, 0x4000, DDP_ACCESS_REMOTE_READ);
	struct client_region local = client_region(client_pd(), 64, 0x4000, DDP_ACCESS_LOCAL_WRITE);

	fault_try(&f, "readable", raw_write(ro.mr->rkey, 0x4000, bytes, 8), T_STAG);
	fault_try(&f, "local", raw_write(local.mr->rkey, 0x4000, bytes, 8), T_STAG);
	client_untouched(&ro, 0, 0);
	client_untouched(&local, 0, 0);
}

static void revoked(void)
{
	struct fault f = fault_new(NULL);
	struct client_region r = client_region(client_pd(), 64, 0x4000, DDP_ACCESS_REMOTE_WRITE);
	struct client_region alias =
		client_region(client_pd(), 64, 0x4000, DDP_ACCESS_REMOTE_WRITE);
	uint32_t key = r.mr->rkey;

	pair_tx(&f.p, raw_write(key, 0x4000, "first", 5));
	pair_alive(&f.p);
	client_untouched(&r, 0, 5);
	MUST(ddp_dereg_mr(r.mr));
	fault_try(&f, "revoked", raw_write(key, 0x4008, bytes, 8), T_STAG);
	client_untouched(&r, 0, 5);
	pair_tx(&f.p, raw_write(alias.mr->rkey, 0x4000, "other", 5));
	pair_alive(&f.p);
	EXPECT(memcmp(alias.p, "other", 5) == 0, "the other registration ended, too");
}

static void domains(void)
{
	struct fault f = fault_new(NULL);
	struct client_region r;
	struct ddp_pd *pd;

	MUST(ddp_alloc_pd(client_ctx(), &pd));
	r = client_region(pd, 64, 0x4000, DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ);
	fault_try(&f, "another domain", raw_write(r.mr->rkey, 0x4000, bytes, 8), T_STREAM);
	client_untouched(&r, 0, 0);
}

static void scopes(void)
{
	struct fault f = fault_new(NULL);
	struct pair other = pair_passive(f.p.l, 100, NULL);
	struct client_region r = client_region(client_pd(), 64, 0x4000, DDP_ACCESS_REMOTE_WRITE);

	MUST(ddp_bind_mr(r.mr, other.v.qp));
	fault_try(&f, "another session's", raw_write(r.mr->rkey, 0x4000, bytes, 8), T_STREAM);
	client_untouched(&r, 0, 0);
	pair_tx(&other, raw_write(r.mr->rkey, 0x4000, "mine", 4));
	pair_alive(&other);
	EXPECT(memcmp(r.p, "mine", 4) == 0, "the session that it is tied to cannot use it");
	/* Untied, every session can use it. */
	MUST(ddp_bind_mr(r.mr, NULL));
	pair_tx(&f.p, raw_write(r.mr->rkey, 0x4008, "ours", 4));
	pair_alive(&f.p);
	EXPECT(memcmp(r.p + 8, "ours", 4) == 0, "an untied region cannot be used");
	pair_alive(&other);
}

/* ---- untagged ---- */

static struct raw_msg on(uint32_t qn, uint32_t msn, uint32_t mo, size_t n)
{
	struct raw_queue q = {.qn = qn, .msn = msn, .mo = mo};

	return raw_untagged(RAW_UL, RAW_SEND, q, bytes, n);
}

static void queues(void)
{
	static const uint32_t qn[] = {4, 9, 0x100, 0x01000000, 0x80000000, UINT32_MAX};
	struct fault f = fault_new(NULL);

	for (unsigned i = 0; i < 6; i++)
		fault_try(&f, "QN", on(qn[i], 1, 0, 8), U_QN);
	fault_try(&f, "QN, without bytes", on(9, 1, 0, 0), U_QN);
}

static void no_buffer(void)
{
	static const struct client_opts one = {.recvs = 1, .size = 64};
	static const struct client_opts none;
	struct fault f = fault_new(&none);

	fault_try(&f, "none posted", on(0, 1, 0, 8), U_BUFFER);
	fault_try(&f, "no receive posted, without bytes", on(0, 1, 0, 0), U_BUFFER);
	f.p.opts = one;
	pair_end(&f.p);
	pair_next(&f.p);
	fault_try(&f, "all used up", on(0, 2, 0, 8), U_BUFFER);
	pair_alive(&f.p);
}

/* A session with unfinished messages holds only its share of a pool. */
static void share(void)
{
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);
	struct ddp_srq_state pool = DDP_INIT(ddp_srq_state);
	struct raw_queue q = {.msn = 1};
	struct client_opts o = {0};
	struct pair over_share, other_session;
	struct ddp_recv_wr wr = {0};
	struct raw_msg m;

	attr.max_wr = 8;
	attr.max_per_qp = 2;
	over_share.l = pair_listener(0);
	EXPECT(ddp_create_srq(client_pd(), &attr, &o.srq) == 0, "%s", ddp_last_reason());
	for (unsigned i = 0; i < 6; i++)
		EXPECT(ddp_post_srq_recv(o.srq, &wr, NULL) == 0, "%s", ddp_last_reason());
	over_share = pair_passive(over_share.l, 0, &o);
	other_session = pair_passive(over_share.l, 2, &o);
	for (; q.msn <= 2; q.msn++)
		pair_tx(&over_share, raw_untagged(0x01, RAW_SEND, q, NULL, 0));
	over_share.v.posted = 2; /* that it holds, to be flushed */
	m = raw_untagged(0x41, RAW_SEND, q, NULL, 0);
	pair_tx(&over_share, m);
	pair_refused(&over_share, U_BUFFER, &m);
	q.msn = 1;
	pair_tx(&other_session, raw_untagged(0x41, RAW_SEND, q, NULL, 0));
	EXPECT(client_wc(other_session.v.rcq).status == DDP_WC_SUCCESS,
	       "the other session has no receive");
	EXPECT(ddp_query_srq(o.srq, &pool) == 0, "%s", ddp_last_reason());
	EXPECT(pool.taken == 3 && pool.held == 0 && pool.posted == 3,
	       "%u taken, %u held, %u posted", (unsigned)pool.taken, pool.held, pool.posted);
}

/* Each session has received MSN 1 of 4 before. */
static void numbers(void)
{
	static const uint32_t old[] = {0, 1, 0x80000002, UINT32_MAX}, far[] = {5, 6, 1000};
	static const uint16_t either[] = {U_MSN, U_BUFFER};
	struct fault f = fault_new(NULL);

	for (unsigned i = 0; i < 4; i++)
		fault_try(&f, "old MSN", on(0, old[i], 0, 8), U_MSN);
	/* After the last buffer: out of range, or no buffer. */
	for (unsigned i = 0; i < 3; i++)
		fault_try_any(&f, "far MSN", on(0, far[i], 0, 8), either, 2);
	fault_try(&f, "MSN, without bytes", on(0, 1, 0, 0), U_MSN);
	/* 3 has a buffer, but 2 was skipped. */
	fault_try(&f, "skipped MSN", on(0, 3, 0, 0), U_MSN);
}

static void offsets(void)
{
	struct fault f = fault_new(NULL); /* receives of 256 bytes */

	fault_try(&f, "MO after the buffer", on(0, 2, 257, 8), U_MO);
	fault_try(&f, "MO far after it", on(0, 2, 0x10000, 1), U_MO);
	fault_try(&f, "MO and a sum above 2^32", on(0, 2, 0xfffffff8, 16), U_MO);
	fault_try(&f, "MO and a sum of 2^32", on(0, 2, 0xfffffff8, 8), U_MO);
}

static void too_long(void)
{
	struct fault f = fault_new(NULL);
	struct raw_msg last;

	fault_try(&f, "one byte too many", on(0, 2, 0, 257), U_LONG);
	fault_try(&f, "all at once", on(0, 2, 0, 512), U_LONG);
	/* The second segment passes the end. */
	pair_alive(&f.p);
	pair_tx(&f.p, raw_untagged(RAW_U, RAW_SEND, (struct raw_queue){.msn = 2}, bytes, 200));
	last = on(0, 2, 200, 57);
	pair_tx(&f.p, last);
	pair_refused(&f.p, U_LONG, &last);
}

/* ---- what follows an error ---- */

static void after_error(void)
{
	struct fault f = fault_new(NULL);
	struct raw_msg bad = raw_write(f.r.mr->rkey, END, "bad", 3);
	struct raw_msg worse = raw_write(0, 0, "worse", 5);

	pair_tx(&f.p, bad);
	pair_tx(&f.p, raw_write(f.r.mr->rkey, FAULT_BASE, "good", 4));
	pair_tx(&f.p, raw_send(1, "good", 4));
	pair_tx(&f.p, worse);
	pair_refused(&f.p, T_BOUNDS, &bad);
	client_untouched(&f.r, 0, 0);
	EXPECT(client_inbox(&f.p.opts, 0)[0] == CLIENT_FILL, "a Send after the error was placed");
	pair_marker(f.p.l);
	link_nothing_left(f.p.l);
}

/* The first error in order of DDP-SSN is reported, not the first to arrive. */
static void first(void)
{
	struct fault f = fault_new(NULL);
	struct raw_msg bad = raw_write(f.r.mr->rkey, END, "bad", 3);
	struct raw_msg worse = raw_write(f.r.mr->rkey ^ 1, FAULT_BASE, "worse", 5);

	link_send_as(f.p.l, f.p.sid, 2, &worse);
	pair_marker(f.p.l);
	link_send_as(f.p.l, f.p.sid, 1, &bad);
	link_skip(f.p.l, f.p.sid, 2);
	pair_refused(&f.p, T_BOUNDS, &bad);
	client_untouched(&f.r, 0, 0);
}

/* Segments before the one that fails stay placed. */
static void partial(void)
{
	struct fault f = fault_new(NULL);
	uint32_t key = f.r.mr->rkey;
	struct raw_msg last = raw_write(key, END - 99, bytes, 100);

	pair_tx(&f.p, raw_tagged(RAW_T, RAW_WRITE, key, END - 299, bytes, 100));
	pair_tx(&f.p, raw_tagged(RAW_T, RAW_WRITE, key, END - 199, bytes, 100));
	pair_tx(&f.p, last);
	pair_refused(&f.p, T_BOUNDS, &last);
	client_untouched(&f.r, FAULT_LEN - 299, 200);
	EXPECT(memcmp(f.r.p + FAULT_LEN - 299, bytes, 100) == 0 &&
		       memcmp(f.r.p + FAULT_LEN - 199, bytes, 100) == 0,
	       "segments before the error are missing");
}

#define ROWS                                                                                       \
	"5041-7.2-01 5041-7.1-15 5041-7.1-16 5041-7.1-18 5041-6.2.2-03 5040-4.8-06 5040-7.2-01 "

const struct raw_case case_ddp[] = {
	{"versions", ROWS "5041-4.1-10 5041-4.1-11", versions},
	{"stags", ROWS "5041-4.2-05 5041-7.1-10", stags},
	{"bounds",
	 ROWS "5041-7.1-12 5041-7.1-13 5041-7.1-14 5041-8.3.1-03 5040-5.1-03 4296-3-01 "
	      "5040-4.8-02 5040-4.8-03 5040-4.8-04 5040-4.8-07 5040-4.8-08 5040-7.1-03",
	 bounds},
	{"rights", ROWS "5041-7.1-11 5041-8.3.1-05 4296-2.2.1-09 4296-3-02", rights},
	{"revoked",
	 ROWS "5041-7.1-11 5041-8.3-02 5041-8.3.1-04 4296-2.1.2-08 4296-2.1.2-09 4296-2.2.1-07",
	 revoked},
	{"domains", ROWS "5041-7.1-10 5041-8.2-01 5041-8.3.1-01", domains},
	{"scopes", ROWS "5041-7.1-10 5041-8.2-02 5041-8.2-04 5041-8.3.1-02 5041-8.3-03", scopes},
	{"queues", ROWS "5041-7.1-01", queues},
	{"no-buffer", ROWS "5041-7.1-02 5040-5.3-11", no_buffer},
	{"share", "5041-8.3.2-06", share},
	{"message-numbers", ROWS "5041-7.1-05", numbers},
	{"message-offsets", ROWS "5041-7.1-03", offsets},
	{"too-long", ROWS "5041-7.1-04 5040-5.3-04 5040-5.3-07", too_long},
	{"silence", "5041-7.1-17 5040-5.4-08 5041-3-10 5040-7-02 5041-6.2.2-04", after_error},
	{"first", "5040-7.1-05", first},
	{"partial", "5041-7.1-15", partial},
	{0},
};
