/* SPDX-License-Identifier: BSD-2-Clause */
/* RFC 5041 4 and 5: placement, ignored fields, and when a message is delivered. */
#include <string.h>

#include "tests/raw/case.h"
#include "tests/raw/fault.h"
#include "tests/raw/stage.h"

static uint8_t bytes[1200];

static void fill(void)
{
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 13 + (i >> 8));
}

static void has(const uint8_t *p, uint32_t from, uint32_t n, const char *what)
{
	EXPECT(memcmp(p, bytes + from, n) == 0, "%s: other bytes", what);
}

/* ---- ignored fields ---- */

static void reserved(void)
{
	struct fault f = fault_new(NULL);
	struct raw_queue q = {.msn = 1};

	fill();
	/* The reserved bits of both control octets. */
	pair_tx(&f.p, raw_tagged(0xc1 | 0x3c, 0x40 | 0x30, f.r.mr->rkey, FAULT_BASE, bytes, 8));
	pair_tx(&f.p, raw_untagged(0x41 | 0x3c, 0x43 | 0x30, q, bytes, 8));
	client_received(&f.p.v, 0, 8);
	has(client_inbox(&f.p.opts, 0), 0, 8, "a Send with all reserved bits");
	has(f.r.p, 0, 8, "a Write with all reserved bits");
	client_untouched(&f.r, 0, 8);
	f.p.msn = 2;
	pair_alive(&f.p);
	pair_end(&f.p);
}

static void nothing_tagged(void)
{
	struct fault f = fault_new(NULL);
	struct client_region ro = client_region(client_pd(), 64, 0x4000, 0);

	pair_tx(&f.p, raw_write(0, 0, NULL, 0));
	pair_tx(&f.p, raw_write(UINT32_MAX, UINT64_MAX, NULL, 0));
	pair_tx(&f.p, raw_write(f.r.mr->rkey, 0, NULL, 0));
	pair_tx(&f.p, raw_write(f.r.mr->rkey ^ 1, FAULT_BASE, NULL, 0));
	pair_tx(&f.p, raw_write(ro.mr->rkey, UINT64_MAX, NULL, 0));
	pair_alive(&f.p);
	client_idle(f.p.v.rcq);
	pair_end(&f.p);
	client_untouched(&f.r, 0, 0);
}

static void nothing_untagged(void)
{
	struct pair p = pair_new(NULL);
	struct raw_msg m = raw_untagged(RAW_UL, RAW_SEND_SE, (struct raw_queue){.msn = 2}, NULL, 0);

	pair_tx(&p, raw_send(1, NULL, 0));
	pair_tx(&p, m);
	client_received(&p.v, 0, 0);
	EXPECT(client_received(&p.v, 1, 0).wc_flags & DDP_WC_SOLICITED, "SE was not reported");
	p.msn = 3;
	pair_alive(&p);
	EXPECT(client_inbox(&p.opts, 0)[0] == CLIENT_FILL, "unexpected bytes were placed");
	pair_end(&p);
}

/* Invalidate STag where it has no meaning. */
static void unused_stag(void)
{
	struct fault f = fault_new(NULL);
	struct raw_queue q = {.inv = f.r.mr->rkey, .msn = 1};
	struct ddp_wc wc;

	fill();
	pair_tx(&f.p, raw_untagged(RAW_UL, RAW_SEND, q, bytes, 4));
	wc = client_received(&f.p.v, 0, 4);
	EXPECT(!(wc.wc_flags & DDP_WC_WITH_INV), "something was invalidated");
	q = (struct raw_queue){.inv = 0xdeadbeef, .msn = 2};
	pair_tx(&f.p, raw_untagged(RAW_UL, RAW_SEND_SE, q, bytes, 4));
	wc = client_received(&f.p.v, 1, 4);
	EXPECT(wc.wc_flags == DDP_WC_SOLICITED, "flags %x", wc.wc_flags);
	pair_tx(&f.p, raw_write(f.r.mr->rkey, FAULT_BASE, bytes, 4));
	f.p.msn = 3;
	pair_alive(&f.p);
	has(f.r.p, 0, 4, "the region is still there");
	pair_end(&f.p);
}

/* ---- placement ---- */

static void segments(void)
{
	static const struct client_opts o = {.recvs = 4, .size = 1200};
	struct pair p = pair_new(&o);
	struct raw_queue q = {.msn = 1};

	fill();
	/* In order. */
	pair_tx(&p, raw_untagged(RAW_U, RAW_SEND, q, bytes, 1));
	q.mo = 1;
	pair_tx(&p, raw_untagged(RAW_U, RAW_SEND, q, bytes + 1, 999));
	q.mo = 1000;
	pair_tx(&p, raw_untagged(RAW_UL, RAW_SEND, q, bytes + 1000, 200));
	client_received(&p.v, 0, 1200);
	has(client_inbox(&o, 0), 0, 1200, "three segments");
	/* The last one has the highest MO; the others may come in any order. */
	q = (struct raw_queue){.msn = 2, .mo = 100};
	pair_tx(&p, raw_untagged(RAW_U, RAW_SEND, q, bytes + 100, 100));
	q.mo = 0;
	pair_tx(&p, raw_untagged(RAW_U, RAW_SEND, q, bytes, 100));
	q.mo = 200;
	pair_tx(&p, raw_untagged(RAW_UL, RAW_SEND, q, bytes + 200, 1));
	client_received(&p.v, 1, 201);
	has(client_inbox(&o, 1), 0, 201, "segments in another order");
	EXPECT(client_inbox(&o, 1)[201] == CLIENT_FILL, "a byte too many");
	/* A last segment without bytes, and a message that is shorter than its buffer. */
	q = (struct raw_queue){.msn = 3};
	pair_tx(&p, raw_untagged(RAW_U, RAW_SEND, q, bytes, 7));
	q.mo = 7;
	pair_tx(&p, raw_untagged(RAW_UL, RAW_SEND, q, NULL, 0));
	client_received(&p.v, 2, 7);
	p.msn = 4;
	pair_alive(&p);
	pair_end(&p);
}

/* A message whose last segment is there, but not its first one, is not delivered. */
static void incomplete(void)
{
	static const struct client_opts o = {.recvs = 2, .size = 64};
	struct pair p = pair_new(&o);
	struct raw_queue q = {.msn = 1, .mo = 8};
	struct raw_msg last, first;

	fill();
	last = raw_untagged(RAW_UL, RAW_SEND, q, bytes + 8, 8);
	q.mo = 0;
	first = raw_untagged(RAW_U, RAW_SEND, q, bytes, 8);
	link_send_as(p.l, p.sid, 2, &last);
	pair_marker(p.l);
	client_idle(p.v.rcq);
	link_send_as(p.l, p.sid, 1, &first);
	link_skip(p.l, p.sid, 2);
	client_received(&p.v, 0, 16);
	has(client_inbox(&o, 0), 0, 16, "two segments");
	p.msn = 2;
	pair_alive(&p);
	pair_end(&p);
}

static void writes(void)
{
	static const uint16_t at[] = {0, 1, 3, 100, 255, 4095};
	struct fault f = fault_new(NULL);
	uint32_t key = f.r.mr->rkey;

	fill();
	for (unsigned i = 0; i < 6; i++)
		pair_tx(&f.p, raw_write(key, FAULT_BASE + at[i], bytes + i, 1));
	pair_tx(&f.p, raw_tagged(RAW_T, RAW_WRITE, key, FAULT_BASE + 1001, bytes, 1000));
	pair_tx(&f.p, raw_tagged(RAW_T, RAW_WRITE, key, FAULT_BASE + 2001, bytes, 3));
	pair_tx(&f.p, raw_tagged(RAW_TL, RAW_WRITE, key, FAULT_BASE + 2004, bytes, 1));
	pair_alive(&f.p);
	client_idle(f.p.v.rcq);
	for (unsigned i = 0; i < 6; i++)
		EXPECT(f.r.p[at[i]] == bytes[i], "the Write at %u is not there", at[i]);
	has(f.r.p + 1001, 0, 1000, "the first segment");
	has(f.r.p + 2001, 0, 3, "the second segment");
	has(f.r.p + 2004, 0, 1, "the last segment");
	EXPECT(f.r.p[1000] == CLIENT_FILL && f.r.p[2005] == CLIENT_FILL, "bytes beside the Write");
	client_guards(&f.r);
	pair_end(&f.p);
	client_no_event();
}

/* Tagged offsets are independent of addresses. */
static void high_base(void)
{
	static const uint64_t base[] = {0, 3, 0xffffffffull, 1ull << 63, UINT64_MAX - 64};
	struct pair p = pair_new(&(struct client_opts){.recvs = 5, .size = 16});

	fill();
	for (unsigned i = 0; i < 5; i++) {
		struct client_region r =
			client_region(client_pd(), 64, base[i], DDP_ACCESS_REMOTE_WRITE);

		pair_tx(&p, raw_write(r.mr->rkey, base[i], bytes, 64));
		pair_alive(&p);
		has(r.p, 0, 64, "the whole region");
		client_guards(&r);
	}
	pair_end(&p);
}

/* The bytes of a Write before a Send are placed when the Send is delivered. */
static void many(void)
{
	static const struct client_opts o = {.recvs = 100, .size = 16};
	struct fault f = fault_new(&o);

	for (uint32_t i = 0; i < 100; i++) {
		pair_tx(&f.p, raw_write(f.r.mr->rkey, FAULT_BASE + 4 * i, &i, 4));
		pair_tx(&f.p, raw_send(i + 1, &i, 4));
	}
	for (uint32_t i = 0; i < 100; i++) {
		client_received(&f.p.v, i, 4);
		EXPECT(memcmp(f.r.p + 4 * i, &i, 4) == 0, "Write %u is not there", i);
		EXPECT(memcmp(client_inbox(&o, i), &i, 4) == 0, "Send %u has other bytes", i);
	}
	f.p.v.posted = 0;
	pair_end(&f.p);
}

const struct raw_case case_place[] = {
	{"reserved", "5041-4.1-09 5040-4.1-09", reserved},
	{"nothing-tagged", "5041-5.2-09 5041-5.2-10 5040-5.1-02", nothing_tagged},
	{"nothing-untagged", "5041-5.2-08 5040-5.3-11 5040-5.3-06", nothing_untagged},
	{"unused-stag", "5040-4.1-11", unused_stag},
	{"segments",
	 "5041-4.1-02 5041-5.2-04 5041-5.4-03 5041-3-04 5041-3-08 5040-5.3-02 5040-5.3-03",
	 segments},
	{"incomplete", "5041-4.1-07 5041-5.4-02 5040-5.5-12", incomplete},
	{"writes", "5041-4.1-01 5041-4.2-08 5041-5.2-04 5040-5.1-02 5040-5.1-05 4296-2.2.1-02",
	 writes},
	{"high-base", "5040-5.1-04 4296-2.1.2-12", high_base},
	{"many", "5040-5.1-07 5040-5.3-05 5040-5.5-04 5041-5.3-06 4296-2.1.2-04 4296-2.2.1-04",
	 many},
	{0},
};
