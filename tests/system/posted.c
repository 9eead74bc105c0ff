/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/system/posted.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/system/rig.h"

/* The file, or -1. */
static int posted_file(void)
{
	static int fd = -2;
	const char *path;

	if (fd == -2) {
		path = getenv("DDP_POSTED");
		fd = path ? MUST(open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) : -1;
	}
	return fd;
}

/* A depth as RFC 6581 9.1 says it on the wire. */
static unsigned wire_depth(uint16_t depth, unsigned max)
{
	if (depth == DDP_READS_UNCHANGED)
		return 0x3fff;
	return depth == DDP_READS_NONE ? 0 : depth == DDP_READS_MAX ? max : depth;
}

static void enhanced_fields(const struct ddp_conn_param *request, const struct ddp_qp_init *init)
{
	const unsigned all = DDP_CONN_RTR_SEND | DDP_CONN_RTR_WRITE | DDP_CONN_RTR_READ;
	unsigned rtr = 0;

	if (request->flags & DDP_CONN_PEER_TO_PEER)
		rtr = request->flags & all ? request->flags & all : all;
	dprintf(posted_file(), " p2p=%d send=%d write=%d read=%d ird=%u ord=%u",
		(request->flags & DDP_CONN_PEER_TO_PEER) != 0, (rtr & DDP_CONN_RTR_SEND) != 0,
		(rtr & DDP_CONN_RTR_WRITE) != 0, (rtr & DDP_CONN_RTR_READ) != 0,
		wire_depth(request->ird, init ? init->max_ird : 0),
		wire_depth(request->ord, init ? init->max_ord : 0));
}

unsigned posted_session(const char *from, const char *to, const struct ddp_conn_param *request,
			const struct ddp_qp_init *init)
{
	static unsigned sessions;
	int raw = init && init->qp_type == DDP_QP_RAW;

	sessions++;
	if (posted_file() < 0)
		return sessions;
	dprintf(posted_file(), "session number=%u from=%s to=%s raw=%d", sessions, from, to, raw);
	if (request && request->flags & DDP_CONN_NEGOTIATE)
		enhanced_fields(request, init);
	dprintf(posted_file(), " private=");
	for (size_t i = 0; request && i < request->private_len; i++)
		dprintf(posted_file(), "%02x", ((const uint8_t *)request->private_data)[i]);
	dprintf(posted_file(), "\n");
	return sessions;
}

void posted_work(unsigned session, int side, const struct ddp_send_wr *wr)
{
	uint64_t len = 0;

	if (posted_file() < 0)
		return;
	for (int i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	dprintf(posted_file(),
		"work number=%u side=%d opcode=%d solicited=%d length=%" PRIu64 " sink_to=%" PRIu64
		" sink_stag=%u invalidate=%u to=%" PRIu64 " stag=%u immediate=%" PRIu64
		" compare_add=%" PRIu64 " swap=%" PRIu64 " add_mask=%" PRIu64
		" compare_mask=%" PRIu64 " swap_mask=%" PRIu64 " qn=%u rsvd=%" PRIu64 "\n",
		session, side, wr->opcode, (wr->send_flags & DDP_SEND_SOLICITED) != 0, len,
		wr->num_sge ? wr->sg_list[0].addr : 0, wr->num_sge ? wr->sg_list[0].lkey : 0,
		wr->invalidate_rkey, wr->rdma.remote_addr, wr->rdma.rkey, wr->imm_data,
		wr->atomic.compare_add, wr->atomic.swap, wr->atomic.add_mask,
		wr->atomic.compare_mask, wr->atomic.swap_mask, wr->raw.qn, wr->raw.rsvd);
}

void posted_refusal(unsigned session, int side, uint16_t term)
{
	if (posted_file() >= 0)
		dprintf(posted_file(), "refusal number=%u side=%d term=%u\n", session, side, term);
}
