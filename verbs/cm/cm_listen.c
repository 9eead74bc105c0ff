/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/cm/cm_listen.h"

#include <errno.h>
#include <stdlib.h>

#include "verbs/base/addr.h"
#include "verbs/base/error.h"
#include "verbs/cm/cm_addr.h"
#include "verbs/verbs/context.h"

/* A listener besides id->end: at one more daemon, or of a bound port. The next daemon of the device
 * gets it, too, as a wildcard of the kernel listens at devices that are added. */
struct cm_also {
	struct event_sink sink;
	struct host_watch watch;
	struct cm_id *id;
	struct host *host;
	struct ibv_context *context;
	struct sockaddr_storage at;
	struct ddp_id *ddp; /* NULL: the next daemon refused it */
	bool refuses;       /* guarded by the host's event_lock */
	struct cm_also *next;
};

/* With the daemon's default backlog, which counts requests until they are answered. That of the
 * program counts those that it has not taken: see cm_event_limit(). */
static int listen_for_id(struct ddp_id *ddp, const struct sockaddr_storage *at)
{
	const struct sockaddr *addr = addr_is_any(at) ? NULL : (const struct sockaddr *)at;

	return ddp_listen(ddp, addr, addr_port(at), 0);
}

/* Notes a port that the daemon chose. */
static int listen_own(struct cm_id *id, struct ddp_id *ddp)
{
	struct sockaddr_storage *src = &id->src, at;
	struct ddp_id_attr attr = DDP_INIT(ddp_id_attr);
	int r;

	if (!cm_addr_to_listen(id, id->host, &at))
		return 0;
	r = listen_for_id(ddp, &at);
	if (r || addr_port(src))
		return r;
	r = ddp_query_id(ddp, &attr);
	if (src->ss_family != AF_INET6)
		src->ss_family = AF_INET;
	addr_set_port(src, attr.port);
	return r;
}

/* The first listener: at the daemon of the id, of a port that rdma_get_src_port() reserved, or that
 * the daemon chooses now. */
static int listen_first(struct cm_id *id)
{
	if (!id->reserved) {
		cm_listen_release(id);
		return listen_own(id, id->end.id);
	}
	pthread_mutex_lock(&id->host->event_lock);
	ddp_destroy_id(id->end.id);
	id->end.id = id->reserved;
	id->reserved = NULL;
	pthread_mutex_unlock(&id->host->event_lock);
	return 0;
}

static void on_also_event(struct event_sink *sink, const struct ddp_cm_event *ev)
{
	struct cm_also *a = CONTAINER(sink, struct cm_also, sink);

	if (ev->type != DDP_CM_CONNECT_REQUEST)
		return;
	if (a->refuses)
		host_drop_id(a->host, ev->id); /* its program expects no request */
	else
		a->id->on_request(a->id, a->host, a->context, ev);
}

static int listen_also(struct cm_also *a)
{
	int r = ddp_create_id(host_ddp(a->host), &a->sink, &a->ddp);

	if (r)
		return r;
	r = listen_for_id(a->ddp, &a->at);
	if (r) {
		ddp_destroy_id(a->ddp);
		a->ddp = NULL;
	}
	return r;
}

/* The end of a daemon is an event of the id, if the program chose that daemon. */
static void on_also_async(struct host_watch *w, enum ddp_async_type type)
{
	(void)w;
	(void)type;
}

static void listen_again(struct host_watch *w)
{
	struct cm_also *a = CONTAINER(w, struct cm_also, watch);

	ddp_destroy_id(a->ddp);
	a->ddp = NULL;
	listen_also(a);
}

static int open_also(struct cm_also *a)
{
	int r;

	a->context = context_of_cm(a->host);
	if (!a->context)
		return -errno;
	r = listen_also(a);
	if (r == 0)
		host_add_watch(a->host, &a->watch);
	return r;
}

static int add_host(struct cm_id *id, struct host *h)
{
	struct sockaddr_storage at;
	struct cm_also *a;
	int r;

	if (!cm_addr_to_listen(id, h, &at))
		return 0;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	*a = (struct cm_also){
		.sink.event = on_also_event,
		.watch = {.event = on_also_async, .renew = listen_again, .stays = true},
		.id = id,
		.host = h,
		.at = at,
		.next = id->also,
	};
	r = open_also(a);
	if (r)
		free(a);
	else
		id->also = a;
	return r;
}

/* Local. Another thread may be about to listen again. */
static int query_also(const struct cm_also *a)
{
	struct ddp_id_attr attr = DDP_INIT(ddp_id_attr);
	int r;

	pthread_mutex_lock(&a->host->event_lock);
	r = a->ddp ? ddp_query_id(a->ddp, &attr) : -EADDRINUSE;
	pthread_mutex_unlock(&a->host->event_lock);
	return r;
}

/* A bound id has its listeners: another one would lose the requests that wait for them. They are of
 * no use in a child of fork(), or if the daemon has ended. */
static int listen_bound(const struct cm_id *id)
{
	struct ddp_caps caps = DDP_INIT(ddp_caps);
	int r = ddp_query(host_ddp(id->host), &caps);

	for (const struct cm_also *a = id->also; r == 0 && a; a = a->next)
		r = query_also(a);
	return r == 0 && id->listening ? -EINVAL : r;
}

int cm_listen_start(struct cm_id *id)
{
	const bool bound = id->also;
	const unsigned n = addr_is_any(&id->src) && !bound ? host_count() : 0;
	int r = bound ? listen_bound(id) : listen_first(id);

	for (unsigned i = 0; r == 0 && i < n; i++)
		if (host_at(i) != id->host)
			r = add_host(id, host_at(i));
	if (r && !bound)
		cm_listen_end(id);
	cm_addr_publish(id);
	return r;
}

void cm_listen_refuse(struct cm_id *id)
{
	for (struct cm_also *a = id->also; a; a = a->next) {
		pthread_mutex_lock(&a->host->event_lock);
		a->refuses = true;
		pthread_mutex_unlock(&a->host->event_lock);
	}
}

/* With event_lock: a request may be arriving. */
void cm_listen_end(struct cm_id *id)
{
	struct cm_also *a;

	while ((a = id->also)) {
		id->also = a->next;
		pthread_mutex_lock(&a->host->event_lock);
		ddp_destroy_id(a->ddp);
		host_remove_watch(a->host, &a->watch);
		pthread_mutex_unlock(&a->host->event_lock);
		free(a);
	}
}

/* ---- a port before rdma_listen() ---- */

void cm_listen_release(struct cm_id *id)
{
	if (!id->listening)
		cm_listen_end(id);
	if (!id->reserved)
		return;
	pthread_mutex_lock(&id->host->event_lock);
	ddp_destroy_id(id->reserved);
	id->reserved = NULL;
	pthread_mutex_unlock(&id->host->event_lock);
}

int cm_listen_reserve(struct cm_id *id)
{
	const unsigned n = addr_is_any(&id->src) ? host_count() : 0;
	int r = n == 0 ? add_host(id, id->host) : 0;

	for (unsigned i = 0; r == 0 && i < n; i++)
		r = add_host(id, host_at(i));
	if (r)
		cm_listen_end(id);
	return r;
}

/* Reserves a port for an id that is bound to port 0: the program sends it to its peers. */
static void reserve_port(struct cm_id *id)
{
	struct sockaddr_storage *src = &id->src;
	bool passive = src->ss_family != AF_UNSPEC && id->dst.ss_family == AF_UNSPEC;
	int r;

	if (!passive || id->reserved || cm_addr_any_host(id))
		return;
	r = ddp_create_id(host_ddp(id->host), &id->end.sink, &id->reserved);
	if (r)
		return;
	r = listen_own(id, id->reserved);
	if (r) {
		error_of_call("rdma_get_src_port", r);
		cm_listen_release(id);
		addr_set_port(src, 0);
	}
	cm_addr_publish(id);
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	const struct sockaddr_storage *src = &cm_of(id)->src;

	if (addr_port(src) == 0)
		reserve_port(cm_of(id));
	return htons(addr_port(src));
}
