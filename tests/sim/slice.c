/* SPDX-License-Identifier: BSD-2-Clause */
/* Slices of memory that operations read and write, and their expected contents. */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/names.h"
#include "tests/sim/world.h"

static uint64_t word_of(uint64_t cid, uint32_t i)
{
	uint64_t z = cid * 0x9e3779b97f4a7c15u + (uint64_t)i * 0xd1342543de82ef95u;

	z ^= z >> 32;
	z *= 0xbf58476d1ce4e5b9u;
	return z ^ z >> 29;
}

static uint8_t byte_of(uint64_t cid, uint32_t i)
{
	return (uint8_t)(word_of(cid, i / 8) >> i % 8 * 8);
}

void content_fill(uint8_t *p, uint64_t cid, uint32_t from, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = byte_of(cid, from + i);
}

bool content_is(const uint8_t *p, uint64_t cid, uint32_t from, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if (p[i] != byte_of(cid, from + i))
			return false;
	return true;
}

static struct node *node_of(const struct slice *s)
{
	return s->rg->node;
}

uint8_t *slice_mem(const struct slice *s)
{
	return node_of(s)->mem + s->off;
}

uint64_t slice_to(const struct slice *s)
{
	return s->rg->to + (s->off - s->rg->off);
}

static void mark(struct slice *s, struct slice *accessor)
{
	uint32_t last = (s->off + (s->len ? s->len : 1) - 1) / UNIT;

	for (uint32_t u = s->off / UNIT; u <= last; u++)
		node_of(s)->unit[u] = accessor;
}

struct slice *slice_new(struct region *rg, uint32_t len)
{
	return slice_new_in(rg, rg->off, rg->len, len, 1);
}

struct slice *slice_new_in(struct region *rg, uint32_t off, uint32_t room, uint32_t len,
			   uint32_t align)
{
	struct world *w = rg->node->w;
	uint32_t lead = (uint32_t)random_below(w, 16) & ~(align - 1);
	uint32_t units = (lead + (len ? len : 1) + UNIT - 1) / UNIT;
	uint32_t first = off / UNIT, count = room / UNIT, run = 0;
	struct slice *s;

	for (uint32_t u = 0; u < count; u++) {
		run = rg->node->unit[first + u] ? 0 : run + 1;
		if (run < units)
			continue;
		s = alloc_zeroed(sizeof(*s));
		*s = (struct slice){.rg = rg, .len = len, .pins = 1};
		s->off = (first + u + 1 - units) * UNIT + lead;
		mark(s, s);
		return s;
	}
	return NULL;
}

struct slice *slice_pin(struct slice *s)
{
	s->pins++;
	return s;
}

void slice_fill(struct slice *s, uint64_t cid, uint32_t from)
{
	content_fill(slice_mem(s), cid, from, s->len);
	memcpy(node_of(s)->want + s->off, slice_mem(s), s->len);
}

void slice_receive(struct slice *s, struct op *op, uint64_t cid, uint32_t from)
{
	s->receiving = true;
	s->op = op;
	s->cid = cid;
	s->from = from;
}

bool content_of(const struct op *op, const uint8_t *p, uint32_t at, uint32_t len)
{
	if (op->after)
		return memcmp(p, (const uint8_t *)&op->after->new + at, len) == 0;
	return content_is(p, op->cid, op->from + at, len);
}

/* The content that a slice receives, and its length. */
struct coming {
	const uint8_t *bytes; /* these, or content */
	uint64_t cid;
	uint32_t from, len;
};

/* The message that a receive will take. */
static bool coming_for_receive(const struct slice *s, struct coming *ret)
{
	const struct op *op = s->op, *send;
	const struct ep *other = ep_other(op->ep);
	const struct queue *l = &op->ep->queue[op->queue];
	unsigned k = l->good_done;

	while (k < l->good_n && l->good[k] != op)
		k++;
	if (!other || k >= other->queue[op->queue].sent_n || op->queue == QUEUE_TAGGED)
		return false;
	send = other->queue[op->queue].sent[k];
	ret->cid = send->cid;
	ret->from = send->from + s->from;
	ret->len = send->len <= s->from ? 0 : send->len - s->from;
	if (ret->len > s->len)
		ret->len = s->len;
	return true;
}

/* False if no message will arrive, or if it is uncertain which. */
static bool coming(const struct slice *s, struct coming *ret)
{
	const struct op *op = s->op;

	*ret = (struct coming){.cid = s->cid, .from = s->from, .len = s->len};
	if (op->kind == RDMAP_RECV)
		return coming_for_receive(s, ret);
	if (op_is_atomic(op->kind)) {
		ret->bytes = (const uint8_t *)&op->old;
		return op->executed;
	}
	if (op->after)
		ret->bytes = (const uint8_t *)&op->after->new;
	return op->begun;
}

static uint8_t coming_byte(const struct coming *c, uint32_t i)
{
	return c->bytes ? c->bytes[i] : byte_of(c->cid, c->from + i);
}

void slice_check(struct slice *s)
{
	const uint8_t *p = slice_mem(s), *want = node_of(s)->want + s->off;
	struct coming c;
	bool any;

	if (!op_known(s->op) || (s->op->kind == RDMAP_RECV && s->op->ep->uncertain))
		return;
	any = coming(s, &c);
	for (uint32_t i = 0; i < s->len; i++) {
		if (p[i] == want[i] || (any && i < c.len && p[i] == coming_byte(&c, i)))
			continue;
		fail(s->rg->node->w,
		     "node %u: region 0x%08x offset %u, for %s %llu: byte %u is %02x",
		     node_of(s)->id, s->rg->stag, s->off - s->rg->off, names_op(s->op->kind),
		     (unsigned long long)s->op->cookie, i, p[i]);
	}
}

bool slice_changed(const struct slice *s)
{
	return s->receiving && memcmp(slice_mem(s), node_of(s)->want + s->off, s->len) != 0;
}

bool slice_prefix(const struct slice *s)
{
	const uint8_t *p = slice_mem(s), *old = node_of(s)->want + s->off;
	uint32_t n = 0;

	if (!s->receiving)
		return true;
	while (n < s->len && p[n] == byte_of(s->cid, s->from + n))
		n++;
	for (uint32_t i = n; i < s->len; i++)
		if (p[i] != old[i])
			fail(s->rg->node->w, "%s %llu: byte %u of %u is placed before byte %u",
			     names_op(s->op->kind), (unsigned long long)s->op->cookie, i, s->len,
			     n);
	return n == s->len;
}

bool slice_received(struct slice *s)
{
	if (!s->receiving)
		return true;
	if (!content_is(slice_mem(s), s->cid, s->from, s->len))
		return false;
	memcpy(node_of(s)->want + s->off, slice_mem(s), s->len);
	s->receiving = false;
	return true;
}

void slice_overwritten(struct slice *s)
{
	if (s->receiving)
		content_fill(node_of(s)->want + s->off, s->cid, s->from, s->len);
	s->receiving = false;
}

void slice_settle(struct slice *s)
{
	if (!s->receiving)
		return;
	slice_check(s);
	memcpy(node_of(s)->want + s->off, slice_mem(s), s->len);
	s->receiving = false;
}

struct slice *slice_put(struct slice *s)
{
	struct node *n;

	if (!s || --s->pins > 0)
		return NULL;
	n = node_of(s);
	slice_settle(s);
	if (memcmp(slice_mem(s), n->want + s->off, s->len) != 0)
		fail(n->w, "node %u: region 0x%08x offset %u: %u bytes were changed", n->id,
		     s->rg->stag, s->off - s->rg->off, s->len);
	mark(s, NULL);
	if (!s->rg->dead) {
		uint8_t *clean = n->want + s->off;

		for (uint32_t i = 0; i < s->len; i++)
			clean[i] = arena_canary(s->off + i);
		memcpy(slice_mem(s), clean, s->len);
	}
	free(s);
	return NULL;
}
