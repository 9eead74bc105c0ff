/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/qp.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "daemon/net/association.h"
#include "daemon/net/peer_access.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/client/handles.h"
#include "daemon/objects/client/pd.h"
#include "daemon/objects/datagrams/datagram.h"
#include "daemon/objects/datagrams/numbers.h"
#include "daemon/objects/memory/mw.h"
#include "daemon/objects/queues/srq.h"
#include "daemon/objects/sessions/carrier.h"
#include "daemon/objects/sessions/carriers.h"
#include "daemon/objects/sessions/qp_check.h"
#include "daemon/objects/sessions/qp_options.h"
#include "ipc/wqe.h"
#include "util/checked.h"

/* ---- creation ---- */

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
	uint32_t rq_entry = wqe_recv_size(qp->attr.max_recv_sge);
	int r = rings_make(qp->client, rings_bytes(req, qp->attr.max_recv_sge), &qp->rings, rep);

	if (r)
		return r;
	ring_init(&qp->wq.sq, qp->rings.mem, req->sq_entries, sq_entry);
	if (!qp->wq.srq)
		ring_init(&qp->wq.rq, qp->rings.mem + rq_offset(req), req->rq_entries, rq_entry);
	return 0;
}

/* Its parts ring for it, and reach its agent, by its handle. */
static void spread_handle(struct qp *qp)
{
	qp->call.qp = qp->handle;
	qp->send_room.qp = qp->handle;
	qp->recv_room.qp = qp->handle;
}

static bool carry_datagram(void *user, const struct flight *f)
{
	const struct qp *qp = user;

	return carrier_send(qp->datagram->carriers, f);
}

static int make_datagram(struct qp *qp, const struct msg_create_qp *req, struct reply *rep)
{
	const struct datagram_cfg cfg = {
		.client = qp->client,
		.ops = &wr_ops,
		.carry = carry_datagram,
		.user = qp,
		.accessor = {.pd = qp->scope.pd->number, .scope = qp->scope.number},
		.number = qp->num,
	};

	if (req->type != MSG_QP_DATAGRAM)
		return 0;
	qp->datagram = datagram_new(&cfg);
	if (!qp->datagram)
		return reply_refuse(rep, ENOMEM, "queue pair: out of memory");
	return carriers_begin(qp->datagram, rep);
}

static int build_qp(struct qp *qp, const struct msg_create_qp *req, struct reply *rep)
{
	struct client *c = qp->client;
	int r = client_charge(c, ACCT_QPS, 1, &qp->charge, rep);

	if (!r)
		r = qp_events_reserve(qp, rep);
	if (!r)
		r = make_rings(qp, req, rep);
	if (!r)
		r = qp_endpoint_make(qp, req, &wr_ops, rep);
	if (!r)
		r = make_datagram(qp, req, rep);
	if (r)
		return r;
	r = idtab_add(&c->handles.qps, qp, &qp->handle);
	if (r > 0)
		return reply_refuse(rep, ENOSPC,
				    "queue pair: this client has %u, which is the limit",
				    c->handles.qps.used);
	spread_handle(qp);
	return r ? reply_refuse(rep, -r, "queue pair: out of memory") : 0;
}

/* The objects that it is built on. */
struct qp_parts {
	struct pd *pd;
	struct cq *send_cq, *recv_cq;
	struct srq *srq;
	const struct scope *scope; /* of another queue pair, or NULL */
};

static int find_scope(struct client *c, const struct msg_create_qp *req, struct qp_parts *p,
		      struct reply *rep)
{
	const struct qp *of;

	p->scope = NULL;
	if (req->type != MSG_QP_RDMAP || req->scope_of == 0 || c->hello.minor < IPC_MINOR_SCOPE)
		return 0;
	of = handles_qp(c, req->scope_of, rep);
	if (!of)
		return -ENOENT;
	if (of->scope.pd != p->pd)
		return reply_refuse(rep, EINVAL,
				    "queue pair with the scope of queue pair %u: different "
				    "protection domains",
				    of->num);
	p->scope = &of->scope;
	return 0;
}

static int find_parts(struct client *c, const struct msg_create_qp *req, struct qp_parts *ret,
		      struct reply *rep)
{
	ret->srq = NULL;
	if (!(ret->pd = handles_pd(c, req->pd, rep)) ||
	    !(ret->send_cq = handles_cq(c, req->send_cq, rep)) ||
	    !(ret->recv_cq = handles_cq(c, req->recv_cq, rep)) ||
	    (req->srq && !(ret->srq = handles_srq(c, req->srq, rep))))
		return -ENOENT;
	if (ret->srq && ret->srq->pd != ret->pd)
		return reply_refuse(
			rep, EINVAL,
			"queue pair and shared receive queue %u: different protection domains",
			req->srq & 0xffff);
	return find_scope(c, req, ret, rep);
}

static void use_parts(struct qp *qp, const struct qp_parts *p)
{
	scope_open(&qp->scope, qp->client, p->pd, qp->num, p->scope);
	qp->wq.send_cq = p->send_cq;
	qp->wq.recv_cq = p->recv_cq;
	qp->wq.srq = p->srq;
	p->pd->qps++;
	qp->wq.send_cq->users++;
	if (qp->wq.recv_cq != qp->wq.send_cq)
		qp->wq.recv_cq->users++;
	if (qp->wq.srq)
		qp->wq.srq->users++;
}

static void release_parts(struct qp *qp)
{
	list_del(&qp->send_room.link);
	list_del(&qp->recv_room.link);
	cq_unreserve(qp->wq.send_cq, qp->wq.taken_send);
	cq_unreserve(qp->wq.recv_cq, qp->wq.taken_recv);
	if (qp->wq.srq) {
		srq_done(qp->wq.srq, qp->wq.taken_recv);
		srq_wait_end(qp->wq.srq, &qp->wq.srq_waits);
		qp->wq.srq->users--;
	}
	qp->wq.send_cq->users--;
	if (qp->wq.recv_cq != qp->wq.send_cq)
		qp->wq.recv_cq->users--;
	qp->scope.pd->qps--;
	scope_close(&qp->scope);
}

/* Those of datagrams have 24 bits and a range of their own, which the others leave out. */
static uint32_t next_number(struct client *c, const struct msg_create_qp *req)
{
	return req->type == MSG_QP_DATAGRAM ? numbers_next(c->worker)
					    : numbers_of_session(c->daemon);
}

/* Queue pairs of datagrams have no Reads. */
static void set_depths(struct qp *qp, const struct msg_create_qp *req)
{
	qp->attr.raw = req->type == MSG_QP_RAW;
	if (qp->attr.raw)
		qp->attr.raw_queues = (uint8_t)req->raw_queues;
	if (req->type != MSG_QP_RDMAP)
		return;
	qp->attr.max_ord = req->ord ? req->ord : QP_DEFAULT_READS;
	qp->attr.max_ird = req->ird ? req->ird : QP_DEFAULT_READS;
}

static struct qp *new_qp(struct client *c, const struct qp_parts *p,
			 const struct msg_create_qp *req)
{
	struct qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->client = c;
	qp->num = next_number(c, req);
	use_parts(qp, p);
	list_init(&qp->posted);
	async_init(&qp->events.async);
	timer_init(&qp->hold.idle, qp_hold_idle);
	agent_call_init(&qp->call, c);
	list_init(&qp->send_room.link);
	list_init(&qp->recv_room.link);
	set_depths(qp, req);
	qp->session.peer_ird = qp->session.peer_ord = MSG_READS_UNCHANGED;
	qp->attr.max_send_sge = req->max_send_sge;
	qp->attr.max_recv_sge = qp->wq.srq ? qp->wq.srq->max_sge : req->max_recv_sge;
	qp->attr.max_inline = req->max_inline;
	qp->attr.sig_all = req->sq_sig_all;
	return qp;
}

int qp_create(struct client *c, const struct msg_create_qp *req, struct msg_qp *ret,
	      struct reply *rep)
{
	struct qp_parts parts;
	struct qp *qp;
	int r = find_parts(c, req, &parts, rep);

	if (!r)
		r = qp_check(c, req, rep);
	if (r)
		return r;
	qp = new_qp(c, &parts, req);
	if (!qp)
		return reply_refuse(rep, ENOMEM, "queue pair: out of memory");
	r = build_qp(qp, req, rep);
	if (!r)
		r = qp_options_inherit(qp, rep);
	if (r) {
		qp_free(qp);
		return r;
	}
	ret->handle = qp->handle;
	ret->qp_num = qp->num;
	ret->slot = (qp->handle & 0xffff) - 1;
	ret->sq_entry = qp->wq.sq.entry_size;
	ret->rq_entry = qp->wq.rq.entry_size;
	ret->rq_offset = rq_offset(req);
	ret->bytes = qp->rings.bytes;
	ret->offset = qp->rings.offset;
	return 0;
}

struct acct_traffic qp_traffic(const struct qp *qp)
{
	struct rdmap_info info;

	if (qp->datagram)
		return qp->datagram->traffic;
	rdmap_query(qp->ep, &info);
	return (struct acct_traffic){info.tx_msgs, info.rx_msgs, info.tx_bytes, info.rx_bytes};
}

static void assert_unlinked(const struct qp *qp)
{
	assert(!qp->connecting);
	list_assert_out(&qp->send_room.link);
	list_assert_out(&qp->recv_room.link);
	list_assert_out(&qp->events.async.link);
	list_assert_out(&qp->posted);
	timer_assert_out(&qp->call.timer);
	timer_assert_out(&qp->hold.idle);
}

struct qp *qp_free(struct qp *qp)
{
	if (!qp)
		return NULL;
	qp_abandon(qp);
	qp_events_release(qp);
	if (qp->state != QP_IDLE &&
	    qp->state != QP_ERROR) /* its scope may be that of another one */
		mw_release(qp->client, &qp->scope);
	idtab_del(&qp->client->handles.qps, qp->handle);
	list_del(&qp->posted);
	release_parts(qp);
	rings_free(&qp->rings);
	qp_hold_free(qp);
	if (qp->ep && qp->charge.user) /* the counters of its user go on without it */
		acct_add_traffic(&qp->charge, qp_traffic(qp));
	if (qp->datagram)
		carriers_end(qp->datagram);
	datagram_free(qp->datagram);
	qp_endpoint_free(qp);
	acct_release(&qp->charge);
	assert_unlinked(qp);
	free(qp);
	return NULL;
}

int qp_set_qkey(struct qp *qp, const struct msg_qp_qkey *req, struct reply *rep)
{
	if (!qp->datagram)
		return reply_refuse(rep, EINVAL, "queue pair %u: a Q_Key is for datagrams",
				    qp->num);
	if (qp->datagram->stopped)
		wr_flush_sends(qp); /* those that were posted before */
	datagram_set_qkey(qp->datagram, req->qkey);
	return 0;
}

int qp_take_number(struct qp *qp, struct qp *from, struct reply *rep)
{
	if (!qp->datagram || !from->datagram || qp == from)
		return reply_refuse(rep, EINVAL,
				    "queue pair %u takes the number of %u: both must be for "
				    "datagrams",
				    qp->num, from->num);
	if (qp->state != QP_IDLE)
		return reply_refuse(rep, EINVAL, "queue pair %u takes a number while it is %s",
				    qp->num, qp_state_str(qp_state(qp)));
	if (!numbers_take(qp->client->worker, qp->datagram, from->datagram))
		return reply_refuse(rep, EINVAL, "queue pair %u has given its number away",
				    from->num);
	qp_disconnect(from);
	return 0;
}

/* ---- queries ---- */

uint32_t qp_type(const struct qp *qp)
{
	if (qp->datagram)
		return MSG_QP_DATAGRAM;
	return qp->attr.raw ? MSG_QP_RAW : MSG_QP_RDMAP;
}

static void query_datagram(const struct datagram *d, struct msg_qp_state *ret)
{
	ret->qkey = d->qkey;
	ret->tx_dropped = d->tx_dropped;
	ret->rx_dropped = d->rx_dropped;
}

static void query_limits(const struct qp *qp, struct msg_qp_state *ret)
{
	ret->type = qp_type(qp);
	ret->max_ord = qp->attr.max_ord;
	ret->max_ird = qp->attr.max_ird;
	ret->sq_entries = qp->wq.sq.size;
	ret->rq_entries = qp->wq.rq.size;
	ret->max_send_sge = qp->attr.max_send_sge;
	ret->max_recv_sge = qp->attr.max_recv_sge;
	ret->max_inline = qp->attr.max_inline;
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
	ret->state = qp_state(qp);
	ret->ord = info.ord;
	ret->ird = info.ird;
	ret->peer_ird = qp->session.peer_ird;
	ret->peer_ord = qp->session.peer_ord;
	ret->srq_held = qp->wq.srq ? qp->wq.taken_recv : 0;
	ret->srq_taken = qp->wq.srq_taken;
	query_limits(qp, ret);
	if (qp->datagram)
		query_datagram(qp->datagram, ret);
	if (qp->assoc)
		query_session(qp, ret);
}

void qp_query_peer(const struct qp *qp, struct msg_peer_facts *ret)
{
	if (qp->assoc)
		peer_access_tell(qp->assoc, ret);
}
