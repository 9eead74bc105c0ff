/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/cm_listen.h"

#include <stdlib.h>

#include "verbs/addr.h"
#include "verbs/context.h"

/* A listener at one more daemon. */
struct cm_also {
	struct event_sink sink;
	struct cm_id *id;
	struct host *host;
	struct ddp_id *ddp;
	cm_listen_request on_request;
	struct cm_also *next;
};

/* The first listener: at the daemon of the id. Notes the port that it chose. */
static int listen_first(struct cm_id *id, int backlog)
{
	struct sockaddr_storage *src = &id->ibv.route.addr.src_storage;
	struct ddp_id_attr attr = DDP_INIT(ddp_id_attr);
	const struct sockaddr *addr = addr_is_any(src) ? NULL : (struct sockaddr *)src;
	uint16_t port = addr_port(src);
	int r = ddp_listen(id->ddp, addr, port, backlog);

	if (r || port)
		return r;
	r = ddp_query_id(id->ddp, &attr);
	if (src->ss_family != AF_INET6)
		src->ss_family = AF_INET;
	addr_set_port(src, attr.port);
	return r;
}

static void on_event(struct event_sink *sink, const struct ddp_cm_event *ev)
{
	struct cm_also *a = CONTAINER(sink, struct cm_also, sink);

	if (ev->type == DDP_CM_CONNECT_REQUEST)
		a->on_request(a->id, a->host, ev);
}

static int open_also(struct cm_also *a, uint16_t port, int backlog)
{
	int r = host_start_events(a->host);

	if (r)
		return -r;
	r = ddp_create_id(host_ddp(a->host), &a->sink, &a->ddp);
	if (r)
		return r;
	r = ddp_listen(a->ddp, NULL, port, backlog);
	if (r)
		ddp_destroy_id(a->ddp);
	return r;
}

static int add_host(struct cm_id *id, struct host *h, int backlog, cm_listen_request on_request)
{
	struct cm_also *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	*a = (struct cm_also){
		.sink.event = on_event,
		.id = id,
		.host = h,
		.on_request = on_request,
		.next = id->also,
	};
	r = open_also(a, addr_port(&id->ibv.route.addr.src_storage), backlog);
	if (r)
		free(a);
	else
		id->also = a;
	return r;
}

int cm_listen_start(struct cm_id *id, int backlog, cm_listen_request on_request)
{
	const unsigned n = addr_is_any(&id->ibv.route.addr.src_storage) ? host_count() : 0;
	int r = listen_first(id, backlog);

	for (unsigned i = 0; r == 0 && i < n; i++)
		if (host_at(i) != id->host)
			r = add_host(id, host_at(i), backlog, on_request);
	if (r)
		cm_listen_end(id);
	return r;
}

/* With event_lock: a request may be arriving. */
void cm_listen_end(struct cm_id *id)
{
	struct cm_also *a;

	while ((a = id->also)) {
		id->also = a->next;
		pthread_mutex_lock(&a->host->event_lock);
		ddp_destroy_id(a->ddp);
		pthread_mutex_unlock(&a->host->event_lock);
		free(a);
	}
}
