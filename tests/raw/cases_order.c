/* SPDX-License-Identifier: BSD-2-Clause */
/* RFC 5043 6.1 and 10: only the DDP-SSN defines the order. */
#include <string.h>

#include "tests/raw/case.h"
#include "tests/raw/pair.h"
#include "tests/raw/stage.h"

enum { N = 5, FACTORIAL = 120 };

/* The k-th permutation of 0 .. n - 1. */
static void permutation(unsigned k, unsigned n, unsigned *ret)
{
	unsigned left[N];

	for (unsigned i = 0; i < n; i++)
		left[i] = i;
	for (unsigned i = 0; i < n; i++) {
		unsigned at = k % (n - i);

		k /= n - i;
		ret[i] = left[at];
		for (unsigned j = at; j + 1 < n - i; j++)
			left[j] = left[j + 1];
	}
}

static const struct client_opts two = {.recvs = 2, .size = 64};

/* A Write, a Send in two segments, a Send, and the Terminate, under the DDP-SSNs from `first`. */
static void make(struct raw_msg m[N], const struct client_region *r)
{
	struct raw_queue q = {.msn = 1};

	m[0] = raw_write(r->mr->rkey, r->mr->iova, "WRITTEN!", 8);
	m[1] = raw_untagged(RAW_U, RAW_SEND, q, "one ", 4);
	q.mo = 4;
	m[2] = raw_untagged(RAW_UL, RAW_SEND, q, "message", 7);
	m[3] = raw_send(2, "two", 3);
	m[4] = raw_control(RAW_END, NULL, 0);
}

static void send_in_order(struct pair *p, const struct raw_msg *m, const unsigned *order,
			  unsigned n, uint16_t first)
{
	for (unsigned i = 0; i < n; i++)
		link_send_as(p->l, p->sid, (uint16_t)(first + order[i]), &m[order[i]]);
}

static void check(struct pair *p, const struct client_region *r)
{
	struct raw_msg end = raw_control(RAW_END, NULL, 0);

	client_received(&p->v, 0, 11);
	EXPECT(memcmp(client_inbox(&two, 0), "one message", 11) == 0, "other bytes arrived");
	EXPECT(memcmp(r->p, "WRITTEN!", 8) == 0, "the Write is not there");
	client_received(&p->v, 1, 3);
	EXPECT(memcmp(client_inbox(&two, 1), "two", 3) == 0, "other bytes arrived");
	link_expect(p->l, p->sid, &end, "Session Terminate");
	pair_disconnected(p, false, 0);
	client_untouched(r, 0, 8);
	memset(r->p, CLIENT_FILL, 8);
}

static void permuted_passive(void)
{
	struct link *l = pair_listener(0);
	struct client_region r = client_region(client_pd(), 64, 0x4000, DDP_ACCESS_REMOTE_WRITE);
	struct raw_msg m[N];

	make(m, &r);
	for (unsigned k = 0; k < FACTORIAL; k++) {
		struct pair p = pair_passive(l, (uint16_t)(2 * k), &two);
		unsigned order[N];

		permutation(k, N, order);
		send_in_order(&p, m, order, N, 1);
		check(&p, &r);
	}
	link_nothing_left(l);
}

/* The Accept in the place of the Write: nothing is placed before it arrives. */
static void permuted_active(void)
{
	struct client_region r;
	struct pair p = {.opts = two};
	struct raw_msg m[N];

	client_open(0);
	link_listen(stage.port);
	r = client_region(client_pd(), 64, 0x4000, DDP_ACCESS_REMOTE_WRITE);
	make(m, &r);
	m[0] = raw_control(RAW_ACCEPT, NULL, 0);
	for (unsigned k = 0; k < FACTORIAL; k++) {
		unsigned order[N];

		p.v = client_end(NULL, &two);
		MUST(ddp_connect_name(p.v.id, stage.addr, stage.port, NULL));
		if (!p.l)
			p.l = link_from();
		p.sid = link_new_stream(p.l);
		link_begin(p.l, p.sid, true);
		(void)link_take(p.l, p.sid);
		memcpy(r.p, "WRITTEN!", 8);
		permutation(k, N, order);
		send_in_order(&p, m, order, N, 0);
		ddp_ack_cm_event(client_event(DDP_CM_ESTABLISHED));
		check(&p, &r);
	}
	link_nothing_left(p.l);
}

/* ---- a missing message delays later ones ---- */

static void gap(void)
{
	static const struct client_opts o = {.recvs = 3, .size = 64};
	struct pair p = pair_new(&o);
	struct client_region r = client_region(client_pd(), 64, 0x4000, DDP_ACCESS_REMOTE_WRITE);
	struct raw_msg w = raw_write(r.mr->rkey, r.mr->iova, "WRITTEN!", 8);
	struct raw_msg a = raw_send(1, "a", 1), b = raw_send(2, "b", 1);

	/* A Write is missing, although Writes are not delivered. */
	link_send_as(p.l, p.sid, 3, &b);
	link_send_as(p.l, p.sid, 2, &a);
	pair_marker(p.l);
	client_idle(p.v.rcq);
	link_send_as(p.l, p.sid, 1, &w);
	client_received(&p.v, 0, 1);
	client_received(&p.v, 1, 1);
	EXPECT(memcmp(r.p, "WRITTEN!", 8) == 0, "the Write is not there");
	EXPECT(client_inbox(&o, 0)[0] == 'a' && client_inbox(&o, 1)[0] == 'b', "the wrong order");
	link_skip(p.l, p.sid, 3);
	p.msn = 3;
	pair_alive(&p);
	pair_end(&p);
}

/* ---- impossible numbers ---- */

static void stale(struct pair *p, uint16_t ssn, bool placed)
{
	struct raw_msg again = raw_send(1, "other bytes", 11);
	struct raw_msg end = raw_control(RAW_END, NULL, 0);

	link_send_as(p->l, p->sid, ssn, &again);
	link_expect(p->l, p->sid, &end, "Session Terminate");
	link_send(p->l, p->sid, &end);
	EXPECT(!placed || memcmp(client_inbox(&p->opts, 0), "still here", 10) == 0,
	       "the second one overwrote the first");
	pair_disconnected(p, true, 0);
}

static void numbers(void)
{
	static const uint16_t far[] = {40000, 32769, 65535};
	struct pair p = pair_new(NULL);

	pair_alive(&p);
	pair_alive(&p);
	stale(&p, 1, true); /* the number of a Send that was delivered */
	for (unsigned i = 0; i < 3; i++) {
		pair_next(&p);
		stale(&p, far[i], false);
	}
	pair_next(&p);
	stale(&p, 0, false); /* that of the Initiate */
	/* The number of a segment that is held back. */
	pair_next(&p);
	link_send_as(p.l, p.sid, 2, &(struct raw_msg){.ppid = 16, .len = 20, .b = {0, 0, 0x41}});
	stale(&p, 2, false);
	pair_next(&p);
	pair_alive(&p);
}

/* ---- the wrap ---- */

enum { MANY = 70000 };

/* Zero-length Writes, each pair of them in reverse order, and a Send every 1000. */
static void wrap_in(void)
{
	static const struct client_opts o = {.recvs = MANY / 1000, .size = 16};
	struct pair p = pair_new(&o);
	struct raw_msg w = raw_write(0, 0, NULL, 0);
	struct raw_msg end = raw_control(RAW_END, NULL, 0);

	for (uint32_t i = 1; i < MANY; i += 2) {
		struct raw_msg s = raw_send(i / 1000 + 1, &i, 4);

		link_send_as(p.l, p.sid, (uint16_t)(i + 1), i % 1000 == 999 ? &s : &w);
		link_send_as(p.l, p.sid, (uint16_t)i, &w);
		if (i % 1000 == 999)
			client_received(&p.v, i / 1000, 4);
	}
	link_send_as(p.l, p.sid, (uint16_t)(MANY + 1), &end);
	link_expect(p.l, p.sid, &end, "Session Terminate");
	pair_disconnected(&p, false, 0);
}

static void drain(struct pair *p, unsigned n, unsigned *got)
{
	for (; *got < n; (*got)++) {
		struct raw_msg m = link_take(p->l, p->sid); /* compares the DDP-SSN */

		EXPECT(raw_opcode(&m) == 3 && raw_queue_of(&m).msn == *got + 1,
		       "message %u: MSN %u", *got, raw_queue_of(&m).msn);
	}
}

static void wrap_out(void)
{
	struct pair p = pair_new(NULL);
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND};
	unsigned got = 0;

	for (unsigned i = 0; i < MANY; i++) {
		if (i % 32 == 0)
			drain(&p, i, &got);
		wr.send_flags = i % 32 == 31 ? DDP_SEND_SIGNALED : 0;
		MUST(ddp_post_send(p.v.qp, &wr, NULL));
		if (i % 32 == 31)
			(void)client_wc(p.v.scq);
	}
	drain(&p, MANY, &got);
	pair_alive(&p);
	pair_end(&p);
}

const struct raw_case case_order[] = {
	{"permuted-passive",
	 "5043-6.1-02 5043-10-02 5041-3-06 5041-4.1-07 5041-5.3-06 5041-5.4-02 5040-5.5-04",
	 permuted_passive},
	{"permuted-active", "5043-6.1-02 5043-6.2-02 5043-10-02", permuted_active},
	{"gap", "5041-4.1-07 5041-5.4-02 5040-5.5-12 5040-5.1-07", gap},
	{"numbers", "5041-3-14 5041-5.3-05 5043-10-05 5043-10-07 5043-6.1-04", numbers},
	{"wrap-in", "5043-5.2.1-02 5043-6.1-02", wrap_in},
	{"wrap-out", "5043-5.2.1-01 5043-5.2.1-02 5043-6-02 5041-4.3-06", wrap_out},
	{0},
};
