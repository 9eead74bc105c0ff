/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/ddp/perr.h"

#include "proto/ddp/wire.h"

struct row {
	const char *text;
	uint16_t term;
};

static const struct row table[PERR_COUNT] = {
#define X(name, layer, etype, code, text)                                                          \
	[PERR_##name] = {text, WIRE_TERM_WORD(layer, etype, code)},
	PERR_TABLE(X)
#undef X
};

const char *perr_text(unsigned perr)
{
	return perr < PERR_COUNT ? table[perr].text : "unknown error";
}

uint16_t perr_term(unsigned perr)
{
	return table[perr < PERR_COUNT ? perr : PERR_CATASTROPHIC].term;
}

enum perr perr_of_term(uint16_t term)
{
	/* Layer 0, type 0 has no codes: the code is ignored. */
	if (term >> 8 == 0)
		return PERR_CATASTROPHIC;
	for (unsigned i = PERR_NONE + 1; i < PERR_COUNT; i++) {
		if (table[i].term == term)
			return (enum perr)i;
	}
	return PERR_NONE;
}
