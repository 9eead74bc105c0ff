/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The longest messages at the highest tagged offsets: a Send, a Write and a Read of 2^32 - 1 bytes
 * each, in so many segments that the DDP-SSN wraps many times, with the maximum number of messages
 * in flight. No byte is copied; only the placement targets are checked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "proto/ddp/ssn.h"
#include "tests/lib/early_memory.h"
#include "tests/lib/names.h"
#include "tests/sim/world.h"

enum {
	MULPDU = 16384,
	AROUND = 64,           /* messages among which the next one to arrive is drawn */
	UNDER_WAY_MAX = 32767, /* RFC 5043 10 */
	KEPT = 2,              /* for the end of the session */
	STAG = 0x1234500,
};

static const uint64_t FIRST = UINT64_MAX - UINT32_MAX; /* the last byte has offset 2^64 - 2 */

/* A message in flight, its payload as an offset in the sender's memory. */
struct flight {
	struct assoc_seg seg;
	uint64_t off;
	uint32_t payload;
};

struct end {
	struct assoc *assoc;
	struct rdmap *ep;
	uint8_t *base;
	struct stag_table *stags;
	struct test_blocks *pool;
	unsigned taken;   /* requests taken */
	unsigned recvs;   /* receives taken */
	unsigned done;    /* completions, all of them of UINT32_MAX bytes */
	unsigned unacked; /* messages sent since all were acknowledged */
	uint64_t got;     /* payload that arrived */
};

static struct end ends[2];
static struct flight flights[AROUND];
static unsigned in_flight, most_unacked;
static uint64_t messages, state = 1;

__attribute__((noreturn)) static void die(const char *what)
{
	printf("FAILED: a message of 2^32 - 1 bytes: %s\nreproduce: sim --longest\n", what);
	exit(1);
}

static unsigned draw(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((state >> 33) % n);
}

/* ---- the programs: one sends, writes and reads, the other receives ---- */

static bool take_send(void *user, struct rdmap_wr *ret)
{
	static const enum rdmap_op ops[] = {RDMAP_SEND, RDMAP_WRITE, RDMAP_READ};
	struct end *e = user;

	if (e != &ends[0] || e->taken == sizeof(ops) / sizeof(ops[0]))
		return false;
	*ret = (struct rdmap_wr){
		.op = (uint8_t)ops[e->taken++],
		.flags = RDMAP_SIGNALED,
		.nsge = 1,
		.rstag = STAG,
		.rto = FIRST,
		.sge[0] = {FIRST, UINT32_MAX, STAG},
	};
	return true;
}

static bool take_recv(void *user, struct rdmap_recv *ret)
{
	struct end *e = user;

	if (e->recvs > 0)
		return false;
	e->recvs++;
	*ret = (struct rdmap_recv){.nsge = 1, .sge[0] = {FIRST, UINT32_MAX, STAG}};
	return true;
}

static void complete(void *user, const struct rdmap_done *done)
{
	struct end *e = user;

	if (done->status != RDMAP_SUCCESS)
		die(names_status(done->status));
	if ((done->op == RDMAP_RECV || done->op == RDMAP_READ) && done->len != UINT32_MAX)
		die("the completion has the wrong length");
	e->done++;
}

static const struct rdmap_ops ops = {
	.take_send = take_send,
	.take_recv = take_recv,
	.complete = complete,
};

/* ---- the wire ---- */

static void arrive(struct end *to, const struct flight *f)
{
	struct assoc_msg m = {
		.sid = f->seg.sid,
		.ppid = f->seg.ppid,
		.len = f->seg.len,
		.head = f->seg.head,
		.head_len = f->seg.head_len,
	};
	struct assoc_place place;

	if (assoc_rx(to->assoc, &m, &place) == ASSOC_RX_PLACE) {
		if (place.ndst != 1 || place.len != f->payload ||
		    (uint64_t)(place.dst[0].p - to->base) != f->off)
			die("the target of a segment differs from its source");
		to->got += place.len;
	} else if (f->payload > 0) {
		die("a segment has no target");
	}
	assoc_rx_placed(to->assoc);
}

/* One of the messages in flight arrives. */
static void let_arrive(struct end *to)
{
	unsigned i = draw(in_flight);

	arrive(to, &flights[i]);
	flights[i] = flights[--in_flight];
}

static bool send_one(struct end *e)
{
	struct flight *f = &flights[in_flight];

	if (!assoc_tx_next(e->assoc, MULPDU, &f->seg))
		return false;
	if (f->seg.nbody > 1 || f->seg.len > MULPDU + WIRE_SSN_LEN)
		die("a segment is too long, or in pieces");
	f->payload = f->seg.nbody ? (uint32_t)f->seg.body[0].len : 0;
	f->off = f->seg.nbody ? (uint64_t)(f->seg.body[0].p - e->base) : 0;
	in_flight++;
	messages++;
	if (++e->unacked > most_unacked)
		most_unacked = e->unacked;
	assoc_tx_accepted(e->assoc);
	return true;
}

/* One end sends everything that it can; the messages are acknowledged when the limit in flight is
 * reached. */
static bool send_all(struct end *from, struct end *to)
{
	uint64_t before = messages;

	while (send_one(from))
		if (in_flight == AROUND)
			let_arrive(to);
	while (in_flight > 0)
		let_arrive(to);
	assoc_tx_acked(from->assoc);
	from->unacked = 0;
	return messages != before;
}

static void handle_events(struct end *e)
{
	struct assoc_params none = {0};
	struct assoc_event ev;

	while (assoc_event(e->assoc, &ev)) {
		if (ev.type == ASSOC_EV_REQUEST)
			assoc_accept(e->assoc, ev.sid, e->ep, &none);
		else if (ev.type != ASSOC_EV_ACCEPTED)
			die("its session ended");
	}
}

/* ---- from beginning to end ---- */

static void set_up(struct end *e, bool opener)
{
	struct stag_region r = {
		.stag = STAG,
		.rights = STAG_LOCAL_WRITE | STAG_REMOTE_WRITE | STAG_REMOTE_READ,
		.pd = 1,
		.to = FIRST,
		.len = UINT32_MAX,
	};
	struct assoc_cfg cfg = {
		.streams = 2,
		.even = opener,
		.pending_max = 1,
		.records_max = UINT16_MAX,
		.early_max = 4096,
		.early_memory = early_memory,
		.answer_ms = 1000,
		.close_ms = 1000,
	};
	struct rdmap_cfg ep = {
		.accessor = {.pd = 1, .scope = 1},
		.ord = 1,
		.ird = 1,
		.sq_depth = 4,
		.rq_depth = 4,
		.max_recv_sge = 1,
	};

	e->base = mmap(NULL, UINT32_MAX, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		       0);
	if (e->base == MAP_FAILED)
		die("the address space is too small");
	e->stags = stag_table_init(alloc_zeroed(stag_table_size(1)), 1);
	r.base = e->base;
	stag_add(e->stags, &r);
	ep.stags = e->stags;
	e->pool = test_blocks_new(rdmap_blocks(&ep) + assoc_blocks() +
				  ssn_store_blocks(cfg.records_max));
	cfg.pool = ep.pool = &e->pool->blocks;
	blocks_reserve(ep.pool, rdmap_blocks(&ep) + assoc_blocks());
	e->ep = rdmap_init(alloc_zeroed(rdmap_size(&ep)), &ep, &ops, e);
	e->assoc = assoc_init(alloc_zeroed(assoc_size(&cfg)), &cfg);
}

unsigned longest_run(void)
{
	struct assoc_params none = {0};
	uint16_t sid;
	bool more;

	set_up(&ends[0], true);
	set_up(&ends[1], false);
	assoc_connect(ends[0].assoc, ends[0].ep, &none, &sid);
	do {
		more = send_all(&ends[0], &ends[1]);
		handle_events(&ends[1]);
		more |= send_all(&ends[1], &ends[0]);
		handle_events(&ends[0]);
	} while (more);
	if (ends[0].done != 3 || ends[1].done != 1)
		die("not all of them completed");
	if (ends[1].got != 2 * (uint64_t)UINT32_MAX || ends[0].got != UINT32_MAX)
		die("bytes are missing or duplicate");
	if (most_unacked > UNDER_WAY_MAX || most_unacked < UNDER_WAY_MAX - KEPT)
		die("the largest number of messages in flight is not 32767");
	return (unsigned)messages;
}
