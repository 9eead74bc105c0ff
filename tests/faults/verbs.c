/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the program for libddpverbs. Its connections to the daemons, the first part's, stay.
 */
#include "tests/faults/verbs.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

const struct part program_parts[] = {
	{"devices", part_devices}, {"objects", part_objects},   {"pair", part_pair},
	{"shared", part_shared},   {"window", part_window},     {"violation", part_violation},
	{"cm", part_cm},           {"moved", part_moved},       {"refusal", part_refusal},
	{"names", part_names},     {"endpoint", part_endpoint}, {NULL, NULL},
};

void verb(const char *call, bool succeeded)
{
	if (succeeded)
		return;
	if (errno == 0)
		complain("%s: it failed, and errno is 0", call);
	give_up("%s: %s", call, strerror(errno));
}
