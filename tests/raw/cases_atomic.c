/* SPDX-License-Identifier: BSD-2-Clause */
/* RFC 7306 5: the daemon executes our atomic operations or sends the right error. */
#include <string.h>

#include "tests/raw/case.h"
#include "tests/raw/fault.h"
#include "tests/raw/stage.h"
#include "tests/raw/whole.h"

enum {
	A_STAG = RAW_ERR(0, 1, 0),
	A_BOUNDS = RAW_ERR(0, 1, 1),
	A_RIGHTS = RAW_ERR(0, 1, 2),
	A_STREAM = RAW_ERR(0, 1, 3),
	A_WRAP = RAW_ERR(0, 1, 4),
	OPCODE = RAW_ERR(0, 2, 6),
	ALIGNMENT = RAW_ERR(0, 2, 7),
	LENGTH = RAW_ERR(0, 2, 0xff),
	U_QN = RAW_ERR(1, 2, 1),
	U_BUFFER = RAW_ERR(1, 2, 2),
	ADD = 0,
	SWAP = 2,
	BASE = 0x40000,
	LEN = 4096,
	ALL = DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ | DDP_ACCESS_REMOTE_ATOMIC,
};

struct cells {
	struct fault f;
	struct client_region r;
	uint64_t *cell;
	uint32_t msn, answers; /* next of queue 1, of queue 3 */
};

static struct cells open_with(const struct client_opts *o)
{
	struct cells c = {.f = fault_new(o), .msn = 1, .answers = 1};

	c.r = client_region(client_pd(), LEN, BASE, ALL);
	c.cell = (uint64_t *)(void *)c.r.p;
	return c;
}

static struct raw_atomic add(const struct cells *c, uint64_t to, uint64_t v)
{
	return (struct raw_atomic){ADD, 7, c->r.mr->rkey, to, v, 0, 0, UINT64_MAX};
}

static struct raw_atomic swap(const struct cells *c, uint64_t to, uint64_t old, uint64_t new)
{
	return (struct raw_atomic){SWAP, 8, c->r.mr->rkey, to, new, UINT64_MAX, old, UINT64_MAX};
}

static void send_atomic(struct cells *c, struct raw_atomic a)
{
	pair_tx(&c->f.p, raw_atomic(c->msn++, a));
}

static void answered(struct cells *c, uint32_t id, uint64_t old)
{
	struct raw_msg want = raw_atomic_answer(c->answers++, id, old);

	link_expect(c->f.p.l, c->f.p.sid, &want, "the Atomic Response");
}

/* ---- what they do ---- */

static void operations(void)
{
	/* operation, before, data, mask, compare, its mask, after */
	static const uint64_t t[][7] = {
		{ADD, 0x10, 5, 0, 0, 0, 0x15},
		{ADD, UINT64_MAX, 1, 0, 0, 0, 0},
		{ADD, UINT64_MAX, 1, 1ull << 63, 0, 0, 0},
		{ADD, 0xffffffff, 1, 0x8000000080000000, 0, 0, 0},
		{ADD, UINT64_MAX, 0x100000001, 0x8000000080000000, 0, 0, 0},
		{ADD, 0x00ff00ff00ff00ff, 0x0001000100010001, 0x8080808080808080, 0, 0, 0},
		{ADD, 0x1234, 0, 0, 0, 0, 0x1234},
		{ADD, 7, 5, UINT64_MAX, 0, 0, 2}, /* 64 adders of one bit */
		{SWAP, 0x15, 0x99, UINT64_MAX, 0x15, UINT64_MAX, 0x99},
		{SWAP, 0x16, 0x99, UINT64_MAX, 0x15, UINT64_MAX, 0x16},
		{SWAP, 0xaabb, 0x11, 0xff, 0xaa00, 0xff00, 0xaa11},
		{SWAP, 7, 1, 0xf, 0xff, 0, 1},
		{SWAP, 0x1122334455667788, 0, 0, 0, 0, 0x1122334455667788},
	};
	struct cells c = open_with(&(struct client_opts){.recvs = 1, .size = 64});

	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct raw_atomic a = {(uint32_t)t[i][0], i * 0x10001, c.r.mr->rkey, BASE + 8 * i,
				       t[i][1 + 1],       t[i][3],     t[i][4],      t[i][5]};

		c.cell[i] = t[i][1];
		send_atomic(&c, a);
		answered(&c, i * 0x10001, t[i][1]);
		EXPECT(c.cell[i] == t[i][6], "row %u: %llx instead of %llx", i,
		       (unsigned long long)c.cell[i], (unsigned long long)t[i][6]);
		c.cell[i] = 0x5a5a5a5a5a5a5a5a;
	}
	client_untouched(&c.r, 0, 0);
	pair_marker(c.f.p.l); /* the client got no event */
	client_idle(c.f.p.v.rcq);
	client_idle(c.f.p.v.scq);
	pair_alive(&c.f.p);
	pair_end(&c.f.p);
}

/* Reserved bits, the Invalidate STag, and the fields that the operation ignores. */
static void ignored(void)
{
	struct cells c = open_with(NULL);
	struct raw_atomic a = add(&c, BASE, 1);
	struct raw_msg m;

	c.cell[0] = 1;
	a.op = 0xfffffff0 | ADD;
	a.compare = a.compare_mask = 0x123456789;
	m = raw_atomic(c.msn++, a);
	memset(m.b + RAW_HOP + 2, 0xee, 4);
	m.b[RAW_HOP] |= 0x3c;
	m.b[RAW_HOP + 1] |= 0x30;
	pair_tx(&c.f.p, m);
	answered(&c, a.id, 1);
	EXPECT(c.cell[0] == 2, "the sum is %llx", (unsigned long long)c.cell[0]);
	pair_alive(&c.f.p);
	pair_end(&c.f.p);
}

/* The alignment of the address counts, not of the offset. */
static void aligned(void)
{
	struct cells c = open_with(NULL);
	struct client_region odd = client_region(client_pd(), 64, 3, ALL);
	struct raw_atomic a = add(&c, 3, 1);

	a.stag = odd.mr->rkey;
	memset(odd.p, 0, 64);
	for (a.to = 3; a.to < 64; a.to += 8) {
		send_atomic(&c, a);
		answered(&c, a.id, 0);
	}
	for (unsigned i = 0; i < 8; i++)
		EXPECT(((uint64_t *)(void *)odd.p)[i] == 1, "cell %u is not 1", i);
	client_guards(&odd);
	memset(odd.p, CLIENT_FILL, 64);
	pair_end(&c.f.p);
	pair_next(&c.f.p);
	for (uint32_t i = 1; i < 8; i++) {
		struct raw_atomic s = swap(&c, BASE + i, 0, 1);

		fault_try(&c.f, "misaligned FetchAdd", raw_atomic(1, add(&c, BASE + i, 1)),
			  ALIGNMENT);
		s.compare_mask = 0;
		fault_try(&c.f, "misaligned CmpSwap", raw_atomic(1, s), ALIGNMENT);
	}
	a.to = 8;
	fault_try(&c.f, "offset 8 of odd base", raw_atomic(1, a), ALIGNMENT);
	client_untouched(&c.r, 0, 0);
	client_untouched(&odd, 0, 0);
}

/* ---- errors ---- */

static void codes(void)
{
	struct cells c = open_with(NULL);

	for (uint32_t op = 0; op < 16; op++) {
		struct raw_atomic a = add(&c, BASE, 1);

		a.op = op;
		if (op != ADD && op != SWAP)
			fault_try(&c.f, "AOpCode", raw_atomic(1, a), OPCODE);
	}
	client_untouched(&c.r, 0, 0);
}

static void targets(void)
{
	struct cells c = open_with(NULL);
	struct pair other = pair_passive(c.f.p.l, 100, NULL);
	struct client_region plain = client_region(
		client_pd(), 64, BASE, DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ);
	struct client_region tied = client_region(client_pd(), 64, BASE, ALL), other_domain;
	struct raw_atomic a = add(&c, BASE, 1);
	struct ddp_pd *pd;

	MUST(ddp_alloc_pd(client_ctx(), &pd));
	other_domain = client_region(pd, 64, BASE, ALL);
	MUST(ddp_bind_mr(tied.mr, other.v.qp));
	fault_try(&c.f, "after the end", raw_atomic(1, add(&c, BASE + LEN, 1)), A_BOUNDS);
	fault_try(&c.f, "below", raw_atomic(1, add(&c, BASE - 8, 1)), A_BOUNDS);
	fault_try(&c.f, "wrap", raw_atomic(1, add(&c, UINT64_MAX - 3, 1)), A_WRAP);
	a.stag ^= 0x01000000;
	fault_try(&c.f, "no such STag", raw_atomic(1, a), A_STAG);
	a.stag ^= 0x01000001;
	fault_try(&c.f, "another key", raw_atomic(1, a), A_STAG);
	a.stag = plain.mr->rkey;
	fault_try(&c.f, "no right", raw_atomic(1, a), A_RIGHTS);
	a.stag = tied.mr->rkey;
	fault_try(&c.f, "another session's", raw_atomic(1, a), A_STREAM);
	a.stag = other_domain.mr->rkey;
	fault_try(&c.f, "another domain", raw_atomic(1, a), A_STREAM);
	client_untouched(&c.r, 0, 0);
	client_untouched(&plain, 0, 0);
	client_untouched(&tied, 0, 0);
	client_untouched(&other_domain, 0, 0);
}

static void form(void)
{
	static const uint8_t more[4];
	struct cells c = open_with(NULL);
	struct raw_msg m = raw_atomic(1, add(&c, BASE, 1));

	m.len--;
	fault_try(&c.f, "51 bytes", m, LENGTH);
	m.len++;
	raw_put(&m, more, 1);
	fault_try(&c.f, "53 bytes", m, LENGTH);
	m.len = RAW_HOP + RAW_UNTAGGED + RAW_READ;
	fault_try(&c.f, "28 bytes", m, LENGTH);
	m.len = RAW_HOP + RAW_UNTAGGED;
	fault_try(&c.f, "0 bytes", m, LENGTH);
	m = raw_atomic(1, add(&c, BASE, 1));
	m.b[RAW_HOP + 1] = 0x0a; /* RV 0 has no atomics */
	fault_try_any(&c.f, "RV 0", m, (uint16_t[]){RAW_ERR(0, 2, 5), OPCODE}, 2);
	client_untouched(&c.r, 0, 0);
}

/* ---- order ---- */

static void with_reads(void)
{
	struct cells c = open_with(NULL);
	struct raw_read r = {1, 2, 8, c.r.mr->rkey, BASE};
	uint64_t one = 1, three = 3;

	c.cell[0] = 0;
	send_atomic(&c, add(&c, BASE, 1));
	pair_tx(&c.f.p, raw_read(c.msn++, r));
	send_atomic(&c, add(&c, BASE, 2));
	pair_tx(&c.f.p, raw_read(c.msn++, r));
	answered(&c, 7, 0);
	/* A Read may return later data, but responses have the order of the requests.
	 */
	{
		struct whole w = whole_take(c.f.p.l, c.f.p.sid);

		EXPECT(w.tagged && w.len == 8 &&
			       (memcmp(w.data, &one, 8) == 0 || memcmp(w.data, &three, 8) == 0),
		       "the first Read has neither 1 nor 3");
	}
	answered(&c, 7, 1);
	whole_response(c.f.p.l, c.f.p.sid, r, (const uint8_t *)&three);
	/* Each one needs the result of the previous one. */
	for (uint64_t i = 3; i < 13; i++)
		send_atomic(&c, swap(&c, BASE, i, i + 1));
	for (uint64_t i = 3; i < 13; i++)
		answered(&c, 8, i);
	EXPECT(c.cell[0] == 13, "%llu in the end", (unsigned long long)c.cell[0]);
	pair_end(&c.f.p);
}

static void after_write(void)
{
	struct cells c = open_with(NULL);
	uint64_t value = 0x1122334455667788;
	struct raw_msg write = raw_write(c.r.mr->rkey, BASE + 8, &value, 8);
	struct raw_msg atomic = raw_atomic(1, add(&c, BASE + 8, 0));

	link_send_as(c.f.p.l, c.f.p.sid, 2, &atomic);
	pair_marker(c.f.p.l);
	EXPECT(link_waiting(c.f.p.l, c.f.p.sid) == 0, "an answer before the Write came");
	link_send_as(c.f.p.l, c.f.p.sid, 1, &write);
	answered(&c, 7, value);
	client_untouched(&c.r, 8, 8);
}

/* Atomics and Reads count together. */
static void depth(void)
{
	struct cells c = open_with(&(struct client_opts){.ird = 2});
	struct client_region big = client_region(client_pd(), 16 << 20, 0, DDP_ACCESS_REMOTE_READ);
	struct raw_msg third, want, end = raw_control(RAW_END, NULL, 0);
	struct whole w;

	pair_tx(&c.f.p, raw_read(c.msn++, (struct raw_read){1, 2, 16 << 20, big.mr->rkey, 0}));
	send_atomic(&c, add(&c, BASE, 1));
	third = raw_atomic(c.msn, add(&c, BASE + 8, 1));
	pair_tx(&c.f.p, third);
	w = whole_take(c.f.p.l, c.f.p.sid);
	want = raw_terminate_for(U_BUFFER, &third);
	EXPECT(w.cut && raw_same(&w.term, &want), "Terminate %04x", raw_error(&w.term));
	link_expect(c.f.p.l, c.f.p.sid, &end, "Session Terminate");
	pair_tx(&c.f.p, end);
	pair_disconnected(&c.f.p, true, U_BUFFER);
	client_untouched(&c.r, 0, 8);
}

/* ---- together ---- */

enum { SESSIONS = 8, ROUNDS = 100 };

/* Several sessions and the program itself add to one cell: no addition is lost. */
static void shared(void)
{
	struct cells c = open_with(NULL);
	struct pair p[SESSIONS];

	p[0] = c.f.p;
	for (uint16_t i = 1; i < SESSIONS; i++)
		p[i] = pair_passive(c.f.p.l, (uint16_t)(2 * i), NULL);
	c.cell[0] = 0;
	for (uint32_t k = 1; k <= ROUNDS; k++) {
		for (unsigned i = 0; i < SESSIONS; i++)
			pair_tx(&p[i], raw_atomic(k, add(&c, BASE, 1)));
		for (unsigned i = 0; i < 1000; i++)
			__atomic_fetch_add(c.cell, 1, __ATOMIC_SEQ_CST);
		for (unsigned i = 0; i < SESSIONS; i++)
			(void)link_take(p[i].l, p[i].sid);
	}
	EXPECT(c.cell[0] == ROUNDS * (SESSIONS + 1000), "%llu of %u", (unsigned long long)c.cell[0],
	       ROUNDS * (SESSIONS + 1000));
}

/* ---- switched off ---- */

static void off(void)
{
	struct fault f;
	struct raw_atomic a = {.id = 1, .to = FAULT_BASE};
	struct ddp_caps caps = DDP_INIT(ddp_caps);

	stage.daemon[STAGE_DAEMON] = stage.daemon[STAGE_OFF];
	f = fault_new(NULL);
	MUST(ddp_query(client_ctx(), &caps));
	EXPECT(!(caps.features & DDP_CAP_ATOMIC), "the capability is reported");
	a.stag = f.r.mr->rkey;
	fault_try(&f, "Immediate Data", raw_imm(RAW_IMM, 2, 0), OPCODE);
	fault_try(&f, "Immediate Data with SE", raw_imm(RAW_IMM_SE, 2, 0), OPCODE);
	fault_try(&f, "Atomic Request", raw_atomic(1, a), OPCODE);
	fault_try_any(&f, "Atomic Response", raw_atomic_answer(1, 1, 0), (uint16_t[]){OPCODE, U_QN},
		      2);
}

static void capability(void)
{
	struct ddp_caps caps = DDP_INIT(ddp_caps);

	client_open(0);
	MUST(ddp_query(client_ctx(), &caps));
	EXPECT(caps.features & DDP_CAP_ATOMIC, "the capability is not reported");
}

#define ROWS "7306-8.1-02 7306-8.2-01 "

const struct raw_case case_atomic[] = {
	{"atomic-operations",
	 "7306-5-03 7306-5-05 7306-5.1.1-05 7306-5.1.1-06 7306-5.1.2-01 7306-5.2-01 7306-5.2.1-01 "
	 "7306-5.2.1-05 7306-5.2.1-06 7306-5.2.1-10 7306-5.2.2-01 7306-1.1-01 7306-1.1-03",
	 operations},
	{"atomic-ignored", "7306-4.1-04", ignored},
	{"atomic-aligned",
	 ROWS "7306-5.1.1-02 7306-5.1.1-03 7306-5.1.1-04 7306-5.1.2-03 7306-5.1.2-04 "
	      "7306-5.2.1-02 7306-8.2-02",
	 aligned},
	{"atomic-codes", ROWS "7306-5.2.1-01 7306-5.2.1-07", codes},
	{"atomic-targets", ROWS "5041-8.3.1-01 5041-8.3.1-05", targets},
	{"atomic-form", ROWS "7306-4.2-01", form},
	{"atomic-order",
	 "7306-5.2.1-09 7306-5.2.2-06 7306-5.4-07 7306-7-01 7306-7-03 7306-5.2.1-08", with_reads},
	{"atomic-after-write", "7306-5.4-02 7306-5.4-04", after_write},
	{"atomic-depth", "7306-5.2.1-04 7306-5.2.2-02", depth},
	{"atomic-shared", "7306-5-01 7306-5-02 7306-5.3-01", shared},
	{"extensions-off", "5040-7.2-02 7306-1.1-03", off},
	{"extensions-on", "7306-1.1-02", capability},
	{0},
};
