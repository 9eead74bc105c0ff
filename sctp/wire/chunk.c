/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/wire/chunk.h"

#include <string.h>

#include "util/be.h"
#include "util/crc32c.h"

static uint32_t padded(uint32_t len)
{
	return (len + 3) & ~3u;
}

/* ---- reading ---- */

enum sctp_next sctp_chunk_next(struct sctp_cursor *c, struct sctp_chunk *ret)
{
	size_t left = (size_t)(c->end - c->p);
	uint32_t len;

	if (left == 0)
		return SCTP_NEXT_END;
	if (left < SCTP_CHUNK_HEAD)
		return SCTP_NEXT_BAD;
	len = be_get16(c->p + 2);
	if (len < SCTP_CHUNK_HEAD || len > left)
		return SCTP_NEXT_BAD;
	*ret = (struct sctp_chunk){c->p[0], c->p[1], len, c->p};
	c->p += padded(len) < left ? padded(len) : left;
	return SCTP_NEXT_OK;
}

bool sctp_data_get(const struct sctp_chunk *c, struct sctp_data *ret)
{
	if (c->len < SCTP_DATA_HEAD)
		return false;
	*ret = (struct sctp_data){
		.tsn = be_get32(c->p + 4),
		.sid = be_get16(c->p + 8),
		.ssn = be_get16(c->p + 10),
		.ppid = be_get32(c->p + 12),
		.unordered = c->flags & SCTP_DATA_U,
		.begin = c->flags & SCTP_DATA_B,
		.end = c->flags & SCTP_DATA_E,
		.p = c->p + SCTP_DATA_HEAD,
		.len = c->len - SCTP_DATA_HEAD,
	};
	return true;
}

bool sctp_sack_get(const struct sctp_chunk *c, struct sctp_sack *ret)
{
	enum { FIXED = 16 };

	if (c->len < FIXED)
		return false;
	ret->cum = be_get32(c->p + 4);
	ret->a_rwnd = be_get32(c->p + 8);
	ret->ngaps = be_get16(c->p + 12);
	ret->ndups = be_get16(c->p + 14);
	ret->gaps = c->p + FIXED;
	if ((c->len - FIXED) / 4 < ret->ngaps + ret->ndups)
		return false;
	ret->dups = ret->gaps + 4 * ret->ngaps;
	return true;
}

bool sctp_error_next(struct sctp_cursor *c, struct sctp_error *ret)
{
	struct sctp_chunk tlv;

	if (sctp_chunk_next(c, &tlv) != SCTP_NEXT_OK)
		return false;
	*ret = (struct sctp_error){be_get16(tlv.p), tlv.len - SCTP_CHUNK_HEAD,
				   tlv.p + SCTP_CHUNK_HEAD};
	return true;
}

bool sctp_error_find(const struct sctp_chunk *c, uint16_t cause, struct sctp_error *ret)
{
	struct sctp_cursor at = sctp_errors(c);
	struct sctp_error e;

	while (sctp_error_next(&at, &e))
		if (e.cause == cause) {
			*ret = e;
			return true;
		}
	return false;
}

/* ---- writing ---- */

/* The next n bytes, or NULL. */
static uint8_t *next_bytes(struct sctp_writer *w, uint32_t n)
{
	uint8_t *p;

	if (w->full || n > w->size - w->len) {
		w->full = true;
		return NULL;
	}
	p = w->p + w->len;
	w->len += n;
	w->pad = 0;
	return p;
}

void sctp_put8(struct sctp_writer *w, uint8_t v)
{
	uint8_t *p = next_bytes(w, 1);

	if (p)
		*p = v;
}

void sctp_put16(struct sctp_writer *w, uint16_t v)
{
	uint8_t *p = next_bytes(w, 2);

	if (p)
		be_put16(p, v);
}

void sctp_put32(struct sctp_writer *w, uint32_t v)
{
	uint8_t *p = next_bytes(w, 4);

	if (p)
		be_put32(p, v);
}

void sctp_put64(struct sctp_writer *w, uint64_t v)
{
	uint8_t *p = next_bytes(w, 8);

	if (p)
		be_put64(p, v);
}

void sctp_put_bytes(struct sctp_writer *w, const void *bytes, uint32_t len)
{
	uint8_t *p = len > 0 ? next_bytes(w, len) : NULL;

	if (p)
		memcpy(p, bytes, len);
}

void sctp_put_head(struct sctp_writer *w, const struct sctp_head *h)
{
	uint8_t *p = next_bytes(w, SCTP_HEAD);

	if (!p)
		return;
	be_put16(p, h->src);
	be_put16(p + 2, h->dst);
	be_put32(p + 4, h->tag);
	be_put32(p + SCTP_CHECKSUM, 0);
}

static uint32_t begin_item(struct sctp_writer *w, const uint8_t head[2])
{
	uint32_t at = w->len;
	uint8_t *p = next_bytes(w, SCTP_CHUNK_HEAD);

	if (p)
		memcpy(p, (const uint8_t[SCTP_CHUNK_HEAD]){head[0], head[1]}, SCTP_CHUNK_HEAD);
	return at;
}

uint32_t sctp_begin_chunk(struct sctp_writer *w, uint8_t type, uint8_t flags)
{
	return begin_item(w, (const uint8_t[2]){type, flags});
}

uint32_t sctp_begin_tlv(struct sctp_writer *w, uint16_t type)
{
	return begin_item(w, (const uint8_t[2]){(uint8_t)(type >> 8), (uint8_t)type});
}

void sctp_end_chunk(struct sctp_writer *w, uint32_t at)
{
	uint32_t len = w->len - at - w->pad;
	uint8_t *p;

	if (w->full)
		return;
	if (len > UINT16_MAX) {
		w->full = true;
		return;
	}
	be_put16(w->p + at + 2, (uint16_t)len);
	if (w->pad > 0 || len % 4 == 0) /* the last parameter was padded already */
		return;
	p = next_bytes(w, 4 - len % 4);
	if (!p)
		return;
	memset(p, 0, 4 - len % 4);
	w->pad = (uint8_t)(4 - len % 4);
}

void sctp_put_plain(struct sctp_writer *w, uint8_t type, uint8_t flags)
{
	sctp_end_chunk(w, sctp_begin_chunk(w, type, flags));
}

void sctp_put_data_head(uint8_t *p, uint8_t flags, uint32_t tsn, uint16_t sid, uint32_t ppid,
			uint32_t len)
{
	p[0] = SCTP_DATA;
	p[1] = (flags & SCTP_DATA_I) | SCTP_DATA_U | SCTP_DATA_B | SCTP_DATA_E;
	be_put16(p + 2, (uint16_t)(SCTP_DATA_HEAD + len));
	be_put32(p + 4, tsn);
	be_put16(p + 8, sid);
	be_put16(p + 10, 0); /* unordered: no stream sequence number */
	be_put32(p + 12, ppid);
}

void sctp_put_cause(struct sctp_writer *w, uint16_t cause, const void *p, uint32_t len)
{
	uint32_t at = sctp_begin_tlv(w, cause);

	sctp_put_bytes(w, p, len);
	sctp_end_chunk(w, at);
}

void sctp_seal(struct span *part, unsigned n)
{
	uint8_t *field = part[0].p + SCTP_CHECKSUM;
	uint32_t crc = 0;

	memset(field, 0, 4);
	for (unsigned i = 0; i < n; i++)
		crc = crc32c_extend(crc, part[i].p, part[i].len);
	for (unsigned i = 0; i < 4; i++) /* least significant byte first */
		field[i] = (uint8_t)(crc >> 8 * i);
}
