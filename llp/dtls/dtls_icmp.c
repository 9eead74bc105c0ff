/* SPDX-License-Identifier: BSD-2-Clause */
/* ICMP messages about datagrams of ours: they are believed only if they quote bytes that only
 * somebody on the path has seen. */
#include <stdio.h>
#include <string.h>

#include "llp/dtls/dtls_core.h"

#define GONE_US ((uint64_t)2 * 1000000)

enum { CLIENT_HELLO = 1, TYPE = DTLS_HEAD, RANDOM_AT = DTLS_HEAD + 12 + 2 };

size_t dtls_quoted(struct dtls *d, const struct dtls_flow *flow, unsigned i, const uint8_t *quoted,
		   size_t n, uint8_t *to)
{
	const struct dtls_pair *p = dtls_table_find(&d->table, flow);
	struct dtls_link *const link[DTLS_KEYS_OF_LINK] = {p ? p->now : NULL, p ? p->old : NULL,
							   p ? p->next : NULL};

	if (!link[i] || link[i]->state != DTLS_LINK_UP)
		return 0;
	return dtls_tx_reveal(&link[i]->tx, quoted, n, to);
}

bool dtls_is_gone(struct dtls *d, const struct dtls_flow *flow, uint64_t now_us)
{
	struct dtls_pair *p = dtls_table_find(&d->table, flow);

	if (!p)
		return false;
	if (p->heard_us < p->gone_us)
		return now_us - p->gone_us >= GONE_US;
	p->gone_us = now_us;
	return false;
}

/* It quotes the hello of this handshake, whose random cannot be guessed. */
static bool quotes_hello(const struct dtls_link *l, const uint8_t *quoted, size_t n)
{
	return l && l->state == DTLS_LINK_HANDSHAKE && !l->server && l->has_random &&
	       n >= RANDOM_AT + DTLS_RANDOM && quoted[0] == DTLS_HANDSHAKE &&
	       quoted[TYPE] == CLIENT_HELLO &&
	       memcmp(quoted + RANDOM_AT, l->random, DTLS_RANDOM) == 0;
}

void dtls_unreachable(struct dtls *d, const struct dtls_flow *flow, bool no_port,
		      const uint8_t *quoted, size_t n)
{
	struct dtls_pair *p = dtls_table_find(&d->table, flow);
	struct dtls_link *l = p ? p->next : NULL;

	if (!quotes_hello(l, quoted, n) || l->busy)
		return;
	l->unreachable = true;
	if (!no_port)
		return;
	snprintf(l->reason, sizeof(l->reason),
		 "nothing listens on UDP port %u: ddpsctpd does not run there, or has no "
		 "security.udp_port, or another one",
		 flow->port);
	l->state = DTLS_LINK_DOWN;
	dtls_pair_settle(d, p);
}

bool dtls_is_unreachable(const struct dtls *d, const struct dtls_flow *flow)
{
	const struct dtls_pair *p = dtls_table_find(&d->table, flow);

	return p && p->next && p->next->unreachable;
}
