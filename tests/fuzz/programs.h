/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A daemon in this process, and hostile programs that are its clients: records, entries and
 * arbitrary bytes in the shared rings. Sessions connect two of them, one to itself, or one to a
 * peer. A program ends with its sockets open, after it has closed them, or by a fault of its own.
 */
#ifndef TESTS_FUZZ_PROGRAMS_H
#define TESTS_FUZZ_PROGRAMS_H

#include "daemon/base/state.h"
#include "ipc/msg_addr.h"
#include "tests/fuzz/fuzz.h"

enum { PROGRAMS_PORT = 5043 };

extern struct programs {
	struct daemon d; /* the target opens d.worker.net */
	/* The address of the daemon, without a port, and what programs connect to if the input
	 * says nothing else. */
	struct msg_addr own, peer;
} programs;

/* Makes the daemon, once, without d.worker.net. own and peer are set. */
void programs_make_daemon(void);

/* Begins with a new input. */
void programs_begin(struct input *in);

/* Something that a program does, then a turn. */
void programs_step(void);

/* As many programs have begun as one input may have. */
bool programs_are_over(void);

/* Some time passes, then the daemon has a turn. */
void programs_turn(uint64_t ms);

/* All programs end. None of their objects is left, and no association. */
void programs_end(void);

#endif
