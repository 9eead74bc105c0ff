/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: what waits is bounded, whatever arrives in whatever order, and nothing is lost for that.
 */
#include "tests/sctp/receiver.h"

/* ---- the bound ---- */

static uint8_t large[60000];

static enum sctp_recv_result large_chunk(uint32_t tsn, unsigned flags, uint16_t ssn)
{
	struct sctp_data d = {tsn,       0,         0,     ssn,          flags & U,
			      flags & B, flags & E, large, sizeof(large)};

	return take(&d);
}

/* rows: 9260-6.2-02 9260-6.2-03 9260-6.2-05 9260-6.2-38 */
Test(sctp_recv_bounds, the_chunk_that_fills_the_hole_replaces_the_highest)
{
	struct sctp_msg m;
	uint32_t n;

	start(1);
	for (n = 1; large_chunk(1 + n, B | E, (uint16_t)n) == SCTP_RECV_TAKEN;)
		n++;
	cr_assert_gt(n, LIMIT / 70000);
	cr_assert_leq(sctp_recv_held(&recv_state), LIMIT);
	cr_assert_eq(large_chunk(1 + n, B | E, (uint16_t)n), SCTP_RECV_NO_ROOM);
	cr_assert_eq(map.highest, n, "a chunk without room is not reported");
	finish();

	/* A whole message in turn needs no room. Fragments do. */
	start(1);
	for (n = 2; large_chunk(1 + n, B | E, (uint16_t)(n - 1)) == SCTP_RECV_TAKEN;)
		n++;
	cr_assert_eq(large_chunk(1, B, 0), SCTP_RECV_TAKEN);
	cr_assert_eq(dropped, 1);
	cr_assert_eq(map.highest, n - 1);
	cr_assert_eq(large_chunk(2, E, 0), SCTP_RECV_TAKEN);
	cr_assert_eq(dropped, 2);
	for (uint32_t i = 0; i < n - 3; i++)
		cr_assert(sctp_recv_next(&recv_state, &m), "message %u", i);
	cr_assert_not(sctp_recv_next(&recv_state, &m));
	cr_assert_eq(sctp_recv_held(&recv_state), 0);
	cr_assert_eq(large_chunk(map.cum + 1, B | E, (uint16_t)(n - 3)), SCTP_RECV_DIRECT,
		     "what was dropped comes again");
	finish();
}

Test(sctp_recv_bounds, fragments_after_the_hole_are_dropped_together)
{
	start_limited(1, 4 * SCTP_MAX_MESSAGE);
	for (uint32_t tsn = 2; tsn < 10; tsn += 2) {
		cr_assert_eq(large_chunk(tsn, B | U, 0), SCTP_RECV_TAKEN);
		if (tsn < 8)
			continue;
		cr_assert_eq(large_chunk(tsn + 1, U, 0), SCTP_RECV_TAKEN);
	}
	while (dropped == 0 && sctp_recv_held(&recv_state) < 4 * SCTP_MAX_MESSAGE - 65000)
		cr_assert_eq(large_chunk(map.highest + 2, B | U, 0), SCTP_RECV_TAKEN);
	cr_assert_eq(large_chunk(3, E | U, 0), SCTP_RECV_TAKEN);
	cr_assert_leq(sctp_recv_held(&recv_state), 4 * SCTP_MAX_MESSAGE);
	finish();
}

Test(sctp_recv_bounds, the_next_tsn_has_room_of_its_own)
{
	struct sctp_msg m;

	/* The limit is below the length of the message. */
	start_limited(1, 40000);
	cr_assert_eq(large_chunk(1, B, 0), SCTP_RECV_TAKEN);
	cr_assert_eq(large_chunk(2, E, 0), SCTP_RECV_TAKEN);
	cr_assert(sctp_recv_next(&recv_state, &m));
	cr_assert_eq(m.len, 2 * sizeof(large));
	cr_assert_eq(large_chunk(4, E, 1), SCTP_RECV_NO_ROOM);
	finish();
}

/* rows: 9260-6.9-18 */
Test(sctp_recv_bounds, messages_that_never_get_their_turn_are_a_violation_in_the_end)
{
	enum sctp_recv_result res;
	uint32_t tsn = 1;

	start_limited(1, 200000);
	/* Number 0 never comes. */
	while ((res = large_chunk(tsn, B | E, (uint16_t)tsn)) == SCTP_RECV_TAKEN)
		tsn++;
	cr_assert_eq(res, SCTP_RECV_VIOLATION);
	cr_assert_leq(sctp_recv_held(&recv_state), 200000 + SCTP_MAX_MESSAGE);
	finish();
}

/* ---- memory ---- */

/* A fixed mix of messages; chunks that are refused come again. Returns how many were delivered. */
static unsigned mix(void)
{
	unsigned whole = 0;

	for (unsigned round = 0; round < 100 && map.cum != 40; round++)
		for (uint32_t i = 40; i > 0; i--) {
			uint32_t part = (i - 1) % 4, tsn = i;
			unsigned flags = (part == 0 ? B : 0) | (part == 3 ? E : 0);
			struct sctp_data d = {tsn,
					      0,
					      (uint16_t)((i - 1) / 4 % 2),
					      (uint16_t)((i - 1) / 8),
					      false,
					      flags & B,
					      flags & E,
					      large,
					      20000};
			struct sctp_msg m;

			if (sctp_tsn_map_check(&map, tsn) != SCTP_TSN_NEW)
				continue;
			cr_assert_neq(take(&d), SCTP_RECV_VIOLATION);
			while (sctp_recv_next(&recv_state, &m)) {
				cr_assert_eq(m.len, 80000);
				whole++;
			}
		}
	return whole;
}

Test(sctp_recv_bounds, survives_failures_of_the_allocator)
{
	for (uint64_t n = 1; n < 12; n++)
		for (unsigned once = 0; once < 2; once++) {
			unsigned whole;

			memory = (struct memory){.fail_at = n, .once = once};
			start(1);
			whole = mix();
			if (once)
				cr_assert_eq(whole, 10, "call %u", (unsigned)n);
			finish();
		}
}

/* The pool is shared: the limit of the association is never reached. */
Test(sctp_recv_bounds, a_hole_is_filled_although_the_pool_is_empty)
{
	struct sctp_mem mem = memory_of(&memory);
	struct sctp_msg m;
	uint32_t tsn = 3;

	start(1);
	sctp_pool_init(&pool, &mem, SCTP_SCRATCH + 23 * SCTP_BLOCK);
	while (large_chunk(tsn, B | U, 0) == SCTP_RECV_TAKEN)
		tsn += 2;
	cr_assert_gt(tsn, 8);
	cr_assert_eq(large_chunk(1, B | U, 0), SCTP_RECV_TAKEN);
	cr_assert_eq(large_chunk(2, E | U, 0), SCTP_RECV_TAKEN);
	cr_assert_gt(dropped, 0);
	cr_assert(sctp_recv_next(&recv_state, &m));
	finish();
}

/* ---- random messages against what was sent ---- */

enum { MAX_CHUNKS = 400, MAX_MESSAGES = 200 };

struct sent {
	uint16_t sid, ssn;
	bool unordered;
	uint32_t off, len;
	unsigned delivered;
};

static struct sent sent[MAX_MESSAGES];
static struct sctp_data chunks[MAX_CHUNKS];
static unsigned nsent, nchunks;
static uint8_t *bytes;

/* Messages of 1 to 8 fragments; ppid is the index of the message. */
static void compose(uint32_t tsn, uint64_t *seed)
{
	uint16_t ssn[STREAMS] = {0};
	uint32_t off = 0;

	for (nsent = nchunks = 0; nsent < MAX_MESSAGES && nchunks + 8 <= MAX_CHUNKS; nsent++) {
		struct sent *s = &sent[nsent];
		unsigned n = next_random(seed) % 2 ? 1 : 1 + next_random(seed) % 8;

		*s = (struct sent){.sid = (uint16_t)(next_random(seed) % STREAMS), .off = off};
		s->unordered = next_random(seed) % 3 == 0;
		s->ssn = s->unordered ? 0 : ssn[s->sid]++;
		for (unsigned i = 0; i < n; i++) {
			uint32_t len = 1 + next_random(seed) % (next_random(seed) % 4 ? 200 : 9000);

			chunks[nchunks++] = (struct sctp_data){tsn++,      nsent,        s->sid,
							       s->ssn,     s->unordered, i == 0,
							       i == n - 1, bytes + off,  len};
			off += len;
		}
		s->len = off - s->off;
	}
}

static void check_message(uint16_t sid, uint32_t ppid, const uint8_t *p, uint32_t len,
			  uint16_t *next)
{
	struct sent *s = &sent[ppid];

	cr_assert_lt(ppid, nsent);
	cr_assert_eq(s->sid, sid);
	cr_assert_eq(s->len, len);
	cr_assert_eq(memcmp(p, bytes + s->off, len), 0);
	cr_assert_eq(s->delivered++, 0);
	if (!s->unordered)
		cr_assert_eq(s->ssn, next[sid]++);
}

static void shuffle(unsigned *v, unsigned n, uint64_t *seed)
{
	for (unsigned i = n; i > 1; i--) {
		unsigned k = next_random(seed) % i, t = v[i - 1];

		v[i - 1] = v[k];
		v[k] = t;
	}
}

/* Sends all chunks in a random order until all were taken. */
static void transfer(uint64_t *seed)
{
	unsigned order[MAX_CHUNKS];
	uint16_t next[STREAMS] = {0};

	for (unsigned i = 0; i < nchunks; i++)
		order[i] = i;
	for (unsigned round = 0; round < 50; round++) {
		shuffle(order, nchunks, seed);
		for (unsigned i = 0; i < nchunks; i++) {
			const struct sctp_data *d = &chunks[order[i]];
			enum sctp_recv_result res;
			struct sctp_msg m;

			if (sctp_tsn_map_check(&map, d->tsn) != SCTP_TSN_NEW)
				continue;
			res = take(d);
			cr_assert_neq(res, SCTP_RECV_VIOLATION);
			if (res == SCTP_RECV_DIRECT)
				check_message(d->sid, d->ppid, d->p, d->len, next);
			while (sctp_recv_next(&recv_state, &m))
				check_message(m.sid, m.ppid, m.part[0].p, m.len, next);
		}
	}
}

static void random_transfers(uint32_t limit, unsigned runs)
{
	bytes = pattern(MAX_CHUNKS * 9000);
	for (uint64_t seed = 1; seed <= runs; seed++) {
		uint64_t state = seed;
		uint32_t tsn = 0u - next_random(&state) % 300;

		compose(tsn, &state);
		start_limited(tsn, limit);
		transfer(&state);
		for (unsigned i = 0; i < nsent; i++)
			cr_assert_eq(sent[i].delivered, 1, "run %u, message %u", (unsigned)seed, i);
		cr_assert_eq(map.cum, tsn + nchunks - 1);
		cr_assert(sctp_recv_empty(&recv_state));
		finish();
	}
	free(bytes);
}

/* rows: 9260-6.6-01 9260-6.6-05 9260-6.9-15 9260-6.9-16 9260-6.9-17 9260-1.6-05 */
Test(sctp_recv_bounds, random_orders)
{
	random_transfers(LIMIT, 300);
}

/* rows: 9260-6.2-03 9260-6.2-35 */
Test(sctp_recv_bounds, random_orders_with_little_room)
{
	random_transfers(150000, 300);
	cr_assert_gt(dropped, 0);
}

/* ---- hostile chunks ---- */

/* Anything may be said about them, but the bounds hold and everything is freed. */
Test(sctp_recv_bounds, random_chunks)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		uint64_t state = seed;
		enum sctp_recv_result res = SCTP_RECV_TAKEN;

		start_limited(0xfffffff0, 100000);
		for (unsigned i = 0; i < 500 && res != SCTP_RECV_VIOLATION; i++) {
			uint32_t r = next_random(&state), tsn = map.cum + 1 + r % 3000;
			struct sctp_data d = {tsn,
					      0,
					      (uint16_t)(r >> 12 & 3),
					      (uint16_t)(r >> 16 & 63),
					      r >> 22 & 1,
					      (r >> 23 & 3) > 0,
					      (r >> 25 & 3) > 0,
					      large,
					      1 + next_random(&state) % 3000};
			struct sctp_msg m;

			if (sctp_tsn_map_check(&map, tsn) != SCTP_TSN_NEW)
				continue;
			res = take(&d);
			cr_assert_leq(sctp_recv_held(&recv_state), 100000 + SCTP_MAX_MESSAGE);
			while (sctp_recv_next(&recv_state, &m))
				cr_assert_leq(m.len, SCTP_MAX_MESSAGE);
		}
		finish();
	}
}
