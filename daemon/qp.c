/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/qp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/client.h"
#include "daemon/cq.h"
#include "daemon/pd.h"
#include "daemon/peer.h"
#include "daemon/wr.h"
#include "ipc/memfd.h"
#include "ipc/wqe.h"
#include "util/checked.h"

/* ---- creation ---- */

static int check_depth(const char *what, uint32_t n, uint32_t max, struct reply *rep)
{
	if (checked_pow2(n) && n <= max)
		return 0;
	return reply_refuse(rep, EINVAL,
			    "queue pair: %s ring of %u entries: not a power of two up to %u", what,
			    n, max);
}

static int check_max(const char *what, uint32_t n, uint32_t min, uint32_t max, struct reply *rep)
{
	if (n >= min && n <= max)
		return 0;
	return reply_refuse(rep, EINVAL, "queue pair: %s of %u: %u to %u are possible", what, n,
			    min, max);
}

static int check_init(const struct client *c, const struct msg_create_qp *req, struct reply *rep)
{
	uint32_t max = c->daemon->cfg.limits.qp_wr;
	int r = check_depth("send", req->sq_entries, max, rep);

	if (!r)
		r = check_depth("receive", req->rq_entries, max, rep);
	if (!r)
		r = check_max("max_send_sge", req->max_send_sge, 1, WQE_MAX_SGE, rep);
	if (!r)
		r = check_max("max_recv_sge", req->max_recv_sge, 1, WQE_MAX_SGE, rep);
	if (!r)
		r = check_max("max_inline", req->max_inline, 0, WQE_MAX_INLINE, rep);
	if (!r)
		r = check_max("max_ord", req->ord, 0, QP_MAX_READS, rep);
	if (!r)
		r = check_max("max_ird", req->ird, 0, QP_MAX_READS, rep);
	return r;
}

static uint64_t rq_offset(const struct msg_create_qp *req)
{
	uint32_t entry = wqe_send_size(req->max_send_sge, req->max_inline);

	return checked_round_up(ring_bytes(req->sq_entries, entry), RING_LINE);
}

static int make_rings(struct qp *qp, const struct msg_create_qp *req, struct reply *rep)
{
	uint32_t sq_entry = wqe_send_size(req->max_send_sge, req->max_inline);
	uint32_t rq_entry = wqe_recv_size(req->max_recv_sge);
	int memfd, r;

	qp->bytes = rq_offset(req) + ring_bytes(req->rq_entries, rq_entry);
	r = memfd_create_mapped("ddp-qp", qp->bytes, &memfd, &qp->map);
	if (r < 0)
		return r;
	reply_add_fd(rep, memfd);
	ring_init(&qp->sq, qp->map, req->sq_entries, sq_entry);
	ring_init(&qp->rq, (uint8_t *)qp->map + rq_offset(req), req->rq_entries, rq_entry);
	return 0;
}

static int make_endpoint(struct qp *qp, const struct msg_create_qp *req)
{
	struct rdmap_cfg cfg = {
		.stags = qp->client->daemon->stags,
		.who = {.pd = qp->pd->number, .scope = qp->scope},
		.ord = req->ord ? req->ord : QP_DEFAULT_READS,
		.ird = req->ird ? req->ird : QP_DEFAULT_READS,
		.sq_depth = (uint16_t)req->sq_entries,
		.rq_depth = (uint16_t)req->rq_entries,
		.max_recv_sge = (uint8_t)req->max_recv_sge,
	};
	void *mem = calloc(1, rdmap_size(&cfg));

	if (!mem)
		return -ENOMEM;
	qp->ep = rdmap_init(mem, &cfg, &wr_ops, qp);
	return 0;
}

static int build(struct qp *qp, const struct msg_create_qp *req, struct reply *rep)
{
	struct client *c = qp->client;
	int r = client_charge(c, ACCT_QPS, 1, &qp->charge, rep);

	if (r)
		return r;
	r = make_rings(qp, req, rep);
	if (!r)
		r = make_endpoint(qp, req);
	if (!r)
		r = idtab_add(&c->qps, qp, &qp->handle);
	if (r > 0)
		return reply_refuse(rep, ENOSPC,
				    "queue pair: this client has %u, the most possible",
				    c->qps.used);
	return r ? reply_refuse(rep, -r, "queue pair: no memory for its rings") : 0;
}

static struct qp *new_qp(struct client *c, struct pd *pd, struct cq *send_cq, struct cq *recv_cq)
{
	struct qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->client = c;
	qp->num = ++c->daemon->last_qp;
	qp->scope = ++c->daemon->last_scope;
	qp->pd = pd;
	qp->send_cq = send_cq;
	qp->recv_cq = recv_cq;
	pd->users++;
	send_cq->users++;
	recv_cq->users++;
	list_init(&qp->waiting);
	list_init(&qp->connecting);
	return qp;
}

int qp_create(struct client *c, const struct msg_create_qp *req, struct reply *rep)
{
	struct pd *pd = idtab_get(&c->pds, req->pd);
	struct cq *send_cq = idtab_get(&c->cqs, req->send_cq);
	struct cq *recv_cq = idtab_get(&c->cqs, req->recv_cq);
	struct qp *qp;
	int r;

	if (!pd || !send_cq || !recv_cq)
		return reply_violation(rep, ENOENT,
				       "queue pair: no such domain 0x%x or queue 0x%x, 0x%x",
				       req->pd, req->send_cq, req->recv_cq);
	r = check_init(c, req, rep);
	if (r)
		return r;
	qp = new_qp(c, pd, send_cq, recv_cq);
	if (!qp)
		return reply_refuse(rep, ENOMEM, "queue pair: out of memory");
	qp->max_send_sge = req->max_send_sge;
	qp->max_recv_sge = req->max_recv_sge;
	qp->max_inline = req->max_inline;
	qp->sig_all = req->sq_sig_all;
	r = build(qp, req, rep);
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
	rep->qp.bytes = qp->bytes;
	return 0;
}

/* True if the endpoint is bound to a stream, or may be. */
static bool bound(const struct qp *qp)
{
	return qp->peer && qp->peer->assoc && !list_linked(&qp->waiting);
}

/* Lets go of association and stream. */
static void detach(struct qp *qp)
{
	list_del(&qp->waiting);
	list_del(&qp->connecting);
	qp->peer = NULL;
}

struct qp *qp_free(struct qp *qp)
{
	if (!qp)
		return NULL;
	if (bound(qp)) {
		assoc_unbind(qp->peer->assoc, qp->ep);
		peer_activate(qp->peer);
	}
	detach(qp);
	idtab_del(&qp->client->qps, qp->handle);
	cq_unreserve(qp->send_cq, qp->taken_send);
	cq_unreserve(qp->recv_cq, qp->taken_recv);
	qp->send_cq->users--;
	qp->recv_cq->users--;
	qp->pd->users--;
	if (qp->map)
		munmap(qp->map, qp->bytes);
	acct_release(&qp->charge);
	free(qp->ep);
	free(qp);
	return NULL;
}

/* ---- sessions ---- */

static void send_event(struct qp *qp, enum msg_event_type type, int err, uint16_t term,
		       const char *reason, const void *private_data, size_t len)
{
	struct msg_event ev = {
		.type = type,
		.cookie = qp->cookie,
		.qp = qp->handle,
		.err = err,
		.term = term,
		.private_len = (uint16_t)len,
	};

	if (qp->peer) {
		ev.assoc = qp->peer->id;
		ev.stream = qp->sid;
		ev.peer = qp->peer->remote;
	}
	snprintf(ev.reason, sizeof(ev.reason), "%s", reason);
	if (len > 0)
		memcpy(ev.private_data, private_data, len);
	client_event(qp->client, &ev);
}

/* The session is over or never was: whatever is and will be posted is flushed. */
static void enter_error(struct qp *qp)
{
	detach(qp);
	qp->state = QP_ERROR;
	ring_sleep(&qp->rq, RING_SLEEPS); /* receives ring too from now on, to be flushed */
	wr_flush(qp);
}

int qp_connect(struct qp *qp, const struct msg_connect *req, struct reply *rep)
{
	struct daemon *d = qp->client->daemon;
	struct peer *p;
	int r;

	if (qp->state != QP_IDLE)
		return reply_refuse(rep, EISCONN, "queue pair %u: connect while it is %s", qp->num,
				    qp_state_str(qp->state));
	if (req->private_len > MSG_PRIVATE_MAX)
		return reply_violation(rep, EINVAL,
				       "queue pair %u: %u bytes of private data: at most %d",
				       qp->num, req->private_len, MSG_PRIVATE_MAX);
	if (req->peer.ss_family != AF_INET && req->peer.ss_family != AF_INET6)
		return reply_refuse(rep, EAFNOSUPPORT,
				    "queue pair %u: address family %u of the peer", qp->num,
				    req->peer.ss_family);
	r = peer_get(d, &req->peer, &p);
	if (r)
		return reply_refuse(rep, -r, "queue pair %u: no association can be made: %s",
				    qp->num, strerror(-r));
	qp->cookie = req->cookie;
	qp->private_len = req->private_len;
	memcpy(qp->private_data, req->private_data, req->private_len);
	qp->deadline_ms =
		d->now_ms + (req->timeout_ms ? req->timeout_ms : d->cfg.session.connect_ms);
	qp->state = QP_CONNECTING;
	list_add_tail(&d->connecting, &qp->connecting);
	peer_initiate(p, qp);
	return 0;
}

/* More waited for the association than it has streams: on with the next one. */
static void initiate_elsewhere(struct qp *qp)
{
	const struct peer *full = qp->peer;
	struct peer *p;
	int r = peer_get(qp->client->daemon, &full->remote, &p);

	if (r)
		qp_failed(qp, MSG_EV_FAILED, -r, "no further association can be made", NULL, 0);
	else
		peer_initiate(p, qp);
}

void qp_initiate(struct qp *qp)
{
	struct peer *p = qp->peer;

	if (assoc_connect(p->assoc, qp->ep, qp->private_data, qp->private_len, &qp->sid))
		initiate_elsewhere(qp);
	else
		peer_activate(p);
}

void qp_established(struct qp *qp, const void *private_data, size_t len)
{
	list_del(&qp->connecting);
	qp->state = QP_RTS;
	send_event(qp, MSG_EV_ESTABLISHED, 0, 0, "", private_data, len);
	qp_wake(qp);
}

void qp_failed(struct qp *qp, enum msg_event_type type, int err, const char *reason,
	       const void *private_data, size_t len)
{
	send_event(qp, type, err, 0, reason, private_data, len);
	enter_error(qp);
}

void qp_disconnect(struct qp *qp)
{
	if (qp->state == QP_CONNECTING) {
		if (bound(qp))
			assoc_unbind(qp->peer->assoc, qp->ep);
		if (qp->peer)
			peer_activate(qp->peer);
		qp_failed(qp, MSG_EV_FAILED, ECANCELED, "given up by this program", NULL, 0);
	} else if (qp->state == QP_RTS) {
		qp->state = QP_CLOSING;
		assoc_close(qp->peer->assoc, qp->ep);
		peer_activate(qp->peer);
	}
}

void qp_closed(struct qp *qp, int err, uint16_t term, const char *reason)
{
	send_event(qp, MSG_EV_DISCONNECTED, err, term, reason, NULL, 0);
	enter_error(qp);
}

static void time_out(struct qp *qp)
{
	bool up = bound(qp);

	if (up)
		assoc_unbind(qp->peer->assoc, qp->ep);
	if (qp->peer)
		peer_activate(qp->peer);
	qp_failed(qp, MSG_EV_FAILED, ETIMEDOUT,
		  up ? "no answer in time: the peer's program did not accept or reject"
		     : "no answer in time: the association with the peer's daemon did not come up",
		  NULL, 0);
}

void qp_expire_connects(struct daemon *d)
{
	list_foreach_safe (l, &d->connecting) {
		struct qp *qp = list_entry(l, struct qp, connecting);

		if (d->now_ms >= qp->deadline_ms)
			time_out(qp);
	}
}

uint64_t qp_connect_expiry(const struct daemon *d)
{
	uint64_t next = UINT64_MAX;

	list_foreach (l, &d->connecting) {
		const struct qp *qp = list_entry(l, struct qp, connecting);

		if (qp->deadline_ms < next)
			next = qp->deadline_ms;
	}
	return next;
}

/* ---- work ---- */

void qp_wake(struct qp *qp)
{
	if (qp->state == QP_RTS) {
		assoc_tx_wake(qp->peer->assoc, qp->ep);
		peer_activate(qp->peer);
	} else if (qp->state == QP_ERROR) {
		wr_flush(qp);
	}
}

void qp_query(struct qp *qp, struct msg_qp_state *ret)
{
	struct rdmap_info info;

	rdmap_query(qp->ep, &info);
	ret->state = qp->state;
	ret->ord = info.ord;
	ret->ird = info.ird;
	if (!qp->peer)
		return;
	ret->assoc = qp->peer->id;
	ret->stream = qp->sid;
	ret->remote = qp->peer->remote;
	if (qp->peer->assoc) {
		struct llp_info link;

		llp_info(qp->peer->conn, &link);
		ret->local = link.local;
		ret->max_tagged = qp->peer->dp.mulpdu - WIRE_TAGGED_LEN;
		ret->max_untagged = qp->peer->dp.mulpdu - WIRE_UNTAGGED_LEN;
	}
}

const char *qp_state_str(enum qp_state s)
{
	static const char *const names[] = {"idle", "connecting", "rts", "closing", "error"};

	return names[s];
}
