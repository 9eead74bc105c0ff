/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap.h"

#include <assert.h>

#include "proto/rdmap_ep.h"
#include "util/checked.h"

enum { ALIGN = 16 };

/* Where the parts of an endpoint lie in its memory. */
struct layout {
	size_t rec;
	size_t read;
	size_t slot;
	size_t of_msn;
	size_t ird;
	size_t size;
};

static uint32_t rq_stride(const struct rdmap_cfg *cfg)
{
	size_t elems = cfg->max_recv_sge * sizeof(struct sgl_elem);

	return (uint32_t)checked_round_up(sizeof(struct rdmap_rq_slot) + elems, ALIGN);
}

/* Appends n objects to the layout. Returns their offset. */
static size_t append(struct layout *l, size_t n, size_t size)
{
	size_t at = l->size;

	l->size += checked_round_up(n * size, ALIGN);
	return at;
}

static struct layout lay_out(const struct rdmap_cfg *cfg)
{
	struct layout l = {0};

	append(&l, 1, sizeof(struct rdmap));
	l.rec = append(&l, cfg->sq_depth, sizeof(struct rdmap_rec));
	l.read = append(&l, cfg->ord, sizeof(uint32_t));
	l.slot = append(&l, cfg->rq_depth, rq_stride(cfg));
	l.of_msn = append(&l, cfg->rq_depth, sizeof(uint32_t));
	l.ird = append(&l, cfg->ird, sizeof(struct rdmap_ird_slot));
	return l;
}

size_t rdmap_size(const struct rdmap_cfg *cfg)
{
	return lay_out(cfg).size;
}

struct rdmap *rdmap_init(void *mem, const struct rdmap_cfg *cfg, const struct rdmap_ops *ops,
			 void *user)
{
	struct layout l = lay_out(cfg);
	uint8_t *base = mem;
	struct rdmap *ep = mem;

	assert(checked_pow2(cfg->sq_depth) && checked_pow2(cfg->rq_depth));
	assert(cfg->max_recv_sge >= 1 && cfg->max_recv_sge <= SGL_MAX);
	ep->stags = cfg->stags;
	ep->who = cfg->who;
	ep->ops = ops;
	ep->user = user;
	ep->max_recv_sge = cfg->max_recv_sge;
	ep->sq.rec = (struct rdmap_rec *)(void *)(base + l.rec);
	ep->sq.mask = cfg->sq_depth - 1U;
	ep->sq.read = (uint32_t *)(void *)(base + l.read);
	ep->sq.ord = cfg->ord;
	ep->rq.slot = base + l.slot;
	ep->rq.stride = rq_stride(cfg);
	ep->rq.mask = cfg->rq_depth - 1U;
	ep->rq.of_msn = (uint32_t *)(void *)(base + l.of_msn);
	ep->ird.slot = (struct rdmap_ird_slot *)(void *)(base + l.ird);
	ep->ird.size = cfg->ird;
	return ep;
}

void *rdmap_user(const struct rdmap *ep)
{
	return ep->user;
}

void rdmap_bind(struct rdmap *ep)
{
	ep->sq.tail = ep->sq.head;
	ep->sq.reads = 0;
	ep->sq.read_got = 0;
	ep->rq.tail = ep->rq.head;
	ep->rq.open = 0;
	ep->rq.msn = RDMAP_MSN_FIRST;
	ep->ird.msn = RDMAP_MSN_FIRST;
	ep->ird.head = 0;
	ep->ird.busy = 0;
	for (unsigned i = 0; i < ep->ird.size; i++)
		ep->ird.slot[i].in = (struct ddp_gather){0};
	for (unsigned qn = 0; qn < RDMAP_QUEUES; qn++)
		ep->tx.msn[qn] = RDMAP_MSN_FIRST;
	ep->tx.kind = RDMAP_NOTHING;
	ep->tx.held = false;
	ep->tx.burst = 0;
	ep->tx.term_len = 0;
	ep->term_gather = (struct ddp_gather){0};
	ep->at = (struct perr_at){0};
	ep->state = rdmap_fsm_next(ep->state, RDMAP_BIND);
}

void rdmap_stop(struct rdmap *ep)
{
	if (ep->tx.kind != RDMAP_TERMINATE && ep->tx.msg.off == 0)
		ep->tx.kind = RDMAP_NOTHING; /* chosen, but no byte of it has left */
	ep->state = rdmap_fsm_next(ep->state, RDMAP_STOP);
}

static void flush(struct rdmap *ep)
{
	ep->tx.kind = RDMAP_NOTHING;
	ep->tx.held = false;
	rdmap_sq_flush(ep);
	rdmap_rq_flush(ep);
}

void rdmap_abort(struct rdmap *ep)
{
	ep->state = rdmap_fsm_next(ep->state, RDMAP_FAIL);
	flush(ep);
}

void rdmap_unbind(struct rdmap *ep)
{
	ep->state = rdmap_fsm_next(ep->state, RDMAP_UNBIND);
	ep->tx.term_len = 0;
	flush(ep);
}

void rdmap_query(const struct rdmap *ep, struct rdmap_info *ret)
{
	*ret = (struct rdmap_info){
		.ord = ep->sq.ord,
		.ird = ep->ird.size,
		.reads_out = ep->sq.reads,
		.reads_in = ep->ird.busy,
		.in_flight = ep->sq.tail - ep->sq.head,
		.tx_msgs = ep->tx_msgs,
		.rx_msgs = ep->rx_msgs,
		.tx_bytes = ep->tx_bytes,
		.rx_bytes = ep->rx_bytes,
	};
}

enum rdmap_status rdmap_status_of_stag(int outcome)
{
	switch (outcome) {
	case STAG_E_OK:
		return RDMAP_OK;
	case STAG_E_SCOPE:
		return RDMAP_LOC_SCOPE;
	case STAG_E_RIGHTS:
		return RDMAP_LOC_RIGHTS;
	case STAG_E_WRAP:
	case STAG_E_BOUNDS:
		return RDMAP_LOC_BOUNDS;
	default:
		return RDMAP_LOC_STAG;
	}
}

const char *rdmap_op_str(unsigned op)
{
	static const char *const name[RDMAP_OP_COUNT] = {
		[RDMAP_SEND] = "send", [RDMAP_SEND_INV] = "send-inv", [RDMAP_WRITE] = "write",
		[RDMAP_READ] = "read", [RDMAP_RECV] = "recv",
	};

	return op < RDMAP_OP_COUNT ? name[op] : "?";
}

const char *rdmap_status_str(unsigned status)
{
	static const char *const name[RDMAP_STATUS_COUNT] = {
		[RDMAP_OK] = "success",
		[RDMAP_LOC_LEN] = "local length error",
		[RDMAP_LOC_OP] = "local operation error",
		[RDMAP_LOC_SGE] = "too many scatter/gather elements",
		[RDMAP_LOC_STAG] = "local key names no memory",
		[RDMAP_LOC_SCOPE] = "local key belongs to another protection domain",
		[RDMAP_LOC_RIGHTS] = "local key without write right",
		[RDMAP_LOC_BOUNDS] = "outside the local region",
		[RDMAP_REM_ACCESS] = "remote access error",
		[RDMAP_REM_OP] = "remote operation error",
		[RDMAP_FLUSHED] = "flushed",
	};

	return status < RDMAP_STATUS_COUNT ? name[status] : "?";
}
