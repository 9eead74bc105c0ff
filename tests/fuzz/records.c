/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hostile clients (programs.c) against a daemon without a network: the input is a sequence of
 * records, of entries and arbitrary bytes in the shared rings, and of turns. Sessions connect two
 * clients, or a client to itself. After the clients have ended, none of their objects is left.
 */
#include <netinet/in.h>

#include "daemon/net/association.h"
#include "tests/fuzz/programs.h"

enum { STEPS = 250 }; /* of one input */

static void start(void)
{
	static const struct msg_addr here = {.family = AF_INET, .bytes = {127, 0, 0, 1}};
	struct worker *w = &programs.d.worker;

	if (w->loop)
		return;
	programs.own = programs.peer = here;
	programs.peer.port = PROGRAMS_PORT;
	programs_make_daemon();
	must(llp_loop_open(&(struct llp_config){.addrs = w->own.a, .streams = 8},
			   &association_llp_events, &w->net) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};

	start();
	programs_begin(&in);
	for (unsigned i = 0; i < STEPS && in.left > 0 && !programs_are_over(); i++)
		programs_step();
	programs_end();
	return 0;
}
