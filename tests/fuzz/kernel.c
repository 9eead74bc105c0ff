/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The transport `kernel`: any notifications and messages of Linux's SCTP, in any order, in parts
 * and cut; errors of its system calls; and what the owner of the transport does meanwhile. Upcalls
 * come in order, and at the end nothing is left.
 */
#include <arpa/inet.h>

#include "llp/kernel/kernel.h"
#include "tests/fuzz/kernel_fake.h"
#include "tests/fuzz/owner.h"
#include "tests/lib/llp_one.h"

enum {
	PORT = 5043,
	STEPS = 100, /* of one input */
};

static struct llp *t;
static struct llp_listener *listener;
static uint64_t now;
static struct input in;
static struct sockaddr_storage ours, other;

static void turn(uint64_t ms)
{
	now += ms;
	llp_tick(t, now);
	llp_input(t, 64);
	llp_flush(t);
}

static void connect_one(void)
{
	struct owner *o = owner_new();

	if (!o)
		return;
	*o = (struct owner){0};
	llp_connect(t, (struct sockaddr *)&other, o, &o->c);
}

static void query(const struct owner *o)
{
	struct llp_path paths[LLP_MAX_PATHS];
	struct llp_info info;
	struct llp_msg m;
	unsigned n;

	if (!o->c || !o->up || o->over)
		return;
	llp_info(o->c, &info);
	(void)llp_recv(o->c, &m); /* outside of an upcall */
	n = llp_paths(o->c, paths);
	for (unsigned i = 0; i < n && i < LLP_MAX_PATHS; i++)
		must(paths[i].remote.ss_family == AF_INET);
	(void)llp_set_primary(o->c, (struct sockaddr *)&other);
}

static void step(void)
{
	uint8_t what = in_8(&in);
	struct owner *o = &owner[what / 16 % OWNERS];

	switch (what % 12) {
	case 0:
		connect_one();
		break;
	case 1:
	case 2:
	case 3:
		kernel_fake_notify();
		break;
	case 4:
	case 5:
		kernel_fake_message();
		break;
	case 6:
		kernel_fake_change();
		break;
	case 7:
		owner_send(o, &in);
		break;
	case 8:
		turn(UINT64_C(1) << in_8(&in) % 13);
		break;
	case 9:
		owner_shut_down(o);
		break;
	case 10:
		owner_let_go(o);
		break;
	default:
		query(o);
	}
	if (what < 128) /* else more than one thing has happened when it looks */
		turn(1);
}

static void start(void)
{
	const struct llp_config cfg = {
		.addrs = &ours,
		.naddrs = 1,
		.streams = 8,
		.adaptation = 1,
		.buffer = 1 << 20,
		.sack_packets = 4,
		.sack_ms = 20,
		.rto_min_ms = 50,
		.rto_max_ms = 500,
		.path_max_retrans = 2,
		.init_ms = 2000,
	};
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	char reason[LLP_SCTP_REASON];

	a.sin_addr.s_addr = inet_addr("10.0.0.2");
	memcpy(&other, &a, sizeof(a));
	a.sin_port = 0;
	a.sin_addr.s_addr = inet_addr("10.0.0.1");
	memcpy(&ours, &a, sizeof(a));
	must(llp_kernel_open(&cfg, &owner_events, &t, reason, sizeof(reason)) == 0);
}

static void let_go_all(void)
{
	for (unsigned i = 0; i < OWNERS; i++)
		owner_let_go(&owner[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct kernel *k;

	in = (struct input){NULL, 0};
	kernel_fake_begin(&in);
	now = 0;
	start();
	k = (const struct kernel *)t;
	must(llp_listen(t, NULL, PORT, &owner, &listener) == 0);
	in = (struct input){data, size};
	for (unsigned i = 0; i < STEPS && in.left > 0; i++)
		step();
	in.left = 0;
	do { /* a turn has a budget, and more may arrive in it */
		let_go_all();
		turn(1);
	} while (!list_empty(&k->sctp.ready));
	let_go_all();
	must(k->sctp.nconns == 0 && list_empty(&k->sctp.conns) && k->half_open == 0);
	llp_close(t);
	kernel_fake_end();
	return 0;
}
