/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/client/async.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/descriptors.h"
#include "daemon/objects/client/client.h"
#include "ipc/doorbell.h"

enum { PORT_EVENTS = 1 << MSG_ASYNC_PORT_DOWN | 1 << MSG_ASYNC_PORT_UP };

void async_init(struct async *a)
{
	*a = (struct async){0};
	list_init(&a->link);
}

void async_drop(struct async *a)
{
	list_del(&a->link);
	a->events = 0;
}

void async_channel_init(struct async_channel *ch)
{
	list_init(&ch->pending);
	list_init(&ch->dirty);
	async_init(&ch->port);
	ch->bell = -1;
}

void async_channel_deinit(struct async_channel *ch)
{
	async_drop(&ch->port);
	list_del(&ch->dirty);
	list_assert_out(&ch->pending);
	if (ch->bell >= 0)
		close(ch->bell);
	ch->bell = -1;
	acct_release(&ch->bell_fd);
}

int async_open(struct client *c, struct reply *rep)
{
	struct async_channel *ch = &c->async;
	int wait, r;

	if (ch->bell >= 0)
		return reply_refuse(rep, EEXIST,
				    "asynchronous events: this client has the bell already");
	r = client_charge(c, ACCT_DESCRIPTORS, 1, &ch->bell_fd, rep);
	if (r)
		return r;
	r = doorbell_create(&ch->bell, &wait);
	if (r) {
		acct_release(&ch->bell_fd);
		return descriptors_refuse(rep, -r, "asynchronous events");
	}
	reply_add_fd(rep, wait);
	if (!list_empty(&ch->pending))
		doorbell_ring(ch->bell);
	return 0;
}

bool async_is_open(const struct client *c)
{
	return c->async.bell >= 0;
}

void async_post(struct client *c, struct async *a, enum msg_async_type type, uint32_t handle)
{
	struct async_channel *ch = &c->async;

	if (c->leaving)
		return;
	/* While objects are pending, a ring that the client has not drained is on its way. */
	if (list_empty(&ch->pending) && !list_linked(&ch->dirty))
		list_add_tail(&c->worker->dirty_async, &ch->dirty);
	a->handle = handle;
	a->events |= (uint16_t)(1U << type);
	if (!list_linked(&a->link))
		list_add_tail(&ch->pending, &a->link);
}

/* The first event of the object. Those of the port alternate, and the last one is its
 * state now. */
static enum msg_async_type first_event(const struct client *c, const struct async *a)
{
	unsigned type = MSG_ASYNC_NONE;

	if (a->events == PORT_EVENTS)
		return c->worker->port_down ? MSG_ASYNC_PORT_UP : MSG_ASYNC_PORT_DOWN;
	while (!(a->events & 1U << type))
		type++;
	return (enum msg_async_type)type;
}

void async_take(struct client *c, struct msg_async *ret)
{
	struct async_channel *ch = &c->async;
	struct list *l = list_pop(&ch->pending);
	struct async *a = l ? list_entry(l, struct async, link) : NULL;

	ret->type = MSG_ASYNC_NONE;
	if (!a)
		return;
	ret->type = first_event(c, a);
	ret->handle = a->handle;
	ret->err = a->err;
	ret->term = a->term;
	a->events &= (uint16_t) ~(1U << ret->type);
	if (a->events)
		list_add_tail(&ch->pending, &a->link);
	if (!list_empty(&ch->pending) && ch->bell >= 0)
		doorbell_ring(ch->bell);
}

void async_port(struct worker *w, bool up)
{
	uint32_t pos = 0;
	struct client *c;

	w->port_down = !up;
	while ((c = idtab_next(&w->daemon->clients, &pos)))
		async_post(c, &c->async.port, up ? MSG_ASYNC_PORT_UP : MSG_ASYNC_PORT_DOWN, 0);
}

bool async_ring_bells(struct worker *w)
{
	struct list *l;
	bool any = false;

	while ((l = list_pop(&w->dirty_async))) {
		const struct async_channel *ch = list_entry(l, struct async_channel, dirty);

		if (ch->bell >= 0 && !list_empty(&ch->pending))
			doorbell_ring(ch->bell);
		any = true;
	}
	return any;
}
