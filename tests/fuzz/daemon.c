/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The whole daemon between a hostile peer (other_host.c) and hostile local programs (programs.c),
 * whose actions alternate as the input says. The clock is the daemon's own turns. Afterwards no
 * object, association, descriptor or charge is left.
 */
#include <netinet/in.h>

#include "daemon/net/association.h"
#include "daemon/net/peers.h"
#include "llp/user/user.h"
#include "tests/fuzz/other_host.h"
#include "tests/fuzz/programs.h"
#include "tests/fuzz/udp_fake.h"
#include "util/addr.h"

enum {
	STEPS = 250,   /* of one input */
	NETWORK = 240, /* steps of the network, from there on */
	CARRIER = 192, /* from there on, the peer begins what is for datagrams */
};

static struct worker *const w = &programs.d.worker;

static void open_net(void)
{
	const struct llp_config cfg = {
		.addrs = w->own.a,
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
	char reason[256];

	must(llp_user_open(&cfg, &association_llp_events, &w->net, reason, sizeof(reason)) == 0);
}

static void start(void)
{
	static const struct msg_addr ours = {.family = AF_INET, .bytes = {10, 0, 0, 1}};

	if (w->loop)
		return;
	programs.own = programs.peer = ours;
	programs.peer.bytes[3] = 2;
	programs.peer.port = PROGRAMS_PORT;
	programs_make_daemon();
	open_net();
}

static ssize_t no_key(void *p, size_t len, unsigned flags)
{
	(void)flags;
	memset(p, 0, len);
	return (ssize_t)len;
}

static void step_of_peer(uint8_t what)
{
	switch (what % 8) {
	case 0:
		if (what >= CARRIER / 3)
			other_host_begin_at((uint16_t)programs.d.cfg.session.datagram_port);
		else
			other_host_begin_there();
		break;
	case 1:
		other_host_answer();
		break;
	case 2:
	case 3:
		other_host_message();
		break;
	case 4:
		other_host_packet();
		break;
	case 5:
		other_host_ack();
		break;
	case 6:
		other_host_bytes();
		break;
	default:
		other_host_icmp();
	}
}

static void step(struct input *in)
{
	uint8_t what = in_8(in);

	if (what >= NETWORK)
		other_host_network();
	else if (what % 3 == 0)
		step_of_peer(what / 3);
	else
		programs_step();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct sockaddr_storage peer;

	start();
	must(msg_addr_get(&programs.peer, &peer) == 0);
	addr_set_port(&peer, 9899);
	programs_begin(&in);
	must(peers_new(w, no_key) == 0);
	other_host_begin(&in, &peer, programs_turn);
	for (unsigned i = 0; i < STEPS && in.left > 0 && !programs_are_over(); i++)
		step(&in);
	udp_fake = (struct udp_fake){0};
	programs_end();
	peers_free(w);
	return 0;
}
