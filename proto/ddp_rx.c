/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/ddp_rx.h"

#include "util/checked.h"

enum { VERSION = 1 };

enum perr ddp_rx_header(const struct wire_ddp *h, uint32_t queues)
{
	if (h->dv != VERSION)
		return h->tagged ? PERR_TAGGED_VERSION : PERR_UNTAGGED_VERSION;
	if (!h->tagged && h->qn >= queues)
		return PERR_QN;
	return PERR_NONE;
}

enum perr ddp_rx_tagged(const struct stag_table *stags, const struct stag_who *who, uint32_t rights,
			uint32_t stag, uint64_t to, uint32_t len, uint8_t **ret_p)
{
	if (len == 0)
		return PERR_NONE;
	switch (stag_check(stags, stag, who, rights, to, len, ret_p)) {
	case STAG_E_OK:
		return PERR_NONE;
	case STAG_E_SCOPE:
		return PERR_TAGGED_SCOPE;
	case STAG_E_WRAP:
		return PERR_TAGGED_WRAP;
	case STAG_E_BOUNDS:
		return PERR_TAGGED_BOUNDS;
	default: /* RFC 5041 7.2 has no code for a missing right */
		return PERR_TAGGED_STAG;
	}
}

enum perr ddp_rx_msn(uint32_t msn, uint32_t next, uint32_t buffers)
{
	uint32_t ahead = msn - next;

	/* Each message takes a DDP-SSN at least: no more of them can be under way. */
	if (ahead >= SSN_WINDOW)
		return PERR_MSN_RANGE;
	return ahead < buffers ? PERR_NONE : PERR_NO_BUFFER;
}

enum perr ddp_rx_offset(uint32_t mo, uint32_t len, uint64_t size)
{
	if (checked_range(mo, len, size))
		return PERR_NONE;
	return mo > size ? PERR_MO : PERR_TOO_LONG;
}

enum perr ddp_rx_gather(struct ddp_gather *g, const struct ssn_rec *c, bool *ret_whole)
{
	if (g->begun && g->opcode != c->ddp.opcode)
		return PERR_OPCODE;
	g->begun = true;
	g->opcode = c->ddp.opcode;
	g->got += ddp_rx_payload(c);
	if (c->ddp.last && g->got != (uint64_t)c->ddp.mo + ddp_rx_payload(c))
		return PERR_MO;
	*ret_whole = c->ddp.last;
	return PERR_NONE;
}
