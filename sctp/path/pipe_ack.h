/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pipeACK (RFC 7661 4.2): the largest number of bytes that was acknowledged in a round trip of the
 * last seconds. It is the part of a congestion window that the path has proved to carry.
 *
 * A round trip ends when a TSN is acknowledged that was next to be sent when it began, or when
 * no chunk is in flight. If holes let it take longer than SRTT, its bytes count in proportion.
 */
#ifndef SCTP_PIPE_ACK_H
#define SCTP_PIPE_ACK_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: no chunk was acknowledged yet. */
struct sctp_pipe_ack {
	uint64_t since_us; /* the present round trip began, */
	uint32_t bytes;    /* in which this much was acknowledged */
	uint32_t end;      /* the TSN that ends it */
	bool open;         /* it has begun */
	uint64_t period_us;
	uint32_t most, before; /* largest of the present period and of the one before */
};

/* A SACK acknowledged bytes. cum, next_tsn: its Cumulative TSN Ack and the next TSN to be sent.
 * all: no chunk is in flight any more. */
void sctp_pipe_ack_add(struct sctp_pipe_ack *p, uint32_t bytes, uint32_t cum, uint32_t next_tsn,
		       bool all, uint32_t srtt_us, uint64_t now_us);

/* Bytes per round trip. */
static inline uint32_t sctp_pipe_ack_bytes(const struct sctp_pipe_ack *p)
{
	return p->most > p->before ? p->most : p->before;
}

#endif
