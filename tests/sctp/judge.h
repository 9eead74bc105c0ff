/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What must hold in a stack of SCTP between the calls, for any user of it and whatever the network
 * does. The judge looks into the stack, but does not change it.
 */
#ifndef TESTS_SCTP_JUDGE_H
#define TESTS_SCTP_JUDGE_H

#include "sctp/base/path_select.h"

enum { JUDGE_ASSOCS = 64 }; /* that are looked at; a stack may have more */

struct judge {
	const struct sctp *s;
	/* A promise is broken: ends the program. */
	void (*wrong)(void *user, const char *file, int line, const char *what);
	void *user;
};

/* The numbers of an association before a call. */
struct judge_before {
	const struct sctp_assoc *a;
	uint32_t own_tag; /* another one: it began again */
	uint32_t in_flight;
	unsigned npaths;
	struct {
		uint32_t flight, lost, cwnd, undo, pmdcs, held, sndcnt;
		bool extra;
	} path[SCTP_MAX_PATHS];
};

/* Fills in the associations of the stack; returns how many. */
unsigned judge_before(const struct judge *j, struct judge_before ret[JUDGE_ASSOCS]);

/* A batch of sctp_output(): its form, its checksums, the sizes of its packets. */
void judge_batch(const struct judge *j, const struct sctp_batch *b);

/* What that call of sctp_output() sent: not more than the windows allow (RFC 9260 6.1 (A) and (B)),
 * watched by T3-rtx, on no unconfirmed path. */
void judge_output(const struct judge *j, const struct judge_before *b, unsigned n,
		  const struct sctp_batch *sent);

/* What one call of sctp_input() did with a packet that has at most one SACK: no congestion window
 * grew by more than RFC 9260 7.2.1 and 7.2.2 (RFC 9438) allow. */
void judge_input(const struct judge *j, const struct judge_before *b, unsigned n);

/* After each turn: what is outstanding or has to be acknowledged is watched by a deadline. */
void judge_deadlines(const struct judge *j, const struct sctp_assoc *a);

/* The same for the sums: bytes queued and in flight, chunk by chunk. It takes long. */
void judge_sums(const struct judge *j, const struct sctp_assoc *a);

/* TSNs that arrived, as the map has them; first: the peer's initial TSN. */
uint32_t judge_received(const struct sctp_assoc *a, uint32_t first);

#endif
