/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of tests/conformance/rows.tsv that a successful run shows. wire.c, done.c, sess.c and
 * region.c check every message, completion and byte; a row counts only if its subject occurred in
 * the run.
 */
#include <stdio.h>

#include "tests/sim/world.h"

struct row {
	const char *ids;
	const char *seen;
	unsigned often; /* how often it occurred */
	unsigned more;  /* and the other condition */
};

static void print(const struct row *row, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (row[i].often && row[i].more)
			printf("row %s: %s\n", row[i].ids, row[i].seen);
}

#define PRINT(rows) print(rows, sizeof(rows) / sizeof((rows)[0]))

static void sessions(const struct totals *t)
{
	const struct row rows[] = {
		{"5043-2-01 5043-6.6-02",
		 "no segment before the Accept was sent, or received by the active side",
		 t->sessions, t->ahead},
		{"5043-5.2.1-01 5043-5.2.2-01",
		 "each message begins with the next DDP-SSN, followed by the header", t->sessions,
		 t->messages},
		{"5043-5.2.1-02", "the DDP-SSN wraps from 65535 to 0", t->wrapped, t->messages},
		{"5043-5.2.3-05", "a Terminate has 4 bytes", t->sessions, t->terminates},
		{"5043-6-01", "answers come on the stream of their Initiate", t->sessions,
		 t->rejected},
		{"5043-6-02", "no gap when the transport refuses messages", t->busy, t->resized},
		{"5043-6-03 5043-6.1-01",
		 "a stream serves other endpoints in the next session, from 0 in both directions",
		 t->reused, t->sessions},
		{"5043-6.1-03", "each session is one of the legal sequences", t->rejected,
		 t->refused},
		{"5043-6.2-01", "Initiate, then Accept", t->sessions, 1},
		{"5043-6.2-02",
		 "sessions without a segment, with segments in one direction, and with the passive "
		 "side first",
		 t->no_segments && t->oneway, t->passive_first},
		{"5043-6.2-03 5043-6.2-04",
		 "a session ended with a Terminate, the last message of its direction", t->sessions,
		 t->terminates},
		{"5043-6.4-01", "answers only from the program, a timeout or the limit",
		 t->sessions, t->withdrawn},
		{"5043-6.4-03", "never more undecided requests than the limit", t->overflow, 1},
		{"5043-6.6-01", "no Terminate that could overtake its Accept or Initiate", t->ahead,
		 t->terminates},
		{"5043-6.6-04", "no Initiate while messages of the previous session are in flight",
		 t->reused, t->lossy},
		{"5043-9-03", "512 bytes of private data where messages have at most 518",
		 t->narrow, t->sessions},
		{"5043-10-02", "reordering changes nothing", t->ahead, t->early},
		{"5043-11.3-05", "other sessions continued when one ended with an error",
		 t->survived, 1},
		{"5041-6.2.1-01", "what was posted before the end of a session is done",
		 t->sent_first, 1},
		{"5041-3-03 5041-6.2.2-01",
		 "the loss of an association ends everything outstanding", t->lost, t->flushed},
	};

	PRINT(rows);
}

static void segments(const struct totals *t)
{
	const struct row rows[] = {
		{"5041-3-02", "data posted before the limit decreased arrives complete", t->resized,
		 1},
		{"5041-4.1-03 5041-4.1-04 5041-4.1-05 5041-4.1-06 5041-5.2-03 5041-5.3-02",
		 "segments of a message follow each other, offsets increase, L is set in the last "
		 "one",
		 t->writes, t->sends},
		{"5041-4.1-08 5041-4.1-10 5040-4.1-06 5040-4.1-08",
		 "versions are 1, reserved bits 0", t->messages, 1},
		{"5041-4.2-04 5041-4.2-06 5040-5.1-08 5040-5.2.2-07",
		 "all segments of a tagged message have its control byte and its STag", t->writes,
		 t->reads},
		{"5041-4.2-08 5040-4.4-04 5040-4.4-06 4296-2.1.2-12",
		 "any tagged offset, in regions of any base", t->writes, t->reads},
		{"5041-4.3-02", "the STag to be invalidated is in all segments", t->invalidated, 1},
		{"5041-4.3-05 5041-4.3-09 5041-4.3-10",
		 "queue and message number stay in a message, offsets begin with 0", t->sends,
		 t->reads},
		{"5041-4.3-06 5041-4.3-07", "message numbers from 1, queue by queue", t->sends,
		 t->reads},
		{"5041-4.3-08", "message number 0 follows 4294967295", t->wrapped, t->sends},
		{"5041-4.4-01", "no message without a complete header", t->messages, 1},
		{"5041-5.2-04", "all bytes are in the right place, and nowhere else", t->writes,
		 t->sends},
		{"5041-5.3-01 5040-5.1-06 5040-5.2.1-07 5040-5.3-09 5040-5.5-09",
		 "messages in the order of their requests", t->writes && t->sends, t->reads},
		{"5041-5.3-05", "each Send once, although packets were lost", t->lossy, t->sends},
		{"5041-5.3-06 5040-5.3-05 5040-5.5-04", "Sends in their order", t->ahead, t->sends},
		{"5041-6.2.2-04", "everything outstanding ends once", t->errors, t->flushed},
	};

	PRINT(rows);
}

static void rdmap(const struct totals *t)
{
	const struct row rows[] = {
		{"5040-3.1-01 5040-3.1-02 5040-3.1-04 5040-4.1-01 5040-4.1-03 5040-5.1-01 "
		 "5040-5.2.1-01 5040-5.2.1-06 5040-5.2.2-01 5040-5.3-01 5040-5.3-08 5040-6.1-01",
		 "every segment has an RDMAP opcode, tagged or on its queue", t->writes && t->sends,
		 t->reads},
		{"5040-3.1-03 5040-5.2-01", "one message for one RDMA message, two for a Read",
		 t->writes && t->sends, t->reads},
		{"5040-4.1-10", "no STag to be invalidated in other messages", t->sends, 1},
		{"5040-4.2-01 5040-4.4-01 5040-5.2.1-09",
		 "Read Requests of 28 bytes, for one source", t->reads, t->errors},
		{"5040-4.4-05", "Reads of zero, one and many bytes", t->reads, 1},
		{"5040-5.1-07", "the Writes before a Send are complete when it arrives", t->ahead,
		 t->sends},
		{"5040-5.5-12", "no Send arrives before its last segment", t->ahead, t->sends},
		{"5040-5.2.1-08 5040-5.2.2-05 5040-5.5-16",
		 "responses in the order of the requests", t->reads, t->ahead},
		{"5040-5.4-08", "nothing after a Terminate of RDMAP", t->errors, 1},
		{"5040-5.5-05 5040-5.5-15",
		 "Reads complete in order and not before their last byte", t->reads, t->ahead},
		{"5040-5.5-08", "no request overtakes its fence", t->fenced, t->reads},
		{"5040-5.5-10", "no request completes before the transport has it", t->writes,
		 t->busy},
		{"5040-6.1-04", "no more Reads outstanding than ORD", t->reads, 1},
		{"5040-8.1.2-02", "no Read refused because of the Reads of others", t->reads, 1},
		{"4296-2.1.2-04 4296-2.2.1-04", "receives complete in the order of posting",
		 t->sends, 1},
		{"4296-2.2.2-01", "Sends, Writes and Reads in the order of RFC 5040 5.5",
		 t->writes && t->sends, t->reads},
	};

	PRINT(rows);
}

static void limits(const struct totals *t)
{
	const struct row rows[] = {
		{"5043-10-03 5043-10-04",
		 "never more than 32767 unacknowledged messages, in a Write of 2^32 - 1 bytes",
		 t->far, 1},
		{"5041-5.2-05 5041-5.2-07",
		 "offsets in messages up to 2^32 - 2, tagged ones up to 2^64 - 2", t->far,
		 t->sends},
	};

	PRINT(rows);
}

static void extensions(const struct totals *t)
{
	const struct row rows[] = {
		{"7306-4.1-01 7306-4.1-02 7306-4.1-03 7306-4.2-01 7306-5.2-01 7306-5.2.1-03 "
		 "7306-5.2.2-01 7306-5-05 7306-6.3-01 7306-6.3-04",
		 "opcodes 8 to B on queues 0, 1 and 3, with only their headers", t->imms,
		 t->atomics},
		{"7306-5-01 7306-5.3-01",
		 "atomics of many streams on the same cells are serialized", t->cells, t->swapped},
		{"7306-5-03 7306-5.1.1-05 7306-5.1.1-06 7306-5.1.2-01",
		 "each leaves the result of the RFC's bit-by-bit definition in memory, with any "
		 "masks",
		 t->swapped, t->unswapped},
		{"7306-5.1.1-03 7306-5.1.1-04 7306-5.1.2-03 7306-5.1.2-04",
		 "misaligned cells do not change and end the session with 0/2/07",
		 t->found[PERR_STREAM_CATASTROPHIC], 1},
		{"7306-5.2.1-02", "aligned cells at any tagged offset", t->atomics, 1},
		{"7306-5.2.1-04 7306-5.2.2-02 7306-5.2.2-03",
		 "atomics and Reads share ORD and IRD; within them none is refused", t->atomics,
		 t->reads},
		{"7306-5.2.1-06 7306-5.2.1-10 7306-5.2.2-04",
		 "an atomic completes once, with the old value, and only for its requester",
		 t->atomics, 1},
		{"7306-5.2.1-08 7306-5.2.1-09 7306-5.2.2-06 7306-5.4-07 7306-7-03",
		 "requests and answers in the order of posting, Reads and atomics alike",
		 t->swapped, t->ahead},
		{"7306-5.4-02 7306-5.4-04", "an atomic sees the data of the Write before it",
		 t->atomics, t->ahead},
		{"7306-5.4-01 7306-5.4-06", "no atomic completes before its answer", t->atomics, 1},
		{"7306-6.3-02 7306-6.3-03 7306-6.3-05 7306-6.4-01",
		 "Immediate Data takes a receive, in the order of Sends and after its Writes",
		 t->imms, t->ahead},
	};

	PRINT(rows);
}

static void enhanced(const struct totals *t)
{
	const unsigned *rtr = t->rtr;
	const struct row rows[] = {
		{"6581-7-01 6581-7-04 6581-7-05 6581-9-01 6581-9-02",
		 "codes 5 to 7, the parameters, then private data", t->enhanced, t->enh_rejected},
		{"6581-7-03 6581-7-07 6581-7-11 6581-7-12",
		 "enhanced sessions are accepted, rejected, refused and ended like others",
		 t->enh_rejected, t->enh_unsupported},
		{"6581-7-06", "at most 508 bytes with the parameters", t->enhanced, t->sessions},
		{"6581-7-08 6581-7-09 6581-9.1-01 6581-9.1-09",
		 "programs receive parameters and private data as they were sent", t->enh_rejected,
		 t->enhanced},
		{"6581-9.1-02 6581-9.1-04 6581-9.1-07 6581-9.1-10 6581-9.1-11 6581-9.1-12 "
		 "6581-9.1-13",
		 "no ORD above the other's IRD, unless a side leaves them unchanged",
		 t->dropped_ord, t->enhanced},
		{"6581-9.2-01 6581-9.2-03 6581-9.2-04 6581-9.2-05 6581-9.2-06 6581-9.2-11",
		 "bit A is echoed, B, C and D fit it", t->enhanced, rtr[WIRE_RTR_SEND]},
		{"6581-9.2-09 6581-5-01",
		 "the first segment is a message that both named, and no program sees it",
		 rtr[WIRE_RTR_SEND] && rtr[WIRE_RTR_WRITE], rtr[WIRE_RTR_READ]},
		{"6581-9.2-08 6581-9.2-10", "no message that both support: 2/0/07", t->no_rtr, 1},
		{"6581-10-01 6581-10-02 6581-10-03 6581-10-04",
		 "answers have the format of the request, and no parameters without a request for "
		 "them",
		 t->enhanced, t->sessions},
	};

	PRINT(rows);
}

static void raw(const struct totals *t)
{
	const struct row rows[] = {
		{"5041-4.2-02 5041-4.2-03 5041-4.2-07 5041-4.3-03 5041-5.4-04",
		 "RsvdULP, and the STag of a notice, arrive unchanged", t->raw_sends, t->notices},
		{"5041-5.4-03", "messages arrive with their length", t->raw_sends, t->notices},
		{"5041-6.2-01 5041-6.2.2-06",
		 "a stream lasts until its program closes it or its time is over", t->raw_errors,
		 t->raw_timeouts},
		{"5041-6.2.1-04 5041-6.2.1-05 5041-6.2.1-06",
		 "a half-closed stream continues until its program ends it, and its messages "
		 "arrive",
		 t->half_closed, t->raw_sends},
		{"5041-6.2.2-05 5041-7.1-18", "exactly one message after an error", t->raw_errors,
		 t->msgs_after_error},
		{"5041-7.1-17", "nothing is received after an error", t->raw_errors, 1},
	};

	PRINT(rows);
}

static void memory(const struct totals *t)
{
	const unsigned *found = t->found;
	const struct row rows[] = {
		{"5041-7.1-11", "protected memory is not written", found[PERR_TAGGED_STAG], 1},
		{"5041-7.1-15 5041-8.3.1-03 4296-3-01", "no byte outside a region changes",
		 found[PERR_TAGGED_BOUNDS], 1},
		{"5041-8.2-01 5041-8.3.1-01 5040-8.1.1-07",
		 "no byte of another domain is changed or sent", found[PERR_TAGGED_SCOPE],
		 found[PERR_ACCESS_SCOPE]},
		{"5041-8.3.1-06 4296-3-03", "no byte of a revoked region changes any more",
		 t->revoked, t->writes},
	};

	PRINT(rows);
}

void rows_print(const struct totals *t)
{
	sessions(t);
	segments(t);
	rdmap(t);
	memory(t);
	limits(t);
	extensions(t);
	enhanced(t);
	raw(t);
}
