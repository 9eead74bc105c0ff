/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that must be refused, each in its own session: the daemon writes no illegal byte and
 * reports the right error to the peer. */
#ifndef TESTS_RAW_FAULT_H
#define TESTS_RAW_FAULT_H

#include "tests/raw/pair.h"

enum { FAULT_BASE = 0x10000, FAULT_LEN = 4096 };

struct fault {
	struct pair p;
	struct client_region r; /* all rights, FAULT_LEN bytes from FAULT_BASE */
};

/* A session, and the region. o may be NULL. */
struct fault fault_new(const struct client_opts *o);

/* In a session that works (it has room for one more Send): sends the message and requires the
 * Terminate of that error. Then begins the next session. */
void fault_try(struct fault *f, const char *detail, struct raw_msg m, uint16_t err);

/* The same with several errors that the texts would allow; the first one is best. */
void fault_try_any(struct fault *f, const char *detail, struct raw_msg m, const uint16_t *err,
		   unsigned n);

#endif
