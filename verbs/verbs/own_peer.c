/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/own_peer.h"

#include <errno.h>
#include <stdlib.h>

#include "verbs/verbs/context.h"
#include "verbs/verbs/mr.h"
#include "verbs/verbs/qp.h"

static struct host *host_of_own_peer(const struct qp *qp)
{
	return context_of(qp->ibv.context)->host;
}

/* It receives no message. Its requests bind and invalidate windows of the queue pair, where the
 * peer's accesses arrive; with a daemon that is too old for that they are of no use. */
static int create_qp(struct own_peer *p)
{
	const struct qp *qp = p->of;
	struct ddp_qp_init init = qp->ddp_init;
	int r;

	init.srq = NULL;
	init.max_recv_wr = init.max_recv_sge = 1;
	init.scope_of = qp->ddp;
	r = ddp_create_qp(p->id, pd_ddp(qp->ibv.pd), &init, &p->ddp);
	if (r == -EOPNOTSUPP) {
		init.scope_of = NULL;
		r = ddp_create_qp(p->id, pd_ddp(qp->ibv.pd), &init, &p->ddp);
	}
	if (r)
		return r;
	r = qp_num_set(&host_of_own_peer(qp)->numbers, ddp_qp_num(p->ddp), qp->num);
	if (r)
		ddp_destroy_qp(p->ddp);
	return -r;
}

int own_peer_open(struct qp *qp, void (*event)(struct event_sink *, const struct ddp_cm_event *))
{
	struct own_peer *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->sink.event = event;
	p->of = qp;
	r = ddp_create_id(host_ddp(host_of_own_peer(qp)), &p->sink, &p->id);
	if (r == 0) {
		r = create_qp(p);
		if (r)
			ddp_destroy_id(p->id);
	}
	if (r) {
		free(p);
		return r;
	}
	qp->own_peer = p;
	return 0;
}

void own_peer_close(struct qp *qp)
{
	struct own_peer *p = qp->own_peer;

	if (!p)
		return;
	qp->own_peer = NULL;
	ddp_destroy_qp(p->ddp);
	ddp_destroy_id(p->id);
	free(p);
}
