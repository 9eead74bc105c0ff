/* SPDX-License-Identifier: BSD-2-Clause */
/* The record of a stack, and of its listeners. */
#ifndef SCTP_STACK_H
#define SCTP_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/base/budget.h"
#include "sctp/memory/pool.h"
#include "sctp/path/size_cache.h"
#include "sctp/receive/rwnd.h"
#include "sctp/sctp.h"
#include "sctp/wire/cookie.h"
#include "util/list.h"
#include "util/timer.h"

enum {
	SCTP_BUCKETS = 16384,
	SCTP_MAX_CHUNKS = SCTP_MAX_PACKET / 20 + 1, /* DATA chunks of a packet */
	SCTP_REPLIES = 65536,                       /* bytes of packets that answer at once */
	SCTP_FIRST_PORT = 49152, /* ports that associations of ours use: up to 65535 */
	SCTP_OWN_PORTS = 16384,
};

struct sctp_listener {
	struct list all;
	struct sctp *s;
	void *user;
	uint16_t port;
	bool all_addrs;
	uint8_t local[SCTP_MAX_LOCAL];
	unsigned n; /* 0: each address of ours */
};

/* A message of the present packets. */
struct sctp_rx {
	const uint8_t *p;
	uint32_t len, ppid;
	uint16_t sid;
	bool ordered;
};

/* A packet that waits in the ring of replies; its bytes follow. */
struct sctp_reply {
	struct sctp_flow to;
	uint32_t len;
	bool no_checksum;
};

struct sctp {
	struct sctp_config cfg;
	bool dropped[SCTP_MAX_OWN]; /* addresses of ours without new associations */
	uint64_t now;
	struct timers timers;
	void (*expire)(struct timer *t); /* of associations: sctp_assoc_expire() */
	struct timer trim;               /* gives memory back that was not used for a while */
	bool trimming;                   /* it is set */
	struct list assocs, pending, eventful, listeners;
	unsigned nassocs;
	uint64_t held; /* bytes of associations */
	struct sctp_pool pool;
	struct sctp_cookie_keys keys;
	uint64_t hash_key[2];
	struct sctp_path *last; /* of the last packet that arrived */
	struct sctp_stats st;
	uint16_t next_port;
	uint32_t port_uses[SCTP_OWN_PORTS]; /* associations that have the port */
	struct sctp_budget budget;
	struct sctp_size_cache sizes;
	struct sctp_rwnd_limits windows; /* that are advertised */

	struct sctp_assoc *rx_assoc;
	unsigned nrx, rx_pos;
	bool rx_queued; /* rx_assoc->recv may have messages */

	uint32_t reply_head, reply_tail; /* bytes ever taken out, put in */
	uint32_t reply_open;             /* where the present packet begins */
	uint32_t input_rtt_us;           /* of sctp_input_rtt() */
	bool answering, answered;        /* a packet is processed; the answer has begun */
	uint32_t answer, answer_end;     /* where it begins and ends */
	struct sctp_path *bucket[SCTP_BUCKETS];
	struct sctp_rx rx[SCTP_MAX_CHUNKS];
	_Alignas(8) uint8_t replies[SCTP_REPLIES];
};

static inline uint32_t sctp_random32(struct sctp *s)
{
	uint32_t v;

	s->cfg.random(s->cfg.random_user, &v, sizeof(v));
	return v;
}

#endif
