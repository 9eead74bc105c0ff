/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/send/queue.h"

#include <string.h>

enum {
	DATA = sizeof(((struct sctp_tx_block *)0)->data),
	BEGIN = SCTP_HEAD + SCTP_DATA_HEAD,
	LARGE = 1024, /* bytes */
};

void sctp_queue_init(struct sctp_queue *q, uint32_t initial_tsn)
{
	q->initial_tsn = q->next_tsn = q->send_tsn = initial_tsn;
	q->cum = initial_tsn - 1;
}

/* ---- memory ---- */

static struct sctp_tx **page_of(struct sctp_queue *q, uint32_t tsn)
{
	return &q->page[tsn / SCTP_TX_PAGE % SCTP_TX_PAGES];
}

static void release_page(struct sctp_queue *q, const struct sctp_account *account, uint32_t tsn)
{
	struct sctp_tx **page = page_of(q, tsn);

	sctp_pool_put(account, *page);
	*page = NULL;
}

static void release_blocks(struct sctp_queue *q, const struct sctp_account *account,
			   const struct sctp_tx_block *until)
{
	while (q->head && q->head != until) {
		struct sctp_tx_block *b = q->head;

		q->head = b->next;
		sctp_pool_put(account, b);
	}
	if (!q->head)
		q->tail = NULL;
}

void sctp_queue_free(struct sctp_queue *q, const struct sctp_account *account, uint32_t old)
{
	for (uint32_t page = (old + 1) / SCTP_TX_PAGE; page != (q->cum + 1) / SCTP_TX_PAGE;
	     page = (page + 1) % (UINT32_MAX / SCTP_TX_PAGE + 1))
		release_page(q, account, page * SCTP_TX_PAGE);
	if (!sctp_queue_empty(q)) {
		release_blocks(q, account, sctp_queue_at(q, q->cum + 1)->block);
		return;
	}
	release_page(q, account, q->cum + 1);
	release_blocks(q, account, NULL);
	sctp_pool_put(account, q->gap);
	q->gap = NULL;
	q->ngaps = 0;
}

void sctp_queue_deinit(struct sctp_queue *q, const struct sctp_account *account)
{
	for (unsigned i = 0; i < SCTP_TX_PAGES; i++) {
		sctp_pool_put(account, q->page[i]);
		q->page[i] = NULL;
	}
	release_blocks(q, account, NULL);
	sctp_pool_put(account, q->gap);
	memset(q, 0, sizeof(*q));
}

/* Adds a block to the end of the chain; the tail is the block in use, and may have others after it.
 */
static bool add_block(struct sctp_queue *q, const struct sctp_account *account)
{
	struct sctp_tx_block *b = sctp_pool_get(account), *last = q->tail;

	if (!b)
		return false;
	b->next = NULL;
	b->used = 0;
	if (!last) {
		q->head = q->tail = b;
		return true;
	}
	while (last->next)
		last = last->next;
	last->next = b;
	return true;
}

/* ---- messages ---- */

static void append_bytes(struct sctp_queue *q, const uint8_t *p, size_t len)
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

/* Room for a record and for len bytes. Blocks that were added stay for the next attempt. */
static bool reserve_blocks(struct sctp_queue *q, const struct sctp_account *account, uint32_t len)
{
	struct sctp_tx **page = page_of(q, q->next_tsn);
	uint32_t have = 0;

	if (!*page && !(*page = sctp_pool_get(account)))
		return false;
	for (struct sctp_tx_block *b = q->tail; b && have < len; b = b->next)
		have += DATA - b->used;
	for (; have < len; have += DATA)
		if (!add_block(q, account))
			return false;
	if (q->tail->used == DATA)
		q->tail = q->tail->next;
	return true;
}

bool sctp_queue_reserve(struct sctp_queue *q, const struct sctp_account *account, size_t len)
{
	uint32_t wire = (SCTP_DATA_HEAD + (uint32_t)len + 3) & ~3u;

	return reserve_blocks(q, account, (wants_headroom(len) ? 2 * BEGIN : 0) + wire);
}

/* The record of the next chunk, where the tail ends now. */
static struct sctp_tx *add_record(struct sctp_queue *q, uint32_t len, uint32_t packet)
{
	struct sctp_tx *t = sctp_queue_at(q, q->next_tsn);
	bool headroom = wants_headroom(len);
	uint32_t wire;

	if (headroom)
		add_headroom(q);
	*t = (struct sctp_tx){.block = q->tail,
			      .off = (uint16_t)q->tail->used,
			      .size = (uint16_t)(SCTP_DATA_HEAD + len),
			      .headroom = headroom};
	wire = sctp_tx_wire(t);
	if (q->unsent == 0 || q->fill + wire > packet)
		q->fill = 0;
	q->fill += wire;
	q->bytes += wire;
	q->unsent += wire;
	q->next_tsn++;
	return t;
}

void sctp_queue_put(struct sctp_queue *q, uint32_t packet, uint8_t flags, uint16_t sid,
		    uint32_t ppid, const struct span *part, unsigned n, uint32_t len)
{
	static const uint8_t zero[4];
	uint8_t head[SCTP_DATA_HEAD];
	struct sctp_tx *t;
	uint32_t wire;

	sctp_put_data_head(head, SCTP_DATA_U | SCTP_DATA_B | SCTP_DATA_E | flags, q->next_tsn, sid,
			   ppid, len);
	t = add_record(q, len, packet);
	wire = sctp_tx_wire(t);
	if (wire <= DATA - q->tail->used) {
		put_whole(q->tail, head, part, n, wire);
		return;
	}
	append_bytes(q, head, SCTP_DATA_HEAD);
	for (unsigned i = 0; i < n; i++)
		append_bytes(q, part[i].p, part[i].len);
	append_bytes(q, zero, wire - t->size);
}

/* ---- progress ---- */

void sctp_queue_sent(struct sctp_queue *q)
{
	q->unsent -= sctp_tx_wire(sctp_queue_at(q, q->send_tsn++));
}

void sctp_queue_advance(struct sctp_queue *q)
{
	q->bytes -= sctp_tx_wire(sctp_queue_at(q, ++q->cum));
}

void sctp_queue_keep_gaps(struct sctp_queue *q, const struct sctp_account *account,
			  const struct sctp_range *gap, unsigned n, bool all)
{
	q->cut = n && !all;
	if (q->cut)
		q->cut_after = gap[n - 1].last;
	if (n && !q->gap)
		q->gap = sctp_pool_get(account);
	q->ngaps = q->gap ? n : 0;
	if (q->ngaps)
		memcpy(q->gap, gap, n * sizeof(*gap));
	else if (q->gap) {
		sctp_pool_put(account, q->gap);
		q->gap = NULL;
	}
}

void sctp_queue_timed_out(struct sctp_queue *q)
{
	q->cut = false;
}
