/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices, and opening them. */
#include "verbs/verbs/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/base/error.h"
#include "verbs/base/fork.h"

#undef ibv_get_device_list

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	unsigned n = host_count();
	struct ibv_device **list = calloc(n + 1, sizeof(*list));

	if (!list) {
		errno = ENOMEM;
		return NULL;
	}
	for (unsigned i = 0; i < n; i++)
		list[i] = &host_at(i)->device;
	if (num_devices)
		*num_devices = (int)n;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

int ibv_get_device_index(struct ibv_device *device)
{
	(void)device;
	return -1; /* the kernel has no such device */
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return ((struct host *)device)->guid;
}

static void set_ops(struct verbs_context *v)
{
	cq_set_ops(v);
	cq_ex_set_ops(v);
	mr_set_ops(v);
	mw_set_ops(v);
	port_set_ops(v);
	post_set_ops(v);
	qp_set_ops(v);
	srq_set_ops(v);
}

static void on_device_event(struct host_watch *w, enum ddp_async_type type)
{
	struct context *c = CONTAINER(w, struct context, watch);
	struct ibv_async_event ev = {.element.port_num = 1};

	if (type == DDP_ASYNC_PORT_DOWN)
		ev.event_type = IBV_EVENT_PORT_ERR;
	else if (type == DDP_ASYNC_PORT_UP)
		ev.event_type = IBV_EVENT_PORT_ACTIVE;
	else if (type == DDP_ASYNC_DEVICE_GONE)
		ev.event_type = IBV_EVENT_DEVICE_FATAL;
	else
		return;
	async_push(&c->async, &ev);
}

/* The caller holds event_lock. */
static struct ibv_context *open_context(struct host *h)
{
	struct context *c = calloc(1, sizeof(*c));
	struct ibv_context *ibv;
	int r = host_start_events(h);

	if (r == 0)
		r = c ? async_init(&c->async) : ENOMEM;
	if (r) {
		free(c);
		errno = r;
		return NULL;
	}
	c->host = h;
	c->verbs.sz = sizeof(c->verbs);
	set_ops(&c->verbs);
	ibv = &c->verbs.context;
	ibv->device = &h->device;
	ibv->async_fd = c->async.fd;
	ibv->cmd_fd = c->async.fd; /* programs pass copies of it on; ibv_import_device() refuses */
	ibv->num_comp_vectors = 1;
	pthread_mutex_init(&ibv->mutex, NULL);
	ibv->abi_compat = __VERBS_ABI_IS_EXTENDED;
	c->watch.event = on_device_event;
	c->watch.inherited = true;
	host_add_watch_locked(h, &c->watch);
	return ibv;
}

/* After the end of the daemon. Returns NULL. */
static struct ibv_context *no_daemon(int r)
{
	if (r == EBUSY)
		error_once("ibv_open_device", "the daemon has ended: close all contexts, ids and "
					      "queues of the device before you open it again");
	else
		error_no_device(ddp_last_reason());
	errno = r;
	return NULL;
}

/* In a child, a device of the parent's list is one of its own. */
struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct host *h = (struct host *)device;
	struct ibv_context *ret;
	int r = host_revive(h);

	if (r)
		return no_daemon(r);
	pthread_mutex_lock(&h->event_lock);
	ret = open_context(h);
	pthread_mutex_unlock(&h->event_lock);
	return ret;
}

int ibv_close_device(struct ibv_context *context)
{
	struct context *c = context_of(context);

	pthread_mutex_lock(&c->host->event_lock);
	host_remove_watch(c->host, &c->watch);
	pthread_mutex_unlock(&c->host->event_lock);
	async_free(&c->async);
	pthread_mutex_destroy(&context->mutex);
	free(c);
	return 0;
}

static pthread_mutex_t lock = FORK_LOCK;

__attribute__((constructor)) static void hold_contexts_lock(void)
{
	fork_hold(FORK_LISTS, &lock);
}

/* It serves each connection. Its queue keeps the end of one, for a program may read that late. */
static struct ibv_context *open_shared(struct host *h)
{
	struct ibv_context *ret = open_context(h);

	if (ret)
		context_of(ret)->watch.stays = true;
	return ret;
}

/* That of a parent serves its child, which has events of its own. */
static struct ibv_context *find_or_open(struct host *h)
{
	static struct ibv_context *shared[HOST_MAX];
	unsigned i = 0;
	int r;

	while (i < HOST_MAX && shared[i] && context_of(shared[i])->host != h)
		i++;
	if (i == HOST_MAX)
		return NULL;
	if (!shared[i])
		return shared[i] = open_shared(h);
	r = host_start_events(h);
	if (r == 0)
		return shared[i];
	errno = r;
	return NULL;
}

struct ibv_context *context_of_cm(struct host *h)
{
	struct ibv_context *ret;

	pthread_mutex_lock(&h->event_lock);
	pthread_mutex_lock(&lock);
	ret = find_or_open(h);
	pthread_mutex_unlock(&lock);
	pthread_mutex_unlock(&h->event_lock);
	return ret;
}
