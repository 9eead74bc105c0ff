/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/service/handlers.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

#include "daemon/base/reply.h"
#include "daemon/base/version.h"
#include "daemon/net/endpoint_addrs.h"
#include "daemon/net/path.h"
#include "daemon/objects/memory/agent.h"
#include "daemon/objects/client/async.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/queues/cq.h"
#include "daemon/objects/sessions/listener.h"
#include "daemon/objects/memory/mr.h"
#include "daemon/objects/memory/mw.h"
#include "daemon/objects/client/pd.h"
#include "daemon/objects/sessions/primary_path.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/objects/sessions/qp_connect.h"
#include "daemon/objects/sessions/qp_options.h"
#include "daemon/objects/sessions/session_request.h"
#include "daemon/objects/queues/srq.h"
#include "daemon/service/capture.h"
#include "daemon/service/command.h"
#include "daemon/service/hello.h"
#include "daemon/service/settings.h"
#include "daemon/service/show.h"
#include "ipc/local_protocol.h"
#include "ipc/wqe.h"
#include "llp/common/llp.h"
#include "proto/rdmap/rdmap.h"

/* ---- the client itself, and domains ---- */

/* Looks up the object that the record names, in the client's own table. */
static void *named(struct idtab *t, const void *rec, const char *what, struct reply *rep)
{
	const struct msg_handle *h = rec;
	void *obj = idtab_get(t, h->handle);

	if (!obj)
		reply_violation(rep, ENOENT, "%s 0x%x: unknown handle", what, h->handle);
	return obj;
}

static int do_hello(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return hello_answer(c, rec, rep);
}

static uint32_t features(const struct daemon *d)
{
	const struct config_session *s = &d->cfg.session;
	uint32_t set = MSG_CAP_RAW;

	if (llp_has_paths(d->worker.net))
		set |= MSG_CAP_MULTIHOMED;
	if (s->extensions == CONFIG_ON)
		set |= MSG_CAP_ATOMIC;
	if (s->enhanced == CONFIG_ON)
		set |= MSG_CAP_ENHANCED;
	return set;
}

/* A client cannot have more than its table takes. */
static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A row with CAP assigns to the member of the reply, and a row with NO_CAP does nothing. */
static void report_limits(const struct config_limits *l, struct msg_caps *ret)
{
#define TABLE(name, most) most
#define NO_TABLE UINT64_MAX
#define CAP(name) ret->name =
#define NO_CAP (void)
#define LIMIT_CAP(member, kind, type, values, table, cap, what, text)                              \
	cap(type) least(l->member, table);
	LIMITS(LIMIT_CAP)
#undef LIMIT_CAP
#undef NO_CAP
#undef CAP
#undef NO_TABLE
#undef TABLE
	ret->max_qp_wr = l->qp_wr;
	ret->max_cqe = l->cqe;
}

static uint64_t us(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

/* Of all threads. */
static void report_cpu(struct msg_caps *ret)
{
	struct rusage ru;

	if (getrusage(RUSAGE_SELF, &ru) < 0)
		return;
	ret->cpu_user_us = us(ru.ru_utime);
	ret->cpu_system_us = us(ru.ru_stime);
}

static int do_query(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	struct llp_stats stats;

	(void)rec;
	(void)fds;
	llp_stats(c->worker->net, &stats);
	report_limits(&c->daemon->cfg.limits, &rep->caps);
	rep->caps.max_sge = WQE_MAX_SGE;
	rep->caps.max_inline = WQE_MAX_INLINE;
	rep->caps.max_ird = rep->caps.max_ord = QP_MAX_READS;
	rep->caps.max_private = MSG_PRIVATE_MAX;
	rep->caps.max_raw_queues = RDMAP_RAW_QUEUES;
	rep->caps.features = features(c->daemon);
	rep->caps.poll_us = event_loop_poll_us(c->worker->loop);
	rep->caps.retransmits = stats.retransmits;
	report_cpu(&rep->caps);
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

static int do_query_pd(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	const struct pd *pd = named(&c->pds, rec, "protection domain", rep);

	(void)fds;
	if (!pd)
		return -ENOENT;
	pd_query(pd, &rep->pd_state);
	return 0;
}

static int do_async_open(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)rec;
	(void)fds;
	return async_open(c, rep);
}

static int do_async_take(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)rec;
	(void)fds;
	async_take(c, &rep->async);
	return 0;
}

/* ---- memory ---- */

static int do_reg_mr(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	return mr_register(c, rec, fds[0], rep);
}

static int do_reg_own_mr(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	return mr_register_own(c, rec, fds[0], rep);
}

static int do_open_agent(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)rec;
	(void)fds;
	return agent_open(c, rep);
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
	return mr_bind(mr, qp ? &qp->scope : NULL, rep);
}

static int do_notify_mr(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	const struct msg_notify_mr *req = rec;
	struct mr *mr = idtab_get(&c->mrs, req->mr);
	struct cq *cq = idtab_get(&c->cqs, req->cq);

	(void)fds;
	if (!mr || (req->cq && !cq))
		return reply_violation(rep, ENOENT,
				       "notify: no memory region 0x%x or completion queue 0x%x",
				       req->mr, req->cq);
	return mr_notify(mr, cq, req->wr_id, rep);
}

static int do_dereg_mr(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	struct mr *mr = named(&c->mrs, rec, "memory region", rep);

	(void)fds;
	return mr ? mr_dereg(mr, rep) : -ENOENT;
}

static int do_query_mr(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	const struct mr *mr = named(&c->mrs, rec, "memory region", rep);

	(void)fds;
	if (!mr)
		return -ENOENT;
	mr_query(mr, &rep->mr_state);
	return 0;
}

/* A descriptor is sent if and only if memory is to be mapped. */
static int rereg(struct client *c, const struct msg_rereg_mr *req, int fd, struct reply *rep)
{
	struct mr *mr = idtab_get(&c->mrs, req->mr);

	if (!mr)
		return reply_violation(rep, ENOENT, "rereg: no memory region 0x%x", req->mr);
	if (!(req->what & MSG_REREG_TRANSLATION) != (fd < 0))
		return reply_violation(rep, EINVAL, "rereg 0x%x with %d descriptors", req->what,
				       fd >= 0);
	return mr_rereg(mr, req, fd, rep);
}

static int do_rereg_mr(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return rereg(c, rec, -1, rep);
}

static int do_remap_mr(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	return rereg(c, rec, fds[0], rep);
}

static int do_alloc_mw(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return mw_alloc(c, rec, rep);
}

static int do_bind_mw(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	const struct msg_bind_mw *req = rec;
	struct mw *mw = idtab_get(&c->mws, req->mw);
	const struct mr *mr = idtab_get(&c->mrs, req->mr);

	(void)fds;
	if (!mw || (req->mr && !mr))
		return reply_violation(rep, ENOENT,
				       "bind: no memory window 0x%x or memory region 0x%x", req->mw,
				       req->mr);
	return mw_bind(mw, mr, req, rep);
}

static int do_query_mw(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	const struct mw *mw = named(&c->mws, rec, "memory window", rep);

	(void)fds;
	if (!mw)
		return -ENOENT;
	mw_query(mw, &rep->mw_state);
	return 0;
}

static int do_dealloc_mw(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	struct mw *mw = named(&c->mws, rec, "memory window", rep);

	(void)fds;
	if (!mw)
		return -ENOENT;
	mw_free(mw);
	return 0;
}

/* ---- queues ---- */

static int do_create_cq(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return cq_create(c, rec, rep);
}

static int do_resize_cq(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	const struct msg_resize_cq *req = rec;
	struct cq *cq = idtab_get(&c->cqs, req->cq);

	(void)fds;
	if (!cq)
		return reply_violation(rep, ENOENT, "resize: no completion queue 0x%x", req->cq);
	return cq_resize(cq, req->entries, rep);
}

static int do_destroy_cq(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	struct cq *cq = named(&c->cqs, rec, "completion queue", rep);

	(void)fds;
	return cq ? cq_destroy(cq, rep) : -ENOENT;
}

static int do_query_cq(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	const struct cq *cq = named(&c->cqs, rec, "completion queue", rep);

	(void)fds;
	if (!cq)
		return -ENOENT;
	cq_query(cq, &rep->cq_state);
	return 0;
}

static int do_create_srq(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return srq_create(c, rec, rep);
}

static int do_modify_srq(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	const struct msg_modify_srq *req = rec;
	struct srq *srq = idtab_get(&c->srqs, req->srq);

	(void)fds;
	if (!srq)
		return reply_violation(rep, ENOENT, "modify: no shared receive queue 0x%x",
				       req->srq);
	return srq_modify(srq, req, rep);
}

static int do_query_srq(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	const struct srq *srq = named(&c->srqs, rec, "shared receive queue", rep);

	(void)fds;
	if (!srq)
		return -ENOENT;
	srq_query(srq, &rep->srq_state);
	return 0;
}

static int do_destroy_srq(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	struct srq *srq = named(&c->srqs, rec, "shared receive queue", rep);

	(void)fds;
	return srq ? srq_destroy(srq, rep) : -ENOENT;
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

static int do_qp_options(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	struct qp *qp = named(&c->qps, rec, "queue pair", rep);

	(void)fds;
	return qp ? qp_options_set(qp, rec, rep) : -ENOENT;
}

static int do_srq_options(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	struct srq *srq = named(&c->srqs, rec, "shared receive queue", rep);

	(void)fds;
	return srq ? qp_options_set_srq(srq, rec, rep) : -ENOENT;
}

/* ---- sessions ---- */

static int do_listen(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return listener_create(c, rec, 0, rep);
}

static int do_listen_key(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	const struct msg_listen_key *req = rec;

	(void)fds;
	if (req->key == 0)
		return reply_violation(rep, EINVAL, "listen: service key 0");
	return listener_create(c, &req->listen, req->key, rep);
}

static int do_query_request(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return session_request_query(c, rec, rep);
}

static int do_query_addrs(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)rec;
	(void)fds;
	endpoint_addrs_ours(c->worker, &rep->addrs);
	return 0;
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
	return session_request_accept(c, rec, rep);
}

static int do_reject(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return session_request_reject(c, rec, rep);
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

static int do_query_paths(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	const struct qp *qp = named(&c->qps, rec, "queue pair", rep);

	(void)fds;
	if (!qp)
		return -ENOENT;
	if (!qp->assoc)
		return reply_refuse(rep, ENOTCONN, "paths: queue pair %u has no association",
				    qp->num);
	path_query(qp->assoc, &rep->paths);
	return 0;
}

static int do_set_primary(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return primary_path_set(c, rec, rep);
}

static int do_show(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return show_objects(c, rec, rep);
}

static int do_command(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return command_run(c, rec, rep);
}

static int do_set(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return settings_set(c, rec, rep);
}

static int do_capture(struct client *c, const void *rec, const int *fds, struct reply *rep)
{
	(void)fds;
	return capture_begin(c, rec, rep);
}

/* ---- the table ---- */

#define SIZE(type) sizeof(struct msg_##type)
#define WITHOUT(type, member) offsetof(struct msg_##type, member)

static const struct handlers_row table[MSG_OP_COUNT] = {
	[MSG_HELLO] = {SIZE(hello), 0, do_hello, SIZE(hello_reply), 0, 0},
	[MSG_QUERY] = {SIZE(hdr), 0, do_query, SIZE(caps), WITHOUT(caps, cpu_user_us),
		       IPC_MINOR_CPU},
	[MSG_ALLOC_PD] = {SIZE(hdr), 0, do_alloc_pd, SIZE(handle), 0, 0},
	[MSG_DEALLOC_PD] = {SIZE(handle), 0, do_dealloc_pd, SIZE(hdr), 0, 0},
	[MSG_QUERY_PD] = {SIZE(handle), 0, do_query_pd, SIZE(pd_state), 0, 0},
	[MSG_REG_MR] = {SIZE(reg_mr), 1, do_reg_mr, SIZE(mr), 0, 0},
	[MSG_REG_OWN_MR] = {SIZE(reg_own_mr), 1, do_reg_own_mr, SIZE(mr), 0, 0},
	[MSG_BIND_MR] = {SIZE(bind_mr), 0, do_bind_mr, SIZE(mr), 0, 0},
	[MSG_REREG_MR] = {SIZE(rereg_mr), 0, do_rereg_mr, SIZE(mr), 0, 0},
	[MSG_REMAP_MR] = {SIZE(rereg_mr), 1, do_remap_mr, SIZE(mr), 0, 0},
	[MSG_QUERY_MR] = {SIZE(handle), 0, do_query_mr, SIZE(mr_state), 0, 0},
	[MSG_NOTIFY_MR] = {SIZE(notify_mr), 0, do_notify_mr, SIZE(hdr), 0, 0},
	[MSG_DEREG_MR] = {SIZE(handle), 0, do_dereg_mr, SIZE(hdr), 0, 0},
	[MSG_ALLOC_MW] = {SIZE(alloc_mw), 0, do_alloc_mw, SIZE(mr), 0, 0},
	[MSG_BIND_MW] = {SIZE(bind_mw), 0, do_bind_mw, SIZE(mr), 0, 0},
	[MSG_QUERY_MW] = {SIZE(handle), 0, do_query_mw, SIZE(mw_state), 0, 0},
	[MSG_DEALLOC_MW] = {SIZE(handle), 0, do_dealloc_mw, SIZE(hdr), 0, 0},
	[MSG_CREATE_CQ] = {SIZE(create_cq), 0, do_create_cq, SIZE(cq), WITHOUT(cq, offset),
			   IPC_MINOR_OFFSETS},
	[MSG_RESIZE_CQ] = {SIZE(resize_cq), 0, do_resize_cq, SIZE(cq), 0, 0},
	[MSG_QUERY_CQ] = {SIZE(handle), 0, do_query_cq, SIZE(cq_state), 0, 0},
	[MSG_DESTROY_CQ] = {SIZE(handle), 0, do_destroy_cq, SIZE(hdr), 0, 0},
	[MSG_CREATE_SRQ] = {SIZE(create_srq), 0, do_create_srq, SIZE(srq), WITHOUT(srq, offset),
			    IPC_MINOR_OFFSETS},
	[MSG_MODIFY_SRQ] = {SIZE(modify_srq), 0, do_modify_srq, SIZE(hdr), 0, 0},
	[MSG_QUERY_SRQ] = {SIZE(handle), 0, do_query_srq, SIZE(srq_state), 0, 0},
	[MSG_DESTROY_SRQ] = {SIZE(handle), 0, do_destroy_srq, SIZE(hdr), 0, 0},
	[MSG_CREATE_QP] = {SIZE(create_qp), 0, do_create_qp, SIZE(qp), WITHOUT(qp, offset),
			   IPC_MINOR_OFFSETS},
	[MSG_QUERY_QP] = {SIZE(handle), 0, do_query_qp, SIZE(qp_state), 0, 0},
	[MSG_DESTROY_QP] = {SIZE(handle), 0, do_destroy_qp, SIZE(hdr), 0, 0},
	[MSG_LISTEN] = {SIZE(listen), 0, do_listen, SIZE(listener), 0, 0},
	[MSG_LISTEN_KEY] = {SIZE(listen_key), 0, do_listen_key, SIZE(listener), 0, 0},
	[MSG_UNLISTEN] = {SIZE(handle), 0, do_unlisten, SIZE(hdr), 0, 0},
	[MSG_CONNECT] = {SIZE(connect), 0, do_connect, SIZE(hdr), 0, 0},
	[MSG_ACCEPT] = {SIZE(accept), 0, do_accept, SIZE(hdr), 0, 0},
	[MSG_REJECT] = {SIZE(reject), 0, do_reject, SIZE(hdr), 0, 0},
	[MSG_DISCONNECT] = {SIZE(handle), 0, do_disconnect, SIZE(hdr), 0, 0},
	[MSG_QUERY_REQUEST] = {SIZE(handle), 0, do_query_request, SIZE(request_state), 0, 0},
	[MSG_QUERY_ADDRS] = {SIZE(hdr), 0, do_query_addrs, SIZE(addrs), 0, 0},
	[MSG_QUERY_PATHS] = {SIZE(handle), 0, do_query_paths, SIZE(paths), 0, 0},
	[MSG_SET_PRIMARY] = {SIZE(set_primary), 0, do_set_primary, SIZE(hdr), 0, 0},
	[MSG_QP_OPTIONS] = {SIZE(options), 0, do_qp_options, SIZE(options_state),
			    WITHOUT(options_state, access), IPC_MINOR_ACCESS},
	[MSG_SRQ_OPTIONS] = {SIZE(options), 0, do_srq_options, SIZE(options_state),
			     WITHOUT(options_state, access), IPC_MINOR_ACCESS},
	[MSG_ASYNC_OPEN] = {SIZE(hdr), 0, do_async_open, SIZE(hdr), 0, 0},
	[MSG_ASYNC_TAKE] = {SIZE(hdr), 0, do_async_take, SIZE(async), 0, 0},
	[MSG_OPEN_AGENT] = {SIZE(hdr), 0, do_open_agent, SIZE(agent), 0, 0},
	[MSG_CTL_DO] = {sizeof(struct ctl_do), 0, do_command, SIZE(hdr), 0, 0},
	[MSG_CTL_SET] = {sizeof(struct ctl_set), 0, do_set, SIZE(hdr), 0, 0},
	[MSG_CTL_CAPTURE] = {sizeof(struct ctl_capture), 0, do_capture, SIZE(capture), 0, 0},
	[MSG_CTL_SHOW] = {sizeof(struct ctl_show), 0, do_show, 0, 0, 0},
};

const struct handlers_row *handlers_row(uint32_t op)
{
	return op < MSG_OP_COUNT && table[op].fn ? &table[op] : NULL;
}
