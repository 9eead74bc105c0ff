/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One thread waits for another. Besides the mutexes, conditions and joins of the C library this is
 * the only way to do so: a thread that waits sleeps in the kernel, so the other one gets the
 * processor, whatever the policies and processors of both (scripts/check-waits). There is no limit
 * of time; only a thread that never gives the baton back makes the wait last.
 */
#ifndef UTIL_BATON_H
#define UTIL_BATON_H

#include <stdbool.h>
#include <stdint.h>

struct baton {
	uint32_t holder; /* BATON_OWNER or BATON_BORROWER */
};

/* The value of a new baton: its owner has it. */
enum { BATON_OWNER, BATON_BORROWER };

/* True if this processor has baton_lend(). */
bool baton_lends(void);

/*
 * The owner: gives the baton to the borrower and waits until it is back. From the moment at which
 * the borrower has it, the calling thread does not write to memory, not even to its stack, whose
 * pages another thread may replace by others with the same bytes. The caller has blocked all
 * signals. Without baton_lends() it returns at once.
 */
void baton_lend(struct baton *b);

/* The borrower: waits until it has the baton. */
void baton_borrow(struct baton *b);

/* The borrower: gives it back. From then on the owner may free it. */
void baton_return(struct baton *b);

#endif
