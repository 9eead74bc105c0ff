/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The path MTU of one path by probes (RFC 8899): which sizes to probe next, and how an answer, a
 * loss, or a time-out changes the size in use. Sizes are SCTP packets (UDP payload); computed ones
 * are multiples of 4. Knows numbers only.
 *
 * Data begins with SCTP_MIN_PACKET, and uses a larger size only after a probe of that size was
 * answered. The first probes have the size max and, in case that fails, BASE, and are due at once,
 * so that a path that passes the MTU of its route reaches its full size in one round trip. If the
 * first one fails, the search doubles the size until one fails, then halves the difference.
 *
 * When packets of the size in use seem to vanish, that size is in doubt: it is probed together with
 * BASE and SCTP_MIN_PACKET. The size falls only if a smaller probe was answered, to the size of
 * that probe, and the larger ones were not, twice. So neither congestion nor an outage, during
 * which no probe is answered, makes packets small.
 *
 * Use, of active paths only: sctp_pmtu_run() when sctp_pmtu_expiry() has passed, then
 * sctp_pmtu_due() until it is 0. On other paths an outage would look like a small path MTU until
 * the raise timer runs out.
 */
#ifndef SCTP_PMTU_H
#define SCTP_PMTU_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SCTP_PMTU_BASE = 1200,
	SCTP_PMTU_PROBES = 3, /* tries of a size */
	SCTP_PMTU_DOUBTS = 2, /* tries of the size in use that are not answered, but smaller ones */
	SCTP_PMTU_NEAR = 16,  /* the search ends when the borders are this close */
	SCTP_PMTU_RAISE_US = 600 * 1000000,
	SCTP_PMTU_LADDER = 3, /* sizes that are probed at the same time */
};

/* ERROR: not even BASE passes, or that is not known yet. */
enum sctp_pmtu_state { SCTP_PMTU_SEARCH, SCTP_PMTU_DONE, SCTP_PMTU_ERROR };

struct sctp_pmtu {
	enum sctp_pmtu_state state;
	uint32_t size;   /* largest size that is known to pass, for data */
	uint32_t max;    /* limit of route and configuration */
	uint32_t high;   /* least size that did not pass, 0 = unknown */
	uint32_t hint;   /* size that passed between the same addresses a while ago, 0 = unknown */
	uint32_t probe;  /* size under test, 0 = none; smaller ones go with it */
	unsigned tries;  /* of it */
	unsigned sent;   /* probes of the present try that are on their way, 0 = none */
	uint64_t at_us;  /* the present try is over then; or when the next one is due */
	bool doubt;      /* probe is the size in use */
	uint32_t passed; /* in doubt: largest smaller size that was answered, 0 = none */
	unsigned lost_large;
	uint32_t lost_size;  /* of the last counted loss */
	uint64_t lost_at_us; /* when it was counted */
};

/* max: the largest packet that the route takes; less than SCTP_MIN_PACKET counts as
 * SCTP_MIN_PACKET. */
void sctp_pmtu_init(struct sctp_pmtu *m, uint32_t max, uint64_t now_us);

/* True if something is known of the path: a size above the least one passes, or a search is over.
 */
static inline bool sctp_pmtu_known(const struct sctp_pmtu *m)
{
	return m->state != SCTP_PMTU_ERROR || m->probe == 0;
}

/* Before anything was sent: packets of this size passed on the same way a while ago, larger ones
 * did not. It is the first one to be probed; larger ones after the raise timer. */
void sctp_pmtu_hint(struct sctp_pmtu *m, uint32_t size, uint64_t now_us);

/* The route changed: a lower maximum takes effect at once, a higher one begins a search. True if
 * size changed. */
bool sctp_pmtu_set_max(struct sctp_pmtu *m, uint32_t max, uint64_t now_us);

/* Our interface refused a larger packet than this: takes effect at once. The raise timer searches
 * for larger sizes again, up to the maximum. True if size changed. */
bool sctp_pmtu_limit(struct sctp_pmtu *m, uint32_t size, uint64_t now_us);

/* The size of the next probe to send now, or 0. The caller sends it and calls sctp_pmtu_sent();
 * rto_us: after which it is lost, without back-off. */
uint32_t sctp_pmtu_due(const struct sctp_pmtu *m, uint64_t now_us);
void sctp_pmtu_sent(struct sctp_pmtu *m, uint32_t rto_us, uint64_t now_us);
/* When due() or run() has something to do. UINT64_MAX: never. */
uint64_t sctp_pmtu_expiry(const struct sctp_pmtu *m);

/* A probe of this size was answered. It may be late: an answer to a probe that counted as lost is
 * good as well. The caller has verified that the probe was ours. True if size changed. */
bool sctp_pmtu_answered(struct sctp_pmtu *m, uint32_t size, uint64_t now_us);
/* A packet of this size, probe or data, was not sent because it is too large (EMSGSIZE). True if
 * size changed. */
bool sctp_pmtu_refused(struct sctp_pmtu *m, uint32_t size, uint64_t now_us);
/* Counts a try as lost whose time is over, and begins a search after the raise timer. True if size
 * changed: it fell to a size that passes. */
bool sctp_pmtu_run(struct sctp_pmtu *m, uint64_t now_us);

/* A verified ICMP "too big" with this size. One that a smaller packet than the ones we send would
 * have caused is ignored; a size below BASE is no more than a reason for doubt. Below the present
 * size: that falls to BASE, and the reported size is probed at once. Between the present size and
 * that of the outstanding probe: the probe failed, and the reported size is probed at once. True
 * if size changed. */
bool sctp_pmtu_icmp(struct sctp_pmtu *m, uint32_t size, uint64_t now_us);

/* A packet of this size with data was lost, or arrived. sent_us: of that packet. Losses of one
 * round trip count once. Packets larger than the size in use, or small enough for every path, are
 * ignored. Two round trips in a row with losses and without an arrival of that size, or one
 * timeout, put the size in doubt. */
void sctp_pmtu_lost(struct sctp_pmtu *m, uint32_t size, bool timeout, uint64_t sent_us,
		    uint64_t now_us);
void sctp_pmtu_arrived(struct sctp_pmtu *m, uint32_t size, uint64_t now_us);

#endif
