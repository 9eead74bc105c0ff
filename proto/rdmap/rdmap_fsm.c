/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap/rdmap_fsm.h"

static enum rdmap_state open_stream(enum rdmap_event ev)
{
	switch (ev) {
	case RDMAP_EV_STOP:
		return RDMAP_STOPPING;
	case RDMAP_EV_FAIL:
		return RDMAP_FAILED;
	case RDMAP_EV_REPORT:
		return RDMAP_REPORTED;
	default:
		return RDMAP_OPEN;
	}
}

enum rdmap_state rdmap_fsm_next(enum rdmap_state state, enum rdmap_event ev)
{
	if (ev == RDMAP_EV_UNBIND)
		return RDMAP_UNBOUND;
	switch (state) {
	case RDMAP_UNBOUND:
		return ev == RDMAP_EV_BIND ? RDMAP_OPEN : state;
	case RDMAP_OPEN:
		return open_stream(ev);
	case RDMAP_STOPPING:
		return ev == RDMAP_EV_FAIL || ev == RDMAP_EV_REPORT ? RDMAP_FAILED : state;
	case RDMAP_REPORTED:
		return ev == RDMAP_EV_FAIL || ev == RDMAP_EV_STOP || ev == RDMAP_EV_SENT
			       ? RDMAP_FAILED
			       : state;
	default:
		return state; /* only RDMAP_EV_UNBIND leads out of RDMAP_FAILED */
	}
}
