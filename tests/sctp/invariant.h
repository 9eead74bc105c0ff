/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules of RFC 9260 about windows and timers that hold after every packet, each under the name
 * of its row (tests/conformance/rows-sctp.tsv). An observer sees every packet of a stack and looks
 * at its state before and after each call. It remembers by itself what has happened: which packets
 * left since T3 expired, when T3 was started, which chunks were sent and acknowledged. So a stack
 * that forgets cannot hide it.
 *
 * It knows nothing but what holds for any peer, whatever the network does. The stack is not
 * changed.
 */
#ifndef TESTS_SCTP_INVARIANT_H
#define TESTS_SCTP_INVARIANT_H

#include "tests/sctp/judge.h"

struct invariant;

/* Observes the stack of the judge, whose `wrong` gets what does not hold. *j is copied. */
struct invariant *invariant_new(const struct judge *j);
/* NULL is fine. */
struct invariant *invariant_free(struct invariant *v);

/* Before each call of the stack that one of the functions below follows. */
void invariant_before(struct invariant *v);

/* Instead of invariant_before() when the call is sctp_input() with this packet; after it: it
 * arrived. */
void invariant_arrives(struct invariant *v, const struct sctp_flow *from, const uint8_t *pkt,
		       size_t len);
void invariant_arrived(struct invariant *v);

/* After sctp_run(). */
void invariant_ran(struct invariant *v);

/* After sctp_output() with this batch. */
void invariant_sent(struct invariant *v, const struct sctp_batch *b);

/* After sctp_run() and after sctp_output() has returned false: what had to leave has left. */
void invariant_idle(struct invariant *v);

#endif
