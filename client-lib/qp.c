/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "client-lib/attr.h"
#include "client-lib/ddp_impl.h"
#include "client-lib/reason.h"
#include "ipc/wqe.h"
#include "util/checked.h"

/* What the local protocol can carry; the daemon's limits may be lower. */
static int check_init(const struct ddp_id *id, const struct ddp_pd *pd, struct ddp_qp_init *init)
{
	if (init->max_send_sge == 0)
		init->max_send_sge = 1;
	if (init->max_recv_sge == 0)
		init->max_recv_sge = 1;
	if (!init->send_cq || !init->recv_cq)
		return reason_fail(-EINVAL, "ddp_create_qp: send_cq or recv_cq is not set");
	if (init->send_cq->ctx != id->ctx || init->recv_cq->ctx != id->ctx || pd->ctx != id->ctx)
		return reason_fail(-EINVAL,
				   "ddp_create_qp: id, PD and CQs are of several contexts");
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
	if (id->qp)
		return reason_fail(-EINVAL, "ddp_create_qp: the id has QP %u already", id->qp->num);
	if (id->kind != ID_FRESH && id->kind != ID_REQUEST)
		return reason_fail(-EINVAL, "ddp_create_qp: the id is %s",
				   id->kind == ID_LISTENER ? "a listener"
							   : "a request that is void");
	return 0;
}

/* True if both rings, with entries for what was asked, lie one behind the other in the memfd. */
static bool layout_fits(const struct msg_create_qp *req, const struct msg_qp *m)
{
	uint64_t sq = ring_bytes(req->sq_entries, m->sq_entry);
	uint64_t rq = ring_bytes(req->rq_entries, m->rq_entry);

	return m->slot < BELL_QUEUES && m->sq_entry % WQE_ALIGN == 0 &&
	       m->rq_entry % WQE_ALIGN == 0 &&
	       m->sq_entry >= wqe_send_size(req->max_send_sge, req->max_inline) &&
	       m->rq_entry >= wqe_recv_size(req->max_recv_sge) && m->rq_offset % RING_LINE == 0 &&
	       sq <= m->rq_offset && checked_range(m->rq_offset, rq, m->bytes);
}

static int attach(struct ddp_qp *qp, const struct msg_create_qp *req, const struct msg_qp *m,
		  int memfd)
{
	int r;

	if (!layout_fits(req, m))
		return reason_fail(-EPROTO,
				   "ddp_create_qp: the daemon's rings are not laid out right");
	r = memfd_map_client(memfd, 0, m->bytes, true, &qp->map);
	if (r > 0)
		return reason_fail(-EPROTO, "ddp_create_qp: the daemon's memfd: %s",
				   memfd_reason(r));
	if (r < 0)
		return reason_errno(r, "ddp_create_qp", "mapping the rings");
	ring_init(&qp->sq.ring, qp->map.addr, req->sq_entries, m->sq_entry);
	ring_init(&qp->rq.ring, qp->map.addr + m->rq_offset, req->rq_entries, m->rq_entry);
	qp->sq.max_sge = req->max_send_sge;
	qp->rq.max_sge = req->max_recv_sge;
	qp->max_inline = req->max_inline;
	qp->num = m->qp_num;
	qp->slot = m->slot;
	return 0;
}

static int ask(struct ddp_qp *qp, const struct ddp_qp_init *init)
{
	struct ddp_ctx *ctx = qp->id->ctx;
	struct msg_create_qp req = {
		.hdr.op = MSG_CREATE_QP,
		.pd = qp->pd->handle,
		.send_cq = init->send_cq->handle,
		.recv_cq = init->recv_cq->handle,
		.sq_entries = ddp_pow2(init->max_send_wr),
		.rq_entries = ddp_pow2(init->max_recv_wr),
		.max_send_sge = init->max_send_sge,
		.max_recv_sge = init->max_recv_sge,
		.max_inline = init->max_inline,
		.ord = init->max_ord,
		.ird = init->max_ird,
		.sq_sig_all = init->sq_sig_all != 0,
	};
	struct msg_qp reply;
	int memfd;
	int r = context_request(ctx, &(struct request){
					     .call = "ddp_create_qp",
					     .rec = &req.hdr,
					     .len = sizeof(req),
					     .reply = &reply.hdr,
					     .reply_len = sizeof(reply),
					     .ret_fds = &memfd,
					     .nfds = 1,
				     });

	if (r)
		return r;
	qp->handle = reply.handle;
	r = attach(qp, &req, &reply, memfd);
	close(memfd);
	if (r)
		context_release(ctx, "ddp_create_qp", MSG_DESTROY_QP, qp->handle);
	return r;
}

static void free_qp(struct ddp_qp *qp)
{
	memfd_unmap(&qp->map);
	pthread_mutex_destroy(&qp->sq.lock);
	pthread_mutex_destroy(&qp->rq.lock);
	free(qp);
}

int ddp_create_qp(struct ddp_id *id, struct ddp_pd *pd, const struct ddp_qp_init *init,
		  struct ddp_qp **ret)
{
	struct ddp_qp_init a;
	struct ddp_qp *qp;
	int r = attr_read("ddp_create_qp", &a, sizeof(a), init);

	if (r == 0)
		r = check_init(id, pd, &a);
	if (r)
		return r;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return reason_fail(-ENOMEM, "ddp_create_qp: out of memory");
	qp->id = id;
	qp->pd = pd;
	qp->send_cq = a.send_cq;
	qp->recv_cq = a.recv_cq;
	pthread_mutex_init(&qp->sq.lock, NULL);
	pthread_mutex_init(&qp->rq.lock, NULL);
	r = ask(qp, &a);
	if (r) {
		free_qp(qp);
		return r;
	}
	cq_add_user(qp->send_cq, &qp->send_user, qp->slot);
	cq_add_user(qp->recv_cq, &qp->recv_user, qp->slot);
	context_use(id->ctx, &pd->uses, 1);
	id->qp = qp;
	*ret = qp;
	return 0;
}

int ddp_destroy_qp(struct ddp_qp *qp)
{
	int r;

	if (!qp)
		return 0;
	r = context_release(qp->id->ctx, "ddp_destroy_qp", MSG_DESTROY_QP, qp->handle);
	if (r)
		return r;
	cq_del_user(qp->send_cq, &qp->send_user);
	cq_del_user(qp->recv_cq, &qp->recv_user);
	context_use(qp->id->ctx, &qp->pd->uses, -1);
	qp->id->qp = NULL;
	free_qp(qp);
	return 0;
}

int ddp_query_qp(struct ddp_qp *qp, struct ddp_qp_attr *attr)
{
	struct msg_handle req = {.hdr.op = MSG_QUERY_QP, .handle = qp->handle};
	struct msg_qp_state m;
	struct ddp_qp_attr a = {0};
	int r = attr_check("ddp_query_qp", attr);

	if (r == 0)
		r = context_request(qp->id->ctx, &(struct request){
							 .call = "ddp_query_qp",
							 .rec = &req.hdr,
							 .len = sizeof(req),
							 .reply = &m.hdr,
							 .reply_len = sizeof(m),
						 });
	if (r)
		return r;
	if (m.state > DDP_QP_ERROR)
		return reason_fail(-EPROTO, "ddp_query_qp: the daemon says state %u", m.state);
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
	attr_write(attr, &a, sizeof(a));
	return 0;
}

uint32_t ddp_qp_num(const struct ddp_qp *qp)
{
	return qp->num;
}
