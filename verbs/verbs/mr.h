/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains and memory regions. */
#ifndef VERBS_MR_H
#define VERBS_MR_H

#include <ddp/ddp.h>
#include <infiniband/verbs.h>

struct pd {
	struct ibv_pd ibv;
	struct ddp_pd *ddp;
	struct pd *of;  /* a parent domain: that it was made of; NULL: none */
	unsigned users; /* parent domains made of it; guarded by the context's mutex */
};

struct mr {
	struct ibv_mr ibv;
	struct ddp_mr *ddp;
	unsigned access; /* a set of IBV_ACCESS_ */
};

static inline struct ddp_pd *pd_ddp(struct ibv_pd *pd)
{
	return ((struct pd *)pd)->ddp;
}

/* Converts a set of IBV_ACCESS_ to DDP_ACCESS_, without the hints. */
unsigned mr_access(unsigned access);

/* The same for a window: the local right is that of its region. */
static inline unsigned mr_window_access(unsigned access)
{
	return mr_access(access & ~(unsigned)IBV_ACCESS_LOCAL_WRITE);
}

/* 0, or a positive errno value after a sentence: the rights of a window cannot be had. */
int mr_check_window(const char *call, unsigned access);

#endif
