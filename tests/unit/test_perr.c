/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "proto/ddp/perr.h"
#include "proto/ddp/wire.h"
#include "tests/lib/names.h"

/* The numbers of RFC 5040 4.8, 5041 7.2, 6581 8 and 7306 8, written a second time. */
static const struct {
	enum perr perr;
	uint16_t term;
} numbers[] = {
	{PERR_CATASTROPHIC, 0x0000},
	{PERR_ACCESS_STAG, 0x0100},
	{PERR_ACCESS_BOUNDS, 0x0101},
	{PERR_ACCESS_RIGHTS, 0x0102},
	{PERR_ACCESS_SCOPE, 0x0103},
	{PERR_ACCESS_WRAP, 0x0104},
	{PERR_INV_SCOPE, 0x0109},
	{PERR_RDMAP_VERSION, 0x0205},
	{PERR_OPCODE, 0x0206},
	{PERR_STREAM_CATASTROPHIC, 0x0207},
	{PERR_INV_STAG, 0x0209},
	{PERR_RDMAP_LENGTH, 0x02ff},
	{PERR_DDP_CATASTROPHIC, 0x1000},
	{PERR_TAGGED_STAG, 0x1100},
	{PERR_TAGGED_BOUNDS, 0x1101},
	{PERR_TAGGED_SCOPE, 0x1102},
	{PERR_TAGGED_WRAP, 0x1103},
	{PERR_TAGGED_VERSION, 0x1104},
	{PERR_QN, 0x1201},
	{PERR_NO_BUFFER, 0x1202},
	{PERR_MSN_RANGE, 0x1203},
	{PERR_MO, 0x1204},
	{PERR_TOO_LONG, 0x1205},
	{PERR_UNTAGGED_VERSION, 0x1206},
	{PERR_ENH_LOCAL, 0x2005},
	{PERR_ENH_IRD, 0x2006},
	{PERR_ENH_RTR, 0x2007},
	{PERR_LLP_LOST, 0x2000},
};

/* The same Terminate as that of another error, for a reason that only this side learns. */
static const struct {
	enum perr perr, of_term;
} local[] = {
	{PERR_BAD_RECEIVE, PERR_NO_BUFFER},  {PERR_HOLD_FULL, PERR_DDP_CATASTROPHIC},
	{PERR_AGENT, PERR_CATASTROPHIC},     {PERR_MEMORY, PERR_CATASTROPHIC},
	{PERR_NOT_READY, PERR_CATASTROPHIC}, {PERR_REQUEST, PERR_CATASTROPHIC},
};

enum {
	NUMBERS = sizeof(numbers) / sizeof(numbers[0]),
	LOCAL = sizeof(local) / sizeof(local[0]),
};

Test(perr, every_error_has_the_number_of_the_rfcs)
{
	cr_assert_eq(NUMBERS + LOCAL, PERR_COUNT - 1, "PERR_NONE has none, all others one");
	for (unsigned i = 0; i < LOCAL; i++)
		cr_expect_eq(perr_of_term(perr_term(local[i].perr)), local[i].of_term);
	for (unsigned i = 0; i < NUMBERS; i++)
		cr_expect_eq(perr_term(numbers[i].perr), numbers[i].term, "%s",
			     names_perr(numbers[i].perr));
}

Test(perr, every_number_leads_back_to_its_error)
{
	for (unsigned i = 0; i < NUMBERS; i++)
		cr_expect_eq(perr_of_term(numbers[i].term), numbers[i].perr, "%04x",
			     numbers[i].term);
}

Test(perr, code_09_is_found_under_both_error_types)
{
	cr_expect_eq(perr_of_term(WIRE_TERM_WORD(0, 1, 0x09)), PERR_INV_SCOPE);
	cr_expect_eq(perr_of_term(WIRE_TERM_WORD(0, 2, 0x09)), PERR_INV_STAG);
}

Test(perr, local_catastrophic_error_matches_any_code)
{
	for (unsigned code = 0; code <= 0xff; code++)
		cr_expect_eq(perr_of_term(WIRE_TERM_WORD(0, 0, code)), PERR_CATASTROPHIC);
}

Test(perr, no_terminate_of_a_peer_means_no_error_at_all)
{
	unsigned known = 0;

	for (unsigned term = 0; term <= UINT16_MAX; term++) {
		enum perr p = perr_of_term((uint16_t)term);

		if (p == PERR_NONE)
			continue;
		known++;
		if (term >= 0x100)
			cr_expect_eq(perr_term(p), term);
	}
	cr_expect_eq(known, NUMBERS - 1 + 0x100);
}

Test(perr, numbers_without_a_row_are_not_guessed)
{
	static const uint16_t unknown[] = {0x01ff, 0x0208, 0x0300, 0x1001, 0x1105, 0x1200,
					   0x1300, 0x2004, 0x2008, 0x3000, 0xffff};

	for (unsigned i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		cr_expect_eq(perr_of_term(unknown[i]), PERR_NONE, "%04x", unknown[i]);
}

Test(perr, every_error_has_a_name_and_a_sentence_of_its_own)
{
	cr_expect_str_eq(names_perr(PERR_TAGGED_BOUNDS), "TAGGED_BOUNDS");
	cr_expect_str_eq(perr_text(PERR_TAGGED_BOUNDS), "tagged segment: outside the region");
	for (unsigned i = 0; i < PERR_COUNT; i++) {
		cr_expect_gt(strlen(perr_text(i)), 0);
		for (unsigned j = 0; j < i; j++) {
			cr_expect_str_neq(names_perr(i), names_perr(j));
			cr_expect_str_neq(perr_text(i), perr_text(j));
		}
	}
}

Test(perr, values_outside_the_table_are_harmless)
{
	static const unsigned outside[] = {PERR_COUNT, PERR_COUNT + 1, UINT16_MAX, UINT32_MAX};

	for (unsigned i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		cr_expect_gt(strlen(perr_text(outside[i])), 0);
		cr_expect_eq(perr_term(outside[i]), 0);
	}
}
