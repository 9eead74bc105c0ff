/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protocol errors, by number: one of a table of name, sentence and the Terminate that tells the
 * peer, util/perr_table.h.
 */
#ifndef PROTO_PERR_H
#define PROTO_PERR_H

#include <stdint.h>

#include "util/perr_table.h"

enum perr {
#define X(name, layer, etype, code, text) PERR_##name,
	PERR_TABLE(X)
#undef X
		PERR_COUNT
};

/* An error and the place it was found at; fields that do not apply are 0. */
struct perr_at {
	uint16_t perr; /* enum perr */
	uint16_t term; /* WIRE_TERM_WORD of it, or the one that the peer sent */
	uint32_t stag;
	uint64_t to;  /* tagged offset, or message offset */
	uint32_t len; /* bytes that were to be accessed */
	uint32_t msn; /* untagged: message number */
};

/* The sentence of the table. */
const char *perr_text(unsigned perr);

/* Layer, error type and code as WIRE_TERM_WORD. */
uint16_t perr_term(unsigned perr);

/* The row that a Terminate word of a peer names, or PERR_NONE where the table has none. */
enum perr perr_of_term(uint16_t term);

#endif
