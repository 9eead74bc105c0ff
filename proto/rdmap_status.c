/* SPDX-License-Identifier: BSD-2-Clause */
/* How a work request completes that fails the check of its memory. */
#include "proto/rdmap_ep.h"

enum rdmap_status rdmap_status_of_stag(int outcome)
{
	switch (outcome) {
	case STAG_E_OK:
		return RDMAP_OK;
	case STAG_E_SCOPE:
		return RDMAP_LOC_SCOPE;
	case STAG_E_RIGHTS:
		return RDMAP_LOC_RIGHTS;
	case STAG_E_WRAP:
	case STAG_E_BOUNDS:
		return RDMAP_LOC_BOUNDS;
	default:
		return RDMAP_LOC_STAG;
	}
}
