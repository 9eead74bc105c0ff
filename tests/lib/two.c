/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/two.h"

#include <criterion/criterion.h>

#include "tests/lib/names.h"
#include "tests/lib/vector.h"
#include "util/be.h"

struct two two;

void two_setup(void)
{
	const struct rdmap_cfg cfg = {.ord = PAIR_READS, .ird = PAIR_READS};

	two_setup_as(&cfg);
}

static void establish(const struct rdmap_cfg *cfg, bool acks, unsigned options)
{
	struct assoc_cfg opener = pair_cfg(true), acceptor = pair_cfg(false);

	opener.acks = acks;
	pair_init(&two.a, &opener);
	pair_init(&two.b, &acceptor);
	two.qa = pair_qp_as(&two.a, cfg);
	two.qb = pair_qp_as(&two.b, cfg);
	if (options)
		rdmap_set_options(two.qa->ep, options);
	two.ma = pair_region(&two.a, TWO_STAG_A, TWO_TO, TWO_MEM, TWO_ALL, 0);
	two.mb = pair_region(&two.b, TWO_STAG_B, TWO_TO, TWO_MEM, TWO_ALL, 0);
	for (unsigned i = 0; i < TWO_MEM; i++)
		two.ma[i] = (uint8_t)(i * 7 + i / 251);
	two.sid = pair_connect(&two.a, two.qa, &two.b, two.qb);
}

void two_setup_as(const struct rdmap_cfg *cfg)
{
	establish(cfg, false, 0);
}

void two_setup_with(unsigned options, bool acks, uint16_t ord)
{
	const struct rdmap_cfg cfg = {.ord = ord, .ird = PAIR_READS, .sq_depth = 2 * PAIR_DEPTH};

	establish(&cfg, acks, options);
	assoc_tx_acked(two.a.assoc);
}

void two_setup_acked(bool acks, uint16_t ord)
{
	two_setup_with(RDMAP_ACKED, acks, ord);
}

void two_teardown(void)
{
	pair_deinit(&two.a);
	pair_deinit(&two.b);
}

struct rdmap_wr two_request(enum rdmap_op op, uint64_t cookie, uint64_t off, uint32_t len)
{
	return (struct rdmap_wr){
		.cookie = cookie,
		.op = (uint8_t)op,
		.flags = RDMAP_SIGNALED,
		.nsge = 1,
		.rstag = TWO_STAG_B,
		.rto = TWO_TO,
		.sge = {{.to = TWO_TO + off, .len = len, .stag = TWO_STAG_A}},
	};
}

void two_post(struct pair_qp *qp, struct rdmap_wr wr)
{
	pair_post(qp, &wr);
}

void two_expect_done(struct pair_qp *qp, uint64_t cookie, enum rdmap_status status)
{
	struct rdmap_done d = pair_done(qp);

	cr_expect_eq(d.status, status, "cookie %u: %s", (unsigned)d.cookie, names_status(d.status));
	cr_expect_eq(d.cookie, cookie, "cookie %u, not %u", (unsigned)d.cookie, (unsigned)cookie);
}

void two_expect_none(struct pair_qp *qp)
{
	struct rdmap_done d = pair_done(qp);

	cr_expect_eq(d.status, RDMAP_STATUS_COUNT, "cookie %u: %s", (unsigned)d.cookie,
		     names_status(d.status));
}

struct wire_ddp two_pull_header(struct pair_node *n, uint32_t *ret_payload)
{
	struct wire_ddp h = {0};
	struct pair_msg m;

	cr_assert(pair_pull(n, &m));
	cr_assert_eq(m.ppid, WIRE_PPID_SEGMENT);
	*ret_payload = m.len - 2 - (uint32_t)wire_ddp_get(m.b + 2, m.len - 2, &h);
	return h;
}

bool two_move(struct pair_node *from, struct pair_node *to)
{
	struct pair_msg m;

	if (!pair_pull(from, &m))
		return false;
	pair_push(to, &m);
	return true;
}

void two_expect_closed(struct pair_node *n, enum assoc_reason reason, enum perr perr)
{
	struct assoc_event ev;

	cr_assert(pair_event(n, &ev));
	cr_expect_eq(ev.type, ASSOC_EV_CLOSED);
	cr_expect_eq(ev.reason, reason, "why %d", ev.reason);
	cr_expect_eq(ev.at.perr, perr, "%s", names_perr(ev.at.perr));
	cr_expect_eq(ev.at.term, perr_term(perr));
}

void two_expect_vector(struct pair_node *n, const char *id, uint16_t ssn)
{
	struct vector v = vector_get(id);
	struct pair_msg m;

	be_put16(v.b, ssn);
	cr_assert(pair_pull(n, &m), "%s is sent", id);
	cr_assert_eq(m.len, v.len, "%s: %u bytes", id, m.len);
	cr_expect_arr_eq(m.b, v.b, v.len, "%s", id);
}
