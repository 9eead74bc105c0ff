/* SPDX-License-Identifier: BSD-2-Clause */
/* Verbs that are hints or not possible. */
#include <errno.h>
#include <infiniband/verbs.h>

#include "verbs/words.h"

#define NO_DATAGRAMS "there are no datagrams, and so no address handles"

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	(void)pd, (void)attr;
	words_lacks("ibv_create_ah", NO_DATAGRAMS, EOPNOTSUPP);
	return NULL;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				     uint8_t port)
{
	(void)pd, (void)wc, (void)grh, (void)port;
	words_lacks("ibv_create_ah_from_wc", NO_DATAGRAMS, EOPNOTSUPP);
	return NULL;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	(void)ah;
	return EINVAL;
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp, (void)gid, (void)lid;
	return words_lacks("ibv_attach_mcast", "SCTP has no multicast", EOPNOTSUPP);
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp, (void)gid, (void)lid;
	return words_lacks("ibv_detach_mcast", "SCTP has no multicast", EOPNOTSUPP);
}

/* A child of fork() has private copies of registered memory: nothing needs to be prepared. */
int ibv_fork_init(void)
{
	return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp, (void)ece;
	return words_lacks("ibv_set_ece", "there are no vendors' options", EOPNOTSUPP);
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	*ece = (struct ibv_ece){0};
	return 0;
}
