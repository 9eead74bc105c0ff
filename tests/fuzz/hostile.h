/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A daemon that lies, behind the library's socket, in the same thread: it runs whenever the library
 * has sent a request. Its replies are what a daemon sends, changed as the input says.
 */
#ifndef TESTS_FUZZ_HOSTILE_H
#define TESTS_FUZZ_HOSTILE_H

#include "tests/fuzz/fuzz.h"

/* Begins with a new input, which tells how each reply is changed. */
void hostile_begin(struct input *in);

/* The daemon ends. Its memory stays as long as the library has it mapped. */
void hostile_end(void);

/* Each reads its parameters from the input. */
void hostile_event(void);    /* an event of sessions */
void hostile_bytes(void);    /* any bytes instead of one */
void hostile_scribble(void); /* any bytes anywhere in shared memory */
void hostile_complete(void); /* a completion, its bell, or the bell of asynchronous events */
void hostile_done(void);     /* how far the entries of a queue are taken and complete */
void hostile_agent(void);    /* a request to the agent or marks; returns when they are served */

#endif
