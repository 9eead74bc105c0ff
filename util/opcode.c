/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/opcode.h"

const struct opcode opcode_table[OPCODE_COUNT] = {
#define X(name, form, min_sge, max_sge, traits, text)                                              \
	{text, OPCODE_FORM_##form, min_sge, max_sge, traits},
	OPCODE_TABLE(X)
#undef X
};
