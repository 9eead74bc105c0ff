/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hostile packets against the user transport: SCTP in this process over a socket that is none.
 * The input plays the other host (other_host.c), and what the owner of the transport does
 * meanwhile.
 * What leaves is sealed, upcalls come in order, and at the end nothing is left.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include "llp/user/user.h"
#include "tests/fuzz/other_host.h"
#include "tests/fuzz/owner.h"
#include "tests/lib/llp_one.h"

enum {
	PORT = 5043,
	STEPS = 100,      /* of one input */
	KEPT = 512 << 10, /* memory that the core keeps for later */
};

static struct llp *t;
static struct llp_listener *listener;
static uint64_t now;
static uint64_t memory; /* of the transport without associations */
static struct input in;

static struct sockaddr_storage ours, other;

static void turn(uint64_t ms)
{
	now += ms;
	llp_input(t, 64);
	llp_tick(t, now);
	llp_flush(t);
}

/* ---- one input ---- */

static void begin_here(void)
{
	struct sockaddr_storage to = other;
	struct owner *e = owner_new();

	if (!e)
		return;
	((struct sockaddr_in *)&to)->sin_port = htons(PORT);
	*e = (struct owner){0};
	if (llp_connect(t, (struct sockaddr *)&to, e, &e->c) < 0)
		return;
	turn(1);
	other_host_answer();
}

static void step(void)
{
	uint8_t what = in_8(&in);
	struct owner *e = &owner[what / 16 % OWNERS];

	switch (what % 10) {
	case 0:
		other_host_begin_there();
		break;
	case 1:
		begin_here();
		break;
	case 2:
	case 3:
		other_host_packet();
		break;
	case 4:
		other_host_bytes();
		break;
	case 5:
		owner_send(e, &in);
		break;
	case 6:
		turn(UINT64_C(1) << in_8(&in) % 13);
		break;
	case 7:
		owner_shut_down(e);
		break;
	case 8:
		owner_let_go(e);
		break;
	default:
		other_host_icmp();
	}
	turn(1);
}

static void start(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = inet_addr("10.0.0.1")};
	struct llp_config cfg = {
		.addrs = &ours,
		.naddrs = 1,
		.udp_port = 9899,
		.streams = 8,
		.adaptation = 1,
		.buffer = 1 << 20,
		.sack_packets = 4,
		.sack_ms = 20,
		.rto_min_ms = 50,
		.rto_max_ms = 500,
		.heartbeat_ms = 1000,
		.path_max_retrans = 2,
		.init_ms = 2000,
	};
	char reason[LLP_SCTP_REASON];

	memcpy(&ours, &a, sizeof(a));
	a.sin_addr.s_addr = inet_addr("10.0.0.2");
	a.sin_port = htons(9899);
	memcpy(&other, &a, sizeof(a));
	must(llp_user_open(&cfg, &owner_events, &t, reason, sizeof(reason)) == 0);
	must(llp_listen(t, NULL, PORT, &owner, &listener) == 0);
	turn(1);
}

/* Everybody lets go. */
static void finish(void)
{
	const struct user *u = (const struct user *)t;

	for (unsigned i = 0; i < OWNERS; i++)
		owner_let_go(&owner[i]);
	turn(1);
	must(u->sctp.nconns == 0 && list_empty(&u->sctp.conns));
	must(sctp_memory(u->core) <= memory + KEPT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!t) {
		start();
		memory = sctp_memory(((const struct user *)t)->core);
	}
	in = (struct input){data, size};
	other_host_begin(&in, &other, turn);
	for (unsigned i = 0; i < STEPS && in.left > 0; i++)
		step();
	finish();
	return 0;
}
