/* SPDX-License-Identifier: BSD-2-Clause */
/* The arithmetic rules of RFC 6581 9.1 and 9.2, as tables. */
#include <criterion/criterion.h>

#include "proto/session/enh.h"

enum {
	UN = WIRE_ENH_UNCHANGED,
	S = WIRE_RTR_SEND,
	W = WIRE_RTR_WRITE,
	R = WIRE_RTR_READ,
	IRD = 32, /* limits of the endpoints of the tables */
	ORD = 16,
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct enh_terms made_for = {.ird = IRD, .ord = ORD};
static const struct wire_enh no_wish = {.ird = UN, .ord = UN};

/* Depths at the responder, negotiated independently: what is offered, requested locally, answered,
 * in force. */
struct pair {
	uint16_t offered, wish, word, term;
};

struct answer {
	struct wire_enh reply;
	struct enh_terms terms;
};

static struct answer answer(struct wire_enh init, struct enh_terms have, struct wire_enh want)
{
	struct answer a;

	enh_answer(&init, &have, &want, &a.reply, &a.terms);
	return a;
}

/* ---- the responder: depths ---- */

static const struct pair responder_ird[] = {
	/* offered is the initiator's ORD */
	{8, UN, IRD, IRD}, /* no request: the limit, for any offer */
	{0, UN, IRD, IRD},      {IRD, UN, IRD, IRD},   {0x3ffe, UN, IRD, IRD},
	{8, 4, 4, 4}, /* the requested value, below and above the offer */
	{8, 20, 20, 20},        {8, 0, 0, 0},          {8, IRD, IRD, IRD},
	{8, IRD + 1, IRD, IRD}, {8, 0x3ffe, IRD, IRD}, {UN, UN, UN, IRD}, /* not negotiated */
	{UN, 4, UN, IRD},       {UN, 0, UN, IRD},
};

static const struct pair responder_ord[] = {
	/* offered is the initiator's IRD */
	{8, UN, 8, 8},
	{0, UN, 0, 0},
	{ORD, UN, ORD, ORD},
	{ORD + 1, UN, ORD, ORD},
	{0x3ffe, UN, ORD, ORD},
	{8, 4, 4, 4},
	{8, 8, 8, 8},
	{8, 9, 8, 8},
	{8, 0, 0, 0},
	{8, 0x3ffe, 8, 8},
	{0x3ffe, 0x3ffe, ORD, ORD},
	{UN, UN, UN, ORD}, /* not negotiated */
	{UN, 4, UN, ORD},
	{UN, 0, UN, ORD},
};

/* Every row for IRD with every row for ORD: one never changes the other. */
/* rows: 6581-9.1-02 6581-9.1-04 6581-9.1-10 6581-9.1-12 6581-12-01 */
Test(enh, answer_settles_each_depth_by_itself)
{
	for (size_t i = 0; i < COUNT(responder_ird); i++) {
		for (size_t o = 0; o < COUNT(responder_ord); o++) {
			const struct pair *pi = &responder_ird[i], *po = &responder_ord[o];
			struct wire_enh init = {.ird = po->offered, .ord = pi->offered};
			struct wire_enh want = {.ird = pi->wish, .ord = po->wish};
			struct answer a = answer(init, made_for, want);

			cr_expect_eq(a.reply.ird, pi->word, "IRD row %zu, ORD row %zu", i, o);
			cr_expect_eq(a.reply.ord, po->word, "IRD row %zu, ORD row %zu", i, o);
			cr_expect_eq(a.terms.ird, pi->term, "IRD row %zu, ORD row %zu", i, o);
			cr_expect_eq(a.terms.ord, po->term, "IRD row %zu, ORD row %zu", i, o);
		}
	}
}

/* 0x3fff on the wire means something else, so a depth of that size is answered as 0x3ffe. */
/* rows: 6581-12-01 */
Test(enh, depth_of_0x3fff_is_not_answered_as_unchanged)
{
	struct enh_terms deep = {.ird = UINT16_MAX, .ord = UINT16_MAX};
	struct answer a = answer((struct wire_enh){.ird = 0x3ffe, .ord = 1}, deep, no_wish);

	cr_expect_eq(a.reply.ird, 0x3ffe);
	cr_expect_eq(a.terms.ird, 0x3ffe);
	cr_expect_eq(a.reply.ord, 0x3ffe);
	cr_expect_eq(a.terms.ord, 0x3ffe);
}

/* ---- the responder: the connection model ---- */

/* rows: 6581-9.2-04 6581-9.2-11 6581-9.2-12 */
Test(enh, client_server_request_is_answered_without_flags)
{
	for (unsigned rtr = 0; rtr < 8; rtr++) {
		struct wire_enh init = {.rtr = (uint8_t)rtr, .ird = 4, .ord = 4};
		struct wire_enh want = {.p2p = true, .rtr = S, .ird = 0, .ord = 0};
		struct answer a = answer(init, made_for, want);

		cr_expect_not(a.reply.p2p);
		cr_expect_eq(a.reply.rtr, 0);
		cr_expect_not(a.terms.wait);
		cr_expect_eq(a.terms.wait_rtr, 0);
		cr_expect_eq(a.terms.rtr, 0);
		cr_expect_eq(a.reply.ird, 0, "a stray flag does not request a Read");
	}
}

/* rows: 6581-9.2-03 6581-9.2-04 6581-9.2-05 6581-9.2-06 */
Test(enh, peer_to_peer_request_is_answered_with_every_kind_that_it_names)
{
	for (unsigned rtr = 1; rtr < 8; rtr++) {
		struct wire_enh init = {.p2p = true, .rtr = (uint8_t)rtr, .ird = 4, .ord = 4};
		struct answer a = answer(init, made_for, no_wish);

		cr_expect(a.reply.p2p);
		cr_expect_eq(a.reply.rtr, rtr);
		cr_expect(a.terms.wait);
		cr_expect_eq(a.terms.wait_rtr, rtr);
		cr_expect_eq(a.terms.rtr, 0, "the responder sends none");
	}
}

/* rows: 6581-9.2-06 6581-9.2-07 */
Test(enh, peer_to_peer_request_that_names_no_kind_is_offered_all)
{
	struct answer a = answer((struct wire_enh){.p2p = true, .ird = 4}, made_for, no_wish);

	cr_expect_eq(a.reply.rtr, S | W | R);
	cr_expect_eq(a.terms.wait_rtr, S | W | R);
}

/* rows: 6581-9.2-05 6581-9.2-06 6581-9.2-08 */
Test(enh, endpoint_that_holds_no_read_offers_none)
{
	static const struct enh_terms none = {.ord = ORD};
	static const uint8_t offered[8] = {S | W, S, W, S | W, S | W, S, W, S | W};

	for (unsigned rtr = 0; rtr < 8; rtr++) {
		struct wire_enh init = {.p2p = true, .rtr = (uint8_t)rtr, .ird = 4, .ord = 4};
		struct answer a = answer(init, none, no_wish);

		cr_expect_eq(a.reply.rtr, offered[rtr], "named %u", rtr);
		cr_expect_eq(a.reply.ird, 0);
		cr_expect_eq(a.terms.ird, 0);
	}
}

/* rows: 6581-9.2-05 */
Test(enh, one_read_is_enough_to_begin_with)
{
	static const struct enh_terms one = {.ird = 1, .ord = 1};
	struct wire_enh init = {.p2p = true, .rtr = R, .ird = 1, .ord = 1};
	struct answer a = answer(init, one, no_wish);
	struct enh_terms t;

	cr_expect_eq(a.reply.rtr, R);
	cr_expect_eq(a.reply.ird, 1);
	cr_expect_eq(enh_settle(&init, &one, &a.reply, &t), PERR_NONE);
	cr_expect_eq(t.rtr, R);
	cr_expect_eq(t.ord, 1);
}

/* rows: 6581-9.1-03 */
Test(enh, answer_that_offers_a_read_holds_at_least_one)
{
	struct wire_enh want = {.ird = 0, .ord = 0};

	for (unsigned rtr = 0; rtr < 8; rtr++) {
		struct wire_enh init = {.p2p = true, .rtr = (uint8_t)rtr, .ird = 4, .ord = 0};
		struct answer a = answer(init, made_for, want);
		uint16_t ird = a.reply.rtr & R ? 1 : 0;

		cr_expect_eq(a.reply.ird, ird, "named %u", rtr);
		cr_expect_eq(a.terms.ird, ird);
		init.ord = UN;
		a = answer(init, made_for, want);
		cr_expect_eq(a.reply.ird, UN, "not negotiated, with any flags");
		cr_expect_eq(a.terms.ird, IRD);
	}
}

/* ---- the responder refuses ---- */

/* A Reject states the required depths, so they are not limited to the offer. */
static const struct pair wishes[] = {
	/* term is not used */
	{8, 4, 4, 0},           {8, 20, 20, 0},         {0, 1, 1, 0},   {8, 0, 0, 0},
	{8, 0x3ffe, 0x3ffe, 0}, {8, UN, UN, 0},         {UN, 4, UN, 0}, {UN, 0x3ffe, UN, 0},
	{UN, UN, UN, 0},        {8, 0x4000, 0x3ffe, 0},
};

static struct wire_enh reject(struct wire_enh init, struct wire_enh want)
{
	struct wire_enh reply;

	enh_reject(&init, &want, &reply);
	return reply;
}

/* rows: 6581-9.1-05 6581-9.1-10 6581-9.1-12 */
Test(enh, reject_states_the_depths_that_would_have_been_taken)
{
	for (size_t i = 0; i < COUNT(wishes); i++) {
		for (size_t o = 0; o < COUNT(wishes); o++) {
			struct wire_enh init = {.ird = wishes[o].offered, .ord = wishes[i].offered};
			struct wire_enh want = {.ird = wishes[i].wish, .ord = wishes[o].wish};
			struct wire_enh reply = reject(init, want);

			cr_expect_eq(reply.ird, wishes[i].word, "rows %zu, %zu", i, o);
			cr_expect_eq(reply.ord, wishes[o].word, "rows %zu, %zu", i, o);
		}
	}
}

/* rows: 6581-9.2-03 6581-9.2-04 6581-9.2-11 6581-9.2-12 */
Test(enh, reject_echoes_the_model_and_names_every_kind)
{
	for (unsigned rtr = 0; rtr < 8; rtr++) {
		struct wire_enh init = {.p2p = true, .rtr = (uint8_t)rtr};
		struct wire_enh reply = reject(init, no_wish);

		cr_expect(reply.p2p);
		cr_expect_eq(reply.rtr, S | W | R);
		init.p2p = false;
		reply = reject(init, no_wish);
		cr_expect_not(reply.p2p);
		cr_expect_eq(reply.rtr, 0);
	}
}

/* ---- the initiator: depths ---- */

static const struct enh_terms untouched = {
	.ird = 111, .ord = 222, .rtr = 33, .wait = true, .wait_rtr = 44};

/* Calls the function, and checks that a failure does not change the result. */
static enum perr settle(struct wire_enh init, struct enh_terms have, struct wire_enh reply,
			struct enh_terms *ret)
{
	enum perr e;

	*ret = untouched;
	e = enh_settle(&init, &have, &reply, ret);
	if (e) {
		cr_expect_eq(ret->ird, untouched.ird);
		cr_expect_eq(ret->ord, untouched.ord);
		cr_expect_eq(ret->rtr, untouched.rtr);
		cr_expect_eq(ret->wait, untouched.wait);
		cr_expect_eq(ret->wait_rtr, untouched.wait_rtr);
	} else {
		cr_expect_not(ret->wait);
		cr_expect_eq(ret->wait_rtr, 0);
	}
	return e;
}

/* Depths at the initiator: what it offered, what the other end answered, what is in force. */
struct settled {
	uint16_t offered, answered, term;
	enum perr e;
};

static const struct settled initiator_ord[] = {
	/* answered is the responder's IRD */
	{8, 16, 8, PERR_NONE},        {8, 8, 8, PERR_NONE},
	{8, 7, 7, PERR_NONE},         {8, 0, 0, PERR_NONE},
	{0, 8, 0, PERR_NONE},         {ORD, 0x3ffe, ORD, PERR_NONE},
	{8, UN, 8, PERR_NONE}, /* not negotiated: the value set with the request */
	{0, UN, 0, PERR_NONE},        {UN, UN, ORD, PERR_NONE},
	{UN, 4, 4, PERR_NONE}, /* against 9.1, but it accepts no more */
	{UN, 0x3ffe, ORD, PERR_NONE},
};

static const struct settled initiator_ird[] = {
	/* answered is the responder's ORD */
	{8, 8, 8, PERR_NONE},
	{8, 4, 8, PERR_NONE},
	{8, 0, 8, PERR_NONE},
	{8, 9, 9, PERR_NONE}, /* more than offered: raised as far as there is room */
	{8, IRD, IRD, PERR_NONE},
	{8, IRD + 1, 0, PERR_ENH_IRD},
	{8, 0x3ffe, 0, PERR_ENH_IRD},
	{IRD, IRD, IRD, PERR_NONE},
	{IRD, IRD + 1, 0, PERR_ENH_IRD},
	{0, 0, 0, PERR_NONE},
	{0, 1, 1, PERR_NONE},
	{8, UN, 8, PERR_NONE}, /* not negotiated */
	{0, UN, 0, PERR_NONE},
	{UN, UN, IRD, PERR_NONE},
	{UN, 4, IRD, PERR_NONE},
	{UN, IRD, IRD, PERR_NONE},
	{UN, IRD + 1, 0, PERR_ENH_IRD},
};

/* rows: 6581-9.1-07 6581-9.1-11 6581-9.1-13 6581-12-01 */
Test(enh, accept_settles_each_depth_by_itself)
{
	for (size_t i = 0; i < COUNT(initiator_ird); i++) {
		for (size_t o = 0; o < COUNT(initiator_ord); o++) {
			const struct settled *si = &initiator_ird[i], *so = &initiator_ord[o];
			struct wire_enh init = {.ird = si->offered, .ord = so->offered};
			struct wire_enh reply = {.ird = so->answered, .ord = si->answered};
			struct enh_terms t;

			cr_expect_eq(settle(init, made_for, reply, &t), si->e,
				     "IRD row %zu, ORD row %zu", i, o);
			if (si->e)
				continue;
			cr_expect_eq(t.ird, si->term, "IRD row %zu, ORD row %zu", i, o);
			cr_expect_eq(t.ord, so->term, "IRD row %zu, ORD row %zu", i, o);
			cr_expect_eq(t.rtr, 0);
		}
	}
}

/* ---- the initiator: the connection model ---- */

/* rows: 6581-9.2-12 */
Test(enh, accept_of_a_client_server_request_may_carry_stray_flags)
{
	for (unsigned rtr = 0; rtr < 8; rtr++) {
		struct wire_enh init = {.ird = 4, .ord = 4};
		struct wire_enh reply = {.rtr = (uint8_t)rtr, .ird = 4, .ord = 4};
		struct enh_terms t;

		cr_expect_eq(settle(init, made_for, reply, &t), PERR_NONE);
		cr_expect_eq(t.rtr, 0);
	}
}

/* rows: 6581-9.3-01 */
Test(enh, answer_of_another_model_is_the_first_error_reported)
{
	for (unsigned p2p = 0; p2p < 2; p2p++) {
		struct wire_enh init = {.p2p = p2p, .rtr = p2p ? W : 0, .ird = 4, .ord = 4};
		struct wire_enh reply = {.p2p = !p2p, .rtr = W, .ird = 4, .ord = 4};
		struct enh_terms t;

		cr_expect_eq(settle(init, made_for, reply, &t), PERR_ENH_LOCAL);
		reply.ord = IRD + 1;
		cr_expect_eq(settle(init, made_for, reply, &t), PERR_ENH_LOCAL);
	}
	cr_expect_eq(perr_term(PERR_ENH_LOCAL), WIRE_TERM_WORD(2, 0, 5));
}

/* The preference where a Read is possible: by set of kinds that both sides named. */
static const uint8_t first[8] = {[S] = S,     [W] = W,     [W | S] = W,    [R] = R,
				 [R | S] = R, [R | W] = W, [R | W | S] = W};

/* ... and where it is not. */
static const uint8_t first_no_read[8] = {[S] = S,     [W] = W,     [W | S] = W,
					 [R | S] = S, [R | W] = W, [R | W | S] = W};

static void expect_choices(struct enh_terms have, uint16_t its_ird, const uint8_t *want)
{
	for (unsigned both = 0; both < 64; both++) {
		struct wire_enh init = {.p2p = true, .rtr = both & 7, .ird = 4, .ord = have.ord};
		struct wire_enh reply = {.p2p = true, .rtr = (uint8_t)(both >> 3), .ird = its_ird};
		uint8_t rtr = want[init.rtr & reply.rtr];
		struct enh_terms t;

		cr_expect_eq(settle(init, have, reply, &t), rtr ? PERR_NONE : PERR_ENH_RTR,
			     "we can %u, it can %u", init.rtr, reply.rtr);
		if (rtr)
			cr_expect_eq(t.rtr, rtr, "we can %u, it can %u", init.rtr, reply.rtr);
	}
}

/* rows: 6581-9.2-09 6581-9.2-10 */
Test(enh, first_message_is_a_write_else_a_read_else_a_send_that_both_named)
{
	expect_choices(made_for, 8, first);
	expect_choices(made_for, 1, first);
	expect_choices(made_for, UN, first);
	cr_expect_eq(perr_term(PERR_ENH_RTR), WIRE_TERM_WORD(2, 0, 7));
}

/* rows: 6581-9.2-09 6581-9.2-10 */
Test(enh, first_message_is_no_read_where_either_side_has_no_room_for_one)
{
	expect_choices(made_for, 0, first_no_read);
	expect_choices((struct enh_terms){.ird = IRD}, 8, first_no_read);
	expect_choices((struct enh_terms){.ird = IRD}, UN, first_no_read);
}

/* rows: 6581-9.1-03 6581-9.2-09 */
Test(enh, initiator_that_wants_no_reads_may_still_send_the_first_one)
{
	struct wire_enh init = {.p2p = true, .rtr = R, .ird = 4, .ord = 0};
	struct wire_enh reply = {.p2p = true, .rtr = R, .ird = 1, .ord = 4};
	struct enh_terms t;

	cr_expect_eq(settle(init, made_for, reply, &t), PERR_NONE);
	cr_expect_eq(t.rtr, R);
	cr_expect_eq(t.ord, 1);
	init.rtr = R | W;
	reply.rtr = R | W;
	cr_expect_eq(settle(init, made_for, reply, &t), PERR_NONE);
	cr_expect_eq(t.rtr, W);
	cr_expect_eq(t.ord, 0, "a Write asks for none");
}

/* rows: 6581-9.1-06 6581-9.1-08 */
Test(enh, insufficient_ird_is_reported_before_a_missing_first_message)
{
	struct wire_enh init = {.p2p = true, .rtr = W, .ird = 4, .ord = 4};
	struct wire_enh reply = {.p2p = true, .rtr = S, .ird = 4, .ord = IRD + 1};
	struct enh_terms t;

	cr_expect_eq(settle(init, made_for, reply, &t), PERR_ENH_IRD);
	cr_expect_eq(perr_term(PERR_ENH_IRD), WIRE_TERM_WORD(2, 0, 6));
	reply.ord = IRD;
	cr_expect_eq(settle(init, made_for, reply, &t), PERR_ENH_RTR);
}

/* ---- both ends ---- */

static uint64_t seed = 65810;

static uint16_t draw(uint16_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint16_t)((seed >> 13) % below);
}

/* A depth up to `most`, small ones and the special one often. */
static uint16_t draw_depth(uint16_t most)
{
	uint16_t d = draw(4) ? draw(4) : draw(0x3fff);

	return draw(5) == 0 ? UN : d < most ? d : most;
}

static struct wire_enh draw_params(const struct enh_terms *have)
{
	return (struct wire_enh){
		.p2p = draw(2),
		.rtr = (uint8_t)draw(8),
		.ird = draw_depth(have->ird),
		.ord = draw_depth(have->ord),
	};
}

static struct enh_terms draw_endpoint(void)
{
	return (struct enh_terms){.ird = draw(3) ? draw(6) : draw(0x3fff),
				  .ord = draw(3) ? draw(6) : draw(0x3fff)};
}

/* No end sends more Reads than the other accepts, unless the depths were not negotiated. */
/* rows: 6581-9.1-04 6581-9.1-07 */
Test(enh, endpoints_agree_for_any_parameters)
{
	for (unsigned i = 0; i < 200000; i++) {
		struct enh_terms here = draw_endpoint(), there = draw_endpoint(), t;
		struct wire_enh init = draw_params(&here), want = draw_params(&there);
		struct answer a = answer(init, there, want);
		enum perr e = settle(init, here, a.reply, &t);

		if (e) {
			cr_assert_eq(e, PERR_ENH_RTR, "step %u", i);
			cr_assert_eq((init.rtr & a.reply.rtr & (W | S)), 0, "step %u", i);
			continue;
		}
		cr_assert(init.ord == UN || t.ord <= a.terms.ird, "step %u", i);
		cr_assert(init.ird == UN || a.terms.ord <= t.ird, "step %u", i);
		cr_assert_eq(t.rtr != 0, a.terms.wait, "step %u", i);
		cr_assert_eq(t.rtr & a.terms.wait_rtr, t.rtr, "step %u", i);
	}
}

/* rows: 6581-12-01 */
Test(enh, terms_never_exceed_the_limits_of_the_endpoint)
{
	static const struct enh_terms any = {.ird = UINT16_MAX, .ord = UINT16_MAX};

	for (unsigned i = 0; i < 200000; i++) {
		struct enh_terms here = draw_endpoint(), t;
		struct wire_enh ours = draw_params(&here), theirs = draw_params(&any);
		struct answer a = answer(theirs, here, ours);

		cr_assert_leq(a.reply.ird, UN);
		cr_assert_leq(a.reply.ord, UN);
		cr_assert_leq(a.terms.ird, here.ird, "step %u", i);
		cr_assert_leq(a.terms.ord, here.ord, "step %u", i);
		if (settle(ours, here, theirs, &t))
			continue;
		cr_assert_leq(t.ird, here.ird, "step %u", i);
		cr_assert_leq(t.ord, here.ord, "step %u", i);
	}
}
