/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/qp_access.h"

#include <errno.h>

#include "verbs/base/error.h"
#include "verbs/verbs/mr.h"

enum {
	READS = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	REMOTE = IBV_ACCESS_REMOTE_WRITE | READS,
};

/* Reads and atomics need resources besides the right. Reads of no bytes, which this library uses
 * for itself, need neither. A daemon that is too old permits all, as it always did. */
static int permit(struct ddp_qp *ddp, unsigned flags, bool no_resources)
{
	unsigned access = mr_access(flags & (no_resources ? REMOTE & ~READS : REMOTE));
	int r = ddp_set_qp_access(ddp, access ? access : DDP_QP_ACCESS_NONE);

	return r == -EOPNOTSUPP ? 0 : r;
}

int qp_access_apply(const struct qp *qp, struct ddp_qp *ddp)
{
	return permit(ddp, qp->attr.qp_access_flags, qp->no_resources);
}

int qp_access_set(struct qp *qp, unsigned flags, bool no_resources)
{
	int r = permit(qp->ddp, flags, no_resources);

	if (r)
		return error_of_call("ibv_modify_qp", r);
	qp->attr.qp_access_flags = flags;
	qp->no_resources = no_resources;
	return 0;
}
