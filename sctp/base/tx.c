/* SPDX-License-Identifier: BSD-2-Clause */
/* What is queued and outstanding: chunks in wire format in a chain of blocks, and a record for each
 * TSN in pages. Both grow with what is queued and go back to the pool. */
#include "sctp/base/assoc.h"

enum {
	DATA = sizeof(((struct sctp_tx_block *)0)->data),
	BEGIN = SCTP_HEAD + SCTP_DATA_HEAD,
	LARGE = 1024, /* bytes */
	NEIGHBORS = 64,
	RETRY_US = 20000, /* after which a user without memory may try again */
};

void sctp_tx_init(struct sctp_queue *q, uint32_t initial_tsn)
{
	q->next_tsn = q->send_tsn = initial_tsn;
	q->cum = initial_tsn - 1;
}

/* ---- lists of records ---- */

void sctp_tx_push(struct sctp_queue *q, struct sctp_tx_list *l, uint32_t tsn)
{
	struct sctp_tx *t = sctp_tx_get(q, tsn);

	t->prev = l->last;
	if (l->n++)
		sctp_tx_get(q, l->last)->next = tsn;
	else
		l->first = tsn;
	l->last = tsn;
}

void sctp_tx_push_front(struct sctp_queue *q, struct sctp_tx_list *l, uint32_t tsn)
{
	struct sctp_tx *t = sctp_tx_get(q, tsn);

	t->next = l->first;
	if (l->n++)
		sctp_tx_get(q, l->first)->prev = tsn;
	else
		l->last = tsn;
	l->first = tsn;
}

/* Looks at a few neighbors of either end only: the order of most chunks matters, not of all. */
void sctp_tx_insert(struct sctp_queue *q, struct sctp_tx_list *l, uint32_t tsn)
{
	uint32_t at = l->last;
	struct sctp_tx *t;

	if (l->n == 0 || sctp_tsn_before(l->last, tsn)) {
		sctp_tx_push(q, l, tsn);
		return;
	}
	for (unsigned i = 0; i < NEIGHBORS && at != l->first && sctp_tsn_before(tsn, at); i++)
		at = sctp_tx_get(q, at)->prev;
	if (sctp_tsn_before(tsn, at))
		at = l->first;
	for (unsigned i = 0; i < NEIGHBORS && sctp_tsn_before(at, tsn) &&
			     sctp_tsn_before(sctp_tx_get(q, at)->next, tsn);
	     i++)
		at = sctp_tx_get(q, at)->next;
	if (sctp_tsn_before(tsn, at)) {
		sctp_tx_push_front(q, l, tsn);
		return;
	}
	t = sctp_tx_get(q, tsn);
	t->prev = at;
	t->next = sctp_tx_get(q, at)->next;
	sctp_tx_get(q, t->next)->prev = tsn;
	sctp_tx_get(q, at)->next = tsn;
	l->n++;
}

void sctp_tx_remove(struct sctp_queue *q, struct sctp_tx_list *l, uint32_t tsn)
{
	struct sctp_tx *t = sctp_tx_get(q, tsn);

	if (l->first == tsn)
		l->first = t->next;
	else
		sctp_tx_get(q, t->prev)->next = t->next;
	if (l->last == tsn)
		l->last = t->prev;
	else
		sctp_tx_get(q, t->next)->prev = t->prev;
	l->n--;
}

/* ---- memory ---- */

static struct sctp_tx **page_of(struct sctp_queue *q, uint32_t tsn)
{
	return &q->page[tsn / SCTP_TX_PAGE % SCTP_TX_PAGES];
}

static void put_page(struct sctp_assoc *a, uint32_t tsn)
{
	struct sctp_tx **page = page_of(&a->tx, tsn);

	sctp_pool_put(&a->s->pool, *page);
	*page = NULL;
}

static void put_blocks(struct sctp_assoc *a, const struct sctp_tx_block *until)
{
	struct sctp_queue *q = &a->tx;

	while (q->head && q->head != until) {
		struct sctp_tx_block *b = q->head;

		q->head = b->next;
		sctp_pool_put(&a->s->pool, b);
	}
	if (!q->head)
		q->tail = NULL;
}

void sctp_tx_free(struct sctp_assoc *a, uint32_t old)
{
	struct sctp_queue *q = &a->tx;

	for (uint32_t page = (old + 1) / SCTP_TX_PAGE; page != (q->cum + 1) / SCTP_TX_PAGE;
	     page = (page + 1) % (UINT32_MAX / SCTP_TX_PAGE + 1))
		put_page(a, page * SCTP_TX_PAGE);
	if (!sctp_tx_empty(q)) {
		put_blocks(a, sctp_tx_get(q, q->cum + 1)->block);
		return;
	}
	put_page(a, q->cum + 1);
	put_blocks(a, NULL);
	sctp_pool_put(&a->s->pool, q->gap);
	q->gap = NULL;
	q->ngaps = 0;
}

void sctp_tx_deinit(struct sctp_assoc *a)
{
	struct sctp_queue *q = &a->tx;

	for (unsigned i = 0; i < SCTP_TX_PAGES; i++) {
		sctp_pool_put(&a->s->pool, q->page[i]);
		q->page[i] = NULL;
	}
	put_blocks(a, NULL);
	sctp_pool_put(&a->s->pool, q->gap);
	memset(q, 0, sizeof(*q));
}

void sctp_tx_made_room(struct sctp_assoc *a)
{
	const struct sctp_queue *q = &a->tx;

	if (!a->write_wanted || q->bytes > a->s->cfg.send_buffer / 2 ||
	    q->unsent > SCTP_MAX_UNSENT / 2 || q->next_tsn - q->cum > SCTP_TX_WINDOW / 2)
		return;
	a->write_wanted = false;
	a->ev_writable = true;
	sctp_assoc_note(a);
}

/* Adds a block to the end of the chain; the tail is the block in use, and may have others after it.
 */
static bool add_block(struct sctp_assoc *a)
{
	struct sctp_tx_block *b = sctp_pool_get(&a->s->pool), *last = a->tx.tail;

	if (!b)
		return false;
	b->next = NULL;
	b->used = 0;
	if (!last) {
		a->tx.head = a->tx.tail = b;
		return true;
	}
	while (last->next)
		last = last->next;
	last->next = b;
	return true;
}

/* Room for a record and for len bytes. Blocks that were added stay for the next attempt. */
static bool reserve(struct sctp_assoc *a, uint32_t len)
{
	struct sctp_queue *q = &a->tx;
	struct sctp_tx **page = page_of(q, q->next_tsn);
	uint32_t have = 0;

	if (!*page && !(*page = sctp_pool_get(&a->s->pool)))
		return false;
	for (struct sctp_tx_block *b = q->tail; b && have < len; b = b->next)
		have += DATA - b->used;
	for (; have < len; have += DATA)
		if (!add_block(a))
			return false;
	if (q->tail->used == DATA)
		q->tail = q->tail->next;
	return true;
}

/* ---- messages ---- */

static void append(struct sctp_queue *q, const uint8_t *p, size_t len)
{
	while (len) {
		struct sctp_tx_block *b = q->tail;
		size_t n = DATA - b->used;

		if (n == 0) {
			q->tail = b->next;
			continue;
		}
		n = n < len ? n : len;
		memcpy(b->data + b->used, p, n);
		b->used += (uint32_t)n;
		p += n;
		len -= n;
	}
}

/* A chunk that fits into the block in use, as most small ones do. */
static void put_whole(struct sctp_tx_block *b, const uint8_t *head, const struct span *part,
		      unsigned n, uint32_t wire)
{
	uint8_t *to = b->data + b->used;

	memset(to + wire - 4, 0, 4); /* padding */
	memcpy(to, head, SCTP_DATA_HEAD);
	to += SCTP_DATA_HEAD;
	for (unsigned i = 0; i < n; to += part[i++].len)
		memcpy(to, part[i].p, part[i].len);
	b->used += wire;
}

/* A chunk that is not small mostly is the only one of its packet, which is contiguous if the header
 * is just before it. Small ones are contiguous with each other. */
static bool wants_headroom(size_t len)
{
	return len >= LARGE;
}

/* Headroom and the header of the chunk are in one block. */
static void add_headroom(struct sctp_queue *q)
{
	if (q->tail->used + BEGIN > DATA) {
		q->tail->used = DATA;
		q->tail = q->tail->next;
	}
	q->tail->used += SCTP_HEAD;
}

static uint32_t most_of_packet(const struct sctp_assoc *a)
{
	return a->max_message + SCTP_DATA_HEAD;
}

/* most: bytes of chunks that a packet takes. */
static void put_chunk(struct sctp_queue *q, uint32_t most, const uint8_t *head,
		      const struct span *part, unsigned n, uint32_t len)
{
	static const uint8_t zero[4];
	struct sctp_tx *t = sctp_tx_get(q, q->next_tsn);
	bool headroom = wants_headroom(len);
	uint32_t wire;

	if (headroom)
		add_headroom(q);
	*t = (struct sctp_tx){.block = q->tail,
			      .off = (uint16_t)q->tail->used,
			      .size = (uint16_t)(SCTP_DATA_HEAD + len),
			      .headroom = headroom};
	wire = sctp_tx_wire(t);
	if (q->unsent == 0 || q->fill + wire > most)
		q->fill = 0;
	q->fill += wire;
	q->bytes += wire;
	q->unsent += wire;
	q->next_tsn++;
	if (wire <= DATA - q->tail->used) {
		put_whole(q->tail, head, part, n, wire);
		return;
	}
	append(q, head, SCTP_DATA_HEAD);
	for (unsigned i = 0; i < n; i++)
		append(q, part[i].p, part[i].len);
	append(q, zero, wire - t->size);
}

/* A guess: a SACK, or a window that ends within the packet, leaves less. */
uint32_t sctp_assoc_room(const struct sctp_assoc *a)
{
	uint32_t fill = a->tx.unsent ? a->tx.fill : 0;

	return fill < a->max_message ? a->max_message - fill : 0;
}

int sctp_assoc_send(struct sctp_assoc *a, uint16_t sid, uint32_t ppid, bool urgent,
		    const struct span *part, unsigned n)
{
	struct sctp_queue *q = &a->tx;
	size_t len = span_total(part, n);
	uint8_t head[SCTP_DATA_HEAD];

	if (a->state != SCTP_ESTABLISHED || sid >= a->out_streams)
		return SCTP_E_DOWN;
	if (len == 0 || len > a->max_message)
		return SCTP_E_TOO_LONG;
	if (q->bytes + len + SCTP_DATA_HEAD > a->s->cfg.send_buffer ||
	    q->unsent >= SCTP_MAX_UNSENT || q->next_tsn - q->cum > SCTP_TX_WINDOW) {
		a->write_wanted = true;
		return SCTP_E_AGAIN;
	}
	if (!reserve(a, (wants_headroom(len) ? 2 * BEGIN : 0) +
				((SCTP_DATA_HEAD + (uint32_t)len + 3) & ~3u))) {
		a->write_wanted = true;
		a->write_us = a->s->now + RETRY_US;
		sctp_assoc_arm(a);
		return SCTP_E_MEMORY;
	}
	sctp_put_data_head(head,
			   SCTP_DATA_U | SCTP_DATA_B | SCTP_DATA_E | (urgent ? SCTP_DATA_I : 0),
			   q->next_tsn, sid, ppid, (uint32_t)len);
	put_chunk(q, most_of_packet(a), head, part, n, (uint32_t)len);
	sctp_assoc_touch(a);
	return SCTP_E_OK;
}
