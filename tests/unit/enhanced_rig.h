/* SPDX-License-Identifier: BSD-2-Clause */
/* Setup for tests of enhanced sessions: two associations, an endpoint and a region on each. Each
 * test program has its own. */
#ifndef TESTS_UNIT_ENHANCED_RIG_H
#define TESTS_UNIT_ENHANCED_RIG_H

#include <criterion/criterion.h>
#include <string.h>

#include "tests/lib/pair.h"
#include "util/be.h"

enum { STAG_A = 0xa00, STAG_B = 0xb00, TO = 0x4000, CAP = 8 };

static struct pair_node a, b;
static struct pair_qp *qa, *qb;
static uint8_t *mb;

static inline void setup(void)
{
	struct assoc_cfg opener = pair_cfg(true), acceptor = pair_cfg(false);
	const struct rdmap_cfg like = {.ord = CAP, .ird = CAP};
	const uint32_t all = STAG_LOCAL_WRITE | STAG_REMOTE_WRITE | STAG_REMOTE_READ;

	pair_init(&a, &opener);
	pair_init(&b, &acceptor);
	qa = pair_qp_as(&a, &like);
	qb = pair_qp_as(&b, &like);
	pair_region(&a, STAG_A, TO, 4096, all, 0);
	mb = pair_region(&b, STAG_B, TO, 4096, all, 0);
}

static inline void teardown(void)
{
	pair_deinit(&a);
	pair_deinit(&b);
}

static const struct wire_enh unchanged = {.ird = WIRE_ENH_UNCHANGED, .ord = WIRE_ENH_UNCHANGED};

static inline struct assoc_event expect_event(struct pair_node *n, enum assoc_ev_type type)
{
	struct assoc_event ev = {0};

	cr_assert(pair_event(n, &ev), "an event of type %d", type);
	cr_assert_eq(ev.type, type, "an event of type %d, not %d", type, ev.type);
	return ev;
}

/* Node a sends the request and b receives it. Returns the event of b. */
static inline struct assoc_event initiate(const struct wire_enh *params, const char *priv,
					  uint16_t *ret_sid)
{
	struct assoc_params o = {.priv = priv, .len = strlen(priv), .enh = params};

	cr_assert_eq(assoc_connect(a.assoc, qa->ep, &o, ret_sid), ASSOC_E_OK);
	pair_pump(&a, &b);
	return expect_event(&b, ASSOC_EV_REQUEST);
}

static inline void answer(uint16_t sid, const struct wire_enh *wish)
{
	struct assoc_params o = {.enh = wish};

	cr_assert_eq(assoc_accept(b.assoc, sid, qb->ep, &o), ASSOC_E_OK);
}

static inline void expect_depths(struct pair_qp *qp, uint16_t ird, uint16_t ord)
{
	struct rdmap_info info;

	rdmap_query(qp->ep, &info);
	cr_expect_eq(info.ird, ird, "ird %u, not %u", info.ird, ird);
	cr_expect_eq(info.ord, ord, "ord %u, not %u", info.ord, ord);
}

/* The next message of a node, not handed on. */
static inline struct pair_msg pull(struct pair_node *n)
{
	struct pair_msg m = {0};

	cr_assert(pair_pull(n, &m));
	return m;
}

static inline void expect_nothing_sent(struct pair_node *n)
{
	struct pair_msg m;

	cr_expect_not(pair_pull(n, &m));
}

static inline unsigned opcode_of(const struct pair_msg *m)
{
	return m->ppid == WIRE_PPID_SEGMENT ? m->b[3] & 0xfU : 0x100U;
}

static inline struct rdmap_wr request(enum rdmap_op op, uint64_t cookie)
{
	return (struct rdmap_wr){.cookie = cookie,
				 .op = (uint8_t)op,
				 .flags = RDMAP_SIGNALED,
				 .nsge = 1,
				 .sge = {{TO, 8, STAG_A}},
				 .rstag = STAG_B,
				 .rto = TO};
}

#endif
