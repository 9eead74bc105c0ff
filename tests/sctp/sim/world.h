/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two SCTP stacks under a virtual clock, faults that are drawn from a seed, and a model that
 * judges what the stacks do. The model looks into the stacks, but does not change them.
 */
#ifndef TESTS_SCTP_SIM_WORLD_H
#define TESTS_SCTP_SIM_WORLD_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sctp/invariant.h"

enum {
	PORT = 5043,
	CROSS_PORT = 50000, /* of both sides when INITs cross */
	UDP = 9899,
	CONNS = 64,    /* associations of one run */
	MSGS = 8192,   /* messages of one run */
	VARIANTS = 61, /* contents begin at so many places of the pattern */
	SECOND = 1000000,
	PROGRESS = 10 * SECOND, /* without it an association ends */
};

struct world;

/* A packet on its way, or an ICMP message about one. */
struct packet {
	struct packet *next, *prev;
	uint64_t at_us;
	unsigned to; /* host */
	bool icmp;
	uint32_t mtu; /* of the ICMP message */
	struct sctp_flow flow;
	uint32_t len;
	uint8_t data[];
};

/* What the model knows about a message; its number is the PPID. */
struct msg {
	unsigned conn;  /* of the sender */
	uint32_t index; /* in its association */
	uint32_t len;
	bool delivered;
};

/* One end of an association. */
struct conn {
	struct sctp_assoc *a; /* NULL: freed */
	unsigned host, number;
	uint32_t own_tag, peer_tag;
	int peer; /* the other end, -1: not known yet */
	bool up, down, replay;
	uint64_t shut_us; /* when the program shut it down, 0: not yet */
	enum sctp_end end;
	uint64_t refused_before; /* refused handshakes of the other host when this end was made */
	/* sending */
	uint32_t sent; /* messages that sctp_assoc_send() took */
	unsigned wish; /* messages that the program still wants to send */
	bool blocked;  /* SCTP_E_AGAIN: an event has to come */
	uint32_t numbers[MSGS / 4];
	uint32_t cum; /* acknowledged, at progress_us */
	uint64_t progress_us;
	/* receiving */
	uint32_t prefix; /* messages that came without a hole */
	uint32_t top;    /* highest index that came + 1 */
	bool got[MSGS / 4];
};

struct host {
	struct world *w;
	unsigned number;
	struct sctp *s;
	struct invariant *watch; /* observes it */
	struct sctp_listener *listener;
	struct sctp_config cfg;
	size_t allocated;
	unsigned fail; /* of 1000 allocations */
	uint64_t pause_until;
	uint16_t udp_port; /* that others see */
	unsigned calls;    /* of random numbers with 4 bytes, since it was set to 0 */
	unsigned wrap_at;  /* the call that gives a number near the wrap */
};

struct world {
	uint64_t seed, rng, now, hash, steps;
	bool verbose;
	struct host host[2];
	struct packet *first, *last; /* in the order of arrival */

	/* what the seed chose */
	unsigned addrs;
	bool strict;  /* no association may end but by shutdown */
	bool crossed; /* both sides connect */
	bool wraps, failing, rebinds, icmp, resizes, pauses;
	bool sizes;           /* only the size of packets that pass changes: progress is due */
	bool drops_fragments; /* the network passes no IP fragments */
	bool v6;
	unsigned size_class;

	/* the network */
	uint64_t delay_us, jitter_us, queue_us;
	uint32_t rate; /* bytes per ms, 0 = unlimited */
	uint64_t free_us[2];
	unsigned loss, dup, reorder, corrupt, truncate; /* of 10,000 */
	uint32_t mtu;
	bool cut[2][2]; /* subnet, sender */
	uint64_t heal_us;

	struct conn *conn[CONNS];
	unsigned conns;
	struct msg msg[MSGS];
	unsigned msgs;
	struct sctp_batch batch;
	struct totals {
		uint64_t packets, lost, messages, bytes, conns, closed, broken, restarts,
			retransmits, timeouts, fragments, probes, batches, failures, stalls, us;
	} sum;
};

/* A promise of the stack that is broken, or a wrong model: ends the program. */
_Noreturn void fail(struct world *w, const char *file, int line, const char *what);
#define check(w, cond) ((cond) ? (void)0 : fail(w, __FILE__, __LINE__, #cond))

/* ---- world.c ---- */
uint64_t draw(struct world *w); /* the next random number */
uint64_t below(struct world *w, uint64_t n);
bool chance(struct world *w, unsigned of_10000);
struct sctp_addr world_addr(const struct world *w, unsigned subnet, unsigned host);
uint32_t world_ip_head(const struct world *w); /* bytes before an SCTP packet */
void trace(struct world *w, const char *what, uint64_t a, uint64_t b);
void world_run(struct world *w);

/* ---- link.c ---- */
void link_send(struct world *w, unsigned host, const struct sctp_batch *b);
struct packet *link_next(struct world *w); /* that is due; the caller frees it */
void link_put(struct world *w, struct packet *p);
void link_clear(struct world *w);

/* ---- host.c ---- */
void host_open(struct world *w, unsigned host);
void host_close(struct world *w, unsigned host);
uint64_t host_now(struct world *w, unsigned host); /* a clock that sometimes steps back */
void host_input(struct world *w, struct packet *p);
void host_run(struct world *w, unsigned host);
void host_output(struct world *w, unsigned host);
void host_connect(struct world *w, unsigned host, uint16_t own_port, uint16_t port);
void host_events(struct world *w, unsigned host);

/* ---- conn.c ---- */
struct conn *conn_new(struct world *w, unsigned host, struct sctp_assoc *a);
struct conn *conn_of(struct world *w, struct sctp_assoc *a);
void conn_up(struct world *w, struct conn *c);
void conn_down(struct world *w, struct conn *c, enum sctp_end end);
void conn_send(struct world *w, struct conn *c); /* as many messages as it wishes and may */
void conn_got(struct world *w, struct conn *c, const struct sctp_msg *m);
void conn_acked(struct world *w, struct conn *c); /* everything that was sent has arrived */
void conn_drop(struct world *w, struct conn *c);  /* frees the handle */

/* ---- model.c ---- */

struct invariant *model_watch(struct world *w, unsigned host); /* of a stack that was opened */
unsigned model_before(struct world *w, unsigned host, struct judge_before ret[JUDGE_ASSOCS]);
/* After one packet went in, or after one batch came out. */
void model_input(struct world *w, unsigned host, const struct judge_before *b, unsigned n);
void model_output(struct world *w, unsigned host, const struct judge_before *b, unsigned n);
void model_host(struct world *w, unsigned host);      /* after each turn */
void model_received(struct world *w, struct conn *c); /* the map of TSNs is what was delivered */
void model_end(struct world *w);

#endif
