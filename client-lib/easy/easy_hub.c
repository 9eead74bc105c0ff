/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/easy/easy_hub.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client-lib/base/deadline.h"

/* ---- the context ---- */

int easy_hub_open(const char *socket, struct easy_hub **ret)
{
	struct easy_hub *hub = calloc(1, sizeof(*hub));
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);
	pthread_condattr_t clock;
	int r;

	if (!hub)
		return easy_error_set(NULL, -ENOMEM, "ddp_easy_open: out of memory");
	attr.socket = socket;
	r = ddp_open(&attr, &hub->ctx);
	if (r == 0) {
		r = ddp_alloc_pd(hub->ctx, &hub->pd);
		if (r < 0)
			ddp_close(hub->ctx);
	}
	if (r < 0) {
		free(hub);
		return easy_error_pass(NULL, r);
	}
	pthread_mutex_init(&hub->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&hub->changed, &clock);
	pthread_condattr_destroy(&clock);
	hub->users = 1;
	*ret = hub;
	return 0;
}

struct easy_hub *easy_hub_use(struct easy_hub *hub)
{
	pthread_mutex_lock(&hub->lock);
	hub->users++;
	pthread_mutex_unlock(&hub->lock);
	return hub;
}

bool easy_hub_leave(struct easy_hub *hub)
{
	bool last;

	pthread_mutex_lock(&hub->lock);
	last = --hub->users == 0;
	pthread_mutex_unlock(&hub->lock);
	return last;
}

void easy_hub_destroy(struct easy_hub *hub)
{
	ddp_dealloc_pd(hub->pd);
	ddp_close(hub->ctx);
	pthread_cond_destroy(&hub->changed);
	pthread_mutex_destroy(&hub->lock);
	free(hub);
}

/* ---- events ---- */

static size_t copy_hello(uint8_t *to, const struct ddp_cm_event *ev)
{
	size_t len = ev->private_len < EASY_HELLO_SIZE ? ev->private_len : EASY_HELLO_SIZE;

	if (len > 0)
		memcpy(to, ev->private_data, len);
	return len;
}

static void ring(const struct easy_end *end)
{
	uint64_t one = 1;

	if (end->bell >= 0 && write(end->bell, &one, sizeof(one)) < 0)
		return; /* it is rung already */
}

/* False without memory. */
static bool add_request(struct easy_end *listener, const struct ddp_cm_event *ev)
{
	struct easy_request *request = calloc(1, sizeof(*request));
	struct easy_request **at = &listener->requests;

	if (!request)
		return false;
	request->id = ev->id;
	request->len = copy_hello(request->data, ev);
	while (*at)
		at = &(*at)->next;
	*at = request;
	return true;
}

/* True if the id was that of a request that was not accepted yet. */
static bool drop_request(struct easy_end *listener, const struct ddp_id *id)
{
	for (struct easy_request **at = &listener->requests; *at; at = &(*at)->next) {
		struct easy_request *request = *at;

		if (request->id == id) {
			*at = request->next;
			free(request);
			return true;
		}
	}
	return false;
}

static void note_event(struct easy_end *end, const struct ddp_cm_event *ev)
{
	switch (ev->type) {
	case DDP_CM_ESTABLISHED:
		end->established = true;
		end->len = copy_hello(end->data, ev);
		break;
	case DDP_CM_REJECTED:
	case DDP_CM_CONNECT_ERROR:
	case DDP_CM_DISCONNECTED:
	case DDP_CM_REQUEST_GONE:
		end->over = true;
		end->err = ev->err;
		if (ev->type == DDP_CM_REJECTED && ev->err == 0)
			end->err = -ECONNREFUSED;
		snprintf(end->reason, sizeof(end->reason), "%s", ev->reason);
		break;
	default: /* paths, and types of later versions */
		break;
	}
}

/* The lock is held. So an end whose id has an event is not freed meanwhile. */
static void route_event(struct ddp_cm_event *ev)
{
	struct ddp_id *unused = NULL;
	struct easy_end *end = NULL;

	if (ev->type == DDP_CM_CONNECT_REQUEST)
		end = ddp_id_user(ev->listener);
	else if (ev->id)
		end = ddp_id_user(ev->id);
	if (end) {
		if (ev->type == DDP_CM_CONNECT_REQUEST)
			unused = add_request(end, ev) ? NULL : ev->id; /* which rejects it */
		else if (ev->type == DDP_CM_REQUEST_GONE && drop_request(end, ev->id))
			unused = ev->id;
		else
			note_event(end, ev);
		ring(end);
	}
	ddp_ack_cm_event(ev);
	ddp_destroy_id(unused);
}

/* Waits for the thread that reads events. The lock is held. */
static bool follow(struct easy_hub *hub, uint64_t deadline)
{
	struct timespec until;

	if (deadline == UINT64_MAX) {
		pthread_cond_wait(&hub->changed, &hub->lock);
		return true;
	}
	if (deadline_left(deadline) == 0)
		return false;
	until = (struct timespec){
		.tv_sec = (time_t)(deadline / 1000),
		.tv_nsec = (long)(deadline % 1000) * 1000000,
	};
	pthread_cond_timedwait(&hub->changed, &hub->lock, &until);
	return true;
}

/* Takes an event. The lock is held, but not while it waits. */
static int lead(struct easy_hub *hub, uint64_t deadline)
{
	struct ddp_cm_event *ev;
	int r;

	hub->reading = true;
	pthread_mutex_unlock(&hub->lock);
	r = ddp_get_cm_event(hub->ctx, &ev, deadline_left(deadline));
	pthread_mutex_lock(&hub->lock);
	hub->reading = false;
	if (r == 0)
		route_event(ev);
	pthread_cond_broadcast(&hub->changed);
	return r == -EAGAIN ? -ETIMEDOUT : r;
}

int easy_hub_wait(struct easy_hub *hub, const struct easy_end *end,
		  bool (*holds)(const struct easy_end *end), uint64_t deadline)
{
	int r = 0;

	pthread_mutex_lock(&hub->lock);
	while (r == 0 && !holds(end)) {
		if (!hub->reading)
			r = lead(hub, deadline);
		else if (!follow(hub, deadline))
			r = -ETIMEDOUT;
	}
	if (r < 0 && holds(end))
		r = 0;
	pthread_mutex_unlock(&hub->lock);
	return r;
}

bool easy_hub_take_request(struct easy_hub *hub, struct easy_end *listener, struct easy_end *to,
			   struct easy_request *ret)
{
	struct easy_request *request;

	pthread_mutex_lock(&hub->lock);
	request = listener->requests;
	if (request) {
		listener->requests = request->next;
		*ret = *request;
		free(request);
		to->id = ret->id;
		ddp_id_set_user(to->id, to);
	}
	pthread_mutex_unlock(&hub->lock);
	return request;
}

static void drop_requests(struct easy_hub *hub, struct easy_end *end)
{
	struct easy_request *request;

	pthread_mutex_lock(&hub->lock);
	while ((request = end->requests)) {
		end->requests = request->next;
		ddp_destroy_id(request->id);
		free(request);
	}
	pthread_mutex_unlock(&hub->lock);
}

int easy_hub_reopen(struct easy_hub *hub, struct easy_end *end, uint64_t deadline)
{
	int r = ddp_reopen(hub->ctx, deadline_left(deadline));

	if (r == -EISCONN)
		return 0;
	if (r == 0)
		drop_requests(hub, end);
	return r;
}

static bool never(const struct easy_end *end)
{
	(void)end;
	return false;
}

/* Destroys an id, after its events were taken. */
static void destroy(struct easy_hub *hub, struct ddp_id *id)
{
	struct easy_end nobody = {.bell = -1};
	int r;

	for (;;) {
		pthread_mutex_lock(&hub->lock);
		r = ddp_destroy_id(id);
		pthread_mutex_unlock(&hub->lock);
		if (r != -EBUSY || ddp_id_qp(id)) /* or its QP could not be destroyed */
			return;
		if (easy_hub_wait(hub, &nobody, never, deadline_in(1)) != -ETIMEDOUT)
			return; /* the daemon has ended: ddp_close() frees the id */
	}
}

void easy_hub_drop(struct easy_hub *hub, struct easy_end *end)
{
	struct easy_end none = {.bell = -1};
	struct easy_request request;

	if (!end->id)
		return;
	destroy(hub, end->id);
	while (easy_hub_take_request(hub, end, &none, &request))
		destroy(hub, request.id);
	end->id = NULL;
}
