/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/ah.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/base/addr.h"
#include "verbs/base/error.h"
#include "verbs/verbs/context.h"
#include "verbs/verbs/mr.h"

enum { PORT = 1 };

/* ---- destinations ---- */

static bool is_multicast(const union ibv_gid *gid)
{
	if (addr_gid_is_ipv4(gid))
		return gid->raw[12] >= 224;
	return gid->raw[0] == 0xff;
}

static bool is_unspecified(const union ibv_gid *gid)
{
	static const uint8_t zeros[4];

	return memcmp(gid->raw + 12, zeros, sizeof(zeros)) == 0 &&
	       (addr_gid_is_ipv4(gid) || (gid->global.subnet_prefix == 0 && !gid->raw[10]));
}

static int bad_handle(const char *why)
{
	return error_unsupported("ibv_create_ah", why, EINVAL);
}

/* The way to the host, of its LID if the program has no GID. 0 or a positive errno value. */
static int read_route(const struct host *h, const struct ibv_ah_attr *a,
		      struct ibv_global_route *ret)
{
	if (a->port_num != PORT)
		return bad_handle("port_num is not 1, and the device has one port");
	if (!a->is_global && a->dlid == 0)
		return bad_handle("is_global and dlid are 0: it has no address");
	*ret = a->grh;
	if (!a->is_global)
		*ret = (struct ibv_global_route){.dgid = gid_table_of_lid(&h->gids, a->dlid)};
	return 0;
}

/* 0 or a positive errno value. */
static int check_route(const struct gid_table *t, const struct ibv_global_route *r)
{
	const union ibv_gid *to = &r->dgid;

	if (r->sgid_index >= t->n)
		return bad_handle("sgid_index is not in the table of GIDs");
	if (is_multicast(to))
		return error_unsupported("ibv_create_ah", "multicast is not supported", EOPNOTSUPP);
	if (is_unspecified(to))
		return bad_handle("dgid is no address of a host");
	if (addr_gid_is_ipv4(to) != addr_gid_is_ipv4(&t->gid[r->sgid_index]))
		return bad_handle("dgid is of another address family than the GID of sgid_index");
	return 0;
}

/* ---- handles ---- */

static int check_device(const struct ibv_context *context)
{
	if (context->device->transport_type != IBV_TRANSPORT_IWARP)
		return 0;
	return error_probed("ibv_create_ah",
			    "an iWARP device has no datagrams, and so no address handles: use "
			    "ddpverbs without -i",
			    EOPNOTSUPP);
}

/* From the address of the GID that the program chose; from that of the route if it is the first.
 * Datagrams may not reach the host; programs like UCX make handles that they never use. 0 or a
 * negative errno value. */
static int open_ah(struct ah *ah, const struct ibv_global_route *grh)
{
	struct host *h = context_of(ah->ibv.context)->host;
	const unsigned index = grh->sgid_index;
	struct sockaddr_storage from, to;
	int r;

	if (!(h->caps.features & DDP_CAP_DATAGRAM))
		return 0;
	gid_table_reach(&h->gids, index, &h->gids.gid[index], 0, &from);
	gid_table_reach(&h->gids, index, &grh->dgid, 0, &to);
	r = ddp_create_ah(pd_ddp(ah->ibv.pd), (struct sockaddr *)&to,
			  index > 0 ? (struct sockaddr *)&from : NULL, &ah->ddp);
	return r == -EHOSTUNREACH ? 0 : r;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	const struct host *h = context_of(pd->context)->host;
	struct ibv_global_route route;
	struct ah *ah;
	int r;

	if (check_device(pd->context) || read_route(h, attr, &route) ||
	    check_route(&h->gids, &route))
		return NULL;
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	ah->ibv.context = pd->context;
	ah->ibv.pd = pd;
	r = open_ah(ah, &route);
	if (r == 0)
		return &ah->ibv;
	error_of_call("ibv_create_ah", r);
	free(ah);
	return NULL;
}

int ibv_destroy_ah(struct ibv_ah *ibv)
{
	struct ah *ah = (struct ah *)ibv;
	int r = ddp_destroy_ah(ah->ddp);

	if (r)
		return error_of_call("ibv_destroy_ah", r);
	free(ah);
	return 0;
}

/* ---- answers ---- */

/* The index of an own GID, or -1 with errno. */
static int find_index(struct ibv_context *context, const union ibv_gid *gid)
{
	const struct gid_table *t = &context_of(context)->host->gids;

	for (unsigned i = 0; i < t->n; i++)
		if (memcmp(&t->gid[i], gid, sizeof(*gid)) == 0)
			return (int)i;
	errno = ENOENT;
	return -1;
}

/* The header has the form of IPv6 for IPv4 addresses, too. */
static int answer_to(struct ibv_context *context, const struct ibv_grh *grh,
		     struct ibv_ah_attr *attr)
{
	const uint32_t flow = be32toh(grh->version_tclass_flow);
	int index = find_index(context, &grh->dgid);

	if (index < 0)
		return -1;
	attr->is_global = 1;
	attr->grh.dgid = grh->sgid;
	attr->grh.sgid_index = (uint8_t)index;
	attr->grh.hop_limit = 0xff;
	attr->grh.traffic_class = (uint8_t)(flow >> 20);
	attr->grh.flow_label = flow & 0xfffff;
	return 0;
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
			struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	*attr = (struct ibv_ah_attr){
		.dlid = wc->slid,
		.sl = wc->sl,
		.src_path_bits = wc->dlid_path_bits,
		.port_num = port,
	};
	return wc->wc_flags & IBV_WC_GRH ? answer_to(context, grh, attr) : 0;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				     uint8_t port)
{
	struct ibv_ah_attr attr;

	return ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr) ? NULL
								      : ibv_create_ah(pd, &attr);
}
