/* SPDX-License-Identifier: BSD-2-Clause */
/* The status of a work request that fails the check of its memory. */
#include "proto/rdmap/rdmap_ep.h"

enum rdmap_status rdmap_status_of_stag(int outcome)
{
	switch (outcome) {
	case STAG_E_OK:
		return RDMAP_SUCCESS;
	case STAG_E_SCOPE:
		return RDMAP_LOC_PD_ERR;
	case STAG_E_RIGHTS:
		return RDMAP_LOC_ACCESS_ERR;
	case STAG_E_WRAP:
	case STAG_E_BOUNDS:
		return RDMAP_LOC_BOUNDS_ERR;
	default:
		return RDMAP_LOC_KEY_ERR;
	}
}
