/* SPDX-License-Identifier: BSD-2-Clause */
/* Many registrations of the program's own memory at random. */
#ifndef TESTS_SYSTEM_OWN_ROUNDS_H
#define TESTS_SYSTEM_OWN_ROUNDS_H

#include "tests/system/rig.h"

/* 10,000 registrations and deregistrations (OWN_ROUNDS) of random ranges that overlap, while 4
 * threads count in all of this memory: no count is lost. */
void own_rounds(struct end *e, unsigned seed);

#endif
