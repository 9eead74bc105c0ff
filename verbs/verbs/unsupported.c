/* SPDX-License-Identifier: BSD-2-Clause */
/* Verbs that are not supported, and hints without effect. */
#include <errno.h>
#include <infiniband/verbs.h>

#include "verbs/base/error.h"

/* ---- the network ---- */

int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
				uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	(void)context, (void)attr, (void)eth_mac, (void)vid;
	return error_unsupported("ibv_resolve_eth_l2_from_gid",
				 "link-layer addresses are not available: the daemon routes",
				 EOPNOTSUPP);
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp, (void)gid, (void)lid;
	return error_unsupported("ibv_attach_mcast", "multicast is not supported", EOPNOTSUPP);
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp, (void)gid, (void)lid;
	return error_unsupported("ibv_detach_mcast", "multicast is not supported", EOPNOTSUPP);
}

/* ---- objects of other processes ---- */

#define NO_IMPORT "objects cannot be passed to other processes"

struct ibv_context *ibv_import_device(int cmd_fd)
{
	(void)cmd_fd;
	error_unsupported("ibv_import_device", NO_IMPORT, EOPNOTSUPP);
	return NULL;
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	(void)context, (void)pd_handle;
	error_unsupported("ibv_import_pd", NO_IMPORT, EOPNOTSUPP);
	return NULL;
}

void ibv_unimport_pd(struct ibv_pd *pd)
{
	(void)pd; /* none was imported */
}

struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	(void)pd, (void)mr_handle;
	error_unsupported("ibv_import_mr", NO_IMPORT, EOPNOTSUPP);
	return NULL;
}

void ibv_unimport_mr(struct ibv_mr *mr)
{
	(void)mr;
}

struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t dm_handle)
{
	(void)context, (void)dm_handle;
	error_unsupported("ibv_import_dm", NO_IMPORT, EOPNOTSUPP);
	return NULL;
}

void ibv_unimport_dm(struct ibv_dm *dm)
{
	(void)dm;
}

/* ---- hints ---- */

/* A child of fork() has private copies of registered memory without any preparation. */
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
	return error_unsupported("ibv_set_ece", "vendor options are not supported", EOPNOTSUPP);
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	*ece = (struct ibv_ece){0};
	return 0;
}
