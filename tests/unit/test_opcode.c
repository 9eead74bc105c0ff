/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: the table of operations is complete and consistent, and numbers outside it are unknown.
 */
#include <criterion/criterion.h>

#include "util/opcode.h"

Test(opcode, every_operation_has_a_name_and_possible_limits)
{
	for (unsigned i = 0; i < OPCODE_COUNT; i++) {
		const struct opcode *op = opcode_get(i);

		cr_assert_not_null(op);
		cr_expect(op->text && *op->text, "operation %u", i);
		cr_expect_leq(op->min_sge, op->max_sge, "%s", op->text);
		cr_expect_leq(op->max_sge, OPCODE_MAX_SGE, "%s", op->text);
	}
}

Test(opcode, an_operation_is_local_or_for_completions_or_sends_a_message)
{
	for (unsigned i = 0; i < OPCODE_COUNT; i++) {
		bool sends = opcode_has(i, OPCODE_PAYLOAD | OPCODE_RESPONSE | OPCODE_RFC7306);

		cr_expect_eq(sends + opcode_has(i, OPCODE_LOCAL) + !opcode_is_send(i), 1, "%s",
			     opcode_table[i].text);
	}
}

Test(opcode, a_number_outside_the_table_is_unknown)
{
	cr_expect_null(opcode_get(OPCODE_COUNT));
	cr_expect_null(opcode_get(255));
	cr_expect_not(opcode_is_send(OPCODE_COUNT));
	cr_expect_not(opcode_has(OPCODE_COUNT, 0xff));
}
