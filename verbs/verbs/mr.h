/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains and memory regions. */
#ifndef VERBS_MR_H
#define VERBS_MR_H

#include <ddp/ddp.h>
#include <infiniband/verbs.h>

struct pd {
	struct ibv_pd ibv;
	struct ddp_pd *ddp;
};

struct mr {
	struct ibv_mr ibv;
	struct ddp_mr *ddp;
};

static inline struct ddp_pd *pd_ddp(struct ibv_pd *pd)
{
	return ((struct pd *)pd)->ddp;
}

/* Converts a set of IBV_ACCESS_ to DDP_ACCESS_, without the hints. */
unsigned mr_access(unsigned access);

#endif
