/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/guesses.h"

#include "proto/ddp/perr.h"

enum {
	EACH_MS = 1000, /* of a guess, and between two sessions */
	FREE_MS = GUESSES_FREE * EACH_MS,
	MOST_MS = 2 * FREE_MS, /* more guesses, by sessions that existed, are forgotten as soon */
};

bool guesses_is_one(unsigned perr)
{
	switch (perr) {
	case PERR_ACCESS_STAG:
	case PERR_ACCESS_BOUNDS:
	case PERR_ACCESS_RIGHTS:
	case PERR_ACCESS_SCOPE:
	case PERR_ACCESS_WRAP:
	case PERR_INV_SCOPE:
	case PERR_INV_STAG:
	case PERR_TAGGED_STAG:
	case PERR_TAGGED_BOUNDS:
	case PERR_TAGGED_SCOPE:
	case PERR_TAGGED_WRAP:
		return true;
	default:
		return false;
	}
}

static bool is_slow(const struct network *n, uint64_t now_ms)
{
	return n->guesses.forgiven_ms > now_ms + FREE_MS;
}

bool guesses_count(struct guesses *g, struct network *n, uint64_t now_ms)
{
	if (!n)
		return false;
	g->counted++;
	if (n->guesses.forgiven_ms < now_ms)
		n->guesses.forgiven_ms = now_ms;
	n->guesses.forgiven_ms += EACH_MS;
	if (n->guesses.forgiven_ms > now_ms + MOST_MS)
		n->guesses.forgiven_ms = now_ms + MOST_MS;
	n->keep_ms = n->guesses.forgiven_ms;
	if (!is_slow(n, now_ms) || now_ms < n->guesses.report_ms)
		return false;
	n->guesses.report_ms = now_ms + FREE_MS;
	return true;
}

uint32_t guesses_wait(struct guesses *g, struct network *n, uint64_t now_ms)
{
	uint64_t at;

	if (!n || !is_slow(n, now_ms))
		return 0;
	g->slowed++;
	at = n->guesses.session_ms < now_ms ? now_ms : n->guesses.session_ms;
	if (at + EACH_MS > now_ms + GUESSES_WAIT_MAX)
		return GUESSES_NEVER;
	n->guesses.session_ms = at + EACH_MS;
	return (uint32_t)(n->guesses.session_ms - now_ms);
}

bool guesses_may_ask(struct guesses *g, struct network *n, uint64_t now_ms)
{
	if (!n || !is_slow(n, now_ms))
		return true;
	if (n->guesses.session_ms > now_ms) {
		g->slowed++;
		return false;
	}
	n->guesses.session_ms = now_ms + EACH_MS;
	return true;
}
