/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: messages come out whole, in the order of their stream and once; contradictions end the
 * association. */
#include "tests/sctp/receiver.h"

static char got[4096]; /* the messages that were delivered: "sid:bytes " each */
static size_t got_len;

/* Starts with nothing delivered. */
static void begin_at(uint32_t initial_tsn)
{
	start(initial_tsn);
	got_len = 0;
	got[0] = 0;
}

static void record(uint16_t sid, const uint8_t *p, size_t len)
{
	got[got_len++] = (char)('0' + sid);
	got[got_len++] = ':';
	memcpy(got + got_len, p, len);
	got_len += len;
	got[got_len++] = ' ';
	got[got_len] = 0;
}

static void fetch(void)
{
	struct sctp_msg m;

	while (sctp_recv_next(&recv_state, &m)) {
		cr_assert_eq(m.n, 1);
		cr_assert_eq(m.len, m.part[0].len);
		record(m.sid, m.part[0].p, m.len);
	}
}

static enum sctp_recv_result chunk(uint32_t tsn, unsigned flags, uint16_t sid, uint16_t ssn,
				   const char *text)
{
	struct sctp_data d = {tsn,
			      51,
			      sid,
			      ssn,
			      flags & U,
			      flags & B,
			      flags & E,
			      (const uint8_t *)text,
			      (uint32_t)strlen(text)};
	enum sctp_recv_result res = take(&d);

	if (res == SCTP_RECV_DIRECT)
		record(sid, d.p, d.len);
	fetch();
	return res;
}

/* ---- order ---- */

/* rows: 9260-6.6-01 9260-6.6-02 9260-1.5.2-02 */
Test(sctp_recv, ordered_messages_wait_for_their_turn_per_stream)
{
	start(1);
	chunk(1, B | E, 0, 0, "a");
	chunk(3, B | E, 0, 2, "c");
	chunk(4, B | E, 1, 0, "x");
	cr_assert_str_eq(got, "0:a 1:x ");
	chunk(2, B | E, 0, 1, "b");
	cr_assert_str_eq(got, "0:a 1:x 0:b 0:c ");
	cr_assert(sctp_recv_empty(&recv_state));
	finish();
}

/* rows: 9260-6.6-04 9260-6.6-07 9260-1.5.2-01 9260-3.3.1-04 */
Test(sctp_recv, unordered_messages_do_not_wait_and_their_number_is_ignored)
{
	start(1);
	chunk(2, B | E, 0, 1, "b");
	chunk(3, B | E | U, 0, 0xbeef, "u");
	cr_assert_str_eq(got, "0:u ");
	chunk(1, B | E, 0, 0, "a");
	chunk(4, B | E | U, 0, 0, "v");
	chunk(5, B | E, 0, 2, "c");
	cr_assert_str_eq(got, "0:u 0:a 0:b 0:v 0:c ");
	finish();
}

/* rows: 9260-6.6-03 9260-1.6-05 */
Test(sctp_recv, numbers_of_a_stream_wrap)
{
	static uint8_t text[] = "x";
	uint32_t next = 0;

	start(7);
	/* Each pair of messages arrives in the wrong order. */
	for (uint32_t i = 0; i < 70000; i++) {
		uint32_t k = i ^ 1;
		struct sctp_data d = {7 + k, k, 3, (uint16_t)k, false, true, true, text, 1};
		struct sctp_msg m;

		if (take(&d) == SCTP_RECV_DIRECT)
			cr_assert_eq(next++, k);
		while (sctp_recv_next(&recv_state, &m))
			cr_assert_eq(next++, m.ppid);
	}
	cr_assert_eq(next, 70000);
	cr_assert(sctp_recv_empty(&recv_state));
	finish();
}

Test(sctp_recv, numbers_of_a_stream_need_not_follow_the_tsns)
{
	start(1);
	chunk(1, B | E, 0, 2, "c");
	chunk(2, B, 0, 1, "b");
	chunk(3, E, 0, 1, "b");
	chunk(4, B | E, 0, 3, "d");
	cr_assert_str_eq(got, "");
	chunk(5, B | E, 0, 0, "a");
	cr_assert_str_eq(got, "0:a 0:bb 0:c 0:d ");
	cr_assert(sctp_recv_empty(&recv_state));
	finish();
}

Test(sctp_recv, a_message_in_turn_does_not_overtake_one_that_was_not_fetched)
{
	struct sctp_data a = {1, 0, 0, 0, false, true, true, (const uint8_t *)"a", 1}, b = a, c = a;

	b.tsn = 2, b.ssn = 1;
	c.tsn = 3, c.ssn = 2;
	start(1);
	cr_assert_eq(take(&b), SCTP_RECV_TAKEN);
	cr_assert_eq(take(&a), SCTP_RECV_DIRECT);
	cr_assert(!list_empty(&recv_state.deliverable));
	cr_assert_eq(take(&c), SCTP_RECV_TAKEN);
	fetch();
	cr_assert_eq(got_len, 8);
	finish();
}

/* ---- fragments ---- */

/* Visits all orders of n numbers. */
static void permute(unsigned *v, unsigned n, unsigned k, void (*visit)(const unsigned *v))
{
	if (k == n) {
		visit(v);
		return;
	}
	for (unsigned i = k; i < n; i++) {
		unsigned t = v[k];

		v[k] = v[i];
		v[i] = t;
		permute(v, n, k + 1, visit);
		v[i] = v[k];
		v[k] = t;
	}
}

static void visit_unordered(const unsigned *v)
{
	static const char *const part[] = {"ab", "c", "def", "g", "hi"};

	begin_at(0xfffffffe);
	for (unsigned i = 0; i < 5; i++)
		chunk(0xfffffffe + v[i], U | (v[i] == 0 ? B : 0) | (v[i] == 4 ? E : 0), 2,
		      (uint16_t)v[i], part[v[i]]);
	cr_assert_str_eq(got, "2:abcdefghi ");
	cr_assert(sctp_recv_empty(&recv_state));
	finish();
}

/* rows: 9260-6.6-05 9260-6.9-02 9260-6.9-15 9260-1.5.3-02 9260-3.3.1-17 */
Test(sctp_recv, fragments_in_every_order)
{
	unsigned v[] = {0, 1, 2, 3, 4};

	permute(v, 5, 0, visit_unordered);
}

static void visit_cuts(const unsigned *v)
{
	/* Messages of 2, 1 and 3 fragments on one stream, ordered. */
	static const unsigned flags[] = {B, E, B | E, B, 0, E};
	static const uint16_t ssn[] = {0, 0, 1, 2, 2, 2};
	static const char *const part[] = {"a", "b", "c", "d", "e", "f"};

	begin_at(100);
	for (unsigned i = 0; i < 6; i++)
		chunk(100 + v[i], flags[v[i]], 0, ssn[v[i]], part[v[i]]);
	cr_assert_str_eq(got, "0:ab 0:c 0:def ");
	cr_assert(sctp_recv_empty(&recv_state));
	finish();
}

/* rows: 9260-6.9-17 9260-3.3.1-10 */
Test(sctp_recv, ordered_fragments_in_every_order)
{
	unsigned v[] = {0, 1, 2, 3, 4, 5};

	permute(v, 6, 0, visit_cuts);
}

/* rows: 9260-6.9-16 9260-3.3.1-18 */
Test(sctp_recv, a_missing_fragment_is_never_bridged)
{
	start(1);
	chunk(1, B | U, 0, 0, "a");
	chunk(3, E | U, 0, 0, "c");
	cr_assert_str_eq(got, "");
	chunk(4, B | U, 0, 0, "x");
	chunk(5, E | U, 0, 0, "y");
	cr_assert_str_eq(got, "0:xy ");
	chunk(2, U, 0, 0, "b");
	cr_assert_str_eq(got, "0:xy 0:abc ");
	finish();
}

/* One message of `n` fragments of `size` bytes, in the order first + i * step. */
static void long_message(uint32_t n, uint32_t size, uint32_t first, uint32_t step)
{
	uint8_t *p = pattern(n * size);
	struct sctp_msg m;

	start(0xffffffd0);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = (first + i * step) % n;
		struct sctp_data d = {0xffffffd0 + k, 5,   4, 0, false, k == 0, k == n - 1,
				      p + k * size,   size};

		cr_assert_not(sctp_recv_next(&recv_state, &m));
		cr_assert_eq(take(&d), SCTP_RECV_TAKEN);
	}
	cr_assert(sctp_recv_next(&recv_state, &m));
	cr_assert_eq(m.len, n * size);
	cr_assert_eq(m.ppid, 5);
	cr_assert(m.ordered);
	cr_assert_arr_eq(m.part[0].p, p, n * size);
	cr_assert_not(sctp_recv_next(&recv_state, &m));
	cr_assert(sctp_recv_empty(&recv_state));
	free(p);
	finish();
}

/* rows: 9260-6.9-02 9260-1.5.3-02 */
Test(sctp_recv, messages_of_2_3_and_100_fragments)
{
	long_message(2, 65000, 0, 1);
	long_message(2, 65000, 1, 1);
	long_message(3, 40000, 1, 1);
	long_message(100, 1300, 0, 1);
	long_message(100, 1300, 99, 99);
	long_message(100, 1300, 50, 37);
	long_message(2000, 1, 5, 7);
	long_message(2, SCTP_MAX_MESSAGE / 2, 0, 1);
}

Test(sctp_recv, fragments_of_one_byte_share_cells)
{
	start(1);
	for (uint32_t i = 0; i < 10000; i++)
		cr_assert_eq(chunk(1 + i, i == 0 ? B : 0, 0, 0, "x"), SCTP_RECV_TAKEN);
	cr_assert_lt(sctp_recv_held(&recv_state), 12000);
	finish();
}

/* ---- contradictions ---- */

struct step {
	uint32_t tsn;
	unsigned flags;
	uint16_t sid, ssn;
};

/* The last chunk is the violation, and only that. */
static void violates(const struct step *s, unsigned n)
{
	begin_at(10);
	for (unsigned i = 0; i < n; i++) {
		enum sctp_recv_result res = chunk(s[i].tsn, s[i].flags, s[i].sid, s[i].ssn, "data");

		if (i + 1 < n)
			cr_assert_lt(res, SCTP_RECV_NO_ROOM, "chunk %u", i);
		else
			cr_assert_eq(res, SCTP_RECV_VIOLATION);
	}
	finish();
}

#define VIOLATES(...)                                                                              \
	violates((const struct step[]){__VA_ARGS__},                                               \
		 sizeof((const struct step[]){__VA_ARGS__}) / sizeof(struct step))

/* rows: 9260-6.9-16 9260-3.3.10.13-01 */
Test(sctp_recv, fragments_that_contradict_each_other)
{
	/* a beginning in a message, before and after it came */
	VIOLATES({10, B, 0, 0}, {11, B, 0, 0});
	VIOLATES({11, B, 0, 0}, {10, B, 0, 0});
	VIOLATES({10, B | U, 0, 0}, {11, B | E | U, 0, 0});
	VIOLATES({11, B | E, 0, 1}, {10, B, 0, 0});
	/* a middle or an end after an end, or after nothing */
	VIOLATES({11, B, 0, 1}, {13, 0, 0, 1}, {12, E, 0, 1});
	VIOLATES({11, E, 0, 0}, {10, B | E, 0, 0});
	VIOLATES({10, 0, 0, 0});
	VIOLATES({10, E | U, 0, 0});
	VIOLATES({10, B | E, 0, 0}, {11, E, 0, 1});
	/* a middle between other messages */
	VIOLATES({11, B, 0, 1}, {13, B, 0, 2}, {12, 0, 0, 1});
	VIOLATES({11, E, 0, 1}, {13, B, 0, 2}, {12, B, 0, 3});
}

/* rows: 9260-6.9-16 9260-3.3.1-19 */
Test(sctp_recv, fragments_of_different_messages_are_not_joined)
{
	VIOLATES({10, B, 1, 0}, {11, E, 2, 0});
	VIOLATES({10, B, 1, 0}, {11, E, 1, 1});
	VIOLATES({10, B, 1, 0}, {11, E | U, 1, 0});
	VIOLATES({11, E, 1, 0}, {10, B, 2, 0});
	VIOLATES({11, E | U, 1, 0}, {10, B, 1, 0});
}

/* The neighbor was delivered already: seen when the cumulative point has passed. */
Test(sctp_recv, contradictions_with_delivered_messages_are_found_in_the_end)
{
	VIOLATES({11, B | E | U, 0, 0}, {12, E, 0, 1}, {10, B | E | U, 0, 0}, {13, B, 0, 1});
	VIOLATES({13, B | E | U, 0, 0}, {12, B, 0, 1}, {11, B | E | U, 0, 0}, {10, B | E | U, 0, 0},
		 {14, B, 0, 1});
}

Test(sctp_recv, a_number_that_came_twice)
{
	VIOLATES({10, B | E, 0, 0}, {11, B | E, 0, 0});
	VIOLATES({11, B | E, 0, 1}, {12, B | E, 0, 1});
	VIOLATES({11, B, 0, 1}, {12, E, 0, 1}, {13, B, 0, 1});
	VIOLATES({10, B | E, 0, 0}, {11, B | E, 0, 1}, {13, E, 0, 1});
	VIOLATES({10, B | E, 0, 32768});
}

Test(sctp_recv, a_message_that_is_too_long)
{
	uint8_t *p = pattern(SCTP_MAX_MESSAGE);
	struct sctp_data d = {1, 0, 0, 0, true, true, false, p, SCTP_MAX_MESSAGE / 2};

	for (unsigned last_size = 0; last_size < 2; last_size++) {
		start(1);
		d.tsn = 1, d.begin = true, d.end = false;
		cr_assert_eq(take(&d), SCTP_RECV_TAKEN);
		d.tsn = 3, d.begin = false, d.end = true;
		d.len = SCTP_MAX_MESSAGE / 2 - 1;
		cr_assert_eq(take(&d), SCTP_RECV_TAKEN);
		d.tsn = 2, d.end = false;
		d.len = 1 + last_size;
		cr_assert_eq(take(&d), last_size ? SCTP_RECV_VIOLATION : SCTP_RECV_TAKEN);
		d.len = SCTP_MAX_MESSAGE / 2;
		finish();
	}
	free(p);
}

/* ---- the window ---- */

/* rows: 9260-6.2-31 9260-6.2-32 9260-6.2-33 */
Test(sctp_recv, what_waits_is_counted_until_it_is_delivered)
{
	start(1);
	chunk(1, B, 0, 0, "abc");
	cr_assert_geq(sctp_recv_held(&recv_state), 3);
	chunk(3, E, 0, 0, "ghi");
	cr_assert_geq(sctp_recv_held(&recv_state), 6);
	chunk(2, 0, 0, 0, "def");
	cr_assert_eq(sctp_recv_held(&recv_state), 0);
	cr_assert_eq(pool.used, SCTP_SCRATCH + STREAMS * sizeof(uint16_t));
	finish();
}
