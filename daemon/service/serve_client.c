/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests about the client itself: hello, limits, events; requests of ddpctl. */
#include <stdio.h>
#include <sys/resource.h>

#include "daemon/base/limits.h"
#include "daemon/base/version.h"
#include "daemon/objects/client/async.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/service/capture.h"
#include "daemon/service/command.h"
#include "daemon/service/hello.h"
#include "daemon/service/serve.h"
#include "daemon/service/settings.h"
#include "daemon/service/show.h"
#include "ipc/wqe.h"
#include "llp/common/llp.h"
#include "proto/rdmap/rdmap.h"
#include "util/checked.h"

int serve_hello(struct client *c, const struct msg_hello *req, struct msg_hello_reply *ret,
		struct reply *rep)
{
	return hello_answer(c, req, ret, rep);
}

/* ---- limits and properties ---- */

static uint32_t features(const struct daemon *d)
{
	const struct config_session *s = &d->cfg.session;
	uint32_t set = MSG_CAP_RAW | MSG_CAP_RNR | MSG_CAP_DATAGRAM | MSG_CAP_STRICT_SENDS |
		       MSG_CAP_WITH_IMM;

	if (llp_has_paths(d->worker.net))
		set |= MSG_CAP_MULTIHOMED;
	if (s->extensions == CONFIG_ON)
		set |= MSG_CAP_ATOMIC;
	if (s->enhanced == CONFIG_ON)
		set |= MSG_CAP_ENHANCED;
	return set;
}

static uint32_t most(const struct config_limits *l, enum acct_kind kind)
{
	return (uint32_t)limits_of_client(l, kind);
}

/* A ring has a power of two of entries. */
static uint32_t ring_most(uint32_t most)
{
	while (!checked_pow2(most))
		most &= most - 1;
	return most;
}

static void report_limits(const struct config_limits *l, struct msg_caps *ret)
{
	ret->max_pd = most(l, ACCT_PDS);
	ret->max_mr = most(l, ACCT_MRS);
	ret->max_mr_bytes = limits_of_client(l, ACCT_MR_BYTES);
	ret->max_mw = most(l, ACCT_MWS);
	ret->max_cq = most(l, ACCT_CQS);
	ret->max_qp = most(l, ACCT_QPS);
	ret->max_srq = most(l, ACCT_SRQS);
	ret->max_qp_wr = ring_most(l->qp_wr);
	ret->max_cqe = ring_most(l->cqe);
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

void serve_query(struct client *c, struct msg_caps *ret)
{
	struct llp_stats stats;

	llp_stats(c->worker->net, &stats);
	report_limits(&c->daemon->cfg.limits, ret);
	ret->max_sge = WQE_MAX_SGE;
	ret->max_inline = WQE_MAX_INLINE;
	ret->max_ird = ret->max_ord = QP_MAX_READS;
	ret->max_private = MSG_PRIVATE_MAX;
	ret->max_raw_queues = RDMAP_RAW_QUEUES;
	ret->features = features(c->daemon);
	ret->poll_us = event_loop_poll_us(c->worker->loop);
	ret->retransmits = stats.retransmits;
	report_cpu(ret);
	snprintf(ret->transport, sizeof(ret->transport), "%s", c->daemon->transport);
	snprintf(ret->version, sizeof(ret->version), "%s", DAEMON_VERSION);
}

/* ---- asynchronous events ---- */

int serve_async_open(struct client *c, struct reply *rep)
{
	return async_open(c, rep);
}

void serve_async_take(struct client *c, struct msg_async *ret)
{
	async_take(c, ret);
}

/* ---- ddpctl ---- */

int serve_ctl_show(struct client *c, const struct ctl_show *req, struct reply *rep)
{
	return show_objects(c, req, rep);
}

int serve_ctl_do(struct client *c, const struct ctl_do *req, struct reply *rep)
{
	return command_run(c, req, rep);
}

int serve_ctl_set(struct client *c, const struct ctl_set *req, struct reply *rep)
{
	return settings_set(c, req, rep);
}

int serve_ctl_capture(struct client *c, const struct ctl_capture *req, struct msg_capture *ret,
		      struct reply *rep)
{
	return capture_begin(c, req, ret, rep);
}
