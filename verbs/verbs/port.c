/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes of a device and its port. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/base/error.h"
#include "verbs/verbs/context.h"
#include "verbs/verbs/qp.h"

#undef ibv_query_port

enum {
	PORT = 1,
	PORTS = 1,
	WIDTH_4X = 2,
	SPEED_25G = 32,
	PHYS_DISABLED = 3,
	PHYS_LINK_UP = 5,
	GIB = 1 << 30,
	HANDLES = 1 << 16, /* of addresses: they take memory of the program alone */
};

/* ---- device ---- */

static void set_depths(struct ibv_device_attr *a, const struct ddp_caps *caps)
{
	a->max_qp_rd_atom = a->max_qp_init_rd_atom = QP_READS;
	a->max_res_rd_atom = a->max_qp_rd_atom * (int)caps->max_qp;
	a->atomic_cap = caps->features & DDP_CAP_ATOMIC ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE;
}

static void set_numbers(struct ibv_device_attr *a, const struct ddp_caps *caps)
{
	a->max_mr_size = caps->max_mr_bytes;
	a->max_qp = (int)caps->max_qp;
	a->max_qp_wr = (int)(caps->max_qp_wr / qp_entries_per_wr(caps));
	a->max_sge = (int)caps->max_sge;
	a->max_sge_rd = a->max_sge;
	a->max_cq = (int)caps->max_cq;
	a->max_cqe = (int)caps->max_cqe;
	a->max_mr = (int)caps->max_mr;
	a->max_pd = (int)caps->max_pd;
	a->max_mw = (int)caps->max_mw;
	a->max_srq = (int)caps->max_srq;
	a->max_srq_wr = (int)caps->max_qp_wr;
	a->max_srq_sge = (int)caps->max_sge;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	struct host *h = context_of(context)->host;
	struct ibv_device_attr a = {
		.node_guid = h->guid,
		.sys_image_guid = h->guid,
		.page_size_cap = UINT64_MAX << 12,
		.vendor_id = 0xddb,
		.device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SYS_IMAGE_GUID |
				    IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
				    IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_PORT_ACTIVE_EVENT,
		.max_ah = context->device->transport_type == IBV_TRANSPORT_IWARP ? 0 : HANDLES,
		.max_pkeys = 1,
		.local_ca_ack_delay = 15,
		.phys_port_cnt = PORTS,
	};

	strncpy(a.fw_ver, h->caps.version, sizeof(a.fw_ver) - 1);
	set_numbers(&a, &h->caps);
	set_depths(&a, &h->caps);
	*attr = a;
	return 0;
}

/* Other members stay 0: not supported. */
static int query_device_ex(struct ibv_context *context,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t size)
{
	(void)input;
	if (size < sizeof(attr->orig_attr))
		return EINVAL;
	memset(attr, 0, size);
	if (size >=
	    offsetof(struct ibv_device_attr_ex, phys_port_cnt_ex) + sizeof(attr->phys_port_cnt_ex))
		attr->phys_port_cnt_ex = PORTS;
	return ibv_query_device(context, &attr->orig_attr);
}

/* ---- port ---- */

static void fill_port(struct host *h, struct ibv_port_attr *a)
{
	const uint8_t *ip = h->gid.raw;
	const bool up = host_port_is_up(h);

	memset(a, 0, sizeof(*a));
	a->state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	a->max_mtu = a->active_mtu = IBV_MTU_4096;
	a->gid_tbl_len = (int)h->gids.n;
	a->port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
	a->max_msg_sz = GIB;
	a->pkey_tbl_len = 1;
	a->lid = (uint16_t)(ip[14] << 8 | ip[15]);
	a->max_vl_num = 1;
	a->active_width = WIDTH_4X;
	a->active_speed = SPEED_25G;
	a->phys_state = up ? PHYS_LINK_UP : PHYS_DISABLED;
	a->link_layer = IBV_LINK_LAYER_ETHERNET;
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
		      size_t size)
{
	struct ibv_port_attr a;

	if (port != PORT)
		return EINVAL;
	fill_port(context_of(context)->host, &a);
	memset(attr, 0, size);
	memcpy(attr, &a, size < sizeof(a) ? size : sizeof(a));
	return 0;
}

/* For programs with an old header: their struct ends before port_cap_flags2. */
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	return query_port(context, port, (struct ibv_port_attr *)attr,
			  offsetof(struct ibv_port_attr, port_cap_flags2));
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	const struct gid_table *t = &context_of(context)->host->gids;

	if (port != PORT || index < 0 || (unsigned)index >= t->n) {
		errno = EINVAL;
		return -1;
	}
	*gid = t->gid[index];
	return 0;
}

static void fill_gid(const struct gid_table *t, unsigned index, void *ret, size_t size)
{
	struct ibv_gid_entry e = {
		.gid = t->gid[index],
		.gid_index = index,
		.port_num = PORT,
		.gid_type = gid_table_is_v2(t, index) ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1,
		.ndev_ifindex = if_nametoindex(t->netdev[index]),
	};

	memcpy(ret, &e, size < sizeof(e) ? size : sizeof(e));
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	const struct gid_table *t = &context_of(context)->host->gids;

	if (flags)
		return EOPNOTSUPP;
	if (port != PORT)
		return EINVAL;
	if (index >= t->n)
		return ENODATA;
	fill_gid(t, index, entry, size);
	return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max,
			     uint32_t flags, size_t size)
{
	const struct gid_table *t = &context_of(context)->host->gids;

	if (flags)
		return -EOPNOTSUPP;
	if (max < t->n)
		return -EINVAL;
	for (unsigned i = 0; i < t->n; i++)
		fill_gid(t, i, (char *)entries + i * size, size);
	return (ssize_t)t->n;
}

/* A symbol of libibverbs that its own programs use. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned index, int *type);
int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned index, int *type)
{
	const struct gid_table *t = &context_of(context)->host->gids;
	enum { ROCE_V1, ROCE_V2 };

	if (port != PORT || index >= t->n) {
		errno = EINVAL;
		return -1;
	}
	*type = gid_table_is_v2(t, index) ? ROCE_V2 : ROCE_V1;
	return 0;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	(void)context;
	if (port != PORT || index != 0) {
		errno = EINVAL;
		return -1;
	}
	*pkey = htobe16(0xffff);
	return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	(void)context;
	if (port == PORT && pkey == htobe16(0xffff))
		return 0;
	errno = EINVAL;
	return -1;
}

void port_set_ops(struct verbs_context *v)
{
	v->query_port = query_port;
	v->query_device_ex = query_device_ex;
}
