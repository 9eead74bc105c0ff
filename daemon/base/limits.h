/* SPDX-License-Identifier: BSD-2-Clause */
/* The limits of a uid, a row for each kind of charge: limits.c. */
#ifndef DAEMON_BASE_LIMITS_H
#define DAEMON_BASE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/base/acct.h"

struct limits_row {
	const char *key;  /* in the configuration, for refusals */
	const char *what; /* as refusals call it */
	size_t member;    /* offset in struct config_limits, and ... */
	size_t size;      /* ... size of the value: uint32_t or uint64_t; 0: no key of ours */
	uint32_t table;   /* entries that the table of one client takes; 0: it has no table */
};

/* The row of a kind. */
const struct limits_row *limits_row(enum acct_kind kind);

/* The configured value; the kind has a key of ours. */
uint64_t limits_value(const struct config_limits *l, enum acct_kind kind);

/* The number that one client can have: the value, or fewer because its table takes no more. */
uint64_t limits_of_client(const struct config_limits *l, enum acct_kind kind);

#endif
