/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/base/error.h"
#include "verbs/verbs/context.h"
#include "verbs/verbs/cq.h"
#include "verbs/verbs/datagram.h"
#include "verbs/verbs/mr.h"
#include "verbs/verbs/oob.h"
#include "verbs/verbs/own_peer.h"
#include "verbs/verbs/qp_access.h"
#include "verbs/verbs/qp_rnr.h"
#include "verbs/verbs/srq.h"
#include "verbs/verbs/wr.h"

/* How long a message waits for a receive that is late, and how much of all messages: for each
 * receive of the queue, and for all of them. */
enum {
	HOLD_MS = 10000,
	HOLD_RECV = 128 << 10,
	HOLD_MIN = 1 << 20,
	HOLD_MAX = 8 << 20,
};

/* Some programs send inline without having asked for it. */
enum { MIN_INLINE = 128 };

/* ---- creating ---- */

static int check_type(const struct ibv_context *context, enum ibv_qp_type type)
{
	if (type == IBV_QPT_RC || type == IBV_QPT_UC)
		return 0;
	if (type != IBV_QPT_UD)
		return error_probed("ibv_create_qp",
				    "only connections (RC, UC) and datagrams (UD) are supported, "
				    "not XRC or raw packets",
				    EOPNOTSUPP);
	if (context->device->transport_type == IBV_TRANSPORT_IWARP)
		return error_probed(
			"ibv_create_qp",
			"an iWARP device has no datagrams (UD): use ddpverbs without -i",
			EOPNOTSUPP);
	return 0;
}

static int check_init_attr(const struct ibv_context *context, const struct ibv_qp_init_attr *a)
{
	int r = check_type(context, a->qp_type);

	if (r)
		return r;
	if (!a->send_cq || !a->recv_cq)
		return EINVAL;
	return 0;
}

/* A peer like this one is at most as many messages ahead as this one has receives. */
static uint32_t hold_for(const struct ibv_qp_init_attr *a)
{
	if (a->srq || a->cap.max_recv_wr <= HOLD_MIN / HOLD_RECV)
		return HOLD_MIN;
	if (a->cap.max_recv_wr >= HOLD_MAX / HOLD_RECV)
		return HOLD_MAX;
	return a->cap.max_recv_wr * HOLD_RECV;
}

/* Those that make a connection of it. An older daemon lacks some. */
static unsigned options_of(const struct host *h)
{
	unsigned ret = DDP_QP_PLACE_IN_ORDER | DDP_QP_KEEP_RECVS | DDP_QP_ACKED |
		       DDP_QP_IMM_OF_SEND | DDP_QP_CREDITS | DDP_QP_STRICT_RECVS;

	if (h->caps.features & DDP_CAP_RNR)
		ret |= DDP_QP_RNR;
	if (h->caps.features & DDP_CAP_STRICT_SENDS)
		ret |= DDP_QP_STRICT_SENDS;
	return ret;
}

static void fill_init(const struct host *h, const struct ibv_qp_init_attr *a,
		      struct ddp_qp_init *ret)
{
	*ret = (struct ddp_qp_init){
		.struct_size = sizeof(*ret),
		.send_cq = ((struct cq *)a->send_cq)->ddp,
		.recv_cq = ((struct cq *)a->recv_cq)->ddp,
		.max_send_wr =
			(a->cap.max_send_wr ? a->cap.max_send_wr : 1) * qp_entries_per_wr(&h->caps),
		.max_recv_wr = a->cap.max_recv_wr ? a->cap.max_recv_wr : 1,
		.max_send_sge = a->cap.max_send_sge,
		.max_recv_sge = a->cap.max_recv_sge,
		.max_inline =
			a->cap.max_inline_data > MIN_INLINE ? a->cap.max_inline_data : MIN_INLINE,
		.max_ord = QP_READS,
		.max_ird = QP_READS,
		.sq_sig_all = 0, /* post.c sets the flag: one request may become two, for an older
				    daemon */
		.srq = a->srq ? srq_ddp(a->srq) : NULL,
		.hold_bytes = hold_for(a),
		.hold_ms = HOLD_MS,
		.options = options_of(h),
	};
	if (a->qp_type == IBV_QPT_UD && h->caps.features & DDP_CAP_DATAGRAM)
		datagram_fill_init(a, ret);
}

/* Reads the actual capabilities, which are at least those that the program asked for. */
static int take_caps(const struct host *h, struct qp *qp, struct ibv_qp_cap *cap)
{
	struct ddp_qp_attr a = DDP_INIT(ddp_qp_attr);
	int r = ddp_query_qp(qp->ddp, &a);

	if (r)
		return r;
	cap->max_send_wr = a.max_send_wr / (qp_is_carried(qp) ? 1 : qp_entries_per_wr(&h->caps));
	cap->max_recv_wr = qp->init.srq ? 0 : a.max_recv_wr;
	cap->max_send_sge = a.max_send_sge;
	cap->max_recv_sge = qp->init.srq ? 0 : a.max_recv_sge;
	cap->max_inline_data = a.max_inline;
	qp->init.cap = *cap;
	return 0;
}

enum qp_states qp_states(const struct qp *qp)
{
	if (qp_is_iwarp(qp))
		return QP_STATES_IWARP;
	if (qp_is_datagram(qp))
		return QP_STATES_UD;
	return qp->init.qp_type == IBV_QPT_UC ? QP_STATES_UC : QP_STATES_RC;
}

static void fill_ibv(struct qp *qp, struct ibv_pd *pd, const struct ibv_qp_init_attr *a)
{
	qp->ibv.context = pd->context;
	qp->ibv.qp_context = a->qp_context;
	qp->ibv.pd = pd;
	qp->ibv.send_cq = a->send_cq;
	qp->ibv.recv_cq = a->recv_cq;
	qp->ibv.srq = a->srq;
	qp->ibv.qp_num = qp->ibv.handle = qp->num = ddp_qp_num(qp->ddp);
	qp->ibv.qp_type = a->qp_type;
	pthread_mutex_init(&qp->ibv.mutex, NULL);
	pthread_cond_init(&qp->ibv.cond, NULL);
	qp_set_takes(qp, qp_transition_takes(qp_states(qp), IBV_QPS_RESET));
	qp->attr.path_mtu = IBV_MTU_4096;
	qp->attr.rnr_retry = DDP_RNR_NO_END;
	qp->attr.port_num = 1;
	qp->attr.qp_access_flags =
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
}

static void on_qp_fatal(struct host_watch *w, enum ddp_async_type type)
{
	struct qp *qp = CONTAINER(w, struct qp, watch);
	const struct ibv_async_event ev = {
		.element.qp = &qp->ibv,
		.event_type = IBV_EVENT_QP_FATAL,
	};

	if (type == DDP_ASYNC_QP_FATAL && !qp->closing)
		async_push(&context_of(qp->ibv.context)->async, &ev);
}

/* All but its memory. Its end goes last. */
static int destroy_locked(struct qp *qp)
{
	struct session_end *e = qp->end;
	struct ddp_id *id = e == &qp->own ? e->id : NULL;
	int r = ddp_destroy_qp(qp->ddp);

	if (r)
		return error_of_call("ibv_destroy_qp", r);
	host_remove_watch(context_of(qp->ibv.context)->host, &qp->watch);
	e->qp = NULL;
	if (id)
		ddp_destroy_id(id);
	else if (e->lost_qp)
		e->lost_qp(e);
	return 0;
}

/* Until the program has acknowledged its events it may use the queue pair. Returns its host. */
static struct host *end_events(struct qp *qp)
{
	struct context *c = context_of(qp->ibv.context);
	struct host *h = c->host;

	pthread_mutex_lock(&h->event_lock);
	qp->closing = true;
	pthread_mutex_unlock(&h->event_lock);
	async_forget(&c->async, qp);
	return h;
}

static void free_qp(struct qp *qp)
{
	pthread_cond_destroy(&qp->ibv.cond);
	pthread_mutex_destroy(&qp->ibv.mutex);
	if (qp->built)
		pthread_mutex_destroy(&qp->built->lock);
	free(qp->built);
	free(qp);
}

static int create_on(struct qp *qp, struct session_end *e, struct ibv_pd *pd,
		     struct ibv_qp_init_attr *attr)
{
	struct host *h = context_of(pd->context)->host;
	int r;

	fill_init(h, attr, &qp->ddp_init);
	r = ddp_create_qp(e->id, pd_ddp(pd), &qp->ddp_init, &qp->ddp);
	if (r)
		return r;
	qp->init = *attr;
	fill_ibv(qp, pd, attr);
	r = take_caps(h, qp, &attr->cap);
	if (r) {
		ddp_destroy_qp(qp->ddp);
		return r;
	}
	qp->watch.ddp = qp->ddp;
	qp->cm = e != &qp->own;
	pthread_mutex_lock(&h->event_lock);
	qp->end = e;
	e->qp = qp;
	if (qp->watch.event)
		host_add_watch_locked(h, &qp->watch);
	pthread_mutex_unlock(&h->event_lock);
	return 0;
}

static int create_on_own(struct qp *qp, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct session_end *own = &qp->own;
	int r = ddp_create_id(host_ddp(context_of(pd->context)->host), NULL, &own->id);

	if (r)
		return r;
	r = create_on(qp, own, pd, attr);
	if (r)
		ddp_destroy_id(own->id);
	return r;
}

static struct qp *create_on_end(struct session_end *e, struct ibv_pd *pd,
				struct ibv_qp_init_attr *attr, bool unseen)
{
	struct qp *qp;
	int r = check_init_attr(pd->context, attr);

	if (r) {
		errno = r;
		return NULL;
	}
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	qp->watch.event = unseen ? NULL : on_qp_fatal;
	r = e ? create_on(qp, e, pd, attr) : create_on_own(qp, pd, attr);
	if (e && r == -EINVAL) /* the id is that of a session request that is gone */
		r = create_on_own(qp, pd, attr);
	if (r == 0)
		return qp;
	error_of_call("ibv_create_qp", r);
	free(qp);
	return NULL;
}

struct qp *qp_create(struct session_end *e, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return create_on_end(e, pd, attr, false);
}

struct qp *qp_create_unseen(struct session_end *e, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return create_on_end(e, pd, attr, true);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct qp *qp = qp_create(NULL, pd, attr);
	int r;

	if (!qp)
		return NULL;
	if (!qp_is_carried(qp))
		oob_adopt(qp);
	r = qp_is_datagram(qp) ? datagram_adopt(qp) : 0;
	if (r == 0)
		return &qp->ibv;
	ibv_destroy_qp(&qp->ibv);
	errno = r;
	return NULL;
}

/* With ibv_wr_ functions if the program asks for them. */
static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
			       IBV_QP_INIT_ATTR_CREATE_FLAGS;
	struct ibv_qp *ibv;

	(void)context;
	if (attr->comp_mask & ~known || !(attr->comp_mask & IBV_QP_INIT_ATTR_PD)) {
		error_unsupported("ibv_create_qp_ex",
				  "only the attributes PD, CREATE_FLAGS and SEND_OPS_FLAGS are "
				  "supported",
				  EOPNOTSUPP);
		return NULL;
	}
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS &&
	    wr_check_ops(attr->qp_type, attr->send_ops_flags))
		return NULL;
	ibv = ibv_create_qp(attr->pd, (struct ibv_qp_init_attr *)attr);
	if (ibv && attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS && wr_enable(qp_of(ibv))) {
		ibv_destroy_qp(ibv);
		errno = ENOMEM;
		return NULL;
	}
	return ibv;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *ibv)
{
	return qp_of(ibv)->built ? &qp_of(ibv)->ex : NULL;
}

int ibv_destroy_qp(struct ibv_qp *ibv)
{
	struct qp *qp = qp_of(ibv);
	struct host *h = end_events(qp);
	int r;

	pthread_mutex_lock(&h->event_lock);
	oob_abandon(qp);
	if (qp_is_datagram(qp))
		datagram_abandon(qp);
	qp_forget_past(qp);
	r = destroy_locked(qp);
	qp->closing = r == 0;
	pthread_mutex_unlock(&h->event_lock);
	if (r == 0)
		free_qp(qp);
	return r;
}

/* ---- state ---- */

/* The events of a shared receive queue: no receive of it is in use any more. */
static void push_last_wqe(struct qp *qp)
{
	const struct ibv_async_event ev = {
		.element.qp = &qp->ibv,
		.event_type = IBV_EVENT_QP_LAST_WQE_REACHED,
	};

	if (!qp->closing)
		async_push(&context_of(qp->ibv.context)->async, &ev);
}

void qp_set_state(struct qp *qp, enum ibv_qp_state state)
{
	const bool fails = state == IBV_QPS_ERR && qp->state != IBV_QPS_ERR;

	qp->state = state;
	qp_set_takes(qp, qp_transition_takes(qp_states(qp), state));
	pthread_mutex_lock(&qp->ibv.mutex);
	qp->ibv.state = state;
	pthread_mutex_unlock(&qp->ibv.mutex);
	if (fails && qp->init.srq)
		push_last_wqe(qp);
}

void qp_disconnect(const struct qp *qp)
{
	ddp_disconnect(qp->end->id);
	if (qp->own_peer)
		ddp_disconnect(qp->own_peer->id);
}

static void end_session(struct qp *qp)
{
	qp->peer_left = false;
	qp_disconnect(qp);
}

void qp_session_ended(struct qp *qp, bool failed)
{
	if (qp->state != IBV_QPS_RTR && qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_SQD)
		failed = true;
	if (!failed && !qp_is_iwarp(qp)) {
		qp->peer_left = true;
		qp_set_takes(qp, QP_TAKES_RECVS);
		return;
	}
	if (qp->state == IBV_QPS_RESET || qp->state == IBV_QPS_ERR)
		return;
	end_session(qp);
	qp_set_state(qp, IBV_QPS_ERR);
}

/* The first Send after the peer's end fails. */
int qp_check_sends(struct qp *qp)
{
	struct host *h = context_of(qp->ibv.context)->host;
	int r = 0;

	pthread_mutex_lock(&h->event_lock);
	if (qp->peer_left) {
		end_session(qp);
		qp_set_state(qp, IBV_QPS_ERR);
	}
	if (!qp_takes(qp, QP_TAKES_SENDS))
		r = EINVAL;
	pthread_mutex_unlock(&h->event_lock);
	return r;
}

void qp_forget_past(struct qp *qp)
{
	for (unsigned i = 0; i < 2; i++) {
		if (qp->past[i])
			qp_num_clear(&context_of(qp->ibv.context)->host->numbers, qp->past[i]);
		qp->past[i] = 0;
	}
}

/* Its completions are for nobody. */
static void make_past(struct qp *qp, unsigned i, struct ddp_qp *ddp)
{
	qp->past[i] = ddp_qp_num(ddp);
	qp_num_void(&context_of(qp->ibv.context)->host->numbers, qp->past[i]);
}

/* Gives a queue pair of libddpclient the place of the one that had a session. */
static void replace_ddp(struct qp *qp, struct ddp_id *id, struct ddp_qp *ddp, bool same_number)
{
	struct host *h = context_of(qp->ibv.context)->host;
	struct ddp_qp *old = qp->ddp;

	if (qp_is_carried(qp) && !same_number) /* the daemon routes by it */
		qp->ibv.qp_num = qp->num = ddp_qp_num(ddp);
	if (qp->port || qp_is_carried(qp)) {
		qp_forget_past(qp);
		make_past(qp, 0, old);
		if (qp->own_peer)
			make_past(qp, 1, qp->own_peer->ddp);
		qp_num_set(&h->numbers, ddp_qp_num(ddp),
			   qp_is_carried(qp) ? QP_NUM_DATAGRAM | qp->num : qp->num);
	}
	own_peer_close(qp);
	ddp_destroy_qp(old);
	ddp_destroy_id(qp->own.id);
	qp->ddp = ddp;
	qp->watch.ddp = ddp;
	qp->own.id = id;
	qp->joined = qp->peer_left = false;
	qp_note(&qp->send_imm, false);
	qp_note(&qp->no_reads, false);
	qp->unplaced = 0;
}

/* The queue pair before RESET; the rights of the peer are as ibv_query_qp() says. */
static int create_next(struct qp *qp, struct ddp_id *id, struct ddp_qp **ret, bool *same_number)
{
	int r = ddp_create_qp(id, pd_ddp(qp->ibv.pd), &qp->ddp_init, ret);

	if (r)
		return r;
	if (qp_is_carried(qp))
		return datagram_take_number(qp, *ret, same_number);
	return qp_is_datagram(qp) ? 0 : qp_access_apply(qp, *ret);
}

int qp_renew(struct qp *qp)
{
	struct ddp_id *id;
	struct ddp_qp *ddp = NULL;
	bool same_number = false;
	int r = ddp_create_id(host_ddp(context_of(qp->ibv.context)->host), &qp->own.sink, &id);

	if (r)
		return error_of_call("ibv_modify_qp", r);
	r = create_next(qp, id, &ddp, &same_number);
	if (r) {
		ddp_destroy_qp(ddp);
		ddp_destroy_id(id);
		return error_of_call("ibv_modify_qp", r);
	}
	replace_ddp(qp, id, ddp, same_number);
	return qp_rnr_apply(qp);
}

int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp, (void)op, (void)flags;
	return 1;
}

void qp_set_ops(struct verbs_context *v)
{
	v->create_qp_ex = create_qp_ex;
}
