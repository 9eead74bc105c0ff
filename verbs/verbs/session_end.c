/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/session_end.h"

#include "verbs/verbs/context.h"
#include "verbs/verbs/qp.h"

/* Moves the queue pair to this end, which has none. The id of its own end is of no use then. */
static int move_qp(struct session_end *e, struct qp *qp)
{
	struct session_end *from = qp->end;
	int r = ddp_move_qp(qp->ddp, e->id);

	if (r)
		return r;
	from->qp = NULL;
	if (from == &qp->own) {
		ddp_destroy_id(from->id);
		from->id = NULL;
	}
	e->qp = qp;
	qp->end = e;
	return 0;
}

static int move_to_own(struct qp *qp)
{
	struct session_end *own = &qp->own;
	int r = ddp_create_id(host_ddp(context_of(qp->ibv.context)->host),
			      own->sink.event ? &own->sink : NULL, &own->id);

	if (r)
		return r;
	r = move_qp(own, qp);
	if (r) {
		ddp_destroy_id(own->id);
		own->id = NULL;
	}
	return r;
}

int session_end_take(struct session_end *e, struct qp *qp)
{
	int r = 0;

	if (qp->end == e)
		return 0;
	if (e->qp)
		r = move_to_own(e->qp);
	return r ? r : move_qp(e, qp);
}

int session_end_leave(struct session_end *e)
{
	struct qp *qp = e->qp;
	int r;

	if (!qp) {
		r = ddp_destroy_id(e->id);
		if (r == 0)
			e->id = NULL;
		return r;
	}
	ddp_id_set_user(e->id, NULL);
	qp->own.id = e->id;
	qp->own.qp = qp;
	qp->end = &qp->own;
	e->id = NULL;
	e->qp = NULL;
	return 0;
}
