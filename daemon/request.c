/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/client.h"
#include "daemon/cq.h"
#include "daemon/listener.h"
#include "daemon/log.h"
#include "daemon/mr.h"
#include "daemon/pd.h"
#include "daemon/qp.h"
#include "daemon/reply.h"
#include "daemon/show.h"
#include "daemon/version.h"
#include "llp/llp.h"

/* ---- handlers: each gets a record of the right size, with the right descriptors ---- */

typedef int handler_fn(struct client *c, const void *rec, const int *fds, struct reply *rep);

/* Looks the object up that the record names; what a client has not got, it cannot name. */
static void *named(struct idtab *t, const void *rec, const char *what, struct reply *rep)
{
	const struct msg_handle *h = rec;
	void *obj = idtab_get(t, h->handle);

	if (!obj)
		reply_violation(rep, ENOENT, "%s 0x%x: this client has none of that handle", what,
				h->handle);
	return obj;
}

static int do_hello(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return client_hello(c, rec, rep);
}

static int do_query(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	const struct config_limits *l = &c->daemon->cfg.limits;
	struct llp_stats stats;

	(void)rec;
	(void)fds;
	llp_stats(c->daemon->net, &stats);
	rep->caps.max_qp = c->qps.max;
	rep->caps.max_cq = l->cqs;
	rep->caps.max_mr = l->mrs;
	rep->caps.max_pd = l->pds;
	rep->caps.max_qp_wr = l->qp_wr;
	rep->caps.max_cqe = l->cqe;
	rep->caps.max_sge = WQE_MAX_SGE;
	rep->caps.max_inline = WQE_MAX_INLINE;
	rep->caps.max_ird = rep->caps.max_ord = QP_MAX_READS;
	rep->caps.max_private = MSG_PRIVATE_MAX;
	rep->caps.poll_us = loop_poll_us(c->daemon->loop);
	rep->caps.max_mr_bytes = l->mr_bytes;
	rep->caps.retransmits = stats.retransmits;
	snprintf(rep->caps.transport, sizeof(rep->caps.transport), "%s", c->daemon->transport);
	snprintf(rep->caps.version, sizeof(rep->caps.version), "%s", DAEMON_VERSION);
	return 0;
}

static int do_alloc_pd(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)rec;
	(void)fds;
	return pd_alloc(c, rep);
}

static int do_dealloc_pd(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	struct pd *pd = named(&c->pds, rec, "protection domain", rep);

	(void)fds;
	return pd ? pd_dealloc(pd, rep) : -ENOENT;
}

static int do_reg_mr(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	return mr_register(c, rec, fds[0], rep);
}

static int do_bind_mr(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	const struct msg_bind_mr *req = rec;
	struct mr *mr = idtab_get(&c->mrs, req->mr);
	struct qp *qp = idtab_get(&c->qps, req->qp);

	(void)fds;
	if (!mr || (req->qp && !qp))
		return reply_violation(rep, ENOENT,
				       "bind: no memory region 0x%x or queue pair 0x%x", req->mr,
				       req->qp);
	return mr_bind(mr, qp, rep);
}

static int do_dereg_mr(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	struct mr *mr = named(&c->mrs, rec, "memory region", rep);

	(void)fds;
	if (!mr)
		return -ENOENT;
	mr_free(mr);
	return 0;
}

static int do_create_cq(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return cq_create(c, rec, rep);
}

static int do_destroy_cq(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	struct cq *cq = named(&c->cqs, rec, "completion queue", rep);

	(void)fds;
	return cq ? cq_destroy(cq, rep) : -ENOENT;
}

static int do_create_qp(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return qp_create(c, rec, rep);
}

static int do_destroy_qp(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	struct qp *qp = named(&c->qps, rec, "queue pair", rep);

	(void)fds;
	if (!qp)
		return -ENOENT;
	qp_free(qp);
	return 0;
}

static int do_query_qp(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	struct qp *qp = named(&c->qps, rec, "queue pair", rep);

	(void)fds;
	if (!qp)
		return -ENOENT;
	qp_query(qp, &rep->qp_state);
	return 0;
}

static int do_listen(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return listener_create(c, rec, rep);
}

static int do_unlisten(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	struct listener *l = named(&c->listeners, rec, "listener", rep);

	(void)fds;
	if (!l)
		return -ENOENT;
	listener_free(l);
	return 0;
}

static int do_connect(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	const struct msg_connect *req = rec;
	struct qp *qp = idtab_get(&c->qps, req->qp);

	(void)fds;
	if (!qp)
		return reply_violation(rep, ENOENT, "connect: no queue pair 0x%x", req->qp);
	return qp_connect(qp, req, rep);
}

static int do_accept(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return listener_accept(c, rec, rep);
}

static int do_reject(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return listener_reject(c, rec, rep);
}

static int do_disconnect(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	struct qp *qp = named(&c->qps, rec, "queue pair", rep);

	(void)fds;
	if (!qp)
		return -ENOENT;
	qp_disconnect(qp);
	return 0;
}

static int do_show(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return show_objects(c, rec, rep);
}

/* ---- the table ---- */

static const struct row {
	size_t len;    /* of the request, exactly */
	unsigned nfds; /* with it, exactly */
	handler_fn *fn;
	size_t reply_len; /* 0: the handler has answered itself */
} table[MSG_OP_COUNT] = {
	[MSG_HELLO] = {sizeof(struct msg_hello), 0, do_hello, sizeof(struct msg_hello_reply)},
	[MSG_QUERY] = {sizeof(struct msg_hdr), 0, do_query, sizeof(struct msg_caps)},
	[MSG_ALLOC_PD] = {sizeof(struct msg_hdr), 0, do_alloc_pd, sizeof(struct msg_handle)},
	[MSG_DEALLOC_PD] = {sizeof(struct msg_handle), 0, do_dealloc_pd, sizeof(struct msg_hdr)},
	[MSG_REG_MR] = {sizeof(struct msg_reg_mr), 1, do_reg_mr, sizeof(struct msg_mr)},
	[MSG_BIND_MR] = {sizeof(struct msg_bind_mr), 0, do_bind_mr, sizeof(struct msg_mr)},
	[MSG_DEREG_MR] = {sizeof(struct msg_handle), 0, do_dereg_mr, sizeof(struct msg_hdr)},
	[MSG_CREATE_CQ] = {sizeof(struct msg_create_cq), 0, do_create_cq, sizeof(struct msg_cq)},
	[MSG_DESTROY_CQ] = {sizeof(struct msg_handle), 0, do_destroy_cq, sizeof(struct msg_hdr)},
	[MSG_CREATE_QP] = {sizeof(struct msg_create_qp), 0, do_create_qp, sizeof(struct msg_qp)},
	[MSG_DESTROY_QP] = {sizeof(struct msg_handle), 0, do_destroy_qp, sizeof(struct msg_hdr)},
	[MSG_QUERY_QP] = {sizeof(struct msg_handle), 0, do_query_qp, sizeof(struct msg_qp_state)},
	[MSG_LISTEN] = {sizeof(struct msg_listen), 0, do_listen, sizeof(struct msg_listener)},
	[MSG_UNLISTEN] = {sizeof(struct msg_handle), 0, do_unlisten, sizeof(struct msg_hdr)},
	[MSG_CONNECT] = {sizeof(struct msg_connect), 0, do_connect, sizeof(struct msg_hdr)},
	[MSG_ACCEPT] = {sizeof(struct msg_accept), 0, do_accept, sizeof(struct msg_hdr)},
	[MSG_REJECT] = {sizeof(struct msg_reject), 0, do_reject, sizeof(struct msg_hdr)},
	[MSG_DISCONNECT] = {sizeof(struct msg_handle), 0, do_disconnect, sizeof(struct msg_hdr)},
	[MSG_CTL_SHOW] = {sizeof(struct ctl_show), 0, do_show, 0},
};

/* The row for the record, or NULL with the violation in words. */
static const struct row *check(const struct client *c, const struct msg_hdr *hdr, size_t len,
			       unsigned nfds, struct reply *rep)
{
	const struct row *row;

	if (hdr->op >= MSG_OP_COUNT || !table[hdr->op].fn) {
		reply_violation(rep, EPROTO, "request %u: there is none of that number", hdr->op);
		return NULL;
	}
	row = &table[hdr->op];
	if (len != row->len)
		reply_violation(rep, EPROTO, "%s: %zu bytes, %zu are right", msg_op_str(hdr->op),
				len, row->len);
	else if (nfds != row->nfds)
		reply_violation(rep, EPROTO, "%s: %u descriptors, %u are right",
				msg_op_str(hdr->op), nfds, row->nfds);
	else if (!c->hello && hdr->op != MSG_HELLO)
		reply_violation(rep, EPROTO, "%s: hello comes first", msg_op_str(hdr->op));
	else
		return row;
	return NULL;
}

static void send_error(struct client *c, uint32_t seq, int err, const struct reply *rep)
{
	struct msg_error e = {
		.hdr = {.op = MSG_ERROR, .seq = seq}, .err = -err, .fatal = rep->fatal};

	memcpy(e.reason, rep->reason, sizeof(e.reason));
	if (!rep->fatal) {
		outq_send(&c->replies, &e, sizeof(e), NULL, 0);
		return;
	}
	c->fault_seq = seq;
	c->fault_err = -err;
	client_fault(c, "%s", rep->reason);
}

static void dispatch(struct client *c, const void *rec, size_t len, const int *fds, unsigned nfds)
{
	struct msg_hdr hdr = {0, 0};
	struct reply rep;
	const struct row *row;
	int r = -EPROTO;

	memset(&rep, 0, sizeof(rep));
	memcpy(&hdr, rec, len < sizeof(hdr) ? len : sizeof(hdr));
	row = check(c, &hdr, len, nfds, &rep);
	if (row) {
		log_debug("client %u: %s", c->id, msg_op_str(hdr.op));
		r = row->fn(c, rec, fds, &rep);
	}
	if (r) {
		send_error(c, hdr.seq, r, &rep);
	} else if (row->reply_len > 0) {
		rep.hdr = hdr;
		outq_send(&c->replies, &rep.hdr, row->reply_len, rep.fds, rep.nfds);
	}
	reply_close_fds(&rep);
}

void request_handle(struct client *c, const void *rec, size_t len, int *fds, unsigned nfds)
{
	dispatch(c, rec, len, fds, nfds);
	while (nfds > 0)
		close(fds[--nfds]);
}
