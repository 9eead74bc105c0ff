/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receive window of an association, which follows the network: it begins with a size that suits
 * short paths, and grows with the data of a round trip, so that a sender in slow start, which
 * doubles its flight in each, never waits for it. While data arrives it only grows. After a rest it
 * has its first size again.
 *
 * On a short path it keeps that size, whatever the rate: the sender would fill a larger one, and
 * the buffer of the socket does not hold more. Should a path that seemed long prove to be short,
 * the window shrinks by arriving data, so that its right edge stays.
 *
 * The growth of a window is a promise of memory: windows of a stack share a budget, of which the
 * network of a peer has its share (NETWORK_WINDOWS). Knows numbers only.
 */
#ifndef SCTP_RWND_H
#define SCTP_RWND_H

#include <stdbool.h>
#include <stdint.h>

struct network;

enum {
	SCTP_RWND_TIMES = 4,          /* the data of a round trip */
	SCTP_RWND_LONG_US = 1000,     /* least round trip of a long path */
	SCTP_RWND_REST_US = 10000000, /* without data, or up to twice as long */
};

/* Of the windows of a stack. */
struct sctp_rwnd_limits {
	uint32_t first, most;  /* bytes: the sizes of a window are between them */
	uint64_t budget, used; /* bytes by which all may grow, and have grown */
};

/* Read-only but for the functions here. */
struct sctp_rwnd {
	struct network *network; /* whose share it is; NULL: no one's */
	uint64_t round_us;       /* the present round trip began; 0: none */
	uint64_t rest_us;        /* sctp_rwnd_rest() is due, or UINT64_MAX */
	uint32_t size;           /* bytes, with those that wait for delivery */
	uint32_t first;          /* the first size: that of later windows may be another one */
	uint32_t arrived;        /* payload bytes of this round trip, or of the present packet */
	uint32_t least_us;       /* round trip of the path, UINT32_MAX: not measured */
	uint8_t path;            /* that data arrives on */
	bool active;             /* data arrived since rest_us was set */
	bool is_short; /* the path was short at the last packet: `arrived` is of this one */
};

/* The path that a packet with data arrived on. */
struct sctp_rwnd_path {
	uint8_t number;
	uint32_t srtt_us, least_us; /* 0 and UINT32_MAX: not measured */
};

/* The first size. network: of the peer, until sctp_rwnd_release(). */
void sctp_rwnd_init(struct sctp_rwnd *w, const struct sctp_rwnd_limits *l, struct network *network);

/* Payload bytes of a chunk were taken. */
static inline void sctp_rwnd_took(struct sctp_rwnd *w, uint32_t bytes)
{
	w->arrived += bytes < UINT32_MAX - w->arrived ? bytes : UINT32_MAX - w->arrived;
}

/* The end of a packet with data; waits: data waits for delivery. True if the round trip of the path
 * should be measured, because the window may be too small soon: data that arrives does not measure
 * it. */
bool sctp_rwnd_packet(struct sctp_rwnd *w, struct sctp_rwnd_limits *l,
		      const struct sctp_rwnd_path *p, bool waits, uint64_t now_us);

/* rest_us has passed. busy: data waits, or some is missing. */
void sctp_rwnd_rest(struct sctp_rwnd *w, struct sctp_rwnd_limits *l, bool busy, uint64_t now_us);

/* The first size again, at once: the association ends, or begins again. */
void sctp_rwnd_release(struct sctp_rwnd *w, struct sctp_rwnd_limits *l);

#endif
