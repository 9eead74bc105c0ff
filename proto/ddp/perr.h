/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protocol errors as numbers, made of the table of names, sentences and Terminates in
 * util/perr_table.h.
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

/* An error and its place; fields that do not apply are 0. */
struct perr_at {
	uint16_t perr; /* enum perr */
	uint16_t term; /* its WIRE_TERM_WORD, or the one that the peer sent */
	uint32_t stag;
	uint64_t to;  /* tagged offset, or message offset */
	uint32_t len; /* bytes of the access */
	uint32_t msn; /* untagged: message number */
};

/* The sentence of the table, or "unknown error". */
const char *perr_text(unsigned perr);

/* Layer, error type and code as WIRE_TERM_WORD; those of PERR_CATASTROPHIC for an unknown number.
 */
uint16_t perr_term(unsigned perr);

/* The error that a Terminate word of a peer stands for, or PERR_NONE if the table has none. */
enum perr perr_of_term(uint16_t term);

#endif
