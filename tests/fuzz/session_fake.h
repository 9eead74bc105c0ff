/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions of the tools without a daemon, in place of tools/common/session.c and server.c: the
 * input is the peer, which sends messages, writes to memory that it may write, is silent, or goes.
 * What a tool posts lies in its memory.
 */
#ifndef TESTS_FUZZ_SESSION_FAKE_H
#define TESTS_FUZZ_SESSION_FAKE_H

#include "tests/fuzz/fuzz.h"
#include "tools/common/server.h"

/* A message of the peer, at most len bytes. Returns its length. */
typedef size_t session_fake_message(struct input *in, uint8_t *p, size_t len);

/* Begins with a new input. */
void session_fake_begin(struct input *in, session_fake_message *message);

/* All sessions are closed, and have freed their memory. What tools print goes nowhere until then.
 */
void session_fake_end(void);

#endif
