/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/qp_endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/objects/client/client.h"
#include "daemon/objects/client/pd.h"
#include "daemon/objects/memory/stags.h"
#include "daemon/objects/queues/srq.h"
#include "daemon/objects/sessions/qp.h"
#include "util/checked.h"

enum {
	ENDPOINT_ALIGN = 64,
	MAPPED_BYTES = 16384,
};

/* How many receives the endpoint can hold. */
static uint16_t rq_depth(const struct qp *qp, const struct msg_create_qp *req)
{
	if (req->type == MSG_QP_DATAGRAM)
		return 1;
	if (!qp->wq.srq)
		return (uint16_t)req->rq_entries;
	return (uint16_t)(qp->wq.srq->ring.size < SRQ_MAX_IN_FLIGHT ? qp->wq.srq->ring.size
								    : SRQ_MAX_IN_FLIGHT);
}

static struct rdmap_cfg endpoint_cfg(const struct qp *qp, const struct msg_create_qp *req)
{
	return (struct rdmap_cfg){
		.stags = stags_table(qp->client->daemon->stags),
		.pool = &qp->client->worker->pool.blocks,
		.accessor = {.pd = qp->scope.pd->number, .scope = qp->scope.number},
		.owner = qp->client->turn.parent ? &qp->client->turn
						 : NULL, /* peers have no turn here */
		.ord = qp->attr.max_ord,
		.ird = qp->attr.max_ird,
		.sq_depth = (uint16_t)(req->type == MSG_QP_DATAGRAM ? 1 : req->sq_entries),
		.rq_depth = rq_depth(qp, req),
		.max_recv_sge = (uint8_t)qp->attr.max_recv_sge,
		.plain_rdmap = qp->client->daemon->cfg.session.extensions != CONFIG_ON,
		.raw = qp->attr.raw,
		.queues = qp->attr.raw_queues,
		.notify_mask = qp->attr.raw ? (uint8_t)req->raw_notify : 0,
	};
}

/* Large ones are mapped, so that their memory goes back to the system with the queue pair. Small
 * ones lie side by side: a page for each would be most of the memory of an idle session. */
static bool is_mapped(const struct qp *qp)
{
	return qp->endpoint.bytes >= MAPPED_BYTES;
}

/* The endpoint, and all that it can have in flight. */
static int charge_endpoint(struct qp *qp, const struct rdmap_cfg *cfg, struct reply *rep)
{
	uint32_t blocks = rdmap_blocks(cfg);
	int r;

	qp->endpoint.bytes = checked_round_up(rdmap_size(cfg), ENDPOINT_ALIGN);
	r = client_charge(qp->client, ACCT_MEMORY,
			  qp->endpoint.bytes + (uint64_t)blocks * BLOCKS_SIZE, &qp->endpoint.memory,
			  rep);
	if (!r && is_mapped(qp))
		r = client_charge(qp->client, ACCT_MAPS, 1, &qp->endpoint.maps, rep);
	if (r)
		return r;
	if (!blocks_reserve(cfg->pool, blocks))
		return reply_refuse(rep, ENOMEM,
				    "queue pair: no memory for %u blocks of requests in flight",
				    blocks);
	qp->endpoint.blocks = blocks;
	return 0;
}

static void *endpoint_memory(const struct qp *qp)
{
	void *mem;

	if (!is_mapped(qp)) {
		mem = aligned_alloc(ENDPOINT_ALIGN, qp->endpoint.bytes);
		return mem ? memset(mem, 0, qp->endpoint.bytes) : NULL;
	}
	mem = mmap(NULL, qp->endpoint.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	return mem == MAP_FAILED ? NULL : mem;
}

int qp_endpoint_make(struct qp *qp, const struct msg_create_qp *req, const struct rdmap_ops *ops,
		     struct reply *rep)
{
	const struct rdmap_cfg cfg = endpoint_cfg(qp, req);
	int r = charge_endpoint(qp, &cfg, rep);
	void *mem;

	if (r)
		return r;
	mem = endpoint_memory(qp);
	if (!mem)
		return reply_refuse(rep, ENOMEM, "queue pair: no memory for its endpoint");
	qp->ep = rdmap_init(mem, &cfg, ops, qp);
	return 0;
}

void qp_endpoint_free(struct qp *qp)
{
	if (qp->ep)
		rdmap_clear(qp->ep);
	blocks_unreserve(&qp->client->worker->pool.blocks, qp->endpoint.blocks);
	if (qp->ep && is_mapped(qp))
		munmap(qp->ep, qp->endpoint.bytes);
	else
		free(qp->ep);
	worker_freed(qp->client->worker);
	acct_release(&qp->endpoint.maps);
	acct_release(&qp->endpoint.memory);
}
