/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranges that are no memory of the program. */
#ifndef TESTS_SYSTEM_OWN_BAD_H
#define TESTS_SYSTEM_OWN_BAD_H

#include "tests/system/rig.h"

/* Each is refused with its error: empty, huge, beyond the addresses, with a hole, not readable, of
 * the kernel, or of a device. */
void own_bad(struct end *e);

#endif
