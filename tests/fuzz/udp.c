/* SPDX-License-Identifier: BSD-2-Clause */
/* Hostile packets against the user transport: SCTP in this process over sockets that are none. */
#include "tests/fuzz/transport.h"

enum { STEPS = 100 /* of one input */ };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool opened;

	if (!opened)
		transport_open(NULL);
	opened = true;
	transport_begin(data, size);
	for (unsigned i = 0; i < STEPS && transport_input.left > 0; i++)
		transport_step();
	transport_end();
	return 0;
}
