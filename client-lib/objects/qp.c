/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "client-lib/base/attr.h"
#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "client-lib/context/request.h"
#include "client-lib/objects/options.h"
#include "ipc/local_protocol.h"
#include "ipc/wqe.h"
#include "util/checked.h"

enum { SRQ_RECVS = 1024 }; /* that one QP holds of a shared receive queue, at most */

_Static_assert((int)DDP_QP_RDMAP == MSG_QP_RDMAP && (int)DDP_QP_RAW == MSG_QP_RAW &&
		       (int)DDP_QP_DATAGRAM == MSG_QP_DATAGRAM,
	       "types keep their numbers");

/* A QP of datagrams has no session, and so no depths, hold and options. */
static int check_datagram(const struct ddp_ctx *ctx, const struct ddp_qp_init *init)
{
	if (init->qp_type != DDP_QP_DATAGRAM)
		return init->qkey
			       ? reason_fail(-EINVAL, "ddp_create_qp: qkey is for DDP_QP_DATAGRAM")
			       : 0;
	if (ctx->minor < IPC_MINOR_DATAGRAM)
		return reason_fail(-EOPNOTSUPP,
				   "ddp_create_qp: the daemon is too old for datagrams");
	if (init->max_ord || init->max_ird || init->hold_bytes || init->hold_ms || init->options ||
	    init->remote_access)
		return reason_fail(-EINVAL,
				   "ddp_create_qp: a QP of datagrams has no max_ord, max_ird, "
				   "hold_bytes, hold_ms, options and remote_access");
	return 0;
}

/* Checks the type of the QP and the source of its receives. */
static int check_kind(const struct ddp_pd *pd, struct ddp_qp_init *init)
{
	int r;

	if ((unsigned)init->qp_type > DDP_QP_DATAGRAM)
		return reason_fail(-EINVAL, "ddp_create_qp: unknown qp_type %d",
				   (int)init->qp_type);
	r = check_datagram(pd->ctx, init);
	if (r)
		return r;
	if (init->qp_type != DDP_QP_RAW && (init->raw_queues || init->raw_notify))
		return reason_fail(-EINVAL,
				   "ddp_create_qp: raw_queues and raw_notify are for DDP_QP_RAW");
	if (init->qp_type == DDP_QP_RAW && init->raw_queues == 0)
		init->raw_queues = 1;
	if (!init->srq)
		return 0;
	if (init->srq->pd != pd)
		return reason_fail(-EINVAL, "ddp_create_qp: SRQ and QP have different PDs");
	init->max_recv_wr = 0;
	init->max_recv_sge = init->srq->rq.max_sge;
	return 0;
}

/* Whether the id may get a QP. */
static int check_id(const char *call, struct ddp_id *id)
{
	enum id_kind kind;

	if (!id)
		return reason_fail(-EINVAL, "%s: no id: only a QP of datagrams needs none", call);
	kind = id_kind(id);
	if (id->qp)
		return reason_fail(-EINVAL, "%s: the id has QP %u already", call, id->qp->num);
	if (kind != ID_FRESH && kind != ID_REQUEST)
		return reason_fail(-EINVAL, "%s: the id is %s", call,
				   kind == ID_LISTENER ? "a listener" : "a void session request");
	return 0;
}

/* Whether it can be a QP's remote_access. */
static int check_remote_access(const struct ddp_ctx *ctx, const char *call, uint64_t access)
{
	if (access != DDP_QP_ACCESS_NONE && access & ~(uint64_t)OPTIONS_ACCESS_ALL)
		return reason_fail(-EINVAL,
				   "%s: remote_access 0x%" PRIx64
				   ": not a set of DDP_ACCESS_REMOTE_, and not DDP_QP_ACCESS_NONE",
				   call, access);
	if (access && access != OPTIONS_ACCESS_ALL && ctx->minor < IPC_MINOR_ACCESS)
		return reason_fail(-EOPNOTSUPP,
				   "%s: remote_access 0x%" PRIx64
				   ": the daemon is too old to withhold rights",
				   call, access);
	return 0;
}

/* The rights of a remote_access. */
static uint32_t rights_of(uint64_t access)
{
	if (access == 0)
		return OPTIONS_ACCESS_ALL;
	return (uint32_t)access & OPTIONS_ACCESS_ALL;
}

/* Checks the limits of the local protocol; those of the daemon may be lower. */
static int check_init(struct ddp_id *id, const struct ddp_pd *pd, struct ddp_qp_init *init)
{
	const struct ddp_ctx *ctx = pd->ctx;
	int r;

	if (init->max_send_sge == 0)
		init->max_send_sge = 1;
	if (init->max_recv_sge == 0)
		init->max_recv_sge = 1;
	if (!init->send_cq || !init->recv_cq)
		return reason_fail(-EINVAL, "ddp_create_qp: send_cq or recv_cq is not set");
	r = context_serves(init->send_cq->handle, "ddp_create_qp");
	if (r == 0)
		r = context_serves(init->recv_cq->handle, "ddp_create_qp");
	if (r == 0 && init->srq)
		r = context_serves(init->srq->handle, "ddp_create_qp");
	if (r)
		return r;
	if (init->send_cq->ctx != ctx || init->recv_cq->ctx != ctx || (id && id->ctx != ctx))
		return reason_fail(-EINVAL,
				   "ddp_create_qp: id, PD and CQs belong to different contexts");
	if (init->max_send_wr > RING_MAX_ENTRIES || init->max_recv_wr > RING_MAX_ENTRIES)
		return reason_fail(-EINVAL,
				   "ddp_create_qp: max_send_wr %u, max_recv_wr %u: at most %u",
				   init->max_send_wr, init->max_recv_wr, RING_MAX_ENTRIES);
	if (init->max_send_sge > WQE_MAX_SGE || init->max_recv_sge > WQE_MAX_SGE)
		return reason_fail(-EINVAL,
				   "ddp_create_qp: max_send_sge %u, max_recv_sge %u: at most %u",
				   init->max_send_sge, init->max_recv_sge, WQE_MAX_SGE);
	if (init->max_inline > WQE_MAX_INLINE)
		return reason_fail(-EINVAL, "ddp_create_qp: max_inline %u: at most %u",
				   init->max_inline, WQE_MAX_INLINE);
	r = check_remote_access(ctx, "ddp_create_qp", init->remote_access);
	if (r == 0)
		r = options_check_scope(pd, init);
	if (r || (!id && init->qp_type == DDP_QP_DATAGRAM))
		return r;
	return check_id("ddp_create_qp", id);
}

/* True if both rings, with room for the requested entries, fit into the memfd without overlap. */
static bool layout_fits(const struct msg_create_qp *req, const struct msg_qp *m)
{
	uint64_t sq = ring_bytes(req->sq_entries, m->sq_entry);
	uint64_t rq = ring_bytes(req->rq_entries, m->rq_entry);

	if (m->slot >= BELL_QUEUES || m->sq_entry % WQE_ALIGN != 0 ||
	    m->sq_entry < wqe_send_size(req->max_send_sge, req->max_inline))
		return false;
	if (req->srq)
		return sq <= m->bytes;
	return m->rq_entry % WQE_ALIGN == 0 && m->rq_entry >= wqe_recv_size(req->max_recv_sge) &&
	       m->rq_offset % RING_LINE == 0 && sq <= m->rq_offset &&
	       checked_range(m->rq_offset, rq, m->bytes);
}

/* Initializes the work queues. */
static void init_queues(struct ddp_qp *qp, uint8_t *rings, const struct msg_create_qp *req,
			const struct msg_qp *m)
{
	ring_init(&qp->sq.ring, rings, req->sq_entries, m->sq_entry);
	qp->sq.max_sge = req->max_send_sge;
	snprintf(qp->sq.owner, sizeof(qp->sq.owner), "QP %u", m->qp_num);
	if (qp->srq)
		return;
	ring_init(&qp->rq.ring, rings + m->rq_offset, req->rq_entries, m->rq_entry);
	qp->rq.max_sge = req->max_recv_sge;
	qp->rq.qns = qp->raw ? req->raw_queues : 1;
	qp->rq.tagged = qp->raw;
	snprintf(qp->rq.owner, sizeof(qp->rq.owner), "QP %u", m->qp_num);
}

static int attach_rings(struct ddp_qp *qp, const struct msg_create_qp *req, const struct msg_qp *m,
			int memfd)
{
	uint8_t *rings;
	int r;

	if (!layout_fits(req, m))
		return reason_fail(-EPROTO,
				   "ddp_create_qp: the layout of the daemon's rings is invalid");
	r = ring_map_get(&qp->sq.ctx->maps, "ddp_create_qp", memfd, m->offset, m->bytes, &qp->map,
			 &rings);
	if (r)
		return r;
	init_queues(qp, rings, req, m);
	qp->max_inline = req->max_inline;
	qp->num = m->qp_num;
	qp->slot = m->slot;
	return 0;
}

static int create_qp(struct ddp_qp *qp, const struct ddp_qp_init *init)
{
	struct ddp_ctx *ctx = qp->sq.ctx;
	struct msg_create_qp req = {
		.pd = qp->pd->handle,
		.send_cq = init->send_cq->handle,
		.recv_cq = init->recv_cq->handle,
		.sq_entries = ddp_pow2(init->max_send_wr),
		.rq_entries = init->srq ? 0 : ddp_pow2(init->max_recv_wr),
		.max_send_sge = init->max_send_sge,
		.max_recv_sge = init->max_recv_sge,
		.max_inline = init->max_inline,
		.ord = init->max_ord,
		.ird = init->max_ird,
		.sq_sig_all = init->sq_sig_all != 0,
		.type = init->qp_type,
		.srq = init->srq ? init->srq->handle : 0,
		.raw_queues = init->raw_queues,
		.raw_notify = init->raw_notify,
	};
	struct msg_qp reply = {.offset = 0};
	int memfd;
	int r;

	if (init->scope_of)
		req.scope_of = init->scope_of->handle;
	r = request_create_qp(ctx, "ddp_create_qp", &req, &reply, &memfd);
	if (r)
		return r;
	qp->handle = reply.handle;
	r = attach_rings(qp, &req, &reply, memfd);
	close(memfd);
	if (r)
		request_destroy_qp(ctx, "ddp_create_qp", qp->handle);
	return r;
}

static int set_options(struct ddp_qp *qp, const struct ddp_qp_init *a)
{
	bool hold = a->hold_bytes || a->hold_ms;
	const struct msg_options req = {
		.handle = qp->handle,
		.what = (hold ? MSG_OPTIONS_HOLD : 0U) | (a->options ? MSG_OPTIONS_FLAGS : 0U) |
			(rights_of(a->remote_access) != OPTIONS_ACCESS_ALL ? MSG_OPTIONS_ACCESS
									   : 0U),
		.hold_bytes = a->hold_bytes,
		.hold_ms = a->hold_ms,
		.flags = a->options,
		.access = rights_of(a->remote_access),
	};
	struct msg_options_state state;
	int r;

	if (req.what == 0)
		return 0;
	r = options_call(qp->sq.ctx, "ddp_create_qp", MSG_QP_OPTIONS, &req, &state);
	if (r)
		request_destroy_qp(qp->sq.ctx, "ddp_create_qp", qp->handle);
	return r;
}

static int set_first_qkey(struct ddp_qp *qp, uint32_t qkey)
{
	struct msg_qp_qkey req = {.handle = qp->handle, .qkey = qkey};
	int r;

	if (!qkey)
		return 0;
	r = request_set_qp_qkey(qp->sq.ctx, "ddp_create_qp", &req);
	if (r)
		request_destroy_qp(qp->sq.ctx, "ddp_create_qp", qp->handle);
	return r;
}

/* The SRQ rings for its QPs, which may wait for receives. */
static void add_srq_user(struct ddp_qp *qp)
{
	qp->srq_user.slot = qp->slot;
	pthread_mutex_lock(&qp->srq->rq.lock);
	list_add_tail(&qp->srq->users, &qp->srq_user.link);
	pthread_mutex_unlock(&qp->srq->rq.lock);
	context_use(qp->sq.ctx, &qp->srq->uses, 1);
}

static void del_srq_user(struct ddp_qp *qp)
{
	pthread_mutex_lock(&qp->srq->rq.lock);
	list_del(&qp->srq_user.link);
	pthread_mutex_unlock(&qp->srq->rq.lock);
	context_use(qp->sq.ctx, &qp->srq->uses, -1);
}

static void free_qp(struct ddp_qp *qp)
{
	ring_map_put(&qp->sq.ctx->maps, qp->map);
	free(qp->sq.ids);
	free(qp->rq.ids);
	pthread_mutex_destroy(&qp->sq.lock);
	pthread_mutex_destroy(&qp->rq.lock);
	free(qp);
}

/* Asynchronous events find the QP by its id. */
static void set_qp(struct ddp_id *id, struct ddp_qp *qp)
{
	if (!id)
		return;
	pthread_mutex_lock(&id->ctx->lock);
	id->qp = qp;
	pthread_mutex_unlock(&id->ctx->lock);
}

static int add_to_table(struct ddp_qp *qp)
{
	struct ddp_ctx *ctx = qp->sq.ctx;
	int r;

	pthread_mutex_lock(&ctx->lock);
	r = qp_table_add(&ctx->qps, qp);
	pthread_mutex_unlock(&ctx->lock);
	if (r == 0)
		return 0;
	request_destroy_qp(ctx, "ddp_create_qp", qp->handle);
	return reason_fail(r, "ddp_create_qp: out of memory");
}

static void del_from_table(struct ddp_qp *qp)
{
	struct ddp_ctx *ctx = qp->sq.ctx;

	pthread_mutex_lock(&ctx->lock);
	if (qp->handle) /* else ddp_reopen() has removed it */
		qp_table_del(&ctx->qps, qp);
	pthread_mutex_unlock(&ctx->lock);
}

static struct ddp_qp *new_qp(struct ddp_id *id, struct ddp_pd *pd, const struct ddp_qp_init *a)
{
	struct ddp_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->id = id;
	qp->pd = pd;
	qp->send_cq = a->send_cq;
	qp->recv_cq = a->recv_cq;
	qp->srq = a->srq;
	qp->raw = a->qp_type == DDP_QP_RAW;
	qp->datagram = a->qp_type == DDP_QP_DATAGRAM;
	qp->sq.ctx = qp->rq.ctx = pd->ctx;
	pthread_mutex_init(&qp->sq.lock, NULL);
	pthread_mutex_init(&qp->rq.lock, NULL);
	return qp;
}

/* Receives that it may hold at once. */
static uint32_t recv_room(const struct ddp_qp_init *a)
{
	if (a->srq)
		return a->srq->rq.ring.size < SRQ_RECVS ? a->srq->rq.ring.size : SRQ_RECVS;
	return ddp_pow2(a->max_recv_wr) * (a->qp_type == DDP_QP_RAW ? a->raw_queues + 1U : 1);
}

static int make_room(struct ddp_qp *qp, const struct ddp_qp_init *a)
{
	int r = cq_make_room(qp->send_cq, "ddp_create_qp", &qp->send_user,
			     ddp_pow2(a->max_send_wr));

	return r ? r : cq_make_room(qp->recv_cq, "ddp_create_qp", &qp->recv_user, recv_room(a));
}

static void give_room(struct ddp_qp *qp)
{
	cq_give_room(qp->send_cq, &qp->send_user);
	cq_give_room(qp->recv_cq, &qp->recv_user);
}

/* Flushes requests that a daemon left undone. It does not count receives that complete in any
 * order. */
static void count_entries(struct ddp_qp *qp)
{
	bool counts = qp->sq.ctx->minor >= IPC_MINOR_DONE;

	qp->sq.counted = counts;
	qp->rq.counted = counts && !qp->srq && !qp->raw;
	qp->send_user.num = qp->recv_user.num = qp->num;
	qp->recv_user.recv = true;
	if (qp->sq.counted)
		qp->send_user.queue = &qp->sq;
	if (qp->rq.counted)
		qp->recv_user.queue = &qp->rq;
}

int ddp_create_qp(struct ddp_id *id, struct ddp_pd *pd, const struct ddp_qp_init *init,
		  struct ddp_qp **ret)
{
	struct ddp_qp_init a;
	struct ddp_qp *qp;
	int r = context_here(pd->ctx, "ddp_create_qp");

	if (r == 0)
		r = attr_read("ddp_create_qp", &a, sizeof(a), init);
	if (r == 0)
		r = check_kind(pd, &a);
	if (r == 0)
		r = check_init(id, pd, &a);
	if (r)
		return r;
	qp = new_qp(id, pd, &a);
	if (!qp)
		return reason_fail(-ENOMEM, "ddp_create_qp: out of memory");
	r = make_room(qp, &a);
	if (r == 0)
		r = create_qp(qp, &a);
	if (r == 0)
		r = set_options(qp, &a);
	if (r == 0)
		r = set_first_qkey(qp, a.qkey);
	if (r == 0)
		r = add_to_table(qp);
	if (r) {
		give_room(qp);
		free_qp(qp);
		return r;
	}
	count_entries(qp);
	cq_add_user(qp->send_cq, &qp->send_user, qp->slot);
	cq_add_user(qp->recv_cq, &qp->recv_user, qp->slot);
	context_use(pd->ctx, &pd->uses, 1);
	if (qp->srq)
		add_srq_user(qp);
	set_qp(id, qp);
	*ret = qp;
	return 0;
}

int ddp_move_qp(struct ddp_qp *qp, struct ddp_id *to)
{
	struct msg_qp_state m = {0};
	int r = context_here(qp->sq.ctx, "ddp_move_qp");

	if (r || to == qp->id)
		return r;
	if (qp->datagram)
		return reason_fail(-EINVAL, "ddp_move_qp: QP %u is for datagrams", qp->num);
	if (to->ctx != qp->sq.ctx)
		return reason_fail(-EINVAL, "ddp_move_qp: QP and id belong to different contexts");
	r = check_id("ddp_move_qp", to);
	if (r == 0)
		r = qp_query(qp, "ddp_move_qp", &m);
	if (r)
		return r;
	if (m.state != DDP_QP_IDLE)
		return reason_fail(-EISCONN, "ddp_move_qp: QP %u has or had a session", qp->num);
	set_qp(qp->id, NULL);
	pthread_mutex_lock(&to->ctx->lock); /* ddp_find_id() reads it */
	qp->id = to;
	pthread_mutex_unlock(&to->ctx->lock);
	set_qp(to, qp);
	return 0;
}

int ddp_destroy_qp(struct ddp_qp *qp)
{
	int r;

	if (!qp)
		return 0;
	r = context_here(qp->sq.ctx, "ddp_destroy_qp");
	if (r == 0)
		r = async_claim(qp->sq.ctx, "ddp_destroy_qp", &qp->events);
	if (r)
		return r;
	r = request_released(request_destroy_qp(qp->sq.ctx, "ddp_destroy_qp", qp->handle));
	if (r) {
		async_unclaim(qp->sq.ctx, &qp->events);
		return r;
	}
	cq_del_user(qp->send_cq, &qp->send_user);
	cq_del_user(qp->recv_cq, &qp->recv_user);
	context_use(qp->sq.ctx, &qp->pd->uses, -1);
	if (qp->srq)
		del_srq_user(qp);
	del_from_table(qp);
	set_qp(qp->id, NULL);
	free_qp(qp);
	return 0;
}

int qp_query(struct ddp_qp *qp, const char *call, struct msg_qp_state *ret)
{
	int r = request_query_qp(qp->sq.ctx, call, qp->handle, ret);

	if (r)
		return r;
	if (ret->state > DDP_QP_ERROR || ret->type > DDP_QP_DATAGRAM)
		return reason_fail(-EPROTO, "%s: the daemon says state %u, type %u", call,
				   ret->state, ret->type);
	return 0;
}

int ddp_query_qp(struct ddp_qp *qp, struct ddp_qp_attr *attr)
{
	struct msg_qp_state m = {0};
	struct msg_options_state o;
	struct ddp_qp_attr a = {0};
	int r = attr_check("ddp_query_qp", attr);

	if (r == 0)
		r = qp_query(qp, "ddp_query_qp", &m);
	if (r == 0)
		r = options_query(qp->sq.ctx, "ddp_query_qp", MSG_QP_OPTIONS, qp->handle, &o);
	if (r)
		return r;
	a.hold_bytes = o.hold_bytes;
	a.hold_ms = o.hold_ms;
	a.options = o.flags;
	a.held_bytes = o.held_bytes;
	a.held_msgs = o.held_msgs;
	a.remote_access = o.access ? o.access : DDP_QP_ACCESS_NONE;
	a.state = (enum ddp_qp_state)m.state;
	a.qp_num = qp->num;
	a.max_tagged = m.max_tagged;
	a.max_untagged = m.max_untagged;
	a.ord = m.ord;
	a.ird = m.ird;
	a.stream = m.stream;
	a.assoc = m.assoc;
	a.local = m.local;
	a.remote = m.remote;
	a.max_ord = m.max_ord;
	a.max_ird = m.max_ird;
	a.peer_ird = m.peer_ird;
	a.peer_ord = m.peer_ord;
	a.qp_type = (enum ddp_qp_type)m.type;
	a.max_send_wr = m.sq_entries;
	a.max_recv_wr = m.rq_entries;
	a.max_send_sge = m.max_send_sge;
	a.max_recv_sge = m.max_recv_sge;
	a.max_inline = m.max_inline;
	a.srq_held = m.srq_held;
	a.srq_taken = m.srq_taken;
	a.qkey = m.qkey;
	a.tx_dropped = m.tx_dropped;
	a.rx_dropped = m.rx_dropped;
	attr_write(attr, &a, sizeof(a));
	return 0;
}

int ddp_set_qp_access(struct ddp_qp *qp, unsigned remote_access)
{
	const struct msg_options req = {
		.handle = qp->handle,
		.what = MSG_OPTIONS_ACCESS,
		.access = rights_of(remote_access),
	};
	struct msg_options_state state;
	struct ddp_ctx *ctx = qp->sq.ctx;
	int r = context_here(ctx, "ddp_set_qp_access");

	if (r == 0)
		r = check_remote_access(ctx, "ddp_set_qp_access", remote_access);
	if (r || ctx->minor < IPC_MINOR_ACCESS) /* which permits all */
		return r;
	return options_call(ctx, "ddp_set_qp_access", MSG_QP_OPTIONS, &req, &state);
}

int ddp_set_qp_rnr(struct ddp_qp *qp, unsigned retry, unsigned timer_ms)
{
	struct msg_qp_rnr req = {.handle = qp->handle, .retry = retry, .timer_ms = timer_ms};
	struct ddp_ctx *ctx = qp->sq.ctx;
	int r = context_here(ctx, "ddp_set_qp_rnr");

	if (r)
		return r;
	if (ctx->minor < IPC_MINOR_RNR)
		return reason_fail(-EOPNOTSUPP,
				   "ddp_set_qp_rnr: the daemon is too old to let senders wait");
	return request_set_qp_rnr(ctx, "ddp_set_qp_rnr", &req);
}

uint32_t ddp_qp_num(const struct ddp_qp *qp)
{
	return qp->num;
}

struct ddp_id *ddp_find_id(struct ddp_ctx *ctx, uint32_t qp_num)
{
	struct ddp_qp *qp;
	struct ddp_id *id;

	if (context_here(ctx, "ddp_find_id"))
		return NULL;
	pthread_mutex_lock(&ctx->lock);
	qp = qp_table_find(&ctx->qps, qp_num);
	id = qp ? qp->id : NULL;
	pthread_mutex_unlock(&ctx->lock);
	return id;
}
