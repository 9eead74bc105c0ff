/* SPDX-License-Identifier: BSD-2-Clause */
/* Two SCTP stacks and a simulated network with a virtual clock. */
#ifndef TESTS_SCTP_NET_H
#define TESTS_SCTP_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/sctp.h"

enum {
	NET_PORT = 5043,
	NET_UDP = 9899,
	NET_MAX = SCTP_MAX_PACKET + 100,
	NET_KEPT = 4096,    /* messages that are remembered of each side */
	NET_COVER = 37,     /* bytes that a cover adds */
	NET_MESSAGE = 1172, /* that a packet of 1200 bytes takes */
};

struct net;

struct net_packet {
	struct net_packet *next;
	uint64_t at_us; /* when it arrives */
	unsigned to;    /* host */
	struct sctp_flow from;
	uint32_t len;
	uint8_t data[];
};

/* What a host has seen. */
struct net_host {
	struct sctp *s;
	struct invariant *watch;  /* what holds after every packet, holds in each test */
	struct sctp_assoc *assoc; /* the last one that came up */
	struct sctp_listener *listener;
	unsigned incoming, up, down, writable, acked, paths, resized;
	struct sctp_event last_down, last_path;
	uint64_t messages, bytes;
	uint64_t sum;                /* of the numbers in the messages' first 8 bytes */
	bool accept;                 /* keep associations that come in */
	size_t allocated;            /* bytes */
	unsigned allocs, fail_every; /* 0: none fails */
	unsigned fail_at;            /* this allocation fails, 0: none */
	uint64_t link_free_us;       /* when the link is idle again */
};

struct net {
	uint64_t now, seed;
	unsigned addrs;
	struct net_host host[2];
	struct net_packet *flying; /* in the order of arrival */
	struct net_packet *last;   /* of them; NULL: there is none */
	/* The link, both directions. */
	uint64_t delay_us, jitter_us;
	uint32_t rate;     /* bytes per ms, 0 = unlimited */
	uint32_t queue_us; /* of the bottleneck: what would wait longer is dropped */
	unsigned loss, dup, corrupt, reorder; /* of 10,000 */
	unsigned overtake; /* of 10,000 packets of host 0: leave the bottleneck before all others */
	uint32_t mtu;      /* longer packets vanish, 0 = none do */
	bool covered;      /* host 0 connects with a cover */
	bool cut[2];       /* all packets to our address of this index vanish */
	uint64_t sent, lost;
	/* NULL, or sees each packet before the network; false: it vanishes. */
	bool (*filter)(struct net *n, unsigned from, const struct sctp_batch *b, uint8_t *p,
		       uint32_t len);
	void *filter_user;
	struct sctp_batch batch;
};

/* A configuration that suits most tests; addresses 10.0.<i>.<host + 1>. */
struct sctp_config net_config(struct net *n, unsigned host, unsigned addrs);

/* Two stacks with that many addresses each; host 1 listens at all of them. */
void net_init(struct net *n, uint64_t seed, unsigned addrs);
void net_init_cfg(struct net *n, uint64_t seed, const struct sctp_config *a,
		  const struct sctp_config *b);
/* Closes the stacks; everything that they allocated must be back. */
void net_deinit(struct net *n);

/* Host 0 connects to host 1. */
struct sctp_assoc *net_connect(struct net *n);
/* Connects, and runs until both sides are up and send messages of NET_MESSAGE, if the link takes
 * them. */
void net_establish(struct net *n);

/* Lets time pass until nothing is left to do, or until the deadline. */
void net_run(struct net *n, uint64_t until_us);
/* The same until the condition holds; false if it did not before the deadline. */
bool net_run_until(struct net *n, bool (*cond)(struct net *n), uint64_t deadline_us);

/* Sends a message of len bytes (at least 8) that begins with a number. */
int net_send(struct net *n, unsigned host, uint16_t sid, uint64_t number, uint32_t len);

/* Puts a packet on its way to a host, as if its peer had sent it. */
void net_inject(struct net *n, unsigned to, const struct sctp_flow *from, const uint8_t *p,
		uint32_t len, uint64_t delay_us);

uint64_t net_random(struct net *n);

#endif
