/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages from one simulated host to the other, until all of them are acknowledged. */
#ifndef TESTS_SCTP_MOVE_H
#define TESTS_SCTP_MOVE_H

#include "tests/sctp/net.h"

static inline bool move_acked(const struct net *n, unsigned host)
{
	struct sctp_info i;

	if (!n->host[host].assoc)
		return false;
	sctp_assoc_info(n->host[host].assoc, &i);
	return i.unacked == 0;
}

static inline bool move_acked_0(struct net *n)
{
	return move_acked(n, 0);
}

/* Queues messages of host 0 as they fit; false after limit_us, or if the association ended. */
static inline bool move_queue(struct net *n, unsigned count, uint32_t len, uint64_t limit_us)
{
	uint64_t end = n->now + limit_us;

	for (unsigned i = 0; i < count;) {
		if (n->now > end || !n->host[0].assoc)
			return false;
		if (net_send(n, 0, (uint16_t)(i % 100), i, len) == SCTP_E_OK)
			i++;
		else
			net_run(n, n->now + 1000);
	}
	return true;
}

static inline bool move(struct net *n, unsigned count, uint32_t len, uint64_t limit_us)
{
	uint64_t end = n->now + limit_us;

	return move_queue(n, count, len, limit_us) && net_run_until(n, move_acked_0, end);
}

#endif
