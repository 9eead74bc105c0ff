/* SPDX-License-Identifier: BSD-2-Clause */
/* Address handles: where a datagram goes to. */
#ifndef VERBS_AH_H
#define VERBS_AH_H

#include <ddp/ddp.h>
#include <infiniband/verbs.h>

struct ah {
	struct ibv_ah ibv;
	struct ddp_ah *ddp; /* NULL: datagrams do not reach the host */
};

#endif
