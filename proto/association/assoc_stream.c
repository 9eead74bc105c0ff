/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of streams. Most streams of an association are never used. The first ones of both
 * sides are beside the association; the others get blocks of the pool when they are used, one for
 * some streams and one for the private data of each. The pool may have none left. Blocks go back
 * when their streams are free again, or never used again, of which a bit is left: so an association
 * costs as much as its sessions now.
 */
#include <string.h>

#include "proto/association/assoc_impl.h"
#include "util/checked.h"

enum {
	OWN = 2, /* pieces beside the association: ours and the peer's first streams */
	BLOCKS = 1 + ASSOC_PIECE,
	BITS = 64,
};

static_assert(ASSOC_PIECE * sizeof(struct assoc_stream) <= BLOCKS_SIZE, "a piece is in a block");

static uint32_t pieces(const struct assoc_cfg *cfg)
{
	return (cfg->streams + 2U * ASSOC_PIECE - 1) / (2 * ASSOC_PIECE) * 2;
}

static size_t own_pieces_size(void)
{
	return OWN * ASSOC_PIECE * sizeof(struct assoc_stream);
}

static size_t pieces_size(const struct assoc_cfg *cfg)
{
	return pieces(cfg) * sizeof(struct assoc_stream *);
}

static size_t dead_bits_size(const struct assoc_cfg *cfg)
{
	return (cfg->streams + BITS - 1U) / BITS * sizeof(uint64_t);
}

/* A bit for each stream that is dead and has no memory. They are before the pieces: those of the
 * first streams share a page with them. */
static uint64_t *dead_bits(const struct assoc *a)
{
	return (uint64_t *)(void *)((uint8_t *)a->piece - dead_bits_size(&a->cfg));
}

size_t assoc_streams_size(const struct assoc_cfg *cfg)
{
	return checked_round_up(own_pieces_size() + dead_bits_size(cfg) + pieces_size(cfg),
				_Alignof(struct assoc_stream));
}

bool assoc_stream_is_dead(const struct assoc *a, uint32_t sid)
{
	return dead_bits(a)[sid / BITS] >> sid % BITS & 1;
}

uint32_t assoc_streams_blocks(void)
{
	return OWN * ASSOC_PIECE;
}

void assoc_streams_init(struct assoc *a, void *mem)
{
	struct assoc_stream *own = mem;

	a->piece = (struct assoc_stream **)(void *)((uint8_t *)mem + own_pieces_size() +
						    dead_bits_size(&a->cfg));
	for (unsigned i = 0; i < OWN; i++)
		a->piece[i] = own + i * ASSOC_PIECE;
}

void assoc_stream_init(struct assoc *a, struct assoc_stream *s, uint16_t sid)
{
	s->session.sid = sid;
	s->session.trace = &a->trace;
	drr_init(&s->turn, &a->own.turn);
	s->share = &a->own;
	list_init(&s->park);
	list_init(&s->timer);
	list_init(&s->stall);
	list_init(&s->resume);
	list_init(&s->await);
	list_init(&s->event_link);
}

static void begin_use(struct assoc *a, struct assoc_stream *s, uint16_t sid)
{
	assoc_stream_init(a, s, sid);
	list_add_tail(&a->unused, &s->timer);
	if (a->touched <= sid)
		a->touched = sid + 1U;
}

struct assoc_stream *assoc_stream_make(struct assoc *a, uint16_t sid)
{
	struct assoc_stream **at = &a->piece[assoc_piece_of(sid)];
	struct assoc_stream *s;

	if (assoc_stream_is_dead(a, sid))
		return NULL;
	if (!*at) {
		if (!blocks_reserve(a->cfg.pool, BLOCKS))
			return NULL;
		*at = memset(blocks_get(a->cfg.pool), 0, BLOCKS_SIZE);
	}
	s = assoc_stream_at(a, sid);
	if (!s->session.trace)
		begin_use(a, s, sid);
	return s;
}

struct assoc_stream *assoc_stream_for(struct assoc *a, const struct assoc_msg *m)
{
	struct assoc_stream *s;

	if (m->sid >= a->cfg.streams)
		return NULL;
	s = assoc_stream_used(a, m->sid);
	return s || m->ppid != WIRE_PPID_CONTROL ? s : assoc_stream_make(a, m->sid);
}

static void clear_stream(struct assoc *a, struct assoc_stream *s)
{
	blocks_put(a->cfg.pool, s->priv);
	s->priv = NULL;
	s->has_priv = false;
	assoc_not_ready(a, s);
}

static void free_piece(struct assoc *a, uint32_t i)
{
	if (!a->piece[i])
		return;
	blocks_put(a->cfg.pool, a->piece[i]);
	blocks_unreserve(a->cfg.pool, BLOCKS);
	a->piece[i] = NULL;
}

static void free_stream(struct assoc *a, struct assoc_stream *s)
{
	uint32_t i = assoc_piece_of(s->session.sid);
	bool used = false;

	if (s->session.state == SESSION_DEAD)
		dead_bits(a)[s->session.sid / BITS] |= UINT64_C(1) << s->session.sid % BITS;
	list_del(&s->timer);
	list_del(&s->await);
	clear_stream(a, s);
	memset(s, 0, sizeof(*s));
	for (unsigned k = 0; k < ASSOC_PIECE; k++)
		used |= a->piece[i][k].session.trace != NULL;
	if (i >= OWN && !used)
		free_piece(a, i);
}

/* The Terminate of a dead stream may still have to be sent. */
static bool is_spent_stream(const struct assoc_stream *s)
{
	return s->events == 0 && (s->session.state == SESSION_IDLE || !s->terminate_due);
}

void assoc_streams_trim(struct assoc *a)
{
	list_foreach_safe (it, &a->unused) {
		struct assoc_stream *s = list_entry(it, struct assoc_stream, timer);

		if (is_spent_stream(s) && s != a->in.stream && s != a->out.stream)
			free_stream(a, s);
	}
}

void assoc_streams_clear(struct assoc *a)
{
	struct assoc_stream *s;

	for (uint32_t sid = 0; sid < a->touched; sid++)
		if ((s = assoc_stream_used(a, sid)))
			clear_stream(a, s);
	for (uint32_t i = OWN; i < pieces(&a->cfg) && assoc_piece_sid(i) < a->touched; i++)
		free_piece(a, i);
	a->touched = 0;
}
