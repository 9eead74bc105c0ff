/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/srq.h"

#include <errno.h>
#include <stdlib.h>

#include "verbs/base/error.h"
#include "verbs/verbs/context.h"
#include "verbs/verbs/mr.h"
#include "verbs/verbs/post.h"

struct srq {
	struct ibv_srq ibv;
	struct host_watch watch; /* of ddp */
	struct ddp_srq *ddp;
};

struct ddp_srq *srq_ddp(struct ibv_srq *srq)
{
	return ((struct srq *)srq)->ddp;
}

/* The limit of receives was reached. */
static void on_limit(struct host_watch *w, enum ddp_async_type type)
{
	struct srq *s = CONTAINER(w, struct srq, watch);
	const struct ibv_async_event out = {
		.element.srq = &s->ibv,
		.event_type = IBV_EVENT_SRQ_LIMIT_REACHED,
	};

	if (type == DDP_ASYNC_SRQ_LIMIT)
		async_push(&context_of(s->ibv.context)->async, &out);
}

/* srq_limit is for ibv_modify_srq() alone, and may be anything here. */
static int open_srq(struct srq *s, struct ibv_pd *pd, const struct ibv_srq_attr *attr)
{
	const struct ddp_srq_attr a = {
		.struct_size = sizeof(a),
		.max_wr = attr->max_wr,
		.max_sge = attr->max_sge,
	};
	int r = host_start_events(context_of(pd->context)->host);

	return r ? -r : ddp_create_srq(pd_ddp(pd), &a, &s->ddp);
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct srq *s = calloc(1, sizeof(*s));
	struct ddp_srq_state state = DDP_INIT(ddp_srq_state);
	int r;

	if (!s)
		return NULL;
	r = open_srq(s, pd, &init->attr);
	if (r == 0)
		r = ddp_query_srq(s->ddp, &state);
	if (r) {
		free(s);
		error_of_call("ibv_create_srq", r);
		return NULL;
	}
	init->attr.max_wr = state.max_wr;
	init->attr.max_sge = state.max_sge;
	s->ibv.context = pd->context;
	s->ibv.srq_context = init->srq_context;
	s->ibv.pd = pd;
	pthread_mutex_init(&s->ibv.mutex, NULL);
	pthread_cond_init(&s->ibv.cond, NULL);
	s->watch.event = on_limit;
	s->watch.ddp = s->ddp;
	host_add_watch(context_of(pd->context)->host, &s->watch);
	return &s->ibv;
}

static struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t known = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;

	(void)context;
	if (attr->comp_mask & ~known || !(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) ||
	    (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type != IBV_SRQT_BASIC)) {
		error_probed("ibv_create_srq_ex",
			     "only basic queues are supported, not XRC or tag matching",
			     EOPNOTSUPP);
		return NULL;
	}
	return ibv_create_srq(attr->pd, (struct ibv_srq_init_attr *)attr);
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	const struct ddp_srq_attr a = {.struct_size = sizeof(a), .limit = attr->srq_limit};
	int r;

	if (mask & IBV_SRQ_MAX_WR)
		return error_unsupported("ibv_modify_srq", "the length of a queue cannot change",
					 EOPNOTSUPP);
	if (!(mask & IBV_SRQ_LIMIT))
		return 0;
	r = ddp_modify_srq(srq_ddp(srq), &a, DDP_SRQ_LIMIT);
	return r ? error_of_call("ibv_modify_srq", r) : 0;
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct ddp_srq_state state = DDP_INIT(ddp_srq_state);
	int r = ddp_query_srq(srq_ddp(srq), &state);

	if (r)
		return error_of_call("ibv_query_srq", r);
	*attr = (struct ibv_srq_attr){state.max_wr, state.max_sge, state.limit};
	return 0;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	struct context *c = context_of(srq->context);
	struct host_watch *watch = &((struct srq *)srq)->watch;
	struct ddp_srq_state state = DDP_INIT(ddp_srq_state);
	int r = ddp_query_srq(srq_ddp(srq), &state);

	if (r == 0 && state.qps > 0)
		return EBUSY;
	if (r == -ECHILD)
		return error_of_call("ibv_destroy_srq", r);
	pthread_mutex_lock(&c->host->event_lock);
	host_remove_watch(c->host, watch);
	pthread_mutex_unlock(&c->host->event_lock);
	async_forget(&c->async, srq); /* the program may use it until it has acknowledged them */
	r = ddp_destroy_srq(srq_ddp(srq));
	if (r) {
		host_add_watch(c->host, watch);
		return error_of_call("ibv_destroy_srq", r);
	}
	pthread_cond_destroy(&srq->cond);
	pthread_mutex_destroy(&srq->mutex);
	free(srq);
	return 0;
}

static int get_srq_num(struct ibv_srq *srq, uint32_t *num)
{
	(void)srq, (void)num;
	return error_unsupported("ibv_get_srq_num",
				 "XRC is not supported, and nothing else needs the number",
				 EOPNOTSUPP);
}

void srq_set_ops(struct verbs_context *v)
{
	v->create_srq_ex = create_srq_ex;
	v->get_srq_num = get_srq_num;
}
