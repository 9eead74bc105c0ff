/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/transport.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include "llp/user/user.h"
#include "tests/fuzz/other_host.h"
#include "tests/fuzz/owner.h"
#include "tests/fuzz/udp_fake.h"
#include "tests/lib/llp_one.h"

enum {
	PORT = 5043,
	KEPT = 512 << 10, /* memory that the core keeps for later */
	RARE = 240,       /* steps from there on */
	QUIET_TURNS = 200,
	EXTRA = 2, /* addresses of ours that come and go */
};

struct input transport_input;

static struct input *const in = &transport_input;
static struct llp *t;
static struct llp_listener *listener;
static uint64_t now;
static uint64_t memory; /* of the transport without associations */
static bool covered;
static struct sockaddr_storage ours, other, extra[EXTRA];

void transport_turn(uint64_t ms)
{
	now += ms;
	llp_input(t, 64);
	llp_tick(t, now);
	llp_flush(t);
}

/* ---- what the owner does ---- */

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
	transport_turn(1);
	other_host_answer();
}

/* From any addresses of ours to several of the other host. */
static void begin_paths(void)
{
	uint8_t n = in_8(in);
	struct sockaddr_storage to[2] = {other, other}, at[2] = {ours, extra[0]};
	const struct llp_addrs peer = {to, 1 + n % 2}, from = {at, n / 2 % 3};
	struct owner *e = owner_new();

	if (!e)
		return;
	((struct sockaddr_in *)&to[1])->sin_addr.s_addr += htonl(1);
	*e = (struct owner){0};
	if (llp_connect_at(t, &peer, PORT, &from, n & 8 ? PORT : 0, e, &e->c) < 0)
		return;
	transport_turn(1);
	other_host_answer();
}

static volatile uint8_t seen; /* of packets */

static void on_packet(void *arg, const struct llp_packet *p)
{
	must(!arg && p->n > 0 && p->remote.ss_family == AF_INET);
	for (unsigned i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->part[i].len; k++)
			seen = p->part[i].p[k];
}

static void look(const struct owner *e)
{
	struct llp_path path[LLP_MAX_PATHS];
	struct llp_identity id;
	struct llp_stats stats;
	struct llp_info info;
	int fds[LLP_MAX_FDS];

	llp_stats(t, &stats);
	must(llp_fds(t, fds) > 0);
	if (!e->c)
		return;
	llp_info(e->c, &info);
	must(covered || (!llp_identity_of(e->c, &id) && !info.covered));
	must(llp_paths(e->c, path) <= LLP_MAX_PATHS);
	(void)llp_unacked(e->c);
	(void)llp_room(e->c);
}

static void tap(const struct owner *e)
{
	uint8_t how = in_8(in);
	const struct llp_tap one = {.fn = on_packet,
				    .only = how & 1 ? e->c : NULL,
				    .one_stream = how & 2,
				    .stream = how >> 4};

	llp_set_tap(t, how & 4 ? NULL : &one);
}

static void listen_again(void)
{
	const struct sockaddr_storage at[2] = {ours, extra[0]};
	const struct llp_addrs all = {at, in_8(in) % 3};

	listener = llp_unlisten(listener);
	if (llp_listen_at(t, &all, PORT, &owner, &listener) < 0)
		must(llp_listen(t, NULL, PORT, &owner, &listener) == 0);
}

static void own_addresses(void)
{
	uint8_t n = in_8(in);
	char reason[256];

	if (n & 1)
		llp_drop_addr(t, &extra[n / 2 % EXTRA]);
	else
		must(llp_add_addr(t, &extra[n / 2 % EXTRA], reason, sizeof(reason)) == 0);
}

static void set_primary(struct owner *e)
{
	struct sockaddr_storage to = other;

	((struct sockaddr_in *)&to)->sin_addr.s_addr += htonl(in_8(in) % 4);
	if (e->c)
		(void)llp_set_primary(e->c, (struct sockaddr *)&to);
}

static void step_rare(struct owner *e)
{
	switch (in_8(in) % 10) {
	case 0:
		begin_paths();
		break;
	case 1:
		look(e);
		break;
	case 2:
		tap(e);
		break;
	case 3:
		listen_again();
		break;
	case 4:
		own_addresses();
		break;
	case 5:
		set_primary(e);
		break;
	case 6:
		owner_is_deaf = !owner_is_deaf;
		break;
	case 7:
		for (unsigned i = 0; i < QUIET_TURNS; i++)
			transport_turn(0);
		break;
	case 8:
		if (e->c)
			llp_report_acks(e->c);
		break;
	default:
		if (e->c)
			llp_abort(e->c, "the owner has enough");
		owner_let_go(e);
	}
}

void transport_step(void)
{
	uint8_t what = in_8(in);
	struct owner *e = &owner[what / 16 % OWNERS];

	if (what >= RARE) {
		if (what % 2)
			other_host_network();
		else
			step_rare(&owner[what / 2 % OWNERS]);
		transport_turn(1);
		return;
	}
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
		owner_send(e, in);
		break;
	case 6:
		transport_turn(UINT64_C(1) << in_8(in) % 13);
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
	transport_turn(1);
}

/* The sockets of dropped addresses stay open: all inputs have them. */
static void open_extra(struct sockaddr_in a)
{
	char reason[256];

	for (unsigned i = 0; i < EXTRA; i++) {
		a.sin_addr.s_addr = inet_addr("10.0.1.1") + htonl(i);
		memcpy(&extra[i], &a, sizeof(a));
		must(llp_add_addr(t, &extra[i], reason, sizeof(reason)) == 0);
		llp_drop_addr(t, &extra[i]);
	}
}

void transport_open(const struct llp_cover *cover)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = inet_addr("10.0.0.1")};
	struct llp_config cfg = {
		.addrs = &ours,
		.naddrs = 1,
		.udp_port = 9899,
		.cover = cover,
		.streams = 8,
		.adaptation = 1,
		.buffer = 128 << 10,
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
	covered = cover;
	a.sin_addr.s_addr = inet_addr("10.0.0.2");
	a.sin_port = htons(cover ? cover->udp_port : 9899);
	memcpy(&other, &a, sizeof(a));
	must(llp_user_open(&cfg, &owner_events, &t, reason, sizeof(reason)) == 0);
	must(llp_listen(t, NULL, PORT, &owner, &listener) == 0);
	a.sin_port = 0;
	open_extra(a);
	transport_turn(1);
	memory = sctp_memory(((const struct user *)t)->core);
}

void transport_begin(const uint8_t *data, size_t size)
{
	*in = (struct input){data, size};
	other_host_begin(in, &other, transport_turn);
	if (!covered)
		return;
	other_host_cover();
	udp_fake.at = USER_COVERED;
}

void transport_end(void)
{
	const struct user *u = (const struct user *)t;

	udp_fake = (struct udp_fake){0};
	owner_is_deaf = false;
	llp_set_tap(t, NULL);
	for (unsigned i = 0; i < EXTRA; i++)
		llp_drop_addr(t, &extra[i]);
	for (unsigned i = 0; i < OWNERS; i++)
		owner_let_go(&owner[i]);
	transport_turn(1);
	must(u->sctp.nconns == 0 && list_empty(&u->sctp.conns));
	must(sctp_memory(u->core) <= memory + KEPT);
}
