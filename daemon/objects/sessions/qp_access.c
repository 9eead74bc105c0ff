/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/qp_access.h"

#include "daemon/objects/sessions/qp.h"
#include "proto/rdmap/rdmap.h"
#include "proto/ddp/stag.h"

static void apply_rights(struct qp *qp)
{
	uint32_t withheld = qp->access.withheld;

	if (qp->access.no_reads)
		withheld |= STAG_REMOTE_READ | STAG_REMOTE_ATOMIC;
	rdmap_set_access(qp->ep, STAG_REMOTE_ALL & ~withheld);
}

void qp_access_set(struct qp *qp, uint32_t rights)
{
	qp->access.withheld = STAG_REMOTE_ALL & ~rights;
	apply_rights(qp);
}

void qp_access_set_no_reads(struct qp *qp, bool none)
{
	qp->access.no_reads = none;
	apply_rights(qp);
}
