/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SCTP sockets without a kernel that has them: the system calls of llp/kernel. What they bring is
 * what the input says. epoll is the real one: a socket is one end of a pair.
 */
#ifndef TESTS_FUZZ_KERNEL_FAKE_H
#define TESTS_FUZZ_KERNEL_FAKE_H

#include "tests/fuzz/fuzz.h"

/* Begins with a new input. */
void kernel_fake_begin(struct input *in);

/* Each reads its parameters from the input, which socket first. */
void kernel_fake_notify(void);  /* a notification arrives */
void kernel_fake_message(void); /* a message, or a part of one */
void kernel_fake_change(void);  /* an error, the end of the association, room, or an arrival */

/* The other ends are closed. */
void kernel_fake_end(void);

#endif
