/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every operation, end to end, through the given daemons: two that use SCTP, or the same one twice,
 * whose programs use the loop transport.
 *
 *   whole SOCKET-A SOCKET-B ADDRESS-B [PLAIN-SOCKET PLAIN-ADDRESS]
 *
 * PLAIN is a third daemon, with session.enhanced and session.extensions off.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/patience.h"
#include "tests/system/whole.h"

static const struct {
	const char *name;
	void (*run)(struct whole *w);
} parts[] = {
	{"Sends", whole_sends},
	{"Writes and Reads", whole_writes_and_reads},
	{"Immediate Data", whole_immediate},
	{"atomics", whole_atomics},
	{"a sum of many programs", whole_sum},
	{"windows of type 1", whole_windows_1},
	{"windows of type 2", whole_windows_2},
	{"regions", whole_regions},
	{"regions registered again", whole_rereg},
	{"notices of Writes", whole_notice},
	{"a shared receive queue", whole_srq},
	{"limits of a session in it", whole_srq_share},
	{"late receives", whole_late},
	{"late receives and the end", whole_late_end},
	{"limits of late receives", whole_late_bounds},
	{"senders that wait for late receives", whole_late_credits},
	{"the end of senders that wait", whole_late_waiting_end},
	{"refused options", whole_late_refused},
	{"late receives of a shared queue", whole_late_srq},
	{"late receives of a shared queue, and other work", whole_late_srq_other},
	{"a receive with a wrong key", whole_late_key},
	{"receives after the peer's end", whole_keep},
	{"placing in order", whole_in_order},
	{"completion at placement", whole_placed},
	{"enhanced sessions", whole_enhanced},
	{"the first message", whole_first_message},
	{"refused sessions", whole_refused},
	{"raw queue pairs", whole_raw},
	{"errors of raw queue pairs", whole_raw_error},
};

int main(int argc, char **argv)
{
	struct whole w = {0};

	if (argc > 1 && strcmp(argv[1], "add") == 0)
		return whole_adder(argv + 2);
	if (argc != 4 && argc != 6) {
		fprintf(stderr, "usage: whole SOCKET-A SOCKET-B ADDRESS-B [PLAIN-SOCKET "
				"PLAIN-ADDRESS]\n");
		return 2;
	}
	alarm(LIFE_S);
	w.address = argv[3];
	if (argc == 6) {
		w.plain_socket = argv[4];
		w.plain_address = argv[5];
	}
	end_open(&w.a, "a", argv[1]);
	end_open(&w.b, "b", argv[2]);
	end_listen(&w.b);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		printf("-- %s\n", parts[i].name);
		parts[i].run(&w);
	}
	end_close(&w.a);
	end_close(&w.b);
	ok("all objects can be freed");
	return 0;
}
