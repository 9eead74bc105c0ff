/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every golden vector in both directions, and invalid bytes for the decoders of DDP headers and
 * Terminates; test_wire_fields does the same for the headers of the extensions. vectors.json has
 * the bytes, the tables below have their meaning. Not checked here: V01, an SCTP parameter, and
 * V02c, a whole DATA chunk. SCTP builds these two, so the tests of captured packets check them.
 */
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ddp/wire.h"
#include "tests/lib/vector.h"
#include "util/be.h"

/* ---- the contents of the vectors ---- */

/* Session control: DDP-SSN, function code, enhanced parameters if there are any, private data. */
struct control {
	const char *id;
	uint16_t ssn;
	uint16_t func;
	const char *priv;
	size_t priv_len;
	size_t enh_len; /* WIRE_ENH_LEN or 0 */
	struct wire_enh enh;
};

#define PRIV(s) .priv = s, .priv_len = sizeof(s) - 1
#define WORDS(...) .enh_len = WIRE_ENH_LEN, .enh = {__VA_ARGS__}

static const struct control controls[] = {
	{"V02", 0, WIRE_INITIATE, PRIV("\xde\xad\xbe\xef")},
	{"V03", 0, WIRE_ACCEPT, PRIV("")},
	{"V04", 0, WIRE_REJECT, PRIV("no")},
	{"V05", 5, WIRE_TERMINATE, PRIV("")},
	{"V06", 0, WIRE_TERMINATE, PRIV("")},
	{"V24", 0, WIRE_ENH_INITIATE, PRIV("hi"),
	 WORDS(true, WIRE_RTR_SEND | WIRE_RTR_READ, 16, 8)},
	{"V25", 0, WIRE_ENH_ACCEPT, PRIV(""), WORDS(true, WIRE_RTR_READ, 8, 16)},
	{"V26", 0, WIRE_ENH_INITIATE, PRIV(""),
	 WORDS(false, 0, WIRE_ENH_UNCHANGED, WIRE_ENH_UNCHANGED)},
};

/* The bytes after the DDP header. */
enum body {
	PAYLOAD,
	READ_REQ,
	TERM,
	ATOMIC_REQ,
	ATOMIC_RESP,
};

struct segment {
	const char *id;
	uint16_t ssn;
	struct wire_ddp h;
	enum body body;
	size_t len; /* of the body */
	const char *payload;
	struct wire_read_req read;
	struct wire_atomic_req atomic;
	struct wire_atomic_resp old;
	struct wire_term term;
	const char *blamed; /* the vector whose headers the Terminate copies */
};

#define TAGGED(l, op, st, off)                                                                     \
	.h = {.tagged = true, .last = l, .dv = 1, .rv = 1, .opcode = op, .stag = st, .to = off}
#define UNTAGGED(op, inv, q, n)                                                                    \
	.h = {.last = true, .dv = 1, .rv = 1, .opcode = op, .inv_stag = inv, .qn = q, .msn = n}
#define BYTES(s) .body = PAYLOAD, .payload = s, .len = sizeof(s) - 1

static const struct segment segments[] = {
	{"V07", 1, TAGGED(false, WIRE_OP_WRITE, 0x12345678, 0x4000),
	 BYTES("\xa0\xa1\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xab\xac\xad\xae\xaf")},
	{"V08", 2, TAGGED(true, WIRE_OP_WRITE, 0x12345678, 0x4010), BYTES("\xb0\xb1\xb2\xb3")},
	{"V09", 3, TAGGED(true, WIRE_OP_WRITE, 0, 0), BYTES("")},
	{"V10", 1, UNTAGGED(WIRE_OP_SEND, 0, WIRE_QN_SEND, 1), BYTES("hello")},
	{"V11", 2, UNTAGGED(WIRE_OP_SEND_INV, 0x0badcafe, WIRE_QN_SEND, 2), BYTES("done")},
	{"V12", 3, UNTAGGED(WIRE_OP_SEND_SE, 0, WIRE_QN_SEND, 3), BYTES("")},
	{"V13", 4, UNTAGGED(WIRE_OP_SEND_SE_INV, 0x0badcafe, WIRE_QN_SEND, 4), BYTES("x")},
	{"V14", 5, UNTAGGED(WIRE_OP_READ_REQ, 0, WIRE_QN_READ_REQ, 1), READ_REQ, WIRE_READ_REQ_LEN,
	 .read = {0x00c0ffee, 0x100, 6, 0x12345678, 0x4000}},
	{"V15", 1, TAGGED(true, WIRE_OP_READ_RESP, 0x00c0ffee, 0x100),
	 BYTES("\xa0\xa1\xa2\xa3\xa4\xa5")},
	{"V16", 6, UNTAGGED(WIRE_OP_READ_REQ, 0, WIRE_QN_READ_REQ, 2), READ_REQ, WIRE_READ_REQ_LEN,
	 .read = {0, 0, 0, UINT32_MAX, UINT64_MAX}},
	{"V17", 2, TAGGED(true, WIRE_OP_READ_RESP, 0, 0), BYTES("")},
	{"V18", 7, TAGGED(true, WIRE_OP_WRITE, 0x12345678, 0x5000), BYTES("UUUUUUUU")},
	{"V19", 3, UNTAGGED(WIRE_OP_TERMINATE, 0, WIRE_QN_TERMINATE, 1), TERM, 20, .blamed = "V18",
	 .term = {.layer = 1, .etype = 1, .code = 1, .has_len = true, .has_ddp = true}},
	{"V20", 8, UNTAGGED(WIRE_OP_READ_REQ, 0, WIRE_QN_READ_REQ, 3), READ_REQ, WIRE_READ_REQ_LEN,
	 .read = {0x00c0ffee, 0x100, 0x2000, 0x12345678, 0x4800}},
	{"V21", 3, UNTAGGED(WIRE_OP_TERMINATE, 0, WIRE_QN_TERMINATE, 1), TERM, 52, .blamed = "V20",
	 .term = {.layer = 0,
		  .etype = 1,
		  .code = 1,
		  .has_len = true,
		  .has_ddp = true,
		  .has_read = true}},
	{"V22", 3, UNTAGGED(WIRE_OP_TERMINATE, 0, WIRE_QN_TERMINATE, 1), TERM, 4},
	{"V23", 1, UNTAGGED(WIRE_OP_TERMINATE, 0, WIRE_QN_TERMINATE, 1), TERM, 4,
	 .term = {.layer = 2, .etype = 0, .code = 6}},
	{"V27", 3, UNTAGGED(WIRE_OP_IMM, 0, WIRE_QN_SEND, 3),
	 BYTES("\x11\x22\x33\x44\x55\x66\x77\x88")},
	{"V28", 4, UNTAGGED(WIRE_OP_IMM_SE, 0, WIRE_QN_SEND, 4),
	 BYTES("\x11\x22\x33\x44\x55\x66\x77\x88")},
	{"V29", 9, UNTAGGED(WIRE_OP_ATOMIC_REQ, 0, WIRE_QN_READ_REQ, 3), ATOMIC_REQ,
	 WIRE_ATOMIC_REQ_LEN,
	 .atomic = {WIRE_FETCH_ADD, 7, 0x12345678, 0x4008, 5, 0, 0, UINT64_MAX}},
	{"V30", 3, UNTAGGED(WIRE_OP_ATOMIC_RESP, 0, WIRE_QN_ATOMIC_RESP, 1), ATOMIC_RESP,
	 WIRE_ATOMIC_RESP_LEN, .old = {7, 0x10}},
	{"V31", 10, UNTAGGED(WIRE_OP_ATOMIC_REQ, 0, WIRE_QN_READ_REQ, 4), ATOMIC_REQ,
	 WIRE_ATOMIC_REQ_LEN,
	 .atomic = {WIRE_CMP_SWAP, 8, 0x12345678, 0x4008, 0x99, UINT64_MAX, 0x15, UINT64_MAX}},
	{"V32", 65535, UNTAGGED(WIRE_OP_SEND, 0, WIRE_QN_SEND, 0xffff), BYTES("w")},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- comparing ---- */

#define SAME(id, got, want, field)                                                                 \
	cr_expect_eq((got)->field, (want)->field, "%s: %s is %#llx, not %#llx", id, #field,        \
		     (unsigned long long)(got)->field, (unsigned long long)(want)->field)

static void expect_ddp(const char *id, const struct wire_ddp *got, const struct wire_ddp *want)
{
	SAME(id, got, want, tagged);
	SAME(id, got, want, last);
	SAME(id, got, want, dv);
	SAME(id, got, want, rv);
	SAME(id, got, want, rsv);
	SAME(id, got, want, opcode);
	SAME(id, got, want, inv_stag);
	SAME(id, got, want, stag);
	SAME(id, got, want, to);
	SAME(id, got, want, qn);
	SAME(id, got, want, msn);
	SAME(id, got, want, mo);
}

static void expect_read(const char *id, const struct wire_read_req *got,
			const struct wire_read_req *want)
{
	SAME(id, got, want, sink_stag);
	SAME(id, got, want, sink_to);
	SAME(id, got, want, size);
	SAME(id, got, want, src_stag);
	SAME(id, got, want, src_to);
}

static void expect_atomic(const char *id, const struct wire_atomic_req *got,
			  const struct wire_atomic_req *want)
{
	SAME(id, got, want, aop);
	SAME(id, got, want, id);
	SAME(id, got, want, stag);
	SAME(id, got, want, to);
	SAME(id, got, want, data);
	SAME(id, got, want, mask);
	SAME(id, got, want, compare);
	SAME(id, got, want, compare_mask);
}

static void expect_old(const char *id, const struct wire_atomic_resp *got,
		       const struct wire_atomic_resp *want)
{
	SAME(id, got, want, id);
	SAME(id, got, want, value);
}

static void expect_term(const char *id, const struct wire_term *got, const struct wire_term *want)
{
	SAME(id, got, want, layer);
	SAME(id, got, want, etype);
	SAME(id, got, want, code);
	SAME(id, got, want, has_len);
	SAME(id, got, want, has_ddp);
	SAME(id, got, want, has_read);
	SAME(id, got, want, seg_len);
	SAME(id, got, want, ddp_len);
	cr_expect_arr_eq(got->ddp, want->ddp, WIRE_UNTAGGED_LEN, "%s: DDP header", id);
	cr_expect_arr_eq(got->read, want->read, WIRE_READ_REQ_LEN, "%s: Read Request", id);
}

/* The Terminate of the table with the headers of the message in error. */
static struct wire_term term_of(const struct segment *s)
{
	struct wire_term t = s->term;
	struct vector m;

	if (!s->blamed)
		return t;
	m = vector_get(s->blamed);
	t.seg_len = (uint16_t)(m.len - WIRE_SSN_LEN);
	t.ddp_len = m.b[WIRE_SSN_LEN] & 0x80 ? WIRE_TAGGED_LEN : WIRE_UNTAGGED_LEN;
	memcpy(t.ddp, m.b + WIRE_SSN_LEN, t.ddp_len);
	if (t.has_read)
		memcpy(t.read, m.b + WIRE_SSN_LEN + t.ddp_len, WIRE_READ_REQ_LEN);
	return t;
}

static void expect_body(const struct segment *s, const uint8_t *p, size_t len)
{
	struct wire_read_req read;
	struct wire_atomic_req atomic;
	struct wire_atomic_resp old;
	struct wire_term term, want = term_of(s);

	cr_expect_eq(len, s->len, "%s: %zu bytes after the header", s->id, len);
	switch (s->body) {
	case PAYLOAD:
		cr_expect_arr_eq(p, s->payload, len, "%s: payload", s->id);
		break;
	case READ_REQ:
		wire_read_req_get(p, &read);
		expect_read(s->id, &read, &s->read);
		break;
	case TERM:
		cr_expect(wire_term_get(p, len, &term));
		expect_term(s->id, &term, &want);
		break;
	case ATOMIC_REQ:
		wire_atomic_req_get(p, &atomic);
		expect_atomic(s->id, &atomic, &s->atomic);
		break;
	case ATOMIC_RESP:
		wire_atomic_resp_get(p, &old);
		expect_old(s->id, &old, &s->old);
		break;
	}
}

static size_t put_body(const struct segment *s, uint8_t *p)
{
	struct wire_term term = term_of(s);

	switch (s->body) {
	case PAYLOAD:
		memcpy(p, s->payload, s->len);
		return s->len;
	case READ_REQ:
		wire_read_req_put(p, &s->read);
		return WIRE_READ_REQ_LEN;
	case TERM:
		return wire_term_put(p, &term);
	case ATOMIC_REQ:
		wire_atomic_req_put(p, &s->atomic);
		return WIRE_ATOMIC_REQ_LEN;
	case ATOMIC_RESP:
		wire_atomic_resp_put(p, &s->old);
		return WIRE_ATOMIC_RESP_LEN;
	}
	return 0;
}

/* ---- golden vectors ---- */

Test(wire, golden_segments_decode_to_their_fields)
{
	for (size_t i = 0; i < COUNT(segments); i++) {
		const struct segment *s = &segments[i];
		struct vector m = vector_get(s->id);
		struct wire_ddp h;
		size_t n = wire_ddp_get(m.b + WIRE_SSN_LEN, m.len - WIRE_SSN_LEN, &h);

		cr_expect_eq(m.ppid, WIRE_PPID_SEGMENT, "%s: PPID", s->id);
		cr_expect_eq(be_get16(m.b), s->ssn, "%s: DDP-SSN", s->id);
		cr_expect_eq(n, s->h.tagged ? WIRE_TAGGED_LEN : WIRE_UNTAGGED_LEN);
		expect_ddp(s->id, &h, &s->h);
		expect_body(s, m.b + WIRE_SSN_LEN + n, m.len - WIRE_SSN_LEN - n);
	}
}

Test(wire, golden_segments_encode_to_their_bytes)
{
	for (size_t i = 0; i < COUNT(segments); i++) {
		const struct segment *s = &segments[i];
		struct vector m = vector_get(s->id);
		uint8_t b[VECTOR_MAX] = {0};
		size_t n = WIRE_SSN_LEN;

		be_put16(b, s->ssn);
		n += wire_ddp_put(b + n, &s->h);
		n += put_body(s, b + n);
		cr_expect_eq(n, m.len, "%s: %zu bytes", s->id, n);
		cr_expect_arr_eq(b, m.b, m.len, "%s: bytes differ", s->id);
	}
}

static void expect_params(const struct control *c, const uint8_t *p)
{
	struct wire_enh enh;

	wire_enh_get(p, &enh);
	SAME(c->id, &enh, &c->enh, p2p);
	SAME(c->id, &enh, &c->enh, rtr);
	SAME(c->id, &enh, &c->enh, ird);
	SAME(c->id, &enh, &c->enh, ord);
}

Test(wire, golden_control_messages_decode_to_their_fields)
{
	for (size_t i = 0; i < COUNT(controls); i++) {
		const struct control *c = &controls[i];
		struct vector m = vector_get(c->id);
		size_t priv = WIRE_CONTROL_LEN + c->enh_len;

		cr_expect_eq(m.ppid, WIRE_PPID_CONTROL, "%s: PPID", c->id);
		cr_expect_eq(be_get16(m.b), c->ssn, "%s: DDP-SSN", c->id);
		cr_expect_eq(be_get16(m.b + WIRE_SSN_LEN), c->func, "%s: function", c->id);
		if (c->enh_len)
			expect_params(c, m.b + WIRE_CONTROL_LEN);
		cr_expect_eq(m.len - priv, c->priv_len, "%s: length", c->id);
		cr_expect_arr_eq(m.b + priv, c->priv, c->priv_len, "%s", c->id);
	}
}

/* rows: 6581-7-01 6581-7-05 6581-9-01 6581-9-02 */
Test(wire, golden_control_messages_encode_to_their_bytes)
{
	for (size_t i = 0; i < COUNT(controls); i++) {
		const struct control *c = &controls[i];
		struct vector m = vector_get(c->id);
		size_t priv = WIRE_CONTROL_LEN + c->enh_len;
		uint8_t b[VECTOR_MAX] = {0};

		be_put16(b, c->ssn);
		be_put16(b + WIRE_SSN_LEN, c->func);
		if (c->enh_len)
			wire_enh_put(b + WIRE_CONTROL_LEN, &c->enh);
		memcpy(b + priv, c->priv, c->priv_len);
		cr_expect_eq(priv + c->priv_len, m.len, "%s: length", c->id);
		cr_expect_arr_eq(b, m.b, m.len, "%s: bytes differ", c->id);
	}
}

static bool in_a_table(const char *id)
{
	for (size_t i = 0; i < COUNT(segments); i++) {
		if (strcmp(segments[i].id, id) == 0)
			return true;
	}
	for (size_t i = 0; i < COUNT(controls); i++) {
		if (strcmp(controls[i].id, id) == 0)
			return true;
	}
	return false;
}

Test(wire, no_golden_vector_is_left_out)
{
	struct json_object *root = json_object_from_file(TEST_DATA_DIR "/vectors.json");
	struct json_object *list = json_object_object_get(root, "vectors");
	size_t n = json_object_array_length(list);

	for (size_t i = 0; i < n; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		const char *id = json_object_get_string(json_object_object_get(o, "id"));

		cr_expect_eq(vector_get(id).len,
			     json_object_get_uint64(json_object_object_get(o, "len")));
		if (strcmp(id, "V01") != 0 && strcmp(id, "V02c") != 0)
			cr_expect(in_a_table(id), "%s is expected nowhere", id);
	}
	cr_expect_eq(n, COUNT(segments) + COUNT(controls) + 2);
	json_object_put(root);
}

/* ---- DDP header ---- */

/* Bytes at the end of an allocation of their own, so that reading past them is caught. */
static uint8_t *exactly(const void *from, size_t len)
{
	uint8_t *p = malloc(len ? len : 1);

	cr_assert_not_null(p);
	memcpy(p, from, len);
	return p;
}

static const struct wire_ddp untouched = {.opcode = 0x77, .stag = 0x55555555, .msn = 0x66666666};

static void expect_too_short(const uint8_t *b, size_t len)
{
	uint8_t *p = exactly(b, len);
	struct wire_ddp h = untouched;

	cr_expect_eq(wire_ddp_get(p, len, &h), 0, "%zu bytes", len);
	expect_ddp("too short", &h, &untouched);
	free(p);
}

Test(wire, header_cut_anywhere_is_refused_and_writes_nothing)
{
	struct vector tagged = vector_get("V09"), untagged = vector_get("V12");

	for (size_t len = 0; len < WIRE_TAGGED_LEN; len++)
		expect_too_short(tagged.b + WIRE_SSN_LEN, len);
	for (size_t len = 0; len < WIRE_UNTAGGED_LEN; len++)
		expect_too_short(untagged.b + WIRE_SSN_LEN, len);
}

Test(wire, header_without_payload_is_long_enough)
{
	struct wire_ddp h;
	uint8_t *tagged = exactly(vector_get("V09").b + WIRE_SSN_LEN, WIRE_TAGGED_LEN);
	uint8_t *untagged = exactly(vector_get("V12").b + WIRE_SSN_LEN, WIRE_UNTAGGED_LEN);

	cr_expect_eq(wire_ddp_get(tagged, WIRE_TAGGED_LEN, &h), WIRE_TAGGED_LEN);
	cr_expect_eq(wire_ddp_get(untagged, WIRE_UNTAGGED_LEN, &h), WIRE_UNTAGGED_LEN);
	free(tagged);
	free(untagged);
}

/* Those of RFC 5041. The two of RFC 5040 are the ULP's in raw DDP mode, so they are reported. */
Test(wire, reserved_bits_of_a_header_are_ignored)
{
	uint8_t b[WIRE_UNTAGGED_LEN];
	struct vector v = vector_get("V11");
	struct wire_ddp plain, noisy;

	memcpy(b, v.b + WIRE_SSN_LEN, sizeof(b));
	wire_ddp_get(b, sizeof(b), &plain);
	cr_expect_eq(plain.rsv, 0);
	b[0] |= 0x3c;
	cr_expect_eq(b[0], 0x7d);
	cr_expect_eq(wire_ddp_get(b, sizeof(b), &noisy), WIRE_UNTAGGED_LEN);
	expect_ddp("reserved", &noisy, &plain);
	b[1] |= 0x30;
	cr_expect_eq(wire_ddp_get(b, sizeof(b), &noisy), WIRE_UNTAGGED_LEN);
	plain.rsv = 3;
	expect_ddp("reserved", &noisy, &plain);
}

/* Every value of both control bytes: the bits that DDP does not reserve survive. */
/* rows: 5041-4.1-08 */
Test(wire, control_bytes_survive_decoding_and_encoding)
{
	for (unsigned both = 0; both <= 0xffff; both++) {
		uint8_t b[WIRE_UNTAGGED_LEN] = {(uint8_t)(both >> 8), (uint8_t)both};
		uint8_t again[WIRE_UNTAGGED_LEN];
		struct wire_ddp h;
		size_t n = wire_ddp_get(b, sizeof(b), &h);

		cr_assert_eq(n, both & 0x8000 ? WIRE_TAGGED_LEN : WIRE_UNTAGGED_LEN);
		cr_assert_eq(h.last, (both & 0x4000) != 0);
		cr_assert_eq(h.dv, both >> 8 & 3);
		cr_assert_eq(h.rv, both >> 6 & 3);
		cr_assert_eq(h.rsv, both >> 4 & 3);
		cr_assert_eq(h.opcode, both & 15);
		cr_assert_eq(wire_ddp_put(again, &h), n);
		cr_assert_eq(again[0], b[0] & 0xc3);
		cr_assert_eq(again[1], b[1]);
	}
}

Test(wire, widest_values_fit_their_fields)
{
	struct wire_ddp tagged = {.tagged = true, .dv = 3, .rv = 3, .rsv = 3, .opcode = 15};
	struct wire_ddp untagged = {.dv = 3, .rv = 3, .rsv = 3, .opcode = 15}, h;
	uint8_t b[WIRE_UNTAGGED_LEN];

	tagged.stag = UINT32_MAX;
	tagged.to = UINT64_MAX - 1;
	cr_expect_eq(wire_ddp_get(b, wire_ddp_put(b, &tagged), &h), WIRE_TAGGED_LEN);
	expect_ddp("tagged", &h, &tagged);
	untagged.inv_stag = UINT32_MAX;
	untagged.qn = UINT32_MAX - 1;
	untagged.msn = UINT32_MAX - 2;
	untagged.mo = UINT32_MAX - 3;
	cr_expect_eq(wire_ddp_get(b, wire_ddp_put(b, &untagged), &h), WIRE_UNTAGGED_LEN);
	expect_ddp("untagged", &h, &untagged);
}

Test(wire, values_too_wide_for_their_bits_do_not_spill_into_others)
{
	const struct wire_ddp wide = {.dv = 0xfd, .rv = 0xfd, .rsv = 0xfe, .opcode = 0xf3};
	const struct wire_term t = {.layer = 0xf1, .etype = 0xf2, .code = 3};
	uint8_t b[WIRE_TERM_MAX];

	wire_ddp_put(b, &wide);
	cr_expect_eq(b[0], 0x01);
	cr_expect_eq(b[1], 0x63);
	wire_term_put(b, &t);
	cr_expect_eq(b[0], 0x12);
	cr_expect_eq(b[1], 3);
}

/* ---- Terminate ---- */

Test(wire, terminate_needs_its_first_four_bytes)
{
	struct vector v = vector_get("V21");
	const uint8_t *body = v.b + WIRE_SSN_LEN + WIRE_UNTAGGED_LEN;
	struct wire_term t = {.code = 0x77};

	for (size_t len = 0; len < 4; len++) {
		uint8_t *p = exactly(body, len);

		cr_expect_not(wire_term_get(p, len, &t));
		cr_expect_eq(t.code, 0x77);
		free(p);
	}
}

static void expect_parts(const uint8_t *body, size_t len, size_t ddp_end)
{
	uint8_t *p = exactly(body, len);
	struct wire_term t;

	cr_expect(wire_term_get(p, len, &t));
	cr_expect_eq(t.has_len, len >= 6, "%zu bytes: length", len);
	cr_expect_eq(t.has_ddp, len >= ddp_end, "%zu bytes: DDP header", len);
	cr_expect_eq(t.ddp_len, len >= ddp_end ? ddp_end - 6 : 0);
	cr_expect_eq(t.has_read, len >= ddp_end + WIRE_READ_REQ_LEN, "%zu bytes: request", len);
	free(p);
}

Test(wire, terminate_cut_anywhere_keeps_the_parts_that_are_whole)
{
	uint8_t body[WIRE_TERM_MAX];

	memcpy(body, vector_get("V21").b + WIRE_SSN_LEN + WIRE_UNTAGGED_LEN, sizeof(body));
	for (size_t len = 4; len <= sizeof(body); len++)
		expect_parts(body, len, 6 + WIRE_UNTAGGED_LEN);
	body[6] |= 0x80; /* the copied header is a tagged one now: 14 bytes */
	for (size_t len = 4; len <= sizeof(body); len++)
		expect_parts(body, len, 6 + WIRE_TAGGED_LEN);
}

Test(wire, terminate_ignores_surplus_bytes)
{
	uint8_t body[200] = {0x11, 0x01, 0xc0, 0x00};
	struct wire_term t;

	memset(body + 4, 0xff, sizeof(body) - 4);
	cr_expect(wire_term_get(body, sizeof(body), &t));
	cr_expect(t.has_len && t.has_ddp && !t.has_read);
	cr_expect_eq(t.ddp_len, WIRE_TAGGED_LEN);
	body[2] = 0;
	cr_expect(wire_term_get(body, sizeof(body), &t));
	cr_expect(!t.has_len && !t.has_ddp && !t.has_read);
}

/* rows: 5040-4.8-04 */
Test(wire, terminate_bits_alone_say_what_follows)
{
	for (unsigned bits = 0; bits < 8; bits++) {
		struct wire_term t = {.layer = 1,
				      .has_len = bits & 4,
				      .has_ddp = bits & 2,
				      .has_read = bits & 1,
				      .read = {0x99}};
		struct wire_term got;
		uint8_t b[WIRE_TERM_MAX];
		size_t want = 4 + (bits & 6 ? 2 : 0) + (bits & 2 ? WIRE_TAGGED_LEN : 0) +
			      (bits & 1 ? WIRE_READ_REQ_LEN : 0);

		t.seg_len = t.has_len ? 0xabcd : 0;
		t.ddp_len = t.has_ddp ? WIRE_TAGGED_LEN : 0;
		t.ddp[0] = t.has_ddp ? 0xc1 : 0;
		t.read[0] = t.has_read ? 0x99 : 0;
		memset(b, 0xff, sizeof(b));
		cr_expect_eq(wire_term_put(b, &t), want, "bits %u", bits);
		cr_expect_eq(b[2], bits << 5);
		cr_expect_eq(b[3], 0);
		cr_expect(wire_term_get(b, want, &got));
		expect_term("bits", &got, &t);
	}
}

/* rows: 5040-4.8-05 */
Test(wire, terminate_reserved_bits_are_ignored)
{
	const uint8_t body[4] = {0x20, 0x06, 0x1f, 0xff};
	struct wire_term t, want = {.layer = 2, .etype = 0, .code = 6};

	cr_expect(wire_term_get(body, sizeof(body), &t));
	expect_term("reserved", &t, &want);
}

Test(wire, terminate_word_shows_layer_type_and_code)
{
	cr_expect_eq(WIRE_TERM_WORD(1, 1, 1), 0x1101);
	cr_expect_eq(WIRE_TERM_WORD(0, 2, 0xff), 0x02ff);
	cr_expect_eq(WIRE_TERM_WORD(15, 15, 255), 0xffff);
}
