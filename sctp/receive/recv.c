/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run is a part of one message without holes, or all of it. It lives in the first cell of its
 * chain. While its TSNs may still be continued or dropped, it is in by_tsn under its first TSN.
 * TSNs have 64 bits here, so that they do not wrap.
 *
 * Once the cumulative point has passed a run, it can be checked finally: it is a whole message, or
 * it is the beginning of the one that goes on with the next TSN.
 */
#include "sctp/receive/recv.h"

#include <assert.h>
#include <string.h>

#include "sctp/wire/tsn.h"

struct run {
	struct sctp_tree_node by_tsn, by_turn;
	struct list link; /* of deliverable */
	struct sctp_cell *tail;
	uint64_t last; /* TSN */
	uint32_t len, ppid;
	uint16_t sid, ssn;
	bool unordered, begin, end;
	bool has_turn; /* it is in by_turn */
	bool settled;  /* it is not in by_tsn any more */
};

static_assert(sizeof(struct run) <= SCTP_CELL_DATA / 2, "the first cell holds data, too");

#define run_of(node, member) ((struct run *)(void *)((char *)(node)-offsetof(struct run, member)))

static struct sctp_cell *cells_of(struct run *x)
{
	return (struct sctp_cell *)(void *)((char *)x - offsetof(struct sctp_cell, data));
}

void sctp_recv_init(struct sctp_recv *r, const struct sctp_account *account, uint32_t limit,
		    uint16_t streams)
{
	*r = (struct sctp_recv){.account = account, .limit = limit, .streams = streams};
	sctp_cells_init(&r->cells, account);
	list_init(&r->deliverable);
}

static size_t table_size(const struct sctp_recv *r)
{
	return r->streams * sizeof(r->next_ssn[0]);
}

void sctp_recv_deinit(struct sctp_recv *r)
{
	sctp_cells_deinit(&r->cells);
	sctp_pool_table_free(r->account, r->next_ssn, table_size(r));
	sctp_recv_init(r, r->account, r->limit, r->streams);
}

/* ---- the neighbors of a chunk ---- */

/* A chunk, its TSN with 64 bits, and the runs that end right before it and begin right after it. */
struct place {
	const struct sctp_data *d;
	uint64_t tsn;
	struct run *left, *right;
};

static struct place find_place(const struct sctp_recv *r, const struct sctp_data *d)
{
	struct place at = {.d = d, .tsn = r->cum + (d->tsn - (uint32_t)r->cum)};
	struct sctp_tree_node *left = sctp_tree_at_most(&r->by_tsn, at.tsn),
			      *right = sctp_tree_find(&r->by_tsn, at.tsn + 1);

	if (left && run_of(left, by_tsn)->last == at.tsn - 1)
		at.left = run_of(left, by_tsn);
	if (right)
		at.right = run_of(right, by_tsn);
	return at;
}

static bool same_message(const struct run *x, const struct sctp_data *d)
{
	return x->sid == d->sid && x->unordered == d->unordered &&
	       (d->unordered || x->ssn == d->ssn);
}

/* A message ends where the next one begins, and only there. */
static bool neighbors_fit(const struct sctp_recv *r, const struct place *at)
{
	const struct run *left = at->left, *right = at->right;
	const struct sctp_data *d = at->d;

	if (left && (left->end != d->begin || (!left->end && !same_message(left, d))))
		return false;
	if (right && (right->begin != d->end || (!d->end && !same_message(right, d))))
		return false;
	/* The chunk before cum + 1 has arrived: as a part of this message it would still wait. */
	return left || d->begin || at->tsn != r->cum + 1;
}

static bool joins_left(const struct place *at)
{
	return at->left && !at->d->begin;
}

static bool joins_right(const struct place *at)
{
	return at->right && !at->d->end;
}

static bool length_fits(const struct place *at)
{
	uint32_t rest = SCTP_MAX_MESSAGE;
	uint32_t l = joins_left(at) ? at->left->len : 0, m = joins_right(at) ? at->right->len : 0;

	return at->d->len <= rest && l <= rest - at->d->len && m <= rest - at->d->len - l;
}

/* ---- turns ---- */

static uint16_t next_ssn(const struct sctp_recv *r, uint16_t sid)
{
	return r->next_ssn ? r->next_ssn[sid] : 0;
}

static uint64_t turn_of(uint16_t sid, uint16_t ssn)
{
	return (uint64_t)sid << 16 | ssn;
}

static bool ssn_fits(const struct sctp_recv *r, const struct sctp_data *d)
{
	return d->unordered || (!sctp_ssn_before(d->ssn, next_ssn(r, d->sid)) &&
				!sctp_tree_find(&r->by_turn, turn_of(d->sid, d->ssn)));
}

/* Makes the next messages of a stream deliverable, as far as their order is complete. */
static void next_turns(struct sctp_recv *r, uint16_t sid)
{
	struct sctp_tree_node *n;

	while ((n = sctp_tree_find(&r->by_turn, turn_of(sid, ++r->next_ssn[sid])))) {
		struct run *x = run_of(n, by_turn);

		sctp_tree_remove(&r->by_turn, n);
		if (!x->settled)
			sctp_tree_remove(&r->by_tsn, &x->by_tsn);
		list_add_tail(&r->deliverable, &x->link);
	}
}

/* A run became a whole message. */
static void complete_run(struct sctp_recv *r, struct run *x)
{
	if (!x->unordered && x->ssn != r->next_ssn[x->sid]) {
		x->by_turn.key = turn_of(x->sid, x->ssn);
		x->has_turn = true;
		sctp_tree_insert(&r->by_turn, &x->by_turn);
		return;
	}
	sctp_tree_remove(&r->by_tsn, &x->by_tsn);
	list_add_tail(&r->deliverable, &x->link);
	if (!x->unordered)
		next_turns(r, x->sid);
}

/* ---- copying ---- */

static uint32_t room_of(const struct sctp_cell *c)
{
	return SCTP_CELL_DATA - c->off - c->len;
}

static uint32_t cells_needed(const struct place *at)
{
	uint32_t room = joins_left(at) ? room_of(at->left->tail) : 0;
	uint32_t len = at->d->len + (joins_left(at) ? 0 : (uint32_t)sizeof(struct run));

	return len <= room ? 0 : (len - room + SCTP_CELL_DATA - 1) / SCTP_CELL_DATA;
}

static struct run *new_run(struct sctp_recv *r, const struct place *at)
{
	struct sctp_cell *c = sctp_cells_get(&r->cells);
	struct run *x = (struct run *)(void *)c->data;

	c->off = sizeof(*x);
	*x = (struct run){.tail = c,
			  .sid = at->d->sid,
			  .ssn = at->d->ssn,
			  .ppid = at->d->ppid,
			  .unordered = at->d->unordered,
			  .begin = at->d->begin,
			  .by_tsn.key = at->tsn};
	list_init(&x->link);
	sctp_tree_insert(&r->by_tsn, &x->by_tsn);
	return x;
}

static void append_to_run(struct sctp_recv *r, struct run *x, const uint8_t *p, uint32_t len)
{
	x->len += len;
	while (len > 0) {
		struct sctp_cell *c = x->tail;
		uint32_t n = room_of(c) < len ? room_of(c) : len;

		if (n == 0) {
			x->tail = c->next = sctp_cells_get(&r->cells);
			continue;
		}
		memcpy(c->data + c->off + c->len, p, n);
		c->len = (uint16_t)(c->len + n);
		p += n;
		len -= n;
	}
}

/* x goes on with y, whose record becomes dead space before its bytes. */
static void join_runs(struct sctp_recv *r, struct run *x, struct run *y)
{
	sctp_tree_remove(&r->by_tsn, &y->by_tsn);
	x->tail->next = cells_of(y);
	x->tail = y->tail;
	x->last = y->last;
	x->len += y->len;
	x->end = y->end;
}

/* The cells are reserved. */
static void store(struct sctp_recv *r, const struct place *at)
{
	struct run *x = joins_left(at) ? at->left : new_run(r, at);

	append_to_run(r, x, at->d->p, at->d->len);
	x->last = at->tsn;
	x->end = at->d->end;
	if (joins_right(at))
		join_runs(r, x, at->right);
	if (x->begin && x->end)
		complete_run(r, x);
}

/* ---- room ---- */

static enum sctp_recv_result note_violation(struct sctp_recv *r, const char *what)
{
	r->violation = what;
	return SCTP_RECV_VIOLATION;
}

/* Drops the highest run if it lies after the chunk. */
static bool drop_highest(struct sctp_recv *r, uint64_t tsn, struct sctp_recv_range *ret)
{
	struct sctp_tree_node *n = sctp_tree_at_most(&r->by_tsn, UINT64_MAX);
	struct run *x;

	if (!n || n->key < tsn)
		return false;
	x = run_of(n, by_tsn);
	*ret = (struct sctp_recv_range){(uint32_t)x->by_tsn.key, (uint32_t)x->last};
	sctp_tree_remove(&r->by_tsn, n);
	if (x->has_turn)
		sctp_tree_remove(&r->by_turn, &x->by_turn);
	sctp_cells_put(&r->cells, cells_of(x));
	return true;
}

static bool fits_recv(const struct sctp_recv *r, uint32_t cells, uint32_t extra)
{
	return (uint64_t)(r->cells.used + cells) * SCTP_CELL <= (uint64_t)r->limit + extra;
}

/* TAKEN: the cells are reserved. */
static enum sctp_recv_result reserve_cells(struct sctp_recv *r, const struct place *at,
					   struct sctp_recv_range *ret)
{
	uint32_t n = cells_needed(at);
	bool next = at->tsn == r->cum + 1;

	if (!fits_recv(r, n, 0)) {
		if (drop_highest(r, at->tsn, ret))
			return SCTP_RECV_DROPPED;
		if (!next)
			return SCTP_RECV_NO_ROOM;
		/* No later chunk waits: those that wait can only be delivered once this one is
		 * taken. */
		if (!fits_recv(r, n, SCTP_MAX_MESSAGE))
			return list_empty(&r->deliverable)
				       ? note_violation(
						 r, "messages that are never completed fill the "
						    "receive buffer")
				       : SCTP_RECV_NO_ROOM;
	}
	/* So that delivering cannot fail. */
	if (!sctp_pool_scratch(r->account->pool))
		return SCTP_RECV_NO_ROOM;
	if (sctp_cells_reserve(&r->cells, n))
		return SCTP_RECV_TAKEN;
	return drop_highest(r, at->tsn, ret) ? SCTP_RECV_DROPPED : SCTP_RECV_NO_ROOM;
}

/* ---- the interface ---- */

/* Lets the runs go that the cumulative point has passed. False: fragments will never become a
 * message. */
static bool let_runs_go(struct sctp_recv *r, uint32_t cum)
{
	struct sctp_tree_node *n;

	r->cum += cum - (uint32_t)r->cum;
	while ((n = sctp_tree_first(&r->by_tsn)) && n->key <= r->cum) {
		struct run *x = run_of(n, by_tsn);

		if (x->begin && !x->end && x->last == r->cum)
			return true;
		if (!x->begin || !x->end)
			return false;
		sctp_tree_remove(&r->by_tsn, n);
		x->settled = true;
	}
	return true;
}

/* A whole message that can go without waiting. Ordered: unless it would overtake one. */
static bool is_direct(const struct sctp_recv *r, const struct sctp_data *d)
{
	if (!d->begin || !d->end)
		return false;
	return d->unordered || (d->ssn == r->next_ssn[d->sid] && list_empty(&r->deliverable));
}

static bool has_table(struct sctp_recv *r, const struct sctp_data *d)
{
	if (!d->unordered && !r->next_ssn)
		r->next_ssn = sctp_pool_table(r->account, table_size(r));
	return d->unordered || r->next_ssn;
}

enum sctp_recv_result sctp_recv_add(struct sctp_recv *r, const struct sctp_data *d, uint32_t cum,
				    struct sctp_recv_range *ret)
{
	static const char contradiction[] = "fragments that contradict each other";
	enum sctp_recv_result res;
	struct place at;

	_Static_assert(SCTP_MAX_MESSAGE == 131072, "a sentence below names it");
	assert(d->sid < r->streams && d->len > 0);
	if (!let_runs_go(r, cum))
		return note_violation(r, contradiction);
	at = find_place(r, d);
	if (!neighbors_fit(r, &at))
		return note_violation(r, contradiction);
	if (!length_fits(&at))
		return note_violation(r, "a message that is longer than 131072 bytes");
	if (!ssn_fits(r, d))
		return note_violation(r, "a stream sequence number that came twice");
	if (!has_table(r, d))
		return SCTP_RECV_NO_ROOM;
	if (is_direct(r, d)) {
		if (!d->unordered)
			next_turns(r, d->sid);
		return SCTP_RECV_DIRECT;
	}
	res = reserve_cells(r, &at, ret);
	if (res == SCTP_RECV_TAKEN)
		store(r, &at);
	return res;
}

/* Copies a message together. */
static void assemble(struct run *x, uint8_t *to)
{
	for (const struct sctp_cell *c = cells_of(x); c; c = c->next) {
		memcpy(to, c->data + c->off, c->len);
		to += c->len;
	}
}

bool sctp_recv_next(struct sctp_recv *r, struct sctp_msg *ret)
{
	struct list *l = list_pop(&r->deliverable);
	uint8_t *scratch;
	struct run *x;

	if (!l)
		return false;
	x = list_entry(l, struct run, link);
	scratch = sctp_pool_scratch(r->account->pool); /* exists since something was copied */
	assemble(x, scratch);
	ret->sid = x->sid;
	ret->ppid = x->ppid;
	ret->ordered = !x->unordered;
	ret->len = x->len;
	ret->n = 1;
	ret->part[0] = (struct span){scratch, x->len};
	sctp_cells_put(&r->cells, cells_of(x));
	return true;
}
