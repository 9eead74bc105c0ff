/* SPDX-License-Identifier: BSD-2-Clause */
/* What a program does to memory while it is registered. */
#ifndef TESTS_SYSTEM_OWN_CHANGES_H
#define TESTS_SYSTEM_OWN_CHANGES_H

#include "tests/system/rig.h"

/* realloc(), mprotect() and munmap() of a part, also those that ddp_reg_mr(3) tells programs not to
 * do: nothing crashes, and bytes of the program stay. The second end owns the memory. */
void own_changes(const struct session *s);

#endif
