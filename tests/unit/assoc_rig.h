/* SPDX-License-Identifier: BSD-2-Clause */
/* Setup for tests of sessions: two associations, an endpoint on each. Each test program has its
 * own. */
#ifndef TESTS_UNIT_ASSOC_RIG_H
#define TESTS_UNIT_ASSOC_RIG_H

#include <criterion/criterion.h>
#include <string.h>

#include "tests/lib/names.h"
#include "tests/lib/pair.h"
#include "tests/lib/vector.h"
#include "util/be.h"

enum {
	STAG_A = 0x0a0a0a0a,
	STAG_B = 0x0b0b0b0b,
	MEM = 8192,
	ALL = STAG_LOCAL_WRITE | STAG_REMOTE_WRITE | STAG_REMOTE_READ,
};

#define TO UINT64_C(0x4000)

static struct pair_node a, b; /* a opened the association */
static struct pair_qp *qa, *qb;

static inline void setup(void)
{
	struct assoc_cfg opener = pair_cfg(true), acceptor = pair_cfg(false);

	pair_init(&a, &opener);
	pair_init(&b, &acceptor);
	qa = pair_qp(&a);
	qb = pair_qp(&b);
	pair_region(&a, STAG_A, TO, MEM, ALL, 0);
	pair_region(&b, STAG_B, TO, MEM, ALL, 0);
}

static inline void teardown(void)
{
	pair_deinit(&a);
	pair_deinit(&b);
}

static inline struct assoc_event expect_event(struct pair_node *n, enum assoc_ev_type type)
{
	struct assoc_event ev = {0};

	cr_assert(pair_event(n, &ev), "an event of type %d", type);
	cr_assert_eq(ev.type, type, "event %d, not %d", ev.type, type);
	return ev;
}

static inline void expect_no_event(struct pair_node *n)
{
	struct assoc_event ev;

	cr_expect_not(pair_event(n, &ev), "event %d", ev.type);
}

static inline void expect_closed(struct pair_node *n, const struct pair_qp *qp,
				 enum assoc_reason reason)
{
	struct assoc_event ev = expect_event(n, ASSOC_EV_CLOSED);

	cr_expect_eq(ev.ep, qp->ep);
	cr_expect_eq(ev.reason, reason, "why %d, not %d", ev.reason, reason);
}

static inline const char *state_of(const struct pair_node *n, uint16_t sid)
{
	struct assoc_stream_info info;
	uint32_t pos = sid;

	return assoc_stream_next(n->assoc, &pos, &info) && info.sid == sid ? info.state : "idle";
}

/* The next message of the node is this control message. */
static inline void expect_control(struct pair_node *n, uint16_t sid, uint16_t ssn, uint16_t func)
{
	struct pair_msg m;

	cr_assert(pair_pull(n, &m), "%s is sent", names_func(func));
	cr_expect_eq(m.ppid, WIRE_PPID_CONTROL);
	cr_expect_eq(m.sid, sid);
	cr_expect_eq(be_get16(m.b), ssn);
	cr_expect_eq(be_get16(m.b + 2), func);
	cr_expect(m.urgent);
	if (func == WIRE_TERMINATE)
		cr_expect_eq(m.len, WIRE_CONTROL_LEN);
}

static inline void expect_nothing_sent(struct pair_node *n)
{
	struct pair_msg m;

	cr_expect_not(pair_pull(n, &m), "ppid %u, ssn %u", m.ppid, be_get16(m.b));
}

static inline void send_recv(struct pair_qp *from, struct pair_qp *to, uint32_t to_stag)
{
	struct rdmap_wr wr = {.op = RDMAP_SEND, .flags = RDMAP_INLINE, .len = 5, .inl = "hello"};

	pair_post_recv(to, 1, to_stag, TO, 64);
	pair_post(from, &wr);
	pair_pump(&a, &b);
	cr_expect_eq(pair_done(from).status, RDMAP_SUCCESS);
	cr_expect_eq(pair_done(to).len, 5);
}

#endif
