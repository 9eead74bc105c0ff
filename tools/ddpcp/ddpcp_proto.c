/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddpcp/ddpcp_proto.h"

#include <errno.h>
#include <string.h>

#include "util/be.h"

enum {
	MAGIC = 0x44444350, /* "DDCP" */
	HEAD = 8,           /* magic, version, kind */
	NAME_OFF = HEAD + 32,
	TEXT_OFF = HEAD + 8,
	EXTRA_OFF = NAME_OFF + DDPCP_NAME_MAX + 1,
	ANSWER_OFF = TEXT_OFF + DDPCP_TEXT_MAX + 1,
	SECOND_NS = 1000000000,
};

static const uint16_t lengths[DDPCP_KINDS] = {
	[DDPCP_PUT] = NAME_OFF + DDPCP_NAME_MAX + 1,
	[DDPCP_GET] = NAME_OFF + DDPCP_NAME_MAX + 1,
	[DDPCP_DIR] = NAME_OFF + DDPCP_NAME_MAX + 1,
	[DDPCP_END] = HEAD,
	[DDPCP_WINDOW] = HEAD + 32 + DDPCP_SHA_LEN,
	[DDPCP_START] = HEAD + 8,
	[DDPCP_CHUNK] = HEAD + 16,
	[DDPCP_ACK] = HEAD + 16,
	[DDPCP_DONE] = HEAD + DDPCP_SHA_LEN,
	[DDPCP_RESULT] = TEXT_OFF + DDPCP_TEXT_MAX + 1,
	[DDPCP_OFFER] = EXTRA_OFF + DDPCP_NAME_MAX + 1,
	[DDPCP_TAKE] = HEAD + 20,
	[DDPCP_DATA] = EXTRA_OFF + 8 + DDPCP_SHA_LEN,
	[DDPCP_ANSWER] = ANSWER_OFF + 4,
};

_Static_assert(EXTRA_OFF + DDPCP_NAME_MAX + 1 <= DDPCP_REC_MAX, "records fit");

void ddpcp_hello_put(uint8_t buf[DDPCP_HELLO_LEN], uint16_t level)
{
	memset(buf, 0, DDPCP_HELLO_LEN);
	be_put32(buf, MAGIC);
	be_put16(buf + 4, DDPCP_VERSION);
	be_put16(buf + 6, level);
}

uint16_t ddpcp_hello_level(const void *buf, size_t len)
{
	uint16_t level;

	if (ddpcp_hello_get(buf, len) < 0)
		return 0;
	level = be_get16((const uint8_t *)buf + 6);
	return level < DDPCP_LEVEL ? level : DDPCP_LEVEL;
}

int ddpcp_hello_get(const void *buf, size_t len)
{
	if (len < 6 || be_get32(buf) != MAGIC)
		return -EPROTO;
	if (be_get16((const uint8_t *)buf + 4) != DDPCP_VERSION)
		return -EPROTONOSUPPORT;
	return len == DDPCP_HELLO_LEN ? 0 : -EPROTO;
}

static void put_string(uint8_t *p, const char *s, size_t max)
{
	size_t n = strnlen(s, max);

	memcpy(p, s, n);
}

static void put_meta(uint8_t *p, const struct ddpcp_rec *rec)
{
	be_put64(p + HEAD, rec->meta.size);
	be_put32(p + HEAD + 8, rec->meta.mode);
	be_put32(p + HEAD + 12, rec->flags);
	be_put64(p + HEAD + 16, (uint64_t)rec->meta.mtime);
	be_put32(p + HEAD + 24, rec->meta.mtime_ns);
	be_put16(p + HEAD + 28, rec->id);
	be_put16(p + HEAD + 30, (uint16_t)rec->type);
	put_string(p + NAME_OFF, rec->name, DDPCP_NAME_MAX);
}

static void put_take(uint8_t *p, const struct ddpcp_rec *rec)
{
	be_put64(p + HEAD, rec->window.to);
	be_put32(p + HEAD + 8, rec->window.stag);
	be_put32(p + HEAD + 12, rec->len);
	be_put16(p + HEAD + 16, rec->id);
}

static void put_data(uint8_t *p, const struct ddpcp_rec *rec)
{
	be_put64(p + EXTRA_OFF, rec->offset);
	memcpy(p + EXTRA_OFF + 8, rec->sha256, DDPCP_SHA_LEN);
}

static void put_result(uint8_t *p, const struct ddpcp_rec *rec)
{
	be_put32(p + HEAD, (uint32_t)rec->status);
	put_string(p + TEXT_OFF, rec->text, DDPCP_TEXT_MAX);
	if (rec->kind == DDPCP_ANSWER)
		be_put16(p + ANSWER_OFF, rec->id);
}

static void put_window(uint8_t *p, const struct ddpcp_window *w)
{
	be_put64(p + HEAD, w->to);
	be_put32(p + HEAD + 8, w->stag);
	be_put32(p + HEAD + 12, w->chunk);
	be_put32(p + HEAD + 16, w->slots);
	be_put64(p + HEAD + 24, w->have);
	memcpy(p + HEAD + 32, w->sha256, DDPCP_SHA_LEN);
}

size_t ddpcp_rec_put(uint8_t buf[DDPCP_REC_MAX], const struct ddpcp_rec *rec)
{
	memset(buf, 0, DDPCP_REC_MAX);
	be_put32(buf, MAGIC);
	be_put16(buf + 4, DDPCP_VERSION);
	be_put16(buf + 6, (uint16_t)rec->kind);
	switch (rec->kind) {
	case DDPCP_PUT:
	case DDPCP_GET:
	case DDPCP_DIR:
		put_meta(buf, rec);
		break;
	case DDPCP_OFFER:
		put_meta(buf, rec);
		put_string(buf + EXTRA_OFF, rec->target, DDPCP_NAME_MAX);
		break;
	case DDPCP_DATA:
		put_meta(buf, rec);
		put_data(buf, rec);
		break;
	case DDPCP_TAKE:
		put_take(buf, rec);
		break;
	case DDPCP_END:
		break;
	case DDPCP_WINDOW:
		put_window(buf, &rec->window);
		break;
	case DDPCP_START:
		be_put64(buf + HEAD, rec->offset);
		break;
	case DDPCP_CHUNK:
	case DDPCP_ACK:
		be_put64(buf + HEAD, rec->seq);
		be_put32(buf + HEAD + 8, rec->len);
		be_put32(buf + HEAD + 12, rec->hole);
		break;
	case DDPCP_DONE:
		memcpy(buf + HEAD, rec->sha256, DDPCP_SHA_LEN);
		break;
	default:
		put_result(buf, rec);
		break;
	}
	return lengths[rec->kind];
}

/* Copies a string that must end within its max + 1 bytes. */
static int get_string(char *out, const uint8_t *p, size_t max)
{
	if (!memchr(p, 0, max + 1))
		return -EPROTO;
	strcpy(out, (const char *)p);
	return 0;
}

static bool is_size(const struct ddpcp_rec *rec)
{
	return rec->meta.size <= INT64_MAX ||
	       (rec->meta.size == DDPCP_STREAM && rec->kind == DDPCP_PUT);
}

static int get_meta(const uint8_t *p, struct ddpcp_rec *rec)
{
	struct ddpcp_meta *m = &rec->meta;

	m->size = be_get64(p + HEAD);
	m->mode = be_get32(p + HEAD + 8);
	rec->flags = be_get32(p + HEAD + 12);
	m->mtime = (int64_t)be_get64(p + HEAD + 16);
	m->mtime_ns = be_get32(p + HEAD + 24);
	rec->id = be_get16(p + HEAD + 28);
	rec->type = be_get16(p + HEAD + 30);
	if (!is_size(rec) || m->mode > 0777 || m->mtime_ns >= SECOND_NS)
		return -EPROTO;
	if (rec->flags & ~(unsigned)DDPCP_ALL_FLAGS || rec->id >= DDPCP_FLIGHT ||
	    rec->type >= DDPCP_TYPES)
		return -EPROTO;
	return get_string(rec->name, p + NAME_OFF, DDPCP_NAME_MAX);
}

static int get_window(const uint8_t *p, struct ddpcp_rec *rec)
{
	struct ddpcp_window *w = &rec->window;

	w->to = be_get64(p + HEAD);
	w->stag = be_get32(p + HEAD + 8);
	w->chunk = be_get32(p + HEAD + 12);
	w->slots = be_get32(p + HEAD + 16);
	w->have = be_get64(p + HEAD + 24);
	memcpy(w->sha256, p + HEAD + 32, DDPCP_SHA_LEN);
	if (w->chunk < DDPCP_MIN_CHUNK || w->chunk > DDPCP_MAX_CHUNK)
		return -EPROTO;
	if (w->have > INT64_MAX || w->have % w->chunk)
		return -EPROTO;
	return w->slots >= 1 && w->slots <= DDPCP_MAX_SLOTS ? 0 : -EPROTO;
}

static int get_chunk(const uint8_t *p, struct ddpcp_rec *rec)
{
	rec->seq = be_get64(p + HEAD);
	rec->len = be_get32(p + HEAD + 8);
	if (rec->kind == DDPCP_ACK)
		return rec->len == 0 ? 0 : -EPROTO;
	rec->hole = be_get32(p + HEAD + 12) != 0;
	return rec->len >= 1 && rec->len <= DDPCP_MAX_CHUNK ? 0 : -EPROTO;
}

static int get_result(const uint8_t *p, struct ddpcp_rec *rec)
{
	uint32_t status = be_get32(p + HEAD);

	if (status > (rec->kind == DDPCP_ANSWER ? DDPCP_UNCHANGED : DDPCP_SKIPPED))
		return -EPROTO;
	rec->status = status;
	if (rec->kind == DDPCP_ANSWER)
		rec->id = be_get16(p + ANSWER_OFF);
	if (rec->id >= DDPCP_FLIGHT)
		return -EPROTO;
	return get_string(rec->text, p + TEXT_OFF, DDPCP_TEXT_MAX);
}

static int get_offer(const uint8_t *p, struct ddpcp_rec *rec)
{
	int r = get_meta(p, rec);

	if (r == 0 && rec->kind == DDPCP_OFFER)
		return get_string(rec->target, p + EXTRA_OFF, DDPCP_NAME_MAX);
	if (r < 0)
		return r;
	rec->offset = be_get64(p + EXTRA_OFF);
	memcpy(rec->sha256, p + EXTRA_OFF + 8, DDPCP_SHA_LEN);
	return rec->meta.size <= DDPCP_MAX_CHUNK && rec->offset <= DDPCP_RING &&
			       rec->type == DDPCP_FILE
		       ? 0
		       : -EPROTO;
}

static int get_take(const uint8_t *p, struct ddpcp_rec *rec)
{
	rec->window.to = be_get64(p + HEAD);
	rec->window.stag = be_get32(p + HEAD + 8);
	rec->len = be_get32(p + HEAD + 12);
	rec->id = be_get16(p + HEAD + 16);
	return rec->id < DDPCP_FLIGHT && rec->len >= DDPCP_MAX_CHUNK && rec->len <= DDPCP_RING
		       ? 0
		       : -EPROTO;
}

static int get_members(const uint8_t *p, struct ddpcp_rec *rec)
{
	switch (rec->kind) {
	case DDPCP_PUT:
	case DDPCP_GET:
	case DDPCP_DIR:
		return get_meta(p, rec);
	case DDPCP_OFFER:
	case DDPCP_DATA:
		return get_offer(p, rec);
	case DDPCP_TAKE:
		return get_take(p, rec);
	case DDPCP_END:
		return 0;
	case DDPCP_START:
		rec->offset = be_get64(p + HEAD);
		return rec->offset <= INT64_MAX ? 0 : -EPROTO;
	case DDPCP_WINDOW:
		return get_window(p, rec);
	case DDPCP_CHUNK:
	case DDPCP_ACK:
		return get_chunk(p, rec);
	case DDPCP_DONE:
		memcpy(rec->sha256, p + HEAD, DDPCP_SHA_LEN);
		return 0;
	default:
		return get_result(p, rec);
	}
}

int ddpcp_rec_get(const void *buf, size_t len, struct ddpcp_rec *ret)
{
	struct ddpcp_rec rec = {0};
	const uint8_t *p = buf;
	uint16_t kind;

	if (len < HEAD || be_get32(p) != MAGIC || be_get16(p + 4) != DDPCP_VERSION)
		return -EPROTO;
	kind = be_get16(p + 6);
	if (kind == 0 || kind >= DDPCP_KINDS || len != lengths[kind])
		return -EPROTO;
	rec.kind = kind;
	if (get_members(p, &rec) < 0)
		return -EPROTO;
	*ret = rec;
	return 0;
}

uint64_t ddpcp_chunks(uint64_t size, uint32_t chunk)
{
	return size / chunk + (size % chunk != 0);
}

uint32_t ddpcp_chunk_len(uint64_t size, uint32_t chunk, uint64_t seq)
{
	uint64_t left = size - seq * chunk;

	return left < chunk ? (uint32_t)left : chunk;
}

struct ddpcp_window ddpcp_window_for(uint64_t size)
{
	struct ddpcp_window w = {.chunk = DDPCP_MAX_CHUNK, .slots = DDPCP_MAX_SLOTS};
	uint64_t chunks;

	if (size <= DDPCP_MAX_CHUNK)
		w.chunk = (uint32_t)((size + DDPCP_MIN_CHUNK - 1) / DDPCP_MIN_CHUNK) *
			  DDPCP_MIN_CHUNK;
	if (w.chunk == 0)
		w.chunk = DDPCP_MIN_CHUNK;
	chunks = ddpcp_chunks(size, w.chunk);
	if (chunks < w.slots)
		w.slots = chunks ? (uint32_t)chunks : 1;
	return w;
}
