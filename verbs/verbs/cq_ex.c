/* SPDX-License-Identifier: BSD-2-Clause */
/* Extended completion queues: the program reads the members of one completion at a time. */
#include <errno.h>
#include <time.h>

#include "verbs/base/error.h"
#include "verbs/verbs/context.h"
#include "verbs/verbs/cq.h"

static struct cq *of(struct ibv_cq_ex *ex)
{
	return (struct cq *)ex;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct cq *c = of(ex);
	int n = cq_poll(&c->ibv, 1, &c->now);

	if (n <= 0)
		return n < 0 ? EIO : ENOENT;
	ex->status = c->now.status;
	ex->wr_id = c->now.wr_id;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	return attr->comp_mask ? EINVAL : next_poll(ex);
}

static void end_poll(struct ibv_cq_ex *ex)
{
	(void)ex;
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return of(ex)->now.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return of(ex)->now.vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return of(ex)->now.byte_len;
}

/* Also the invalidated rkey: ibv_wc_read_invalidated_rkey() calls it. */
static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return of(ex)->now.imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return of(ex)->now.qp_num;
}

static unsigned read_wc_flags(struct ibv_cq_ex *ex)
{
	return of(ex)->now.wc_flags;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return of(ex)->now.src_qp;
}

static uint32_t read_zero32(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint8_t read_zero8(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

/* When the completion is read. */
static uint64_t read_wallclock(struct ibv_cq_ex *ex)
{
	struct timespec t;

	(void)ex;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void set_functions(struct ibv_cq_ex *ex)
{
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_byte_len = read_byte_len;
	ex->read_imm_data = read_imm_data;
	ex->read_qp_num = read_qp_num;
	ex->read_src_qp = read_src_qp;
	ex->read_wc_flags = read_wc_flags;
	ex->read_slid = read_zero32;
	ex->read_sl = read_zero8;
	ex->read_dlid_path_bits = read_zero8;
	ex->read_completion_ts = read_wallclock;
	ex->read_completion_wallclock_ns = read_wallclock;
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	const uint64_t offered = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
				 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	struct cq *c;

	if (attr->wc_flags & ~offered) {
		error_probed("ibv_create_cq_ex",
			     "VLAN, flow tag and tag matching are not supported", EOPNOTSUPP);
		return NULL;
	}
	if (attr->cqe == 0 || attr->comp_vector >= (uint32_t)context->num_comp_vectors) {
		errno = EINVAL;
		return NULL;
	}
	c = cq_create(context, attr->cqe, attr->cq_context, attr->channel);
	if (!c)
		return NULL;
	set_functions(&c->ex);
	return &c->ex;
}

void cq_ex_set_ops(struct verbs_context *v)
{
	v->create_cq_ex = create_cq_ex;
}
