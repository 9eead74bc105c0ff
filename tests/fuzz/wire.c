/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Headers: decoding and encoding gives the same bytes, except for reserved bits. The first byte
 * selects the header.
 */
#include "daemon/objects/datagrams/flight.h"
#include "daemon/objects/datagrams/wire_datagram.h"
#include "ipc/wqe.h"
#include "proto/session/enh.h"
#include "proto/ddp/perr.h"
#include "proto/ddp/wire.h"
#include "tests/fuzz/fuzz.h"
#include "util/service_key.h"

enum {
	LATER = 250,     /* first bytes of inputs for later calls */
	LATEST = 254,    /* and of those for the latest */
	DDP_BITS = 0xc3, /* T, L and DV; the four bits between are reserved */
	TERM_BITS = 0xe0,
	DEPTH_MAX = 128, /* largest depth of an endpoint */
};

static void ddp(const uint8_t *p, size_t n)
{
	uint8_t again[WIRE_UNTAGGED_LEN];
	struct wire_ddp h;
	size_t len = wire_ddp_get(p, n, &h);

	if (len == 0) {
		must(n < WIRE_TAGGED_LEN || (!(p[0] & 0x80) && n < WIRE_UNTAGGED_LEN));
		return;
	}
	must(len == (h.tagged ? WIRE_TAGGED_LEN : WIRE_UNTAGGED_LEN) && len <= n);
	must(wire_ddp_put(again, &h) == len);
	must(again[0] == (p[0] & DDP_BITS) && !memcmp(again + 1, p + 1, len - 1));
}

static void read_request(const uint8_t *p, size_t n)
{
	uint8_t again[WIRE_READ_REQ_LEN];
	struct wire_read_req r;

	if (n < sizeof(again))
		return;
	wire_read_req_get(p, &r);
	wire_read_req_put(again, &r);
	must(!memcmp(again, p, sizeof(again)));
}

static void atomic_request(const uint8_t *p, size_t n)
{
	uint8_t again[WIRE_ATOMIC_REQ_LEN];
	struct wire_atomic_req r;
	size_t same = sizeof(again);

	if (n < sizeof(again))
		return;
	wire_atomic_req_get(p, &r);
	wire_atomic_req_put(again, &r);
	if (r.aop != WIRE_CMP_SWAP)
		same -= sizeof(r.compare) + sizeof(r.compare_mask);
	must(again[3] == (p[3] & 0x0f) && !memcmp(again + 4, p + 4, same - 4));
}

static void atomic_response(const uint8_t *p, size_t n)
{
	uint8_t again[WIRE_ATOMIC_RESP_LEN];
	struct wire_atomic_resp r;

	if (n < sizeof(again))
		return;
	wire_atomic_resp_get(p, &r);
	wire_atomic_resp_put(again, &r);
	must(!memcmp(again, p, sizeof(again)));
}

/* A Terminate may have any length, and its copied headers any bytes. */
static void terminate(const uint8_t *p, size_t n)
{
	uint8_t again[WIRE_TERM_MAX];
	struct wire_term t, t2;
	size_t len;

	memset(&t, 0, sizeof(t));
	memset(&t2, 0, sizeof(t2));
	if (!wire_term_get(p, n, &t)) {
		must(n < 4);
		return;
	}
	must(!t.has_ddp || t.ddp_len == WIRE_TAGGED_LEN || t.ddp_len == WIRE_UNTAGGED_LEN);
	len = wire_term_put(again, &t);
	must(len >= 4 && len <= sizeof(again) && len <= n);
	must(again[0] == p[0] && again[1] == p[1] && !(again[2] & ~p[2] & TERM_BITS));
	must(wire_term_get(again, len, &t2));
	must(t2.has_len == t.has_len && t2.has_ddp == t.has_ddp && t2.has_read == t.has_read);
	must(t2.seg_len == t.seg_len && t2.ddp_len == t.ddp_len);
	must(!memcmp(t2.ddp, t.ddp, sizeof(t.ddp)) && !memcmp(t2.read, t.read, sizeof(t.read)));
}

/* The table row of a Terminate has the same codes. */
static void term_word(const uint8_t *p, size_t n)
{
	struct input in = {p, n};
	uint16_t word = in_16(&in);
	enum perr perr = perr_of_term(word);

	must(perr < PERR_COUNT);
	if (word >> 8 == 0) /* this error has no codes */
		must(perr == PERR_CATASTROPHIC);
	else
		must(perr == PERR_NONE || perr_term(perr) == word);
}

static struct wire_enh params(struct input *in)
{
	uint8_t p[WIRE_ENH_LEN], again[WIRE_ENH_LEN];
	struct wire_enh e;

	in_fill(in, p, sizeof(p));
	wire_enh_get(p, &e);
	wire_enh_put(again, &e);
	must(!memcmp(again, p, sizeof(p)));
	return e;
}

static uint16_t depth(struct input *in)
{
	return (uint16_t)(in_8(in) % (DEPTH_MAX + 1));
}

/* No depth exceeds the endpoint's own limit, or what the other endpoint accepts. */
static void negotiation(const uint8_t *p, size_t n)
{
	struct input in = {p, n};
	struct wire_enh init = params(&in), want = params(&in), reply = params(&in), rejected,
			answer;
	struct enh_terms theirs = {.ird = depth(&in), .ord = depth(&in)}, passive = theirs;
	struct enh_terms ours = {.ird = depth(&in), .ord = depth(&in)}, active = ours;

	if (want.ird != WIRE_ENH_UNCHANGED && want.ird > theirs.ird)
		want.ird = theirs.ird;
	if (want.ord != WIRE_ENH_UNCHANGED && want.ord > theirs.ord)
		want.ord = theirs.ord;
	if (init.ird != WIRE_ENH_UNCHANGED && init.ird > ours.ird)
		init.ird = ours.ird;
	if (init.ord != WIRE_ENH_UNCHANGED && init.ord > ours.ord)
		init.ord = ours.ord;
	enh_reject(&init, &want, &rejected);
	enh_answer(&init, &theirs, &want, &answer, &passive);
	must(passive.ird <= theirs.ird && passive.ord <= theirs.ord);
	must(init.ird == WIRE_ENH_UNCHANGED || answer.ord <= init.ird);
	if (enh_settle(&init, &ours, &reply, &active) == PERR_NONE)
		must(active.ird <= ours.ird && active.ord <= ours.ord);
	active = ours;
	if (enh_settle(&init, &ours, &answer, &active) == PERR_NONE) {
		must(active.ird <= ours.ird && active.ord <= ours.ord);
		must(init.ord == WIRE_ENH_UNCHANGED || active.ord <= passive.ird || active.rtr);
		must(init.ird == WIRE_ENH_UNCHANGED || passive.ord <= active.ird);
	}
}

/* At the end of private data, behind the program's own. */
static void offer(const uint8_t *p, size_t n)
{
	uint8_t again[WIRE_OFFER_LEN];
	struct wire_offer o;

	for (unsigned answer = 0; answer < 2; answer++) {
		if (!wire_offer_get(p, n, answer, &o))
			continue;
		must(n >= sizeof(again));
		wire_offer_put(again, answer, &o);
		must(!memcmp(again, p + n - sizeof(again), sizeof(again)));
	}
}

static void credit(const uint8_t *p, size_t n)
{
	uint8_t again[WIRE_NOT_READY_LEN];
	struct wire_credit c;

	if (!wire_credit_get(p, (uint32_t)n, &c)) {
		must(n != WIRE_CREDIT_LEN && n != WIRE_NOT_READY_LEN);
		return;
	}
	must(wire_credit_put(again, &c) == (c.wait_ms ? WIRE_NOT_READY_LEN : WIRE_CREDIT_LEN));
	must(!memcmp(again, p, c.wait_ms ? WIRE_NOT_READY_LEN : WIRE_CREDIT_LEN));
}

/* At the start of the private data of an Initiate. */
static void service_key(const uint8_t *p, size_t n)
{
	uint8_t again[SERVICE_KEY_LEN];
	uint64_t key = 0;

	if (service_key_get(p, n, &key) != SERVICE_KEY_E_OK) {
		must(key == 0);
		return;
	}
	must(key != 0 && n >= sizeof(again));
	service_key_put(again, key);
	must(!memcmp(again, p, sizeof(again)));
}

/* Immediate data without its flag are not repeated. */
static void datagram(const uint8_t *p, size_t n)
{
	enum { AT_IMM = 16 };
	uint8_t again[WIRE_DATAGRAM_HEAD];
	struct flight f;

	if (!wire_datagram_get((uint8_t *)(uintptr_t)p, (uint32_t)n, &f))
		return;
	must(f.from_number < WQE_NUMBERS && f.number < WQE_NUMBERS);
	must(f.len <= WQE_DATAGRAM_MAX && f.nbytes == 1 && f.bytes[0].len == f.len);
	must(f.bytes[0].p == p + sizeof(again) && n == sizeof(again) + f.len);
	wire_datagram_put(again, &f);
	must(wire_datagram_len(again) == n);
	must(!memcmp(again, p, f.immediate ? sizeof(again) : AT_IMM));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const headers[])(const uint8_t *p, size_t n) = {
		ddp,       read_request, atomic_request, atomic_response,
		terminate, term_word,    negotiation,
	};

	if (size > 0 && data[0] >= LATEST)
		(data[0] % 2 ? service_key : datagram)(data + 1, size - 1);
	else if (size > 0 && data[0] >= LATER)
		(data[0] % 2 ? offer : credit)(data + 1, size - 1);
	else if (size > 0)
		headers[data[0] % (sizeof(headers) / sizeof(headers[0]))](data + 1, size - 1);
	return 0;
}
