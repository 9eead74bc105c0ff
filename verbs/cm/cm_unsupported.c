/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of rdma_cm that are hints, lists, or not possible. */
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>

#include "verbs/cm/cm_id.h"
#include "verbs/verbs/context.h"
#include "verbs/verbs/qp.h"
#include "verbs/base/error.h"

static int lacks(const char *call, const char *why)
{
	error_unsupported(call, why, EOPNOTSUPP);
	return -1;
}

/* Service type, address reuse and time-outs are hints. */
int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t len)
{
	if (level == RDMA_OPTION_ID && name == RDMA_OPTION_ID_AFONLY && len == sizeof(int))
		cm_of(id)->family_only = *(int *)value != 0;
	if (level == RDMA_OPTION_ID && name <= RDMA_OPTION_ID_ACK_TIMEOUT)
		return 0;
	if (level == RDMA_OPTION_IB)
		return lacks("rdma_set_option", "paths of InfiniBand");
	errno = EINVAL;
	return -1;
}

/* The attributes for ibv_modify_qp(): besides the rights it has nothing to do for ids. */
int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	attr->port_num = 1;
	attr->path_mtu = IBV_MTU_4096;
	*mask = IBV_QP_STATE;
	if (attr->qp_state == IBV_QPS_INIT) {
		attr->qp_access_flags = qp_cm_access(cm_of(id)->resources);
		*mask |= IBV_QP_ACCESS_FLAGS;
	}
	return 0;
}

struct ibv_context **rdma_get_devices(int *num_devices)
{
	unsigned n = host_count();
	struct ibv_context **list = calloc(n + 1, sizeof(*list));

	if (!list)
		return NULL;
	for (unsigned i = 0; i < n; i++)
		list[i] = context_of_cm(host_at(i));
	if (num_devices)
		*num_devices = (int)n;
	return list;
}

void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}

int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	(void)id, (void)ece;
	return lacks("rdma_set_local_ece", "there are no vendors' options");
}

int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	(void)id;
	*ece = (struct ibv_ece){0};
	return 0;
}

#define NO_MULTICAST "SCTP has no multicast"

int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	(void)id, (void)addr, (void)context;
	return lacks("rdma_join_multicast", NO_MULTICAST);
}

int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr,
			   void *context)
{
	(void)id, (void)attr, (void)context;
	return lacks("rdma_join_multicast_ex", NO_MULTICAST);
}

int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)
{
	(void)id, (void)addr;
	return lacks("rdma_leave_multicast", NO_MULTICAST);
}
