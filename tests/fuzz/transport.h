/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The transport `user` over udp_fake.c, with an owner that does what the input says, between
 * packets of the other host (other_host.c). What leaves is sealed, upcalls come in order, and at
 * the end nothing is left.
 */
#ifndef TESTS_FUZZ_TRANSPORT_H
#define TESTS_FUZZ_TRANSPORT_H

#include "llp/common/llp.h"
#include "tests/fuzz/fuzz.h"

/* What the steps read. */
extern struct input transport_input;

/* Opens it, once; cover: NULL: in clear text. */
void transport_open(const struct llp_cover *cover);

/* Begins with a new input. */
void transport_begin(const uint8_t *data, size_t size);

/* Something that the other host or the owner does, then a turn. */
void transport_step(void);

/* Some time passes, then the transport has a turn. */
void transport_turn(uint64_t ms);

/* Everybody lets go. */
void transport_end(void);

#endif
