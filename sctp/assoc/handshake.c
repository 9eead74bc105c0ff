/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/assoc/handshake.h"

#include <string.h>

#include "sctp/base/alloc.h"
#include "sctp/base/assoc.h"

enum {
	STALE_TRIES = 1, /* INITs after Stale Cookie errors */
	WAITS = 3,       /* times that an INIT is repeated after cause 14 */
};

bool sctp_handshake_begin(struct sctp_assoc *a)
{
	a->handshake = sctp_alloc(a->s, sizeof(*a->handshake));
	if (!a->handshake)
		return false;
	a->handshake->t1_us = SCTP_NEVER;
	return true;
}

static void forget_cookie(struct sctp_assoc *a)
{
	struct sctp_handshake *h = a->handshake;

	sctp_release(a->s, h->cookie, h->cookie_len);
	sctp_release(a->s, h->report, h->report_len);
	h->cookie = h->report = NULL;
}

void sctp_handshake_end(struct sctp_assoc *a)
{
	if (!a->handshake)
		return;
	forget_cookie(a);
	sctp_release(a->s, a->handshake, sizeof(*a->handshake));
	a->handshake = NULL;
}

/* ---- T1 ---- */

void sctp_handshake_start_t1(struct sctp_assoc *a)
{
	a->handshake->tries = 0;
	a->handshake->t1_us = a->s->now + a->s->cfg.rto_initial_us;
}

void sctp_handshake_stop_t1(struct sctp_assoc *a)
{
	if (a->handshake)
		a->handshake->t1_us = SCTP_NEVER;
}

uint64_t sctp_handshake_expiry(const struct sctp_assoc *a)
{
	return a->handshake ? a->handshake->t1_us : SCTP_NEVER;
}

/* The addresses of the peer take turns, and each has its own back-off (5.1). */
static uint64_t back_off(const struct sctp_config *cfg, unsigned tries)
{
	uint64_t rto = cfg->rto_initial_us;

	for (; tries && rto < cfg->rto_max_us; tries--)
		rto *= 2;
	return rto < cfg->rto_max_us ? rto : cfg->rto_max_us;
}

bool sctp_handshake_repeat(struct sctp_assoc *a, unsigned paths)
{
	struct sctp_handshake *h = a->handshake;

	if (++h->tries > a->s->cfg.init_max_retrans)
		return false;
	h->t1_us = a->s->now + back_off(&a->s->cfg, h->tries / paths);
	return true;
}

/* ---- parts of INIT ACK that COOKIE ECHO returns ---- */

bool sctp_handshake_keep_cookie(struct sctp_assoc *a, const struct sctp_init *i)
{
	struct sctp_handshake *h = a->handshake;

	h->cookie = sctp_alloc(a->s, i->cookie_len);
	if (!h->cookie)
		return false;
	memcpy(h->cookie, i->cookie, i->cookie_len);
	h->cookie_len = i->cookie_len;
	return true;
}

void sctp_handshake_keep_report(struct sctp_assoc *a, const struct sctp_init *i)
{
	struct sctp_writer w = {.size = 8};
	uint32_t chunk, cause;

	for (unsigned k = 0; k < i->nunknown; k++)
		w.size += (i->unknown[k].len + 3) & ~3u;
	if (i->nunknown == 0 || w.size > SCTP_PMTU_BASE / 2 || !(w.p = sctp_alloc(a->s, w.size)))
		return;
	chunk = sctp_begin_chunk(&w, SCTP_ERROR, 0);
	cause = sctp_begin_tlv(&w, SCTP_CAUSE_PARAM);
	for (unsigned k = 0; k < i->nunknown; k++) {
		sctp_put_bytes(&w, i->unknown[k].p, i->unknown[k].len);
		while (w.len % 4 && !w.full)
			sctp_put8(&w, 0);
	}
	sctp_end_chunk(&w, cause);
	sctp_end_chunk(&w, chunk);
	a->handshake->report = w.p;
	a->handshake->report_len = w.size;
}

bool sctp_handshake_stale(struct sctp_assoc *a)
{
	if (a->handshake->stale++ >= STALE_TRIES)
		return false;
	forget_cookie(a);
	return true;
}

bool sctp_handshake_may_wait(struct sctp_assoc *a)
{
	return a->handshake->refused++ < WAITS;
}
