/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/service/show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/queue.h"
#include "daemon/base/reply.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/datagrams/datagram.h"
#include "daemon/objects/datagrams/numbers.h"
#include "daemon/objects/queues/cq.h"
#include "daemon/objects/sessions/listener.h"
#include "daemon/objects/memory/mr.h"
#include "daemon/objects/memory/mw.h"
#include "daemon/objects/client/pd.h"
#include "daemon/objects/sessions/port.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/objects/sessions/qp_options.h"
#include "daemon/objects/queues/srq.h"
#include "daemon/service/show_impl.h"
#include "ipc/rung.h"

/* Calls fn for the rest of the table of one client. False if the queue is full before its end. */
static bool for_rest(struct show *s, const struct idtab *t, void (*fn)(struct show *s, void *obj))
{
	void *obj;

	while (!show_full(s)) {
		obj = idtab_next(t, &s->inner);
		if (!obj)
			return true;
		fn(s, obj);
	}
	return false;
}

/* Calls fn for each object of one table of each client that may be seen. */
static bool for_each(struct show *s, size_t table, void (*fn)(struct show *s, void *obj))
{
	uint32_t next = s->outer;
	struct client *c;

	while ((c = idtab_next(&s->d->clients, &next))) {
		const struct idtab *t = (const struct idtab *)((const char *)c + table);

		if (!show_may_see(s, c))
			s->end.hidden += t->used;
		else if (!for_rest(s, t, fn))
			return false;
		s->outer = next;
		s->inner = 0;
	}
	return true;
}

/* ---- one object each ---- */

/* Its queues, and the requests that wait in them. */
static void put_queues(struct ctl_qp *r, const struct qp *qp)
{
	r->sq_entries = qp->wq.sq.size;
	r->sq_waiting = queue_waiting(&qp->wq.sq);
	if (qp->wq.srq) {
		r->srq = show_number(qp->wq.srq->handle);
		r->srq_held = qp->wq.taken_recv;
		r->srq_taken = qp->wq.srq_taken;
	} else {
		r->rq_entries = qp->wq.rq.size;
		r->rq_posted = queue_waiting(&qp->wq.rq);
	}
	r->hold_bytes = qp->hold.bytes;
	r->hold_ms = qp->hold.ms;
}

static void put_endpoint(struct ctl_qp *r, const struct rdmap *ep)
{
	struct rdmap_info info;

	rdmap_query(ep, &info);
	r->ord = info.ord;
	r->ird = info.ird;
	r->reads_out = info.reads_out;
	r->reads_in = info.reads_in;
	r->in_flight = info.in_flight;
	r->tx_msgs = info.tx_msgs;
	r->rx_msgs = info.rx_msgs;
	r->tx_bytes = info.tx_bytes;
	r->rx_bytes = info.rx_bytes;
	r->held_bytes = info.held_bytes;
	r->held_msgs = info.held_msgs;
	r->not_ready = info.not_ready;
}

static const char *type_str(const struct qp *qp)
{
	static const char *const types[] = {
		[MSG_QP_RDMAP] = "rdmap", [MSG_QP_RAW] = "raw", [MSG_QP_DATAGRAM] = "dgram"};

	return types[qp_type(qp)];
}

/* In the place of an endpoint. */
static void put_datagram(struct ctl_qp *r, const struct datagram *d)
{
	r->tx_msgs = d->traffic.tx_msgs;
	r->rx_msgs = d->traffic.rx_msgs;
	r->tx_bytes = d->traffic.tx_bytes;
	r->rx_bytes = d->traffic.rx_bytes;
	r->dgram_num = numbers_reach(d);
	r->tx_dropped = d->tx_dropped;
	r->rx_dropped = d->rx_dropped;
}

static void show_qp(struct show *s, void *obj)
{
	struct ctl_qp *r = &s->rec.qp;
	const struct qp *qp = obj;

	r->qp_num = qp->num;
	r->client = qp->client->id;
	r->pid = (uint32_t)qp->client->pid;
	r->uid = qp->client->uid;
	memcpy(r->comm, qp->client->comm, sizeof(r->comm));
	show_string(r->type, sizeof(r->type), type_str(qp));
	show_string(r->state, sizeof(r->state), qp_state_str(qp_state(qp)));
	if (qp->assoc) {
		r->assoc = qp->assoc->id;
		r->stream = qp->sid;
		r->remote = qp->assoc->remote;
	}
	put_queues(r, qp);
	put_endpoint(r, qp->ep);
	if (qp->datagram)
		put_datagram(r, qp->datagram);
	r->options = qp->options;
	r->pd = show_number(qp->scope.pd->handle);
	r->send_cq = show_number(qp->wq.send_cq->handle);
	r->recv_cq = show_number(qp->wq.recv_cq->handle);
	show_send(s);
}

static void show_srq(struct show *s, void *obj)
{
	struct ctl_srq *r = &s->rec.srq;
	const struct srq *srq = obj;
	struct msg_srq_state st = {0};
	struct msg_options_state hold = {0};

	srq_query(srq, &st);
	qp_options_of_srq(srq, &hold);
	r->hold_bytes = hold.hold_bytes;
	r->hold_ms = srq->hold_ms;
	r->held_bytes = hold.held_bytes;
	r->held_msgs = hold.held_msgs;
	r->handle = show_number(srq->handle);
	r->client = srq->client->id;
	r->pid = (uint32_t)srq->client->pid;
	r->uid = srq->client->uid;
	r->pd = show_number(st.pd);
	r->entries = st.entries;
	r->max_sge = st.max_sge;
	r->limit = st.limit;
	r->per_qp = st.per_qp;
	r->posted = st.posted;
	r->held = st.held;
	r->qps = st.qps;
	r->taken = st.taken;
	show_send(s);
}

static void show_mr(struct show *s, void *obj)
{
	struct ctl_mr *r = &s->rec.mr;
	const struct mr *mr = obj;
	struct msg_mr_state st = {0};

	mr_query(mr, &st);
	r->handle = show_number(mr->handle);
	r->client = mr->client->id;
	r->pid = (uint32_t)mr->client->pid;
	r->uid = mr->client->uid;
	r->stag = st.stag;
	r->pd = show_number(st.pd);
	r->access = st.access;
	show_string(r->mode, sizeof(r->mode), "shared");
	r->iova = st.iova;
	r->len = st.len;
	r->qp_num = st.qp_num;
	r->windows = st.windows;
	r->valid = st.valid;
	show_string(r->rung, sizeof(r->rung), rung_str(mr->rung));
	show_string(r->reason, sizeof(r->reason), rung_reason(mr->reason));
	show_send(s);
}

static void show_mw(struct show *s, void *obj)
{
	struct ctl_mw *r = &s->rec.mw;
	const struct mw *mw = obj;
	struct msg_mw_state st = {0};

	mw_query(mw, &st);
	r->handle = show_number(mw->handle);
	r->client = mw->client->id;
	r->pid = (uint32_t)mw->client->pid;
	r->uid = mw->client->uid;
	r->pd = show_number(st.pd);
	r->type = st.type;
	r->stag = st.stag;
	r->valid = st.valid;
	r->access = st.access;
	r->mr_stag = st.mr_stag;
	r->qp_num = st.qp_num;
	r->addr = st.addr;
	r->len = st.len;
	show_send(s);
}

static void show_pd(struct show *s, void *obj)
{
	struct ctl_pd *r = &s->rec.pd;
	const struct pd *pd = obj;
	struct msg_pd_state st = {0};

	pd_query(pd, &st);
	r->handle = show_number(pd->handle);
	r->client = pd->client->id;
	r->pid = (uint32_t)pd->client->pid;
	r->uid = pd->client->uid;
	r->mrs = st.mrs;
	r->mws = st.mws;
	r->qps = st.qps;
	r->srqs = st.srqs;
	show_send(s);
}

static void show_cq(struct show *s, void *obj)
{
	struct ctl_cq *r = &s->rec.cq;
	const struct cq *cq = obj;
	struct msg_cq_state st = {0};

	cq_query(cq, &st);
	r->handle = show_number(cq->handle);
	r->client = cq->client->id;
	r->pid = (uint32_t)cq->client->pid;
	r->uid = cq->client->uid;
	r->entries = st.entries;
	r->waiting = st.waiting;
	r->qps = st.qps;
	r->completions = st.completions;
	r->bells = st.bells;
	show_send(s);
}

static void show_client(struct show *s, const struct client *c)
{
	struct ctl_client *r = &s->rec.client;

	r->id = c->id;
	r->pid = (uint32_t)c->pid;
	r->uid = c->uid;
	r->gid = c->gid;
	memcpy(r->comm, c->comm, sizeof(r->comm));
	r->pds = c->handles.pds.used;
	r->mrs = c->handles.mrs.used;
	r->mws = c->handles.mws.used;
	r->cqs = c->handles.cqs.used;
	r->qps = c->handles.qps.used;
	r->srqs = c->handles.srqs.used;
	r->listeners = c->handles.listeners.used;
	r->requests = c->handles.requests.used;
	r->mr_bytes = c->regions.bytes;
	r->connected_ms = s->d->worker.now_ms - c->since_ms;
	show_send(s);
}

static bool show_clients(struct show *s)
{
	const struct client *c;

	while (!show_full(s)) {
		c = idtab_next(&s->d->clients, &s->outer);
		if (!c)
			return true;
		if (show_may_see(s, c))
			show_client(s, c);
		else
			s->end.hidden++;
	}
	return false;
}

static void show_listener(struct show *s, void *obj)
{
	struct ctl_listener *r = &s->rec.listener;
	const struct listener *l = obj;
	const struct addr_set *at = &l->port->at;

	r->handle = show_number(l->handle);
	r->client = l->client->id;
	r->pid = (uint32_t)l->client->pid;
	r->uid = l->client->uid;
	r->naddrs = at->n;
	if (at->n > 0)
		r->addr = at->a[0];
	if (at->n > 1)
		r->addr2 = at->a[1];
	r->port = l->port->number;
	r->key = l->key;
	r->backlog = l->backlog;
	r->waiting = l->waiting;
	r->requests = l->requests;
	show_send(s);
}

/* ---- the request ---- */

struct kind {
	uint16_t len;                             /* of its struct */
	bool (*show_all)(struct show *s);         /* false: the queue is full; or: */
	void (*show_one)(struct show *s, void *); /* each object of a table of each client */
	size_t table;
};

#define KIND(obj, fn)                                                                              \
	{                                                                                          \
		.len = sizeof(struct ctl_##obj), .show_all = fn                                    \
	}
#define KIND_OF_CLIENTS(obj, member, fn)                                                           \
	{                                                                                          \
		.len = sizeof(struct ctl_##obj), .show_one = fn,                                   \
		.table = offsetof(struct client, handles.member)                                   \
	}

static const struct kind kinds[CTL_OBJECT_COUNT] = {
	[CTL_STATUS] = KIND(status, show_status),
	[CTL_ASSOC] = KIND(assoc, show_assocs),
	[CTL_SESSION] = KIND(session, show_sessions),
	[CTL_QP] = KIND_OF_CLIENTS(qp, qps, show_qp),
	[CTL_MR] = KIND_OF_CLIENTS(mr, mrs, show_mr),
	[CTL_CQ] = KIND_OF_CLIENTS(cq, cqs, show_cq),
	[CTL_CLIENT] = KIND(client, show_clients),
	[CTL_LISTENER] = KIND_OF_CLIENTS(listener, listeners, show_listener),
	[CTL_SRQ] = KIND_OF_CLIENTS(srq, srqs, show_srq),
	[CTL_MW] = KIND_OF_CLIENTS(mw, mws, show_mw),
	[CTL_PD] = KIND_OF_CLIENTS(pd, pds, show_pd),
	[CTL_PATH] = KIND(path, show_paths),
	[CTL_EVENT] = KIND(event, show_events),
	[CTL_CONFIG] = KIND(config, show_config),
	[CTL_LIMIT] = KIND(limit, show_limits),
	[CTL_USER] = KIND(user, show_users),
	[CTL_TURN] = KIND(turn, show_turns),
	[CTL_PEER] = KIND(peer, show_peers),
};

void show_continue(struct client *c)
{
	struct show *s = c->show;
	const struct kind *kind = s->kind;

	s->cost = 0;
	if (!(kind->show_all ? kind->show_all(s) : for_each(s, kind->table, kind->show_one)))
		return;
	outq_send(&c->io.replies, &s->end, sizeof(s->end), NULL, 0);
	show_abandon(c);
}

void show_abandon(struct client *c)
{
	free(c->show);
	c->show = NULL;
}

int show_objects(struct client *c, const struct ctl_show *req, struct reply *rep)
{
	struct show *s;

	if (req->version != CTL_VERSION)
		return reply_refuse(rep, EPROTONOSUPPORT,
				    "show: ddpctl speaks version %u of the records, the daemon %u",
				    req->version, CTL_VERSION);
	if (req->object >= CTL_OBJECT_COUNT || kinds[req->object].len == 0)
		return reply_refuse(rep, EPROTONOSUPPORT,
				    "show: unknown object %u; the daemon may be older than ddpctl",
				    req->object);
	s = calloc(1, sizeof(*s));
	if (!s)
		return reply_refuse(rep, ENOMEM, "show: out of memory");
	s->to = c;
	s->d = c->daemon;
	s->to_admin = client_is_admin(c);
	s->kind = &kinds[req->object];
	s->rec.hdr = (struct msg_hdr){MSG_CTL_RECORD, req->hdr.seq};
	s->rec.object = req->object;
	s->rec.len = s->kind->len;
	s->end.hdr = (struct msg_hdr){MSG_CTL_END, req->hdr.seq};
	c->show = s;
	show_continue(c);
	if (c->show)
		drr_add(&c->io.turn);
	return 0;
}
