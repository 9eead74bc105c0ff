/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/ddp/ddp_tx.h"

#include "util/checked.h"
#include "util/minmax.h"

enum {
	ALIGN = 4,  /* SCTP pads every chunk to this */
	LITTLE = 8, /* less than this part of a packet is not worth a segment */
};

struct wire_ddp *ddp_tx_begin(struct ddp_tx *m, uint32_t len)
{
	*m = (struct ddp_tx){.ddp = {.dv = 1, .rv = 1}, .len = len};
	return &m->ddp;
}

/* Part size for the fewest parts of at most max bytes; all parts but the last have this size. */
static uint32_t equal_part(uint32_t len, uint32_t max)
{
	uint64_t parts = ((uint64_t)len + max - 1) / max;
	uint64_t part = checked_round_up((len + parts - 1) / parts, ALIGN);

	return part < max ? (uint32_t)part : max;
}

/* Part size that fills a packet. */
static uint32_t filling_part(uint32_t max, uint32_t head, uint32_t room)
{
	uint32_t part = room > head ? room - head : 0;

	return part < max && part >= max / LITTLE ? part : max;
}

uint32_t ddp_tx_cut(struct ddp_tx *m, uint32_t mulpdu, uint32_t room)
{
	uint32_t head = m->ddp.tagged ? WIRE_TAGGED_LEN : WIRE_UNTAGGED_LEN;
	uint32_t max = mulpdu - head, left = m->len - m->off;

	if (room != DDP_TX_NO_ROOM)
		m->cut = left <= max ? left : filling_part(max, head, room);
	else if (left > 0 && (m->cut == 0 || m->cut > max))
		m->cut = equal_part(left, max);
	m->now = min_u32(left, m->cut);
	return m->now;
}

bool ddp_tx_last(const struct ddp_tx *m)
{
	return m->now == m->len - m->off;
}

size_t ddp_tx_head(const struct ddp_tx *m, uint8_t *p)
{
	return wire_ddp_put_at(p, &m->ddp, m->off, ddp_tx_last(m));
}

void ddp_tx_taken(struct ddp_tx *m)
{
	m->off += m->now;
	m->now = 0;
}
