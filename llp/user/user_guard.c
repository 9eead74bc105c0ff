/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A filter in the kernel against floods. A socket has one queue: packets that we would refuse fill
 * it, and there is no room left for those of associations. So while many packets arrive that no
 * association and no link wants, a filter (user_filter.c) runs before the queue, which passes a
 * part of these. Each part depends on the number of packets of its kind that still pass, so a flood
 * of one kind does not keep out the others. The filter is removed when few arrive.
 */
#include "llp/user/user.h"

#include <string.h>

#include "util/minmax.h"

enum {
	WINDOW_US = 20000,
	AGAIN_US = 200000,
	/* In the long run filters are made again so often for peers that begin: meanwhile these
	 * have to be lucky. */
	BEGUN_US = 5000,
	BEGUN_AT_ONCE = 4,
	STEP = 4,
};

#define ALL UINT32_MAX

/* Packets of a kind in a window: a filter begins above `many`, and lets about `goal` pass. Each
 * costs 2 to 10 microseconds. INITs, COOKIE ECHOs and hellos below `many` are a burst of programs
 * that begin. */
static const struct limit {
	uint32_t many, goal;
} limits[USER_COVERS][USER_UNKNOWN] = {
	[USER_CLEAR] = {[USER_INIT] = {400, 100},
			[USER_COOKIE_ECHO] = {400, 100},
			[USER_STRAY] = {400, 40}},
	[USER_COVERED] =
		{[USER_HELLO] = {400, 100}, [USER_FLIGHT] = {400, 40}, [USER_RECORD] = {400, 40}},
};

/* Packets received since the transport was opened. */
static struct user_seen seen(const struct user *t, unsigned cover)
{
	struct sctp_stats st;

	if (cover == USER_COVERED)
		return llp_user_cover_seen(t);
	sctp_stats(t->core, &st);
	return (struct user_seen){st.rx_packets, {st.inits, st.cookie_echos, st.strays}, 0};
}

static void attach_filters(struct user *t, unsigned cover)
{
	struct user_guard *g = &t->guard[cover];
	uint64_t begun = seen(t, cover).begun;

	if (begun != g->begun)
		g->begun_us = min_u64(max_u64(g->begun_us, t->now_us) + BEGUN_US,
				      t->now_us + (uint64_t)BEGUN_AT_ONCE * BEGUN_US);
	g->begun = begun;
	g->stale = false;
	g->again_us = t->now_us + AGAIN_US;
	memcpy(g->applied, g->part, sizeof(g->part));
	for (unsigned i = 0; i < t->naddrs; i++)
		llp_user_filter(t, cover, i);
}

/* There is a peer in DTLS that the filters do not know. */
static bool has_begun(const struct user *t, unsigned cover)
{
	return seen(t, cover).begun != t->guard[cover].begun;
}

/* When filters may be made again for those. */
static uint64_t begun_due(const struct user_guard *g)
{
	enum { AHEAD_US = BEGUN_US * (BEGUN_AT_ONCE - 1) };

	return g->begun_us - min_u64(g->begun_us, AHEAD_US);
}

/* To attach a filter costs as much as a hundred packets, and the parts change a little in each
 * window. */
static bool outdated(const struct user *t, unsigned cover)
{
	const struct user_guard *g = &t->guard[cover];

	if (g->stale || (t->now_us >= begun_due(g) && has_begun(t, cover)))
		return true;
	for (unsigned i = 0; i < USER_UNKNOWN; i++)
		if (g->part[i] / 2 > g->applied[i] || g->applied[i] / 2 > g->part[i])
			return true;
	return t->now_us >= g->again_us && memcmp(g->part, g->applied, sizeof(g->part)) != 0;
}

static bool crowded(const struct user *t, unsigned cover)
{
	for (unsigned i = 0; i < t->naddrs; i++)
		if (udp_crowded(t->sock[cover][i].udp))
			return true;
	return false;
}

/* The part to pass, after a window in which n packets were read. When we get no time to read, n is
 * small, but the queue is crowded, and many of its packets are from unknown peers. */
static uint32_t next_part(uint32_t part, const struct limit *l, uint64_t n, bool many_in_queue)
{
	uint32_t least = ALL >> 10, most = part == ALL ? l->many : 2 * l->goal;

	if (n > most)
		part = (uint32_t)(part * (uint64_t)l->goal / n);
	else if (many_in_queue)
		part /= STEP;
	else if (n < l->goal / 2)
		part = part > ALL / STEP ? ALL : STEP * part;
	return max_u32(part, least);
}

void llp_user_guard_init(struct user *t)
{
	for (unsigned k = 0; k < USER_COVERS; k++)
		for (unsigned i = 0; i < USER_UNKNOWN; i++)
			t->guard[k].part[i] = ALL;
}

/* Sets the parts after a window that lasted that long. */
static void judge_window(struct user *t, unsigned cover, uint64_t us)
{
	struct user_guard *g = &t->guard[cover];
	struct user_seen now = seen(t, cover);

	g->on = false;
	for (unsigned i = 0; i < USER_UNKNOWN; i++) {
		uint64_t n = now.unknown[i] - g->seen.unknown[i];
		bool in_queue = n > (now.all - g->seen.all) / 8 && crowded(t, cover);

		g->part[i] = next_part(g->part[i], &limits[cover][i], n * WINDOW_US / us, in_queue);
		g->on |= g->part[i] != ALL;
	}
	g->seen = now;
}

static void guard_socks(struct user *t, unsigned cover)
{
	struct user_guard *g = &t->guard[cover];
	bool was_on = g->on;

	if (t->now_us >= g->due_us) {
		judge_window(t, cover, t->now_us - g->due_us + WINDOW_US);
		g->due_us = t->now_us + WINDOW_US;
	}
	if (was_on != g->on || (g->on && outdated(t, cover)))
		attach_filters(t, cover);
}

void llp_user_guard(struct user *t)
{
	for (unsigned k = 0; k < t->ncovers; k++)
		guard_socks(t, k);
}

uint64_t llp_user_guard_due(const struct user *t)
{
	uint64_t due_us = UINT64_MAX;

	for (unsigned k = 0; k < t->ncovers; k++) {
		const struct user_guard *g = &t->guard[k];

		if (g->on)
			due_us = min_u64(due_us, g->due_us);
		if (g->on && has_begun(t, k))
			due_us = min_u64(due_us, begun_due(g));
	}
	return due_us;
}

void llp_user_guard_renew(struct user *t, unsigned cover)
{
	t->guard[cover].stale = true;
}
