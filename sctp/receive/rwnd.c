/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/receive/rwnd.h"

#include "util/minmax.h"
#include "util/network.h"

#define NEVER UINT64_MAX

void sctp_rwnd_init(struct sctp_rwnd *w, const struct sctp_rwnd_limits *l, struct network *network)
{
	*w = (struct sctp_rwnd){
		.network = network,
		.size = l->first,
		.first = l->first,
		.least_us = UINT32_MAX,
		.rest_us = NEVER,
	};
}

/* ---- sizes ---- */

static void shrink(struct sctp_rwnd *w, struct sctp_rwnd_limits *l, uint32_t bytes)
{
	bytes = min_u32(bytes, w->size - w->first);
	w->size -= bytes;
	l->used -= bytes;
	network_release(w->network, NETWORK_WINDOWS, bytes);
	if (w->size == w->first)
		w->rest_us = NEVER;
}

static void grow(struct sctp_rwnd *w, struct sctp_rwnd_limits *l, uint64_t size, uint64_t now_us)
{
	uint64_t more = size > w->size ? min_u64(size - w->size, l->budget - l->used) : 0;

	more = network_take(w->network, NETWORK_WINDOWS, more);
	if (more == 0)
		return;
	w->size += (uint32_t)more;
	l->used += more;
	if (w->rest_us == NEVER)
		w->rest_us = now_us + SCTP_RWND_REST_US;
}

/* ---- round trips ---- */

static void begin_round(struct sctp_rwnd *w, uint64_t now_us)
{
	w->round_us = now_us;
	w->arrived = 0;
}

/* The least round trip since data began to arrive there: a busy host answers late, so that a single
 * measurement says little. */
static void watch_path(struct sctp_rwnd *w, const struct sctp_rwnd_path *p, uint64_t now_us)
{
	bool rested = w->round_us && now_us - w->round_us >= SCTP_RWND_REST_US;

	if (rested || w->path != p->number)
		w->least_us = UINT32_MAX;
	w->path = p->number;
	w->least_us = min_u32(w->least_us, p->least_us);
}

/* How long a round trip is, is not known. */
static bool unknown_path(struct sctp_rwnd *w)
{
	bool much = w->arrived > w->size / SCTP_RWND_TIMES;

	w->is_short = false;
	w->round_us = 0;
	if (much)
		w->arrived = 0;
	return much;
}

static void short_path(struct sctp_rwnd *w, struct sctp_rwnd_limits *l, bool waits, uint64_t now_us)
{
	if (w->is_short && !waits)
		shrink(w, l, w->arrived);
	w->is_short = true;
	begin_round(w, now_us);
}

static bool long_path(struct sctp_rwnd *w, struct sctp_rwnd_limits *l, uint32_t rtt_us,
		      uint64_t now_us)
{
	uint64_t wanted = (uint64_t)SCTP_RWND_TIMES * w->arrived;
	bool runs = w->round_us != 0;

	w->is_short = false;
	if (runs && now_us - w->round_us < rtt_us)
		return false;
	if (runs)
		grow(w, l, min_u64(wanted, l->most), now_us);
	begin_round(w, now_us);
	return runs && wanted > w->size / 2;
}

bool sctp_rwnd_packet(struct sctp_rwnd *w, struct sctp_rwnd_limits *l,
		      const struct sctp_rwnd_path *p, bool waits, uint64_t now_us)
{
	watch_path(w, p, now_us);
	w->active = true;
	if (p->srtt_us == 0)
		return unknown_path(w) && !waits;
	if (w->least_us >= SCTP_RWND_LONG_US)
		return long_path(w, l, p->srtt_us, now_us);
	short_path(w, l, waits, now_us);
	return false;
}

/* ---- rest ---- */

void sctp_rwnd_rest(struct sctp_rwnd *w, struct sctp_rwnd_limits *l, bool busy, uint64_t now_us)
{
	if (!w->active && !busy) {
		sctp_rwnd_release(w, l);
		return;
	}
	w->active = false;
	w->rest_us = now_us + SCTP_RWND_REST_US;
}

void sctp_rwnd_release(struct sctp_rwnd *w, struct sctp_rwnd_limits *l)
{
	shrink(w, l, w->size - w->first);
	sctp_rwnd_init(w, l, w->network);
}
