/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap_fsm.h"

enum rdmap_state rdmap_fsm_next(enum rdmap_state state, enum rdmap_event ev)
{
	if (ev == RDMAP_UNBIND)
		return RDMAP_UNBOUND;
	switch (state) {
	case RDMAP_UNBOUND:
		return ev == RDMAP_BIND ? RDMAP_OPEN : state;
	case RDMAP_OPEN:
		if (ev == RDMAP_STOP)
			return RDMAP_STOPPING;
		return ev == RDMAP_FAIL ? RDMAP_FAILED : state;
	case RDMAP_STOPPING:
		return ev == RDMAP_FAIL ? RDMAP_FAILED : state;
	default:
		return state; /* only RDMAP_UNBIND leads out of RDMAP_FAILED */
	}
}
