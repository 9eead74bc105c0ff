/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of rdma_cm that are not supported: vendor options and multicast. */
#include <errno.h>
#include <rdma/rdma_cma.h>

#include "verbs/base/error.h"

static int refuse_call(const char *call, const char *why)
{
	error_unsupported(call, why, EOPNOTSUPP);
	return -1;
}

int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	(void)id, (void)ece;
	return refuse_call("rdma_set_local_ece", "vendor options are not supported");
}

int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	(void)id;
	*ece = (struct ibv_ece){0};
	return 0;
}

#define NO_MULTICAST "multicast is not supported"

int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	(void)id, (void)addr, (void)context;
	return refuse_call("rdma_join_multicast", NO_MULTICAST);
}

int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr,
			   void *context)
{
	(void)id, (void)attr, (void)context;
	return refuse_call("rdma_join_multicast_ex", NO_MULTICAST);
}

int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)
{
	(void)id, (void)addr;
	return refuse_call("rdma_leave_multicast", NO_MULTICAST);
}
