/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/cm_id.h"

#include <errno.h>
#include <stdlib.h>

#include "verbs/context.h"
#include "verbs/words.h"

struct cm_id *cm_new(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps)
{
	struct cm_id *id = calloc(1, sizeof(*id));

	if (!id)
		return NULL;
	id->ibv.channel = channel;
	id->ibv.context = context;
	id->ibv.ps = ps;
	id->ibv.qp_type = IBV_QPT_RC;
	return id;
}

/* A domain for programs that name none. */
static struct ibv_pd *default_pd(struct ibv_context *context)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct ibv_pd *pd[8];
	struct ibv_pd *ret = NULL;
	unsigned i = 0;

	pthread_mutex_lock(&lock);
	while (i < 8 && pd[i] && pd[i]->context != context)
		i++;
	if (i < 8 && !pd[i])
		pd[i] = ibv_alloc_pd(context);
	if (i < 8)
		ret = pd[i];
	pthread_mutex_unlock(&lock);
	return ret;
}

static void set_device(struct cm_id *id, struct host *h, struct ibv_context *context)
{
	id->ibv.verbs = context;
	id->ibv.port_num = 1;
	id->ibv.pd = default_pd(context);
	id->ibv.route.addr.addr.ibaddr.sgid = h->gid;
	id->ibv.route.addr.addr.ibaddr.pkey = htobe16(0xffff);
}

int cm_take_host(struct cm_id *id, struct host *h)
{
	struct ibv_context *context = context_of_cm(h);
	int r;

	if (id->host)
		return 0;
	if (!context)
		return -1;
	r = host_start_events(h);
	if (r)
		return cm_fail(r);
	if (!id->ddp) {
		r = ddp_create_id(h->ddp, &id->sink, &id->ddp);
		if (r)
			return cm_fail(words_failed("rdma_create_id", r));
	}
	id->host = h;
	set_device(id, h, context);
	return 0;
}

void cm_drop(struct cm_id *id)
{
	ddp_destroy_id(id->ddp);
	free(id);
}
