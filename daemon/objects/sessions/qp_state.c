/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/qp_state.h"

#include "daemon/objects/sessions/qp.h"

const char *qp_state_str(enum qp_state s)
{
	static const char *const names[] = {
		[QP_IDLE] = "idle",       [QP_CONNECTING] = "connecting", [QP_RTS] = "rts",
		[QP_CLOSING] = "closing", [QP_ERROR] = "error",
	};

	return names[s];
}

enum qp_state qp_state(const struct qp *qp)
{
	return qp->datagram && qp->state == QP_IDLE ? QP_RTS : qp->state;
}
