/* SPDX-License-Identifier: BSD-2-Clause */
/* Address handles: where a datagram goes to. */
#ifndef VERBS_AH_H
#define VERBS_AH_H

#include <infiniband/verbs.h>

struct ah {
	struct ibv_ah ibv;
	union ibv_gid to;
};

#endif
