/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/qp_options.h"

#include <errno.h>

#include "daemon/objects/client/client.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/objects/sessions/qp_access.h"
#include "daemon/objects/sessions/qp_hold.h"
#include "daemon/objects/queues/srq.h"
#include "proto/rdmap/credit.h"
#include "proto/rdmap/rdmap.h"

enum {
	FLAGS = MSG_QP_PLACE_IN_ORDER | MSG_QP_KEEP_RECVS | MSG_QP_ACKED | MSG_QP_IMM_OF_SEND |
		MSG_QP_CREDITS | MSG_QP_STRICT_RECVS | MSG_QP_RNR | MSG_QP_STRICT_SENDS,
	TIMER_MS_MAX = 60000,
};

_Static_assert((int)MSG_QP_PLACE_IN_ORDER == RDMAP_PLACE_IN_ORDER &&
		       (int)MSG_QP_KEEP_RECVS == RDMAP_KEEP_RECVS &&
		       (int)MSG_QP_ACKED == RDMAP_ACKED &&
		       (int)MSG_QP_IMM_OF_SEND == RDMAP_IMM_OF_SEND &&
		       (int)MSG_QP_CREDITS == RDMAP_CREDITS &&
		       (int)MSG_QP_STRICT_RECVS == RDMAP_STRICT_RECVS &&
		       (int)MSG_QP_RNR == RDMAP_RNR &&
		       (int)MSG_QP_STRICT_SENDS == RDMAP_STRICT_SENDS,
	       "options keep their bits");

/* ---- checks ---- */

static int check_hold(const struct msg_options *req, struct reply *rep)
{
	if (req->hold_bytes > QP_HOLD_MAX)
		return reply_refuse(rep, EINVAL, "hold of %u bytes: at most %d for one queue pair",
				    req->hold_bytes, QP_HOLD_MAX);
	if (req->hold_ms > QP_HOLD_MS_MAX)
		return reply_refuse(rep, EINVAL, "hold for %u ms: at most %d", req->hold_ms,
				    QP_HOLD_MS_MAX);
	if (req->hold_ms > 0 && req->hold_bytes == 0)
		return reply_refuse(rep, EINVAL, "hold for %u ms: its size is 0 bytes",
				    req->hold_ms);
	return 0;
}

/* Options that work only with another one. */
static int check_needs(uint32_t flags, struct reply *rep)
{
	static const struct {
		uint32_t flag, needs;
	} pairs[] = {
		{MSG_QP_IMM_OF_SEND, MSG_QP_PLACE_IN_ORDER},
		{MSG_QP_RNR, MSG_QP_CREDITS},
	};

	for (unsigned i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (flags & pairs[i].flag && !(flags & pairs[i].needs))
			return reply_refuse(rep, EINVAL, "options 0x%x: 0x%x needs 0x%x", flags,
					    pairs[i].flag, pairs[i].needs);
	return 0;
}

static int check_what(const struct msg_options *req, uint32_t known, struct reply *rep)
{
	if (req->what & ~known)
		return reply_refuse(rep, EINVAL, "options: change 0x%x: expected a subset of 0x%x",
				    req->what, known);
	if (req->what & MSG_OPTIONS_FLAGS && req->flags & ~(uint32_t)FLAGS)
		return reply_refuse(rep, EINVAL, "options 0x%x: expected a subset of 0x%x",
				    req->flags, FLAGS);
	if (req->what & MSG_OPTIONS_FLAGS && check_needs(req->flags, rep))
		return -EINVAL;
	if (req->what & MSG_OPTIONS_ACCESS && req->access & ~(uint32_t)STAG_REMOTE_ALL)
		return reply_refuse(rep, EINVAL, "options: access 0x%x: expected a subset of 0x%x",
				    req->access, STAG_REMOTE_ALL);
	return req->what & MSG_OPTIONS_HOLD ? check_hold(req, rep) : 0;
}

/* Messages that wait for receives have to fit into the window of the peer. */
static int check_window(uint32_t flags, uint32_t bytes, uint32_t ms, struct reply *rep)
{
	if (!(flags & MSG_QP_CREDITS) || ms == 0 || credit_window(bytes) > 0)
		return 0;
	return reply_refuse(rep, EINVAL, "hold of %u bytes: credits need %u or more", bytes,
			    credit_hold_min());
}

static int check_qp(const struct qp *qp, struct reply *rep)
{
	if (qp->attr.raw || qp->datagram)
		return reply_refuse(rep, EOPNOTSUPP,
				    "queue pair %u: %s queue pairs do not support options", qp->num,
				    qp->attr.raw ? "raw" : "datagram");
	if (qp->state != QP_IDLE || qp->assoc)
		return reply_refuse(rep, EISCONN, "queue pair %u: options while it is %s", qp->num,
				    qp_state_str(qp->state));
	return 0;
}

/* ---- the hold ---- */

/* How far the peer may be ahead: as the hold allows. */
static uint32_t window_of(const struct qp *qp)
{
	return qp->options & MSG_QP_CREDITS && qp->hold.ms > 0 ? credit_window(qp->hold.bytes) : 0;
}

static int set_hold(struct qp *qp, const struct msg_options *req, struct reply *rep)
{
	uint32_t bytes = req->what & MSG_OPTIONS_HOLD ? req->hold_bytes : 0;
	uint32_t flags = req->what & MSG_OPTIONS_FLAGS ? req->flags : qp->options;
	bool in_order = req->what & MSG_OPTIONS_FLAGS && req->flags & MSG_QP_PLACE_IN_ORDER;
	int r;

	if (qp->hold.mem && bytes > 0)
		return reply_refuse(rep, EEXIST, "queue pair %u: it has a hold of %u bytes already",
				    qp->num, qp->hold.bytes);
	if (in_order && bytes == 0 && !qp->hold.mem)
		bytes = QP_HOLD_DEFAULT;
	r = bytes > 0 ? check_window(flags, bytes, req->hold_ms, rep)
		      : check_window(flags, qp->hold.bytes, qp->hold.ms, rep);
	if (r)
		return r;
	return bytes > 0 ? qp_hold_make(qp, bytes, req->hold_ms, rep) : 0;
}

/* ---- queue pairs ---- */

static void put_options(const struct qp *qp, struct msg_options_state *ret)
{
	struct rdmap_info info;

	rdmap_query(qp->ep, &info);
	ret->hold_bytes = qp->hold.bytes;
	ret->hold_ms = qp->hold.ms;
	ret->flags = qp->options;
	ret->held_bytes = info.held_bytes;
	ret->held_msgs = info.held_msgs;
	ret->access = STAG_REMOTE_ALL & ~qp->access.withheld;
}

int qp_options_set(struct qp *qp, const struct msg_options *req, struct msg_options_state *ret,
		   struct reply *rep)
{
	const bool fixed = req->what & (MSG_OPTIONS_HOLD | MSG_OPTIONS_FLAGS);
	int r = check_what(req, MSG_OPTIONS_HOLD | MSG_OPTIONS_FLAGS | MSG_OPTIONS_ACCESS, rep);

	if (!r && fixed)
		r = check_qp(qp, rep);
	if (!r)
		r = set_hold(qp, req, rep);
	if (r)
		return r;
	if (req->what & MSG_OPTIONS_ACCESS)
		qp_access_set(qp, req->access);
	if (req->what & MSG_OPTIONS_FLAGS) {
		qp->options = req->flags;
		rdmap_set_options(qp->ep, req->flags);
	}
	if (fixed)
		rdmap_set_window(qp->ep, window_of(qp));
	put_options(qp, ret);
	return 0;
}

int qp_options_set_rnr(struct qp *qp, const struct msg_qp_rnr *req, struct reply *rep)
{
	if (!(qp->options & MSG_QP_RNR))
		return reply_refuse(rep, EINVAL, "queue pair %u: RNR retries without DDP_QP_RNR",
				    qp->num);
	if (req->retry > RDMAP_RNR_NO_END)
		return reply_refuse(rep, EINVAL, "%u RNR retries: at most %d", req->retry,
				    RDMAP_RNR_NO_END);
	if (req->timer_ms == 0 || req->timer_ms > TIMER_MS_MAX)
		return reply_refuse(rep, EINVAL, "RNR timer of %u ms: expected 1 to %d",
				    req->timer_ms, TIMER_MS_MAX);
	rdmap_set_rnr(qp->ep, req->retry, req->timer_ms);
	return 0;
}

int qp_options_inherit(struct qp *qp, struct reply *rep)
{
	if (!qp->wq.srq || qp->wq.srq->hold_bytes == 0 || qp->attr.raw || qp->datagram)
		return 0;
	return qp_hold_make(qp, qp->wq.srq->hold_bytes, qp->wq.srq->hold_ms, rep);
}

/* ---- shared receive queues ---- */

void qp_options_of_srq(const struct srq *srq, struct msg_options_state *ret)
{
	const struct client *c = srq->client;
	uint32_t pos = 0;
	const struct qp *qp;

	ret->hold_bytes = srq->hold_bytes;
	ret->hold_ms = srq->hold_ms;
	while ((qp = idtab_next(&c->handles.qps, &pos))) {
		struct rdmap_info info;

		if (qp->wq.srq != srq)
			continue;
		rdmap_query(qp->ep, &info);
		ret->held_bytes += info.held_bytes;
		ret->held_msgs += info.held_msgs;
	}
}

int qp_options_set_srq(struct srq *srq, const struct msg_options *req,
		       struct msg_options_state *ret, struct reply *rep)
{
	int r = check_what(req, MSG_OPTIONS_HOLD, rep);

	if (r)
		return r;
	if (req->what & MSG_OPTIONS_HOLD) {
		srq->hold_bytes = req->hold_bytes;
		srq->hold_ms = req->hold_ms;
	}
	qp_options_of_srq(srq, ret);
	return 0;
}
