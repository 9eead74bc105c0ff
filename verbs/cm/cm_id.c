/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/cm/cm_id.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/base/error.h"
#include "verbs/base/fork.h"
#include "verbs/cm/cm_event.h"
#include "verbs/verbs/context.h"

/* Wherever librdmacm has the length of queues in a device. The default of rsockets is 384. */
static uint32_t rsocket_device[64] = {[0 ... 63] = 512};

struct cm_id *cm_new(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps)
{
	struct cm_id *id = calloc(1, sizeof(*id));

	if (!id || cm_event_reserve(id)) {
		free(id);
		return NULL;
	}
	id->rsocket.device = rsocket_device;
	memset(id->rsocket.members, 1, sizeof(id->rsocket.members));
	id->channel = id->ibv.channel = channel;
	id->ibv.context = context;
	id->ibv.ps = ps;
	id->ibv.qp_type = ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
	return id;
}

static pthread_mutex_t lock = FORK_LOCK;

__attribute__((constructor)) static void hold_domains_lock(void)
{
	fork_hold(FORK_LISTS, &lock);
}

struct domain {
	struct ibv_pd *pd;
	unsigned generation, connection;
};

/* That of a daemon that has ended stays if the program has regions in it. */
static void renew_domain(struct domain *d, struct ibv_context *context)
{
	const unsigned connection = context_of(context)->host->connection;

	if (d->pd && d->generation == fork_generation() && d->connection == connection)
		return;
	if (d->pd && d->generation == fork_generation())
		ibv_dealloc_pd(d->pd);
	d->pd = ibv_alloc_pd(context);
	d->generation = fork_generation();
	d->connection = connection;
}

/* A domain for programs that name none. The caller holds event_lock. */
static struct ibv_pd *default_pd(struct ibv_context *context)
{
	static struct domain all[HOST_MAX];
	struct ibv_pd *ret = NULL;
	unsigned i = 0;

	pthread_mutex_lock(&lock);
	while (i < HOST_MAX && all[i].pd && all[i].pd->context != context)
		i++;
	if (i < HOST_MAX) {
		renew_domain(&all[i], context);
		ret = all[i].pd;
	}
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

/* The daemon has ended: wakes programs that wait for an event of the id. */
static void on_device_gone(struct host_watch *w, enum ddp_async_type type)
{
	if (type == DDP_ASYNC_DEVICE_GONE)
		cm_event_simple(CONTAINER(w, struct cm_id, watch), RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
}

static void take_device(struct cm_id *id, struct host *h, struct ibv_context *context)
{
	id->host = h;
	id->context = context;
	id->watch.event = on_device_gone;
	set_device(id, h, context);
	host_add_watch_locked(h, &id->watch);
}

void cm_take_request(struct cm_id *id, struct host *h, struct ibv_context *context,
		     struct ddp_id *request)
{
	id->end.id = request;
	ddp_id_set_user(request, &id->end.sink);
	take_device(id, h, context);
}

int cm_take_host(struct cm_id *id, struct host *h)
{
	struct ibv_context *context;
	int r;

	if (id->host)
		return 0;
	context = context_of_cm(h);
	if (!context)
		return -1;
	r = cm_event_renew(id->channel);
	if (r)
		return cm_fail(r);
	r = ddp_create_id(host_ddp(h), &id->end.sink, &id->end.id);
	if (r)
		return cm_fail(error_of_call("rdma_create_id", r));
	pthread_mutex_lock(&h->event_lock);
	take_device(id, h, context);
	pthread_mutex_unlock(&h->event_lock);
	return 0;
}

/* ---- options and devices ---- */

/* Service type, address reuse and time-outs are hints, which have no effect. */
int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t len)
{
	if (level == RDMA_OPTION_ID && name == RDMA_OPTION_ID_AFONLY && len == sizeof(int))
		cm_of(id)->family_only = *(int *)value != 0;
	if (level == RDMA_OPTION_ID && name == RDMA_OPTION_ID_REUSEADDR && len == sizeof(int))
		cm_of(id)->reuses = *(int *)value != 0;
	if (level == RDMA_OPTION_ID && name == RDMA_OPTION_ID_ACK_TIMEOUT && len == 1)
		cm_of(id)->ack_timeout = *(uint8_t *)value & 31;
	if (level == RDMA_OPTION_ID && name <= RDMA_OPTION_ID_ACK_TIMEOUT)
		return 0;
	if (level == RDMA_OPTION_IB)
		return cm_fail(error_unsupported("rdma_set_option",
						 "options of InfiniBand paths are not supported",
						 EOPNOTSUPP));
	return cm_fail(EINVAL);
}

/* A daemon that has ended is no device. */
struct ibv_context **rdma_get_devices(int *num_devices)
{
	const unsigned n = host_count();
	struct ibv_context **list = calloc(n + 1, sizeof(*list));
	int found = 0;

	if (!list)
		return NULL;
	for (unsigned i = 0; i < n; i++) {
		list[found] = host_revive(host_at(i)) ? NULL : context_of_cm(host_at(i));
		found += list[found] != NULL;
	}
	if (num_devices)
		*num_devices = found;
	return list;
}

void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
