/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The path MTU by probes (RFC 8899) of one path: what size to probe next and what follows from an
 * answer, a loss, or a time-out. Sizes are SCTP packets (UDP payload), multiples of 4. Knows
 * numbers only.
 */
#ifndef SCTP_PMTU_H
#define SCTP_PMTU_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SCTP_PMTU_BASE = 1200,
	SCTP_PMTU_PROBES = 3, /* tries of a size */
	SCTP_PMTU_NEAR = 16,  /* the search ends when the borders are this close */
	SCTP_PMTU_RAISE_US = 600 * 1000000,
	SCTP_PMTU_BLACK_HOLE =
		3, /* large packets in a row that are lost while smaller ones arrive */
};

enum sctp_pmtu_state { SCTP_PMTU_SEARCH, SCTP_PMTU_DONE, SCTP_PMTU_ERROR };

struct sctp_pmtu {
	enum sctp_pmtu_state state;
	uint32_t size;      /* largest size that is known to pass: what data may use */
	uint32_t max;       /* what route and configuration permit */
	uint32_t low, high; /* of the search: low passes, high does not, 0 = unknown */
	uint32_t probe;     /* size under test, 0 = none */
	unsigned tries;
	unsigned lost_large;
	bool outstanding; /* a probe is on its way */
	uint64_t at_us;   /* the outstanding probe is lost then; or when the next one is due */
};

/* max: the largest packet that the route takes. confirmed: start with it and test it at once rather
 * than to climb from BASE: our own interface's MTU usually is the path's. */
void sctp_pmtu_init(struct sctp_pmtu *m, uint32_t max, uint64_t now_us);

/* The route changed: a lower maximum takes effect at once, a higher one begins a search. True if
 * size changed. */
bool sctp_pmtu_set_max(struct sctp_pmtu *m, uint32_t max, uint64_t now_us);

/* The size of the probe to send now, or 0. The caller sends it and calls sctp_pmtu_sent(). */
uint32_t sctp_pmtu_due(const struct sctp_pmtu *m, uint64_t now_us);
void sctp_pmtu_sent(struct sctp_pmtu *m, uint32_t rto_us, uint64_t now_us);
/* When due() or run() has something to do. UINT64_MAX: never. */
uint64_t sctp_pmtu_expiry(const struct sctp_pmtu *m);

/* The probe of this size was answered, or not sent because it is too large (EMSGSIZE), or timed
 * out. Each is true if size changed. */
bool sctp_pmtu_answered(struct sctp_pmtu *m, uint32_t size, uint64_t now_us);
bool sctp_pmtu_refused(struct sctp_pmtu *m, uint32_t size, uint64_t now_us);
bool sctp_pmtu_run(struct sctp_pmtu *m, uint64_t now_us);

/* A verified ICMP "too big" with this size: it is probed soon; sizes below BASE and above the
 * present one are ignored. True if size changed. */
bool sctp_pmtu_icmp(struct sctp_pmtu *m, uint32_t size, uint64_t now_us);

/* Black holes: a packet of this size was lost, or arrived. lost() is true if size fell to BASE. */
bool sctp_pmtu_lost(struct sctp_pmtu *m, uint32_t size, uint64_t now_us);
void sctp_pmtu_arrived(struct sctp_pmtu *m, uint32_t size);

#endif
