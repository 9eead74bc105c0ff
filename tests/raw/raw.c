/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/raw/raw.h"

#include <assert.h>
#include <string.h>

#include "util/be.h"

/* ---- writing ---- */

void raw_put(struct raw_msg *m, const void *p, size_t n)
{
	assert(n <= RAW_MAX - m->len);
	if (n > 0)
		memcpy(m->b + m->len, p, n);
	m->len += (uint32_t)n;
}

void raw_put8(struct raw_msg *m, uint8_t v)
{
	raw_put(m, &v, 1);
}

void raw_put16(struct raw_msg *m, uint16_t v)
{
	raw_put8(m, (uint8_t)(v >> 8));
	raw_put8(m, (uint8_t)v);
}

void raw_put32(struct raw_msg *m, uint32_t v)
{
	raw_put16(m, (uint16_t)(v >> 16));
	raw_put16(m, (uint16_t)v);
}

void raw_put64(struct raw_msg *m, uint64_t v)
{
	raw_put32(m, (uint32_t)(v >> 32));
	raw_put32(m, (uint32_t)v);
}

static struct raw_msg blank(uint32_t ppid)
{
	struct raw_msg m;

	m.ppid = ppid;
	m.len = RAW_HOP;
	m.b[0] = m.b[1] = 0;
	return m;
}

struct raw_msg raw_any(uint32_t ppid, const void *p, size_t n)
{
	struct raw_msg m = blank(ppid);

	raw_put(&m, p, n);
	return m;
}

/* ---- RFC 5043 5.2.3, RFC 6581 9 ---- */

struct raw_msg raw_control(uint16_t code, const void *priv, size_t n)
{
	struct raw_msg m = blank(RAW_CONTROL);

	raw_put16(&m, code);
	raw_put(&m, priv, n);
	return m;
}

struct raw_msg raw_enhanced(uint16_t code, uint16_t first, uint16_t second, const void *priv,
			    size_t n)
{
	struct raw_msg m = raw_control(code, NULL, 0);

	raw_put16(&m, first);
	raw_put16(&m, second);
	raw_put(&m, priv, n);
	return m;
}

/* ---- RFC 5041 4 ---- */

struct raw_msg raw_tagged(uint8_t ddp, uint8_t rdmap, uint32_t stag, uint64_t to, const void *p,
			  size_t n)
{
	struct raw_msg m = blank(RAW_SEGMENT);

	raw_put8(&m, ddp);
	raw_put8(&m, rdmap);
	raw_put32(&m, stag);
	raw_put64(&m, to);
	raw_put(&m, p, n);
	return m;
}

struct raw_msg raw_untagged(uint8_t ddp, uint8_t rdmap, struct raw_queue q, const void *p, size_t n)
{
	struct raw_msg m = blank(RAW_SEGMENT);

	raw_put8(&m, ddp);
	raw_put8(&m, rdmap);
	raw_put32(&m, q.inv);
	raw_put32(&m, q.qn);
	raw_put32(&m, q.msn);
	raw_put32(&m, q.mo);
	raw_put(&m, p, n);
	return m;
}

/* ---- RFC 5040 4 ---- */

struct raw_msg raw_write(uint32_t stag, uint64_t to, const void *p, size_t n)
{
	return raw_tagged(RAW_TL, RAW_WRITE, stag, to, p, n);
}

struct raw_msg raw_response(uint32_t stag, uint64_t to, const void *p, size_t n)
{
	return raw_tagged(RAW_TL, RAW_READ_RSP, stag, to, p, n);
}

struct raw_msg raw_send(uint32_t msn, const void *p, size_t n)
{
	return raw_untagged(RAW_UL, RAW_SEND, (struct raw_queue){.msn = msn}, p, n);
}

struct raw_msg raw_send_inv(uint32_t msn, uint32_t stag, const void *p, size_t n)
{
	struct raw_queue q = {.inv = stag, .msn = msn};

	return raw_untagged(RAW_UL, RAW_SEND_INV, q, p, n);
}

struct raw_msg raw_read(uint32_t msn, struct raw_read r)
{
	struct raw_queue q = {.qn = 1, .msn = msn};
	struct raw_msg m = raw_untagged(RAW_UL, RAW_READ_REQ, q, NULL, 0);

	raw_put32(&m, r.sink_stag);
	raw_put64(&m, r.sink_to);
	raw_put32(&m, r.size);
	raw_put32(&m, r.src_stag);
	raw_put64(&m, r.src_to);
	return m;
}

struct raw_msg raw_terminate(uint32_t word, const void *rest, size_t n)
{
	struct raw_queue q = {.qn = 2, .msn = 1};
	struct raw_msg m = raw_untagged(RAW_UL, RAW_TERM, q, NULL, 0);

	raw_put32(&m, word);
	raw_put(&m, rest, n);
	return m;
}

struct raw_msg raw_terminate_for(uint16_t err, const struct raw_msg *cause)
{
	unsigned layer = err >> 12, type = err >> 8 & 15;
	bool bare = layer == 2 || type == 0;
	bool tagged = cause->b[RAW_HOP] & 0x80;
	bool read = !tagged && (cause->b[RAW_HOP + 1] & 15) == 1 && layer == 0 && type == 1;
	uint32_t word = (uint32_t)err << 16;
	struct raw_msg rest = {.len = 0};

	if (!bare) {
		word |= RAW_M | RAW_DH | (read ? RAW_RH : 0);
		raw_put16(&rest, (uint16_t)(cause->len - RAW_HOP));
		raw_put(&rest, cause->b + RAW_HOP, tagged ? RAW_TAGGED : RAW_UNTAGGED);
	}
	if (read)
		raw_put(&rest, cause->b + RAW_HOP + RAW_UNTAGGED, RAW_READ);
	return raw_terminate(word, rest.b, rest.len);
}

/* ---- RFC 7306 ---- */

struct raw_msg raw_imm(uint8_t rdmap, uint32_t msn, uint64_t data)
{
	struct raw_msg m = raw_untagged(RAW_UL, rdmap, (struct raw_queue){.msn = msn}, NULL, 0);

	raw_put64(&m, data);
	return m;
}

struct raw_msg raw_atomic(uint32_t msn, struct raw_atomic a)
{
	struct raw_queue q = {.qn = 1, .msn = msn};
	struct raw_msg m = raw_untagged(RAW_UL, RAW_ATOMIC_REQ, q, NULL, 0);

	raw_put32(&m, a.op);
	raw_put32(&m, a.id);
	raw_put32(&m, a.stag);
	raw_put64(&m, a.to);
	raw_put64(&m, a.data);
	raw_put64(&m, a.mask);
	raw_put64(&m, a.compare);
	raw_put64(&m, a.compare_mask);
	return m;
}

struct raw_msg raw_atomic_answer(uint32_t msn, uint32_t id, uint64_t old)
{
	struct raw_queue q = {.qn = 3, .msn = msn};
	struct raw_msg m = raw_untagged(RAW_UL, RAW_ATOMIC_RSP, q, NULL, 0);

	raw_put32(&m, id);
	raw_put64(&m, old);
	return m;
}

/* ---- reading ---- */

static const uint8_t *at(const struct raw_msg *m, uint32_t off, uint32_t n)
{
	static const uint8_t nothing[8];

	return m->len >= off + n ? m->b + off : nothing;
}

uint16_t raw_code(const struct raw_msg *m)
{
	return be_get16(at(m, RAW_HOP, 2));
}

uint8_t raw_opcode(const struct raw_msg *m)
{
	return *at(m, RAW_HOP + 1, 1) & 15;
}

static uint32_t header(const struct raw_msg *m)
{
	return RAW_HOP + (*at(m, RAW_HOP, 1) & 0x80 ? RAW_TAGGED : RAW_UNTAGGED);
}

uint16_t raw_error(const struct raw_msg *m)
{
	return be_get16(at(m, header(m), 2));
}

const uint8_t *raw_body(const struct raw_msg *m, uint32_t *ret_len)
{
	uint32_t h = header(m);

	*ret_len = m->len < h ? 0 : m->len - h;
	return m->b + h;
}

uint32_t raw_stag(const struct raw_msg *m)
{
	return be_get32(at(m, RAW_HOP + 2, 4));
}

uint64_t raw_to(const struct raw_msg *m)
{
	return be_get64(at(m, RAW_HOP + 6, 8));
}

struct raw_queue raw_queue_of(const struct raw_msg *m)
{
	return (struct raw_queue){
		.inv = be_get32(at(m, RAW_HOP + 2, 4)),
		.qn = be_get32(at(m, RAW_HOP + 6, 4)),
		.msn = be_get32(at(m, RAW_HOP + 10, 4)),
		.mo = be_get32(at(m, RAW_HOP + 14, 4)),
	};
}

bool raw_same(const struct raw_msg *a, const struct raw_msg *b)
{
	return a->ppid == b->ppid && a->len == b->len &&
	       memcmp(a->b + RAW_HOP, b->b + RAW_HOP, a->len > RAW_HOP ? a->len - RAW_HOP : 0) == 0;
}
