/* SPDX-License-Identifier: BSD-2-Clause */
/* The records that tools send each other: decoding returns what was encoded, and invalid records
 * are refused. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tools/ddpcp/ddpcp_proto.h"
#include "tools/ddperf/ddperf_proto.h"
#include "tools/ddperf/ddperf_test.h"
#include "tools/ddping/ddping_proto.h"
#include "util/be.h"

/* ---- ddping ---- */

Test(ddping, a_hello_survives)
{
	uint8_t buf[DDPING_HELLO_LEN];
	uint32_t size = 0;

	ddping_hello_put(buf, DDPING_MAX_SIZE);
	cr_assert_eq(ddping_hello_get(buf, sizeof(buf), &size), 0);
	cr_expect_eq(size, DDPING_MAX_SIZE);
}

Test(ddping, hellos_of_wrong_length_version_and_size_are_refused)
{
	uint8_t buf[DDPING_HELLO_LEN + 1] = {0};
	uint32_t size;

	ddping_hello_put(buf, 64);
	for (size_t len = 0; len <= sizeof(buf); len++)
		if (len != DDPING_HELLO_LEN)
			cr_expect_eq(ddping_hello_get(buf, len, &size), -EPROTO, "%zu", len);
	ddping_hello_put(buf, 0);
	cr_expect_eq(ddping_hello_get(buf, DDPING_HELLO_LEN, &size), -ERANGE);
	ddping_hello_put(buf, DDPING_MAX_SIZE + 1);
	cr_expect_eq(ddping_hello_get(buf, DDPING_HELLO_LEN, &size), -ERANGE);
	ddping_hello_put(buf, 64);
	buf[5]++;
	cr_expect_eq(ddping_hello_get(buf, DDPING_HELLO_LEN, &size), -EPROTONOSUPPORT);
	buf[0]++;
	cr_expect_eq(ddping_hello_get(buf, DDPING_HELLO_LEN, &size), -EPROTO);
}

Test(ddping, a_ping_survives_and_differs_from_a_pong)
{
	const struct ddping_rec ping = {
		.kind = DDPING_PING,
		.seq = 7,
		.len = 4096,
		.src_stag = 0x11223344,
		.sink_stag = 0x55667788,
		.src_to = UINT64_C(0x0102030405060708),
		.sink_to = UINT64_MAX,
	};
	uint8_t buf[DDPING_REC_LEN];
	struct ddping_rec got;

	ddping_rec_put(buf, &ping);
	cr_assert_eq(ddping_rec_get(buf, sizeof(buf), DDPING_PING, &got), 0);
	cr_expect_eq(got.seq, ping.seq);
	cr_expect_eq(got.len, ping.len);
	cr_expect_eq(got.src_stag, ping.src_stag);
	cr_expect_eq(got.sink_stag, ping.sink_stag);
	cr_expect_eq(got.src_to, ping.src_to);
	cr_expect_eq(got.sink_to, ping.sink_to);
	cr_expect_eq(ddping_rec_get(buf, sizeof(buf), DDPING_PONG, &got), -EPROTO);
	cr_expect_eq(ddping_rec_get(buf, sizeof(buf) - 1, DDPING_PING, &got), -EPROTO);
}

/* ---- ddperf ---- */

Test(ddperf, hello_and_answer_survive)
{
	const struct ddperf_hello h = {DDPERF_SEND,
				       DDPERF_RATE,
				       64,
				       256,
				       0xdeadbeef,
				       1u << 31,
				       DDPERF_REVERSE | DDPERF_INLINE,
				       512,
				       UINT64_C(1) << 63};
	const struct ddperf_answer a = {0xcafe, 512, UINT64_C(1) << 40};
	uint8_t buf[DDPERF_HELLO_LEN];
	struct ddperf_answer got_a;
	struct ddperf_hello got;

	ddperf_hello_put(buf, &h);
	cr_assert_eq(ddperf_hello_get(buf, sizeof(buf), &got), 0);
	cr_expect_eq(got.op, h.op);
	cr_expect_eq(got.metric, h.metric);
	cr_expect_eq(got.size, h.size);
	cr_expect_eq(got.depth, h.depth);
	cr_expect_eq(got.stag, h.stag);
	cr_expect_eq(got.to, h.to);
	cr_expect_eq(got.flags, h.flags);
	cr_expect_eq(got.credits, h.credits);
	cr_expect_eq(got.client, h.client);
	ddperf_answer_put(buf, &a);
	cr_assert_eq(ddperf_answer_get(buf, DDPERF_ANSWER_LEN, &got_a), 0);
	cr_expect_eq(got_a.stag, a.stag);
	cr_expect_eq(got_a.credits, a.credits);
	cr_expect_eq(got_a.to, a.to);
}

Test(ddperf, tests_that_do_not_exist_are_refused)
{
	const struct ddperf_hello wrong[] = {
		{DDPERF_OPS, DDPERF_BW, 64, 1, 0, 0, 0, 0, 0},
		{DDPERF_WRITE, DDPERF_METRICS, 64, 1, 0, 0, 0, 0, 0},
		{DDPERF_WRITE, DDPERF_BW, 0, 1, 0, 0, 0, 0, 0},
		{DDPERF_WRITE, DDPERF_BW, DDPERF_MAX_SIZE + 1, 1, 0, 0, 0, 0, 0},
		{DDPERF_WRITE, DDPERF_BW, 64, 0, 0, 0, 0, 0, 0},
		{DDPERF_WRITE, DDPERF_BW, 64, DDPERF_MAX_DEPTH + 1, 0, 0, 0, 0, 0},
		{DDPERF_WRITE, DDPERF_BW, 64, 1, 0, 0, DDPERF_FLAGS + 1, 1, 0},
		{DDPERF_WRITE, DDPERF_BW, 64, 1, 0, 0, DDPERF_REVERSE, 0, 0},
		{DDPERF_WRITE, DDPERF_LAT, 64, 1, 0, 0, DDPERF_REVERSE, 1, 0},
	};
	uint8_t buf[DDPERF_HELLO_LEN];
	struct ddperf_hello got;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ddperf_hello_put(buf, &wrong[i]);
		cr_expect_eq(ddperf_hello_get(buf, sizeof(buf), &got), -ERANGE, "%zu", i);
	}
	cr_expect_eq(ddperf_hello_get(buf, 0, &got), -EPROTO);
}

Test(ddperf, begin_and_result_of_a_phase_survive)
{
	const struct ddperf_go go = {UINT64_C(1) << 40, 7};
	const struct ddperf_done done = {UINT64_C(1) << 41, 8};
	uint8_t buf[DDPERF_DONE_LEN];
	struct ddperf_done got_done;
	struct ddperf_go got;

	ddperf_go_put(buf, &go);
	cr_assert_eq(ddperf_go_get(buf, DDPERF_GO_LEN, &got), 0);
	cr_expect_eq(got.ns, go.ns);
	cr_expect_eq(got.count, go.count);
	cr_expect_eq(ddperf_go_get(buf, DDPERF_GO_LEN - 1, &got), -EPROTO);
	ddperf_done_put(buf, &done);
	cr_assert_eq(ddperf_done_get(buf, DDPERF_DONE_LEN, &got_done), 0);
	cr_expect_eq(got_done.messages, done.messages);
	cr_expect_eq(got_done.ns, done.ns);
	buf[0] ^= 1;
	cr_expect_eq(ddperf_done_get(buf, DDPERF_DONE_LEN, &got_done), -EPROTO);
}

Test(ddperf, an_answer_without_credits_is_invalid)
{
	uint8_t buf[DDPERF_ANSWER_LEN];
	struct ddperf_answer got;

	ddperf_answer_put(buf, &(struct ddperf_answer){1, 0, 0});
	cr_expect_eq(ddperf_answer_get(buf, sizeof(buf), &got), -EPROTO);
}

/* ---- ddpcp ---- */

/* Members of records that only level 1 has. */
static void add_level_1(struct ddpcp_rec *rec)
{
	const enum ddpcp_kind kind = rec->kind;

	if (kind == DDPCP_OFFER || kind == DDPCP_DATA) {
		rec->meta.size = kind == DDPCP_OFFER ? INT64_MAX : DDPCP_MAX_CHUNK;
		rec->meta.mode = 0640;
		rec->flags = DDPCP_ALL_FLAGS;
		rec->type = kind == DDPCP_OFFER ? DDPCP_SYMLINK : DDPCP_FILE;
		memset(rec->name, 'n', DDPCP_NAME_MAX);
	}
	if (kind == DDPCP_OFFER)
		memset(rec->target, 't', DDPCP_NAME_MAX);
	if (kind == DDPCP_DATA) {
		rec->offset = DDPCP_RING - DDPCP_MAX_CHUNK;
		memset(rec->sha256, 0x5a, sizeof(rec->sha256));
	}
	if (kind == DDPCP_TAKE) {
		rec->window = (struct ddpcp_window){.to = UINT64_MAX, .stag = 0xabcdef01};
		rec->len = DDPCP_RING;
	}
	if (kind >= DDPCP_OFFER)
		rec->id = DDPCP_FLIGHT - 1;
	if (kind == DDPCP_ANSWER) {
		rec->status = DDPCP_UNCHANGED;
		memset(rec->text, 't', DDPCP_TEXT_MAX);
	}
}

/* A good record of each kind. */
static struct ddpcp_rec sample(enum ddpcp_kind kind)
{
	struct ddpcp_rec rec = {.kind = kind};

	if (kind == DDPCP_PUT || kind == DDPCP_GET || kind == DDPCP_DIR) {
		rec.meta = (struct ddpcp_meta){
			.size = kind == DDPCP_PUT ? DDPCP_STREAM : INT64_MAX,
			.mode = 0754,
			.mtime = -1,
			.mtime_ns = 999999999,
		};
		rec.flags = DDPCP_FLAGS;
		memset(rec.name, 'n', DDPCP_NAME_MAX);
		rec.name[3] = '/';
	}
	add_level_1(&rec);
	if (kind == DDPCP_WINDOW)
		rec.window = (struct ddpcp_window){
			.to = UINT64_MAX,
			.stag = 0xabcdef01,
			.chunk = DDPCP_MAX_CHUNK,
			.slots = DDPCP_MAX_SLOTS,
			.have = UINT64_C(5) * DDPCP_MAX_CHUNK,
			.sha256 = {1, 2, 3},
		};
	if (kind == DDPCP_START)
		rec.offset = INT64_MAX;
	if (kind == DDPCP_CHUNK || kind == DDPCP_ACK)
		rec.seq = UINT64_C(1) << 50;
	if (kind == DDPCP_CHUNK) {
		rec.len = DDPCP_MAX_CHUNK;
		rec.hole = true;
	}
	if (kind == DDPCP_DONE)
		memset(rec.sha256, 0xa5, sizeof(rec.sha256));
	if (kind == DDPCP_RESULT) {
		rec.status = DDPCP_FAILED;
		memset(rec.text, 't', DDPCP_TEXT_MAX);
	}
	return rec;
}

static void expect_same(const struct ddpcp_rec *a, const struct ddpcp_rec *b)
{
	cr_expect_eq(a->kind, b->kind);
	cr_expect_eq(a->meta.size, b->meta.size);
	cr_expect_eq(a->meta.mode, b->meta.mode);
	cr_expect_eq(a->meta.mtime, b->meta.mtime);
	cr_expect_eq(a->meta.mtime_ns, b->meta.mtime_ns);
	cr_expect_eq(a->flags, b->flags);
	cr_expect_eq(a->offset, b->offset);
	cr_expect_str_eq(a->name, b->name);
	cr_expect_eq(a->window.to, b->window.to);
	cr_expect_eq(a->window.stag, b->window.stag);
	cr_expect_eq(a->window.chunk, b->window.chunk);
	cr_expect_eq(a->window.slots, b->window.slots);
	cr_expect_eq(a->window.have, b->window.have);
	cr_expect_arr_eq(a->window.sha256, b->window.sha256, DDPCP_SHA_LEN);
	cr_expect_eq(a->seq, b->seq);
	cr_expect_eq(a->len, b->len);
	cr_expect_arr_eq(a->sha256, b->sha256, DDPCP_SHA_LEN);
	cr_expect_eq(a->status, b->status);
	cr_expect_str_eq(a->text, b->text);
	cr_expect_eq(a->id, b->id);
	cr_expect_eq(a->type, b->type);
	cr_expect_eq(a->hole, b->hole);
	cr_expect_str_eq(a->target, b->target);
}

Test(ddpcp, records_of_all_kinds_survive)
{
	for (int kind = DDPCP_PUT; kind < DDPCP_KINDS; kind++) {
		struct ddpcp_rec rec = sample(kind), got;
		uint8_t buf[DDPCP_REC_MAX];
		size_t len = ddpcp_rec_put(buf, &rec);

		cr_assert_leq(len, DDPCP_REC_MAX);
		cr_assert_eq(ddpcp_rec_get(buf, len, &got), 0, "kind %d", kind);
		expect_same(&rec, &got);
	}
}

Test(ddpcp, a_record_has_the_length_of_its_kind_and_no_other)
{
	for (int kind = DDPCP_PUT; kind < DDPCP_KINDS; kind++) {
		struct ddpcp_rec rec = sample(kind), got;
		uint8_t buf[DDPCP_REC_MAX];
		size_t right = ddpcp_rec_put(buf, &rec);

		for (size_t len = 0; len <= DDPCP_REC_MAX; len++)
			if (len != right)
				cr_assert_eq(ddpcp_rec_get(buf, len, &got), -EPROTO, "%d %zu", kind,
					     len);
	}
}

/* Puts a good record, changes a 4-byte member, and expects that it is refused. */
static void refused_with(enum ddpcp_kind kind, size_t off, uint32_t v)
{
	struct ddpcp_rec rec = sample(kind), got = {.seq = 4711};
	uint8_t buf[DDPCP_REC_MAX];
	size_t len = ddpcp_rec_put(buf, &rec);

	be_put32(buf + off, v);
	cr_expect_eq(ddpcp_rec_get(buf, len, &got), -EPROTO, "kind %d at %zu: %x", (int)kind, off,
		     v);
	cr_expect_eq(got.seq, 4711, "the output was touched");
}

Test(ddpcp, members_out_of_range_are_refused)
{
	refused_with(DDPCP_PUT, 0, 0x12345678);             /* magic */
	refused_with(DDPCP_PUT, 4, 1u << 16 | DDPCP_PUT);   /* version */
	refused_with(DDPCP_ACK, 4, 2u << 16);               /* kind 0 */
	refused_with(DDPCP_ACK, 4, 2u << 16 | DDPCP_KINDS); /* kind */
	refused_with(DDPCP_PUT, 8, 0x80000000);             /* size beyond INT64_MAX */
	refused_with(DDPCP_PUT, 16, 04755);                 /* mode with set-user-id */
	refused_with(DDPCP_DIR, 16, 0x1000);                /* mode */
	refused_with(DDPCP_DIR, 8, UINT32_MAX);             /* size of a stream */
	refused_with(DDPCP_PUT, 20, DDPCP_ALL_FLAGS + 1);   /* flags */
	refused_with(DDPCP_PUT, 32, 1000000000);            /* nanoseconds */
	refused_with(DDPCP_START, 8, 0x80000000);           /* offset */
	refused_with(DDPCP_WINDOW, 36, 1);                  /* a part of a chunk is there */
	refused_with(DDPCP_WINDOW, 20, 0);                  /* chunk */
	refused_with(DDPCP_WINDOW, 20, DDPCP_MIN_CHUNK - 1);
	refused_with(DDPCP_WINDOW, 20, DDPCP_MAX_CHUNK + 1);
	refused_with(DDPCP_WINDOW, 24, 0); /* slots */
	refused_with(DDPCP_WINDOW, 24, DDPCP_MAX_SLOTS + 1);
	refused_with(DDPCP_CHUNK, 16, 0); /* len */
	refused_with(DDPCP_CHUNK, 16, DDPCP_MAX_CHUNK + 1);
	refused_with(DDPCP_ACK, 16, 1);
	refused_with(DDPCP_RESULT, 8, 3); /* status */
	refused_with(DDPCP_ANSWER, 8, 4);
	refused_with(DDPCP_ANSWER, 272, DDPCP_FLIGHT << 16);               /* id */
	refused_with(DDPCP_OFFER, 36, DDPCP_FLIGHT << 16 | DDPCP_SYMLINK); /* id */
	refused_with(DDPCP_OFFER, 36, DDPCP_TYPES);                        /* type */
	refused_with(DDPCP_DATA, 36, DDPCP_SYMLINK);
	refused_with(DDPCP_DATA, 12, DDPCP_MAX_CHUNK + 1); /* size */
	refused_with(DDPCP_DATA, 1068, DDPCP_RING + 1);    /* offset */
	refused_with(DDPCP_TAKE, 20, DDPCP_RING + 1);      /* memory */
	refused_with(DDPCP_TAKE, 20, DDPCP_MAX_CHUNK - 1);
	refused_with(DDPCP_TAKE, 24, DDPCP_FLIGHT << 16); /* id */
}

Test(ddpcp, strings_must_end)
{
	struct ddpcp_rec rec = sample(DDPCP_GET), got;
	uint8_t buf[DDPCP_REC_MAX];
	size_t len = ddpcp_rec_put(buf, &rec);

	buf[len - 1] = 'n';
	cr_expect_eq(ddpcp_rec_get(buf, len, &got), -EPROTO);
	rec = sample(DDPCP_RESULT);
	len = ddpcp_rec_put(buf, &rec);
	buf[len - 1] = 't';
	cr_expect_eq(ddpcp_rec_get(buf, len, &got), -EPROTO);
}

Test(ddpcp, hellos_of_other_programs_are_refused)
{
	uint8_t buf[DDPCP_HELLO_LEN];

	ddpcp_hello_put(buf, 0);
	cr_expect_eq(ddpcp_hello_get(buf, sizeof(buf)), 0);
	cr_expect_eq(ddpcp_hello_get(buf, sizeof(buf) - 1), -EPROTO);
	cr_expect_eq(ddpcp_hello_get(buf, 0), -EPROTO);
	buf[5]++;
	cr_expect_eq(ddpcp_hello_get(buf, sizeof(buf)), -EPROTONOSUPPORT);
	buf[0]++;
	cr_expect_eq(ddpcp_hello_get(buf, sizeof(buf)), -EPROTO);
}

Test(ddpcp, both_ends_use_the_level_that_both_have)
{
	uint8_t buf[DDPCP_HELLO_LEN] = {0};

	cr_expect_eq(ddpcp_hello_level(buf, 0), 0, "an old server answers nothing");
	for (uint16_t level = 0; level < DDPCP_LEVEL + 2; level++) {
		ddpcp_hello_put(buf, level);
		cr_expect_eq(ddpcp_hello_get(buf, sizeof(buf)), 0, "an old server takes it");
		cr_expect_eq(ddpcp_hello_level(buf, sizeof(buf)),
			     level < DDPCP_LEVEL ? level : DDPCP_LEVEL);
	}
}

/* The chunks of a file cover it without gap or overlap. */
static void expect_cover(uint64_t size)
{
	struct ddpcp_window w = ddpcp_window_for(size);
	uint64_t chunks = ddpcp_chunks(size, w.chunk), sum = 0;

	cr_assert(w.chunk >= DDPCP_MIN_CHUNK && w.chunk <= DDPCP_MAX_CHUNK, "%lu", size);
	cr_assert(w.slots >= 1 && w.slots <= DDPCP_MAX_SLOTS);
	cr_expect(w.slots <= chunks || w.slots == 1);
	for (uint64_t i = 0; i < chunks; i++) {
		uint32_t len = ddpcp_chunk_len(size, w.chunk, i);

		cr_assert(len >= 1 && len <= w.chunk, "size %lu chunk %lu: %u", size, i, len);
		sum += len;
	}
	cr_expect_eq(sum, size);
}

Test(ddpcp, chunks_cover_files_of_all_sizes)
{
	const uint64_t max = DDPCP_MAX_CHUNK;
	const uint64_t sizes[] = {0,       1,           4095,          4096,    4097,
				  max - 1, max,         max + 1,       2 * max, 8 * max - 1,
				  8 * max, 8 * max + 1, 100 * max + 17};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		expect_cover(sizes[i]);
	cr_expect_eq(ddpcp_window_for(0).chunk, DDPCP_MIN_CHUNK);
	cr_expect_eq(ddpcp_window_for(INT64_MAX).slots, DDPCP_MAX_SLOTS);
	cr_expect_eq(ddpcp_chunks(INT64_MAX, DDPCP_MAX_CHUNK), UINT64_C(1) << 41);
}

Test(ddperf, tests_have_the_names_that_are_printed)
{
	enum ddperf_metric metric;
	enum ddperf_op op;

	for (int i = 0; i < DDPERF_OPS; i++) {
		cr_assert_eq(ddperf_op_parse(ddperf_op_str((enum ddperf_op)i), &op), 0);
		cr_expect_eq((int)op, i);
	}
	for (int i = 0; i < DDPERF_METRICS; i++) {
		cr_assert_eq(ddperf_metric_parse(ddperf_metric_str((enum ddperf_metric)i), &metric),
			     0);
		cr_expect_eq((int)metric, i);
	}
	cr_expect_eq(ddperf_op_parse("", &op), -EINVAL);
	cr_expect_eq(ddperf_metric_parse("speed", &metric), -EINVAL);
}
