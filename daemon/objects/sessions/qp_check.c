/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/qp_check.h"

#include <errno.h>

#include "daemon/objects/client/client.h"
#include "daemon/objects/sessions/qp.h"
#include "ipc/wqe.h"
#include "proto/rdmap/rdmap.h"
#include "util/checked.h"

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

/* Receives are in a ring of its own or in a shared receive queue. */
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
	int r = check_max("type", req->type, MSG_QP_RDMAP, MSG_QP_DATAGRAM, rep);

	if (r || req->type != MSG_QP_RAW)
		return r;
	r = check_max("raw_queues", req->raw_queues, 1, RDMAP_RAW_QUEUES, rep);
	return r ? r : check_max("raw_notify", req->raw_notify, 0, UINT8_MAX, rep);
}

/* Each queue of a raw queue pair, and the queue of notices, has room for all its receives. */
static int check_raw_room(const struct client *c, const struct msg_create_qp *req,
			  struct reply *rep)
{
	uint32_t max = c->daemon->cfg.limits.qp_wr, queues = req->raw_queues + 1U;

	if (req->type != MSG_QP_RAW || (uint64_t)req->rq_entries * queues <= max)
		return 0;
	return reply_refuse(rep, EINVAL,
			    "queue pair: receive ring of %u entries for %u raw queues and notices: "
			    "%u times %u is more than %u (limits.qp_wr)",
			    req->rq_entries, req->raw_queues, req->rq_entries, queues, max);
}

static uint32_t max_reads(const struct msg_create_qp *req)
{
	return req->type == MSG_QP_DATAGRAM ? 0 : QP_MAX_READS;
}

int qp_check(const struct client *c, const struct msg_create_qp *req, struct reply *rep)
{
	int r = check_type(req, rep);

	if (!r)
		r = check_depth("send", req->sq_entries, c->daemon->cfg.limits.qp_wr, rep);
	if (!r)
		r = check_receives(c, req, rep);
	if (!r)
		r = check_raw_room(c, req, rep);
	if (!r)
		r = check_max("max_send_sge", req->max_send_sge, 1, WQE_MAX_SGE, rep);
	if (!r)
		r = check_max("max_inline", req->max_inline, 0, WQE_MAX_INLINE, rep);
	if (!r)
		r = check_max("max_ord", req->ord, 0, max_reads(req), rep);
	if (!r)
		r = check_max("max_ird", req->ird, 0, max_reads(req), rep);
	return r;
}
