/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/cq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/yield.h"
#include "verbs/base/error.h"
#include "verbs/verbs/channel.h"
#include "verbs/verbs/context.h"
#include "verbs/verbs/datagram.h"
#include "verbs/verbs/post.h"

/* After so many polls without a completion, about 2 us, the program yields. */
enum { YIELD_POLLS = 64 };

/* ---- completions ---- */

static const enum ibv_wc_status statuses[] = {
	[DDP_WC_SUCCESS] = IBV_WC_SUCCESS,
	[DDP_WC_LOC_LEN_ERR] = IBV_WC_LOC_LEN_ERR,
	[DDP_WC_LOC_OP_ERR] = IBV_WC_LOC_QP_OP_ERR,
	[DDP_WC_LOC_SGE_ERR] = IBV_WC_LOC_QP_OP_ERR,
	[DDP_WC_LOC_KEY_ERR] = IBV_WC_LOC_PROT_ERR,
	[DDP_WC_LOC_PD_ERR] = IBV_WC_LOC_PROT_ERR,
	[DDP_WC_LOC_ACCESS_ERR] = IBV_WC_LOC_PROT_ERR,
	[DDP_WC_LOC_BOUNDS_ERR] = IBV_WC_LOC_PROT_ERR,
	[DDP_WC_REM_ACCESS_ERR] = IBV_WC_REM_ACCESS_ERR,
	[DDP_WC_REM_OP_ERR] = IBV_WC_REM_OP_ERR,
	[DDP_WC_FLUSH_ERR] = IBV_WC_WR_FLUSH_ERR,
	[DDP_WC_MW_BIND_ERR] = IBV_WC_MW_BIND_ERR,
	[DDP_WC_RNR_RETRY_EXC_ERR] = IBV_WC_RNR_RETRY_EXC_ERR,
};

static const enum ibv_wc_opcode opcodes[] = {
	[DDP_WC_SEND] = IBV_WC_SEND,
	[DDP_WC_SEND_INV] = IBV_WC_SEND,
	[DDP_WC_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
	[DDP_WC_RDMA_READ] = IBV_WC_RDMA_READ,
	[DDP_WC_IMM_DATA] = IBV_WC_RDMA_WRITE, /* of a Write with Immediate Data */
	[DDP_WC_FETCH_ADD] = IBV_WC_FETCH_ADD,
	[DDP_WC_CMP_SWAP] = IBV_WC_COMP_SWAP,
	[DDP_WC_BIND_MW] = IBV_WC_BIND_MW,
	[DDP_WC_LOCAL_INV] = IBV_WC_LOCAL_INV,
	[DDP_WC_RECV] = IBV_WC_RECV,
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static enum ibv_wc_status status_of(enum ddp_wc_status s)
{
	return (unsigned)s < COUNT(statuses) ? statuses[s] : IBV_WC_GENERAL_ERR;
}

/* The 64 bits of Immediate Data are those of post_imm(). */
static void set_imm(const struct ddp_wc *from, struct ibv_wc *to)
{
	const uint32_t len = post_imm_len(from->imm_data);

	to->wc_flags = IBV_WC_WITH_IMM;
	to->imm_data = post_imm_data(from->imm_data);
	if (len == DDP_IMM_MARK)
		return; /* of a Send, whose length is known */
	to->opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	/* No more than the daemon has placed. */
	to->byte_len = len < from->written ? len : from->written;
}

/* The first 40 bytes of a receive are its header. */
static void convert_datagram(struct host *h, const struct ddp_wc *from, struct ibv_wc *to)
{
	to->qp_num &= QP_NUM_MAX;
	if (from->opcode == DDP_WC_SEND && from->status != DDP_WC_SUCCESS &&
	    from->status != DDP_WC_FLUSH_ERR)
		datagram_send_failed(h, to->qp_num);
	if (from->opcode != DDP_WC_RECV || from->status != DDP_WC_SUCCESS)
		return;
	to->wc_flags = IBV_WC_GRH;
	to->src_qp = from->src_qp;
	if (from->wc_flags & DDP_WC_WITH_IMM) {
		to->wc_flags |= IBV_WC_WITH_IMM;
		to->imm_data = htobe32((uint32_t)from->imm_data);
	}
}

static void convert_wc(struct host *h, const struct ddp_wc *from, struct ibv_wc *to)
{
	memset(to, 0, sizeof(*to));
	to->wr_id = from->wr_id;
	to->status = status_of(from->status);
	to->opcode = (unsigned)from->opcode < COUNT(opcodes) ? opcodes[from->opcode] : IBV_WC_SEND;
	to->vendor_err = from->term;
	to->byte_len = from->byte_len;
	to->qp_num = qp_num_ibv(&h->numbers, from->qp_num);
	if (to->qp_num & QP_NUM_DATAGRAM) {
		convert_datagram(h, from, to);
		return;
	}
	if (from->wc_flags & DDP_WC_WITH_INV) {
		to->wc_flags = IBV_WC_WITH_INV;
		to->invalidated_rkey = from->invalidated_rkey;
	}
	if (from->wc_flags & DDP_WC_WITH_IMM)
		set_imm(from, to);
}

static int take_own(struct cq *c, int n, struct ibv_wc *wc)
{
	int got = 0;

	pthread_mutex_lock(&c->ibv.mutex);
	while (got < n && c->own) {
		struct cq_own *o = c->own;

		__atomic_store_n(&c->own, o->next, __ATOMIC_RELAXED);
		wc[got++] = o->wc;
		free(o);
	}
	if (!c->own)
		c->own_last = &c->own;
	pthread_mutex_unlock(&c->ibv.mutex);
	return got;
}

int cq_prepare(struct ibv_cq *cq, struct cq_own **ret)
{
	struct cq_own *o = malloc(sizeof(*o));
	int r = o ? 0 : ENOMEM;

	if (r == 0 && cq->channel)
		r = channel_add_own_bell(cq->channel, (struct cq *)cq);
	if (r)
		free(o);
	else
		*ret = o;
	return r;
}

/* With the lock of the flag, so that a program that arms the queue and then polls it finds the
 * completion or gets its event. */
void cq_push(struct ibv_cq *cq, struct cq_own *o, const struct ibv_wc *wc)
{
	struct cq *c = (struct cq *)cq;

	*o = (struct cq_own){.wc = *wc};
	pthread_mutex_lock(&cq->mutex);
	__atomic_store_n(c->own_last, o, __ATOMIC_RELAXED);
	c->own_last = &o->next;
	if (c->own_armed)
		channel_ring_own_bell(c);
	c->own_armed = false;
	pthread_mutex_unlock(&cq->mutex);
}

/*
 * Programs for hardware poll without end, for an adapter needs no processor. The daemon does: where
 * there are fewer processors than programs that poll and daemons, it would wait for the end of a
 * time slice, milliseconds. So after some empty polls a program gives its processor up. The
 * count is approximate when threads poll at the same time.
 */
static void found_nothing(struct cq *c)
{
	const unsigned empty = __atomic_load_n(&c->empty, __ATOMIC_RELAXED) + 1;

	__atomic_store_n(&c->empty, empty, __ATOMIC_RELAXED);
	if (empty % YIELD_POLLS == 0)
		yield_cpu(yield_is_vain());
}

/* Without those of a session before the queue pair was in RESET. */
static int take_new(struct cq *c, int n, struct ibv_wc *wc)
{
	struct host *h = context_of(c->ibv.context)->host;
	struct ddp_wc got[CQ_BATCH];
	int kept = 0, r;

	do {
		r = ddp_poll_cq(c->ddp, n < CQ_BATCH ? n : CQ_BATCH, got);
		for (int i = 0; i < r; i++) {
			convert_wc(h, &got[i], &wc[kept]);
			kept += wc[kept].qp_num != QP_NUM_VOID;
		}
	} while (r > 0 && kept == 0);
	return r < 0 ? -1 : kept;
}

int cq_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct cq *c = (struct cq *)cq;
	int r;

	r = __atomic_load_n(&c->own, __ATOMIC_RELAXED) ? take_own(c, n, wc) : 0;
	if (r > 0)
		return r;
	r = take_new(c, n, wc);
	if (r == 0)
		found_nothing(c);
	return r;
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int done = 0, r;

	do {
		r = cq_poll(cq, n - done, wc + done);
		if (r < 0)
			return done > 0 ? done : r;
		done += r;
	} while (r > 0 && done < n);
	return done;
}

/* A result of 1, completions that are there already, is no failure: the next one makes an event. */
static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct cq *c = (struct cq *)cq;
	int r = ddp_req_notify_cq(c->ddp, solicited_only);

	if (r < 0)
		return error_of_call("ibv_req_notify_cq", r);
	if (cq->channel && !solicited_only) {
		pthread_mutex_lock(&cq->mutex);
		c->own_armed = true;
		pthread_mutex_unlock(&cq->mutex);
	}
	return 0;
}

/* ---- queues ---- */

static void free_own(struct cq *c)
{
	while (c->own) {
		struct cq_own *o = c->own;

		c->own = o->next;
		free(o);
	}
}

static int open_cq(struct cq *c, struct ibv_context *context, uint32_t entries)
{
	const struct ddp_cq_attr attr = {
		.struct_size = sizeof(attr),
		.entries = entries,
		.keep_events = 1,
	};
	struct ddp_cq_state state = DDP_INIT(ddp_cq_state);
	int r = ddp_create_cq(host_ddp(context_of(context)->host), &attr, &c->ddp);

	if (r)
		return r;
	r = ddp_query_cq(c->ddp, &state);
	if (r)
		ddp_destroy_cq(c->ddp);
	c->ibv.cqe = (int)state.entries;
	return r;
}

/* A message had a receive, and its completion no room. */
static void on_overrun(struct host_watch *w, enum ddp_async_type type)
{
	struct cq *c = CONTAINER(w, struct cq, watch);
	const struct ibv_async_event ev = {
		.element.cq = &c->ibv,
		.event_type = IBV_EVENT_CQ_ERR,
	};

	if (type == DDP_ASYNC_CQ_OVERRUN)
		async_push(&context_of(c->ibv.context)->async, &ev);
}

struct cq *cq_create(struct ibv_context *context, uint32_t entries, void *cq_context,
		     struct ibv_comp_channel *channel)
{
	struct cq *c = calloc(1, sizeof(*c));
	int r = c ? open_cq(c, context, entries) : -ENOMEM;

	if (r) {
		free(c);
		error_of_call("ibv_create_cq", r);
		return NULL;
	}
	c->own_last = &c->own;
	c->own_bell = -1;
	c->ibv.context = context;
	c->ibv.channel = channel;
	c->ibv.cq_context = cq_context;
	pthread_mutex_init(&c->ibv.mutex, NULL);
	pthread_cond_init(&c->ibv.cond, NULL);
	r = channel ? channel_add(channel, c) : 0;
	if (r) {
		ddp_destroy_cq(c->ddp);
		free(c);
		errno = r;
		return NULL;
	}
	c->watch.event = on_overrun;
	c->watch.ddp = c->ddp;
	host_add_watch(context_of(context)->host, &c->watch);
	return c;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	struct cq *c;

	if (cqe < 1 || comp_vector < 0 || comp_vector >= context->num_comp_vectors) {
		errno = EINVAL;
		return NULL;
	}
	c = cq_create(context, (uint32_t)cqe, cq_context, channel);
	return c ? &c->ibv : NULL;
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	struct cq *c = (struct cq *)cq;
	struct ddp_cq_state state = DDP_INIT(ddp_cq_state);
	int r;

	if (cqe < 1)
		return EINVAL;
	r = ddp_resize_cq(c->ddp, (uint32_t)cqe);
	if (r == -EBUSY)
		r = -EINVAL; /* the queue holds more: devices say so */
	if (r == 0)
		r = ddp_query_cq(c->ddp, &state);
	if (r)
		return error_of_call("ibv_resize_cq", r);
	cq->cqe = (int)state.entries;
	return 0;
}

/* No more events, and the program has acknowledged those that it took: until then it may use the
 * queue. */
static void end_events(struct cq *c)
{
	struct context *ctx = context_of(c->ibv.context);

	if (c->ibv.channel) {
		channel_remove(c->ibv.channel, c);
		channel_wait_acked(c);
	}
	pthread_mutex_lock(&ctx->host->event_lock);
	host_remove_watch(ctx->host, &c->watch);
	pthread_mutex_unlock(&ctx->host->event_lock);
	async_forget(&ctx->async, &c->ibv);
}

static void begin_events_again(struct cq *c)
{
	host_add_watch(context_of(c->ibv.context)->host, &c->watch);
	if (c->ibv.channel)
		channel_add(c->ibv.channel, c);
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct cq *c = (struct cq *)cq;
	struct ddp_cq_state state = DDP_INIT(ddp_cq_state);
	int r = ddp_query_cq(c->ddp, &state);

	if (r == 0 && state.qps > 0)
		return EBUSY;
	if (r == -ECHILD) /* the channel has it in the parent */
		return error_of_call("ibv_destroy_cq", r);
	end_events(c);
	r = ddp_destroy_cq(c->ddp);
	if (r) {
		begin_events_again(c);
		return error_of_call("ibv_destroy_cq", r);
	}
	free_own(c);
	if (c->own_bell >= 0)
		close(c->own_bell);
	pthread_cond_destroy(&cq->cond);
	pthread_mutex_destroy(&cq->mutex);
	free(c);
	return 0;
}

/* Moderation is a hint. */
static int modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	(void)cq, (void)attr;
	return 0;
}

void cq_set_ops(struct verbs_context *v)
{
	v->context.ops.poll_cq = poll_cq;
	v->context.ops.req_notify_cq = req_notify_cq;
	v->modify_cq = modify_cq;
}
