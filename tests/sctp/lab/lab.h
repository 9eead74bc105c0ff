/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A laboratory of networks: pairs of stacks that share links with a rate, a queue, a delay, losses
 * and packets that overtake others, as tests/net/wan.c does it, but on a virtual clock. A run
 * depends on its seed alone and takes little more time than the stacks need for its packets.
 */
#ifndef TESTS_SCTP_LAB_H
#define TESTS_SCTP_LAB_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/sctp.h"

enum {
	LAB_FLOWS = 8,
	LAB_PATHS = 2,
	LAB_IP_HEAD = 28, /* of IPv4 and UDP */
	LAB_SECONDS = 600,
	LAB_DELAYS = 20000, /* classes of a histogram */
};

#define LAB_SECOND UINT64_C(1000000000) /* ns, as all times here unless a name says us */
#define LAB_BUFFER                                                                                 \
	(UINT32_C(64)                                                                              \
	 << 20) /* of each side of an association; twice that if a round trip takes more */

/* ---- figures ---- */

/* Delays, as a histogram with classes of 0.1 ms. */
struct lab_delays {
	uint64_t n, sum_us;
	uint32_t count[LAB_DELAYS];
};

void lab_delays_add(struct lab_delays *d, uint64_t delay_us);
double lab_delays_mean_ms(const struct lab_delays *d);
/* The least delay that so many of 100 do not exceed. */
double lab_delays_ms(const struct lab_delays *d, double percent);

/* ---- a link ---- */

/* What a link is like: both directions are, but for losses and reordering. */
struct lab_link_config {
	double rate;        /* bits per second */
	uint32_t delay_us;  /* one way, behind the bottleneck */
	uint64_t queue;     /* bytes that wait before the bottleneck; more are dropped */
	uint32_t mtu;       /* longer packets vanish */
	double loss;        /* of a million packets of the first host, lost */
	double loss_back;   /* of those of the second */
	unsigned burst;     /* packets that are lost one after the other, within 100 ms; 0: one */
	double reorder;     /* of a million packets of the first host, early */
	uint32_t early_us;  /* by this much */
	double out_s, in_s; /* an outage begins and ends; all packets vanish */
};

/* The link of that name; NULL: there is none. */
const struct lab_link_config *lab_link_find(const char *name);
/* The i-th name; NULL after the last one. */
const char *lab_link_name(unsigned i);
/* A member by its name (rate, delay, ...). False: there is no such member, or the text is not its
 * value. */
bool lab_link_set(struct lab_link_config *c, const char *key, const char *value);

struct lab_packet {
	struct lab_packet *next;
	uint64_t due;
	uint32_t len;
	uint8_t data[];
};

/* Packets on their way to a host, in the order in which they arrive. */
struct lab_lane {
	struct lab_packet *first, *last;
};

/* One direction of a link. */
struct lab_way {
	const struct lab_link_config *c;
	uint64_t rng, busy; /* busy: until then the bottleneck sends what waits */
	double loss;        /* of a million */
	unsigned losing;    /* of a burst, still to be lost */
	uint64_t burst_end; /* until then at most */
	uint64_t in, bytes, dropped, lost;
	struct lab_delays wait;
};

struct lab_link {
	struct lab_link_config c;
	struct lab_way way[2]; /* there, back */
	struct lab_packet *unused;
};

void lab_link_init(struct lab_link *l, const struct lab_link_config *c, uint64_t seed);
void lab_link_deinit(struct lab_link *l);
/* Room for a packet of at most mtu bytes. */
struct lab_packet *lab_link_packet(struct lab_link *l);
void lab_link_free(struct lab_link *l, struct lab_packet *p);
/* A packet enters the bottleneck. lane: in order; early. extra_us: of the way of this flow. */
void lab_link_send(struct lab_link *l, unsigned way, struct lab_packet *p, struct lab_lane lane[2],
		   uint32_t extra_us, uint64_t now);
/* Bytes that wait before the bottleneck. */
double lab_link_backlog(const struct lab_way *w, uint64_t now);

/* ---- hosts and flows ---- */

enum lab_kind {
	LAB_BULK,  /* there always is something to send */
	LAB_SMALL, /* a message of 64 bytes every 10 ms */
	LAB_BOTH,  /* both on one association; small ones come first when there is room */
};

struct lab_flow_config {
	enum sctp_cc_algo algo;
	enum lab_kind kind;
	double start_s;
	uint32_t extra_us; /* delay, one way */
};

struct lab;

struct lab_host {
	struct lab_flow *flow;
	unsigned side; /* 0 sends */
	struct sctp *s;
	struct sctp_assoc *assoc;
	struct sctp_listener *listener;
	struct lab_lane lane[LAB_PATHS][2];
	uint64_t expiry; /* of the stack */
};

struct lab_flow {
	struct lab *lab;
	struct lab_flow_config c;
	struct lab_host host[2];
	uint64_t up; /* when the association was; 0: it is not */
	bool down, full;
	struct sctp_event end; /* why it is down */
	uint64_t small_due;
	uint64_t bytes;             /* of bulk messages that arrived */
	uint64_t at_16m;            /* when 16,000,000 of them had, since up; 0: not yet */
	uint64_t done[LAB_SECONDS]; /* bytes at the end of each second since up */
	unsigned seconds;
	struct lab_delays small; /* from the wish to send to the arrival */
};

struct lab_config {
	struct lab_link_config link[LAB_PATHS];
	struct lab_flow_config flow[LAB_FLOWS];
	unsigned paths, flows;
	double time_s;
	uint32_t buffer; /* of each side of an association */
	unsigned sack_packets;
	uint32_t sack_us;
	uint32_t gather_us; /* a host that receives a packet waits so long for more: one run */
	uint32_t late_us;   /* how late a host notices that a deadline has passed */
	uint64_t seed;
};

struct lab {
	struct lab_config c;
	uint64_t now, rng;
	struct lab_link link[LAB_PATHS];
	struct lab_flow flow[LAB_FLOWS];
	struct sctp_batch batch;
};

/* The daemon's values, one flow of bulk data with CUBIC. */
struct lab_config lab_config(const struct lab_link_config *link);

struct lab *lab_new(const struct lab_config *c);
struct lab *lab_free(struct lab *l);
/* Until that time. */
void lab_run(struct lab *l, double until_s);

/* MB/s of the flow between two seconds since its association was up. */
double lab_flow_rate(const struct lab_flow *f, unsigned from_s, unsigned to_s);
double lab_flow_seconds_16m(const struct lab_flow *f);

/* Used between the files. */
bool lab_host_open(struct lab_flow *f, unsigned side);
void lab_host_close(struct lab_host *h);
/* When it has something to do. */
uint64_t lab_host_next(const struct lab_host *h);
void lab_host_turn(struct lab_host *h);

#endif
