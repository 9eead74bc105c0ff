/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/net/association.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/queues/cq.h"
#include "daemon/objects/memory/mw.h"
#include "daemon/objects/client/pd.h"
#include "daemon/objects/sessions/qp_hold.h"
#include "daemon/objects/sessions/qp_options.h"
#include "daemon/objects/queues/srq.h"
#include "daemon/objects/memory/stags.h"
#include "daemon/objects/sessions/wr.h"
#include "ipc/wqe.h"
#include "util/checked.h"

enum {
	ENDPOINT_ALIGN = 64,
	MAPPED_BYTES = 16384,
};

/* ---- creation ---- */

static int check_depth(const char *what, uint32_t n, uint32_t max, struct reply *rep)
{
	if (checked_pow2(n) && n <= max)
		return 0;
	return reply_refuse(rep, EINVAL,
			    "queue pair: %s ring of %u entries: not a power of two up to %u "
			    "(limits.qp_wr)",
			    what, n, max);
}

static int check_max(const char *what, uint32_t n, uint32_t min, uint32_t max, struct reply *rep)
{
	if (n >= min && n <= max)
		return 0;
	return reply_refuse(rep, EINVAL, "queue pair: %s of %u: expected %u to %u", what, n, min,
			    max);
}

/* Receives come from a ring of its own or from a shared receive queue. */
static int check_receives(const struct client *c, const struct msg_create_qp *req,
			  struct reply *rep)
{
	int r;

	if (req->srq)
		return req->rq_entries == 0
			       ? 0
			       : reply_refuse(rep, EINVAL,
					      "queue pair: receive ring of %u entries: 0 with a "
					      "shared receive queue",
					      req->rq_entries);
	r = check_depth("receive", req->rq_entries, c->daemon->cfg.limits.qp_wr, rep);
	return r ? r : check_max("max_recv_sge", req->max_recv_sge, 1, WQE_MAX_SGE, rep);
}

static int check_type(const struct msg_create_qp *req, struct reply *rep)
{
	int r = check_max("type", req->type, MSG_QP_RDMAP, MSG_QP_RAW, rep);

	if (r || req->type != MSG_QP_RAW)
		return r;
	r = check_max("raw_queues", req->raw_queues, 1, RDMAP_RAW_QUEUES, rep);
	return r ? r : check_max("raw_notify", req->raw_notify, 0, UINT8_MAX, rep);
}

/* Each queue of a raw queue pair, and the queue of notices, has room for all its receives. */
static int check_room(const struct client *c, const struct msg_create_qp *req, struct reply *rep)
{
	uint32_t max = c->daemon->cfg.limits.qp_wr, queues = req->raw_queues + 1U;

	if (req->type != MSG_QP_RAW || (uint64_t)req->rq_entries * queues <= max)
		return 0;
	return reply_refuse(rep, EINVAL,
			    "queue pair: receive ring of %u entries for %u raw queues and notices: "
			    "%u times %u is more than %u (limits.qp_wr)",
			    req->rq_entries, req->raw_queues, req->rq_entries, queues, max);
}

static int check_init(const struct client *c, const struct msg_create_qp *req, struct reply *rep)
{
	int r = check_type(req, rep);

	if (!r)
		r = check_depth("send", req->sq_entries, c->daemon->cfg.limits.qp_wr, rep);
	if (!r)
		r = check_receives(c, req, rep);
	if (!r)
		r = check_room(c, req, rep);
	if (!r)
		r = check_max("max_send_sge", req->max_send_sge, 1, WQE_MAX_SGE, rep);
	if (!r)
		r = check_max("max_inline", req->max_inline, 0, WQE_MAX_INLINE, rep);
	if (!r)
		r = check_max("max_ord", req->ord, 0, QP_MAX_READS, rep);
	if (!r)
		r = check_max("max_ird", req->ird, 0, QP_MAX_READS, rep);
	return r;
}

/* Offset of the receive ring, 0 if there is none. */
static uint64_t rq_offset(const struct msg_create_qp *req)
{
	uint32_t entry = wqe_send_size(req->max_send_sge, req->max_inline);

	if (req->rq_entries == 0)
		return 0;
	return checked_round_up(ring_bytes(req->sq_entries, entry), RING_LINE);
}

static size_t rings_bytes(const struct msg_create_qp *req, uint32_t recv_sge)
{
	if (req->rq_entries == 0)
		return ring_bytes(req->sq_entries,
				  wqe_send_size(req->max_send_sge, req->max_inline));
	return rq_offset(req) + ring_bytes(req->rq_entries, wqe_recv_size(recv_sge));
}

static int make_rings(struct qp *qp, const struct msg_create_qp *req, struct reply *rep)
{
	uint32_t sq_entry = wqe_send_size(req->max_send_sge, req->max_inline);
	uint32_t rq_entry = wqe_recv_size(qp->max_recv_sge);
	int r = rings_make(qp->client, rings_bytes(req, qp->max_recv_sge), &qp->rings, rep);

	if (r)
		return r;
	ring_init(&qp->sq, qp->rings.mem, req->sq_entries, sq_entry);
	if (!qp->srq)
		ring_init(&qp->rq, qp->rings.mem + rq_offset(req), req->rq_entries, rq_entry);
	return 0;
}

/* How many receives the endpoint can hold. */
static uint16_t rq_depth(const struct qp *qp, const struct msg_create_qp *req)
{
	if (!qp->srq)
		return (uint16_t)req->rq_entries;
	return (uint16_t)(qp->srq->ring.size < SRQ_MAX_IN_FLIGHT ? qp->srq->ring.size
								 : SRQ_MAX_IN_FLIGHT);
}

static struct rdmap_cfg endpoint_cfg(const struct qp *qp, const struct msg_create_qp *req)
{
	return (struct rdmap_cfg){
		.stags = stags_table(qp->client->daemon->stags),
		.pool = &qp->client->worker->pool.blocks,
		.accessor = {.pd = qp->scope.pd->number, .scope = qp->scope.number},
		.ord = qp->max_ord,
		.ird = qp->max_ird,
		.sq_depth = (uint16_t)req->sq_entries,
		.rq_depth = rq_depth(qp, req),
		.max_recv_sge = (uint8_t)qp->max_recv_sge,
		.plain_rdmap = qp->client->daemon->cfg.session.extensions != CONFIG_ON,
		.raw = qp->raw,
		.queues = qp->raw_queues,
		.notify_mask = qp->raw ? (uint8_t)req->raw_notify : 0,
	};
}

/* Large ones are mapped, so that their memory goes back to the system with the queue pair. Small
 * ones lie side by side: a page for each would be most of what an idle session uses. */
static bool is_mapped(const struct qp *qp)
{
	return qp->ep_bytes >= MAPPED_BYTES;
}

/* The endpoint, and all that it can have in flight. */
static int charge_endpoint(struct qp *qp, const struct rdmap_cfg *cfg, struct reply *rep)
{
	uint32_t blocks = rdmap_blocks(cfg);
	int r;

	qp->ep_bytes = checked_round_up(rdmap_size(cfg), ENDPOINT_ALIGN);
	r = client_charge(qp->client, ACCT_MEMORY, qp->ep_bytes + (uint64_t)blocks * BLOCKS_SIZE,
			  &qp->memory, rep);
	if (!r && is_mapped(qp))
		r = client_charge(qp->client, ACCT_MAPS, 1, &qp->maps, rep);
	if (r)
		return r;
	if (!blocks_reserve(cfg->pool, blocks))
		return reply_refuse(rep, ENOMEM,
				    "queue pair: no memory for %u blocks of requests in flight",
				    blocks);
	qp->ep_blocks = blocks;
	return 0;
}

static void *endpoint_memory(const struct qp *qp)
{
	void *mem;

	if (!is_mapped(qp)) {
		mem = aligned_alloc(ENDPOINT_ALIGN, qp->ep_bytes);
		return mem ? memset(mem, 0, qp->ep_bytes) : NULL;
	}
	mem = mmap(NULL, qp->ep_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return mem == MAP_FAILED ? NULL : mem;
}

static int make_endpoint(struct qp *qp, const struct rdmap_cfg *cfg)
{
	void *mem = endpoint_memory(qp);

	if (!mem)
		return -ENOMEM;
	qp->ep = rdmap_init(mem, cfg, &wr_ops, qp);
	return 0;
}

static void free_endpoint(struct qp *qp)
{
	if (qp->ep)
		rdmap_clear(qp->ep);
	blocks_unreserve(&qp->client->worker->pool.blocks, qp->ep_blocks);
	if (qp->ep && is_mapped(qp))
		munmap(qp->ep, qp->ep_bytes);
	else
		free(qp->ep);
	worker_freed(qp->client->worker);
}

/* How many of its events may wait at the same time: the end takes those of paths, and that the peer
 * has ended its direction, back. Only raw queue pairs have more than a beginning and one of those.
 */
static int reserve_events(struct qp *qp, struct reply *rep)
{
	unsigned n = qp->raw ? 4 : 2;
	int r = client_reserve_events(qp->client, n, rep);

	if (!r)
		qp->places = n;
	return r;
}

/* Its parts ring for it, and reach its agent, by its handle. */
static void spread_handle(struct qp *qp)
{
	qp->call.qp = qp->handle;
	qp->send_room.qp = qp->handle;
	qp->recv_room.qp = qp->handle;
}

static int build(struct qp *qp, const struct msg_create_qp *req, struct reply *rep)
{
	const struct rdmap_cfg cfg = endpoint_cfg(qp, req);
	struct client *c = qp->client;
	int r = client_charge(c, ACCT_QPS, 1, &qp->charge, rep);

	if (!r)
		r = reserve_events(qp, rep);
	if (!r)
		r = make_rings(qp, req, rep);
	if (!r)
		r = charge_endpoint(qp, &cfg, rep);
	if (r)
		return r;
	r = make_endpoint(qp, &cfg);
	if (!r)
		r = idtab_add(&c->qps, qp, &qp->handle);
	if (r > 0)
		return reply_refuse(rep, ENOSPC,
				    "queue pair: this client has %u, which is the limit",
				    c->qps.used);
	spread_handle(qp);
	return r ? reply_refuse(rep, -r, "queue pair: no memory for its endpoint") : 0;
}

/* The objects that it is built on; NULL for an unknown handle. */
struct parts {
	struct pd *pd;
	struct cq *send_cq, *recv_cq;
	struct srq *srq;
};

static int find_parts(struct client *c, const struct msg_create_qp *req, struct parts *ret,
		      struct reply *rep)
{
	ret->pd = idtab_get(&c->pds, req->pd);
	ret->send_cq = idtab_get(&c->cqs, req->send_cq);
	ret->recv_cq = idtab_get(&c->cqs, req->recv_cq);
	ret->srq = idtab_get(&c->srqs, req->srq);
	if (!ret->pd || !ret->send_cq || !ret->recv_cq || (req->srq && !ret->srq))
		return reply_violation(rep, ENOENT,
				       "queue pair: no such domain 0x%x, queue 0x%x, 0x%x, or "
				       "shared receive queue 0x%x",
				       req->pd, req->send_cq, req->recv_cq, req->srq);
	if (ret->srq && ret->srq->pd != ret->pd)
		return reply_refuse(rep, EINVAL,
				    "queue pair and shared receive queue %u: not the same domain",
				    req->srq & 0xffff);
	return 0;
}

static void use_parts(struct qp *qp, const struct parts *p)
{
	scope_open(&qp->scope, qp->client, p->pd, qp->num);
	qp->send_cq = p->send_cq;
	qp->recv_cq = p->recv_cq;
	qp->srq = p->srq;
	p->pd->qps++;
	qp->send_cq->users++;
	if (qp->recv_cq != qp->send_cq)
		qp->recv_cq->users++;
	if (qp->srq)
		qp->srq->users++;
}

static void release_parts(struct qp *qp)
{
	list_del(&qp->send_room.link);
	list_del(&qp->recv_room.link);
	cq_unreserve(qp->send_cq, qp->taken_send);
	cq_unreserve(qp->recv_cq, qp->taken_recv);
	if (qp->srq) {
		srq_done(qp->srq, qp->taken_recv);
		qp->srq->users--;
	}
	qp->send_cq->users--;
	if (qp->recv_cq != qp->send_cq)
		qp->recv_cq->users--;
	qp->scope.pd->qps--;
	scope_close(&qp->scope);
}

static struct qp *new_qp(struct client *c, const struct parts *p, const struct msg_create_qp *req)
{
	struct qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->client = c;
	qp->num = ++c->daemon->last_qp;
	use_parts(qp, p);
	list_init(&qp->waiting);
	list_init(&qp->posted);
	async_init(&qp->async);
	timer_init(&qp->deadline, qp_time_out);
	timer_init(&qp->hold.idle, qp_hold_idle);
	agent_call_init(&qp->call, c);
	list_init(&qp->send_room.link);
	list_init(&qp->recv_room.link);
	qp->raw = req->type == MSG_QP_RAW;
	if (qp->raw) {
		qp->raw_queues = (uint8_t)req->raw_queues;
	} else {
		qp->max_ord = req->ord ? req->ord : QP_DEFAULT_READS;
		qp->max_ird = req->ird ? req->ird : QP_DEFAULT_READS;
	}
	qp->peer_ird = qp->peer_ord = MSG_READS_UNCHANGED;
	qp->max_send_sge = req->max_send_sge;
	qp->max_recv_sge = qp->srq ? qp->srq->max_sge : req->max_recv_sge;
	qp->max_inline = req->max_inline;
	qp->sig_all = req->sq_sig_all;
	return qp;
}

int qp_create(struct client *c, const struct msg_create_qp *req, struct reply *rep)
{
	struct parts parts;
	struct qp *qp;
	int r = find_parts(c, req, &parts, rep);

	if (!r)
		r = check_init(c, req, rep);
	if (r)
		return r;
	qp = new_qp(c, &parts, req);
	if (!qp)
		return reply_refuse(rep, ENOMEM, "queue pair: out of memory");
	r = build(qp, req, rep);
	if (!r)
		r = qp_options_inherit(qp, rep);
	if (r) {
		qp_free(qp);
		return r;
	}
	rep->qp.handle = qp->handle;
	rep->qp.qp_num = qp->num;
	rep->qp.slot = (qp->handle & 0xffff) - 1;
	rep->qp.sq_entry = qp->sq.entry_size;
	rep->qp.rq_entry = qp->rq.entry_size;
	rep->qp.rq_offset = rq_offset(req);
	rep->qp.bytes = qp->rings.bytes;
	rep->qp.offset = qp->rings.offset;
	return 0;
}

struct acct_traffic qp_traffic(const struct qp *qp)
{
	struct rdmap_info info;

	rdmap_query(qp->ep, &info);
	return (struct acct_traffic){info.tx_msgs, info.rx_msgs, info.tx_bytes, info.rx_bytes};
}

static void assert_free(const struct qp *qp)
{
	list_assert_out(&qp->waiting);
	list_assert_out(&qp->send_room.link);
	list_assert_out(&qp->recv_room.link);
	list_assert_out(&qp->async.link);
	timer_assert_out(&qp->deadline);
	list_assert_out(&qp->posted);
	timer_assert_out(&qp->call.timer);
	timer_assert_out(&qp->hold.idle);
}

struct qp *qp_free(struct qp *qp)
{
	if (!qp)
		return NULL;
	qp_abandon(qp);
	async_drop(&qp->async);
	client_release_events(qp->client, qp->events, QP_EVENTS, qp->places);
	mw_release(qp->client, &qp->scope);
	idtab_del(&qp->client->qps, qp->handle);
	list_del(&qp->posted);
	release_parts(qp);
	rings_free(&qp->rings);
	qp_hold_free(qp);
	if (qp->ep && qp->charge.user) /* the counters of its user go on without it */
		acct_add_traffic(&qp->charge, qp_traffic(qp));
	free_endpoint(qp);
	acct_release(&qp->maps);
	acct_release(&qp->memory);
	acct_release(&qp->charge);
	assert_free(qp);
	free(qp);
	return NULL;
}

/* ---- queries ---- */

static void query_limits(const struct qp *qp, struct msg_qp_state *ret)
{
	ret->type = qp->raw ? MSG_QP_RAW : MSG_QP_RDMAP;
	ret->max_ord = qp->max_ord;
	ret->max_ird = qp->max_ird;
	ret->sq_entries = qp->sq.size;
	ret->rq_entries = qp->rq.size;
	ret->max_send_sge = qp->max_send_sge;
	ret->max_recv_sge = qp->max_recv_sge;
	ret->max_inline = qp->max_inline;
}

static void query_session(const struct qp *qp, struct msg_qp_state *ret)
{
	ret->assoc = qp->assoc->id;
	ret->stream = qp->sid;
	ret->remote = qp->assoc->remote;
	if (qp->assoc->ddp) {
		struct llp_info link;

		llp_info(qp->assoc->conn, &link);
		ret->local = link.local;
		ret->max_tagged = qp->assoc->dp.mulpdu - WIRE_TAGGED_LEN;
		ret->max_untagged = qp->assoc->dp.mulpdu - WIRE_UNTAGGED_LEN;
	}
}

void qp_query(const struct qp *qp, struct msg_qp_state *ret)
{
	struct rdmap_info info;

	rdmap_query(qp->ep, &info);
	ret->state = qp->state;
	ret->ord = info.ord;
	ret->ird = info.ird;
	ret->peer_ird = qp->peer_ird;
	ret->peer_ord = qp->peer_ord;
	ret->srq_held = qp->srq ? qp->taken_recv : 0;
	ret->srq_taken = qp->srq_taken;
	query_limits(qp, ret);
	if (qp->assoc)
		query_session(qp, ret);
}
