/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipc/packet_ring.h"

#include <string.h>

#include "util/minmax.h"

_Static_assert(sizeof(struct packet_ring_page) <= PACKET_RING_HEAD, "it is before the packets");
_Static_assert(sizeof(struct packet_head) % 8 == 0, "records are multiples of 8");

uint64_t packet_ring_bytes(uint64_t size)
{
	return PACKET_RING_HEAD + size;
}

void packet_ring_init(struct packet_ring *r, void *memory, uint64_t size)
{
	*r = (struct packet_ring){
		.page = memory, .data = (uint8_t *)memory + PACKET_RING_HEAD, .size = size};
}

/* Bytes of a record. */
static uint64_t record(uint32_t kept)
{
	return sizeof(struct packet_head) + ((uint64_t)kept + 7) / 8 * 8;
}

/* The bytes from a position on, which may go on at the beginning of the data. */
static unsigned window(const struct packet_ring *r, uint64_t at, uint64_t len, struct span ret[2])
{
	uint64_t from = at & (r->size - 1), first = r->size - from;

	if (first > len)
		first = len;
	ret[0] = (struct span){r->data + from, first};
	ret[1] = (struct span){r->data, len - first};
	return 2;
}

static void copy_in(struct packet_ring *r, uint64_t at, const struct span *part, unsigned n,
		    uint64_t len)
{
	struct span dst[2];
	unsigned ndst = window(r, at, len, dst);

	span_copy(dst, ndst, part, n, 0, len);
}

static void copy_out(const struct packet_ring *r, uint64_t at, void *ret, uint64_t len)
{
	struct span src[2], dst = {ret, len};
	unsigned nsrc = window(r, at, len, src);

	span_copy(&dst, 1, src, nsrc, 0, len);
}

bool packet_ring_put(struct packet_ring *r, const struct packet_head *h, const struct span *part,
		     unsigned n, uint32_t snap)
{
	uint64_t used = r->at - atomic_load_explicit(&r->page->tail, memory_order_acquire);
	struct packet_head head = *h;

	if (snap > PACKET_RING_MAX)
		snap = PACKET_RING_MAX;
	head.len = (uint32_t)span_total(part, n);
	head.kept = head.len < snap ? head.len : snap;
	head.lost = r->lost;
	if (used > r->size || r->size - used < record(head.kept)) {
		r->lost++;
		atomic_store_explicit(&r->page->lost, r->lost, memory_order_relaxed);
		return false;
	}
	copy_in(r, r->at, &(struct span){(uint8_t *)&head, sizeof(head)}, 1, sizeof(head));
	copy_in(r, r->at + sizeof(head), part, n, head.kept);
	r->at += record(head.kept);
	atomic_store_explicit(&r->page->head, r->at, memory_order_release);
	return true;
}

int packet_ring_take(struct packet_ring *r, struct packet_head *ret,
		     uint8_t ret_data[PACKET_RING_MAX])
{
	uint64_t used = atomic_load_explicit(&r->page->head, memory_order_acquire) - r->at;
	struct packet_head head;

	if (used == 0)
		return PACKET_RING_E_EMPTY;
	if (used > r->size || used < sizeof(head))
		return PACKET_RING_E_WRONG;
	copy_out(r, r->at, &head, sizeof(head));
	if (head.kept > PACKET_RING_MAX || head.kept > head.len || record(head.kept) > used ||
	    head.lost < r->lost)
		return PACKET_RING_E_WRONG;
	r->lost = head.lost;
	copy_out(r, r->at + sizeof(head), ret_data, head.kept);
	r->at += record(head.kept);
	atomic_store_explicit(&r->page->tail, r->at, memory_order_release);
	*ret = head;
	return PACKET_RING_E_OK;
}

uint64_t packet_ring_lost(const struct packet_ring *r)
{
	return max_u64(atomic_load_explicit(&r->page->lost, memory_order_relaxed), r->lost);
}
