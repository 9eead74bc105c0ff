/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/cm/cm_event.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verbs/base/addr.h"
#include "verbs/base/error.h"
#include "verbs/base/fork.h"
#include "verbs/base/semaphore.h"
#include "verbs/cm/cm_id.h"
#include "verbs/verbs/context.h"

enum { MAX_PRIVATE = 255 }; /* the length has 8 bits */
enum { TIMEWAIT_MS = 1000 };
enum { SMALL_BACKLOG = 16 }; /* one client may need all of it */
enum { SPARE = 4 };          /* of an id: request, established, ended, TIMEWAIT_EXIT */

struct cm_event {
	struct rdma_cm_event ibv; /* first */
	struct cm_id *holder;     /* is not destroyed before the event is acknowledged */
	struct cm_event *next;
	uint8_t private_data[MAX_PRIVATE];
};

struct channel {
	struct rdma_event_channel ibv; /* first; fd: see semaphore.h */
	struct cm_event *first, **last;
	unsigned owed;       /* as in semaphore.h */
	unsigned generation; /* of the process whose ids use it */
};

/* One lock for all queues: connections are rare. */
static pthread_mutex_t lock = FORK_LOCK;
static pthread_cond_t acked = PTHREAD_COND_INITIALIZER;

__attribute__((constructor)) static void hold_queues_lock(void)
{
	fork_hold(FORK_CM_EVENTS, &lock);
}

/* ---- channels ---- */

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct channel *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	if (host_count() == 0) {
		free(c);
		errno = ENODEV;
		return NULL;
	}
	c->last = &c->first;
	c->generation = fork_generation();
	c->ibv.fd = semaphore_open();
	if (c->ibv.fd < 0) {
		free(c);
		return NULL;
	}
	return &c->ibv;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	struct channel *c = (struct channel *)channel;

	while (c->first) {
		struct cm_event *e = c->first;

		c->first = e->next;
		free(e);
	}
	close(channel->fd);
	free(c);
}

int cm_event_renew(struct rdma_event_channel *channel)
{
	struct channel *c = (struct channel *)channel;
	int r;

	if (c->generation == fork_generation())
		return 0;
	r = fork_replace(channel->fd, semaphore_open());
	if (r)
		return r;
	c->owed = 0;
	c->first = NULL;
	c->last = &c->first;
	c->generation = fork_generation();
	return 0;
}

/* ---- queues ---- */

static void queue_event(struct channel *c, struct cm_event *e)
{
	e->next = NULL;
	*c->last = e;
	c->last = &e->next;
	semaphore_post(c->ibv.fd);
}

static struct channel *channel_of(const struct cm_id *id)
{
	return (struct channel *)id->channel;
}

static void add_spare(struct cm_id *id, struct cm_event *e)
{
	e->next = id->spare;
	id->spare = e;
	id->num_spare++;
}

static struct cm_event *take_spare(struct cm_id *id)
{
	struct cm_event *e;

	pthread_mutex_lock(&lock);
	e = id->spare;
	if (e) {
		id->spare = e->next;
		id->num_spare--;
	}
	pthread_mutex_unlock(&lock);
	return e;
}

int cm_event_reserve(struct cm_id *id)
{
	while (id->num_spare < SPARE) {
		struct cm_event *e = calloc(1, sizeof(*e));

		if (!e) {
			cm_event_unreserve(id);
			errno = ENOMEM;
			return ENOMEM;
		}
		add_spare(id, e);
	}
	return 0;
}

void cm_event_unreserve(struct cm_id *id)
{
	struct cm_event *e;

	while ((e = take_spare(id)))
		free(e);
}

/* An event that the program has acknowledged: its id may need it again. The lock is held. */
static void give_back(struct cm_event *e)
{
	if (e->ibv.id == &e->holder->ibv && e->holder->num_spare < SPARE)
		add_spare(e->holder, e);
	else
		free(e);
}

static void fill_event(struct cm_event *e, const struct rdma_cm_event *ev, const void *private_data,
		       size_t len)
{
	e->ibv = *ev;
	if (len > 0) {
		len = len < MAX_PRIVATE ? len : MAX_PRIVATE;
		memcpy(e->private_data, private_data, len);
		e->ibv.param.conn.private_data = e->private_data;
		e->ibv.param.conn.private_data_len = (uint8_t)len;
	}
	e->holder = cm_of(ev->listen_id ? ev->listen_id : ev->id);
}

void cm_event_push(const struct rdma_cm_event *ev, const void *private_data, size_t len)
{
	struct cm_event *e = calloc(1, sizeof(*e));

	if (!e)
		e = take_spare(cm_of(ev->id));
	if (!e)
		return; /* the program has not taken the last ones */
	fill_event(e, ev, private_data, len);
	pthread_mutex_lock(&lock);
	if (ev->listen_id) /* the new id, too, is at the channel of its listener */
		cm_of(ev->id)->channel = ev->id->channel = e->holder->channel;
	queue_event(channel_of(e->holder), e);
	pthread_mutex_unlock(&lock);
}

void cm_event_simple(struct cm_id *id, enum rdma_cm_event_type type, int status)
{
	const struct rdma_cm_event ev = {.id = &id->ibv, .event = type, .status = status};

	cm_event_push(&ev, NULL, 0);
}

void cm_event_limit(struct cm_id *listener, int backlog)
{
	pthread_mutex_lock(&lock);
	listener->backlog = backlog > 0 ? (unsigned)backlog : 0;
	pthread_mutex_unlock(&lock);
}

/* Other listeners may have the same queue. Of this one it has requests alone. */
bool cm_event_has_room(const struct cm_id *listener, const struct sockaddr_storage *peer)
{
	unsigned n = 0, same = 0, most, last;

	pthread_mutex_lock(&lock);
	most = listener->backlog;
	for (const struct cm_event *e = channel_of(listener)->first; most && e; e = e->next) {
		if (e->ibv.listen_id != &listener->ibv)
			continue;
		n++;
		same += addr_same(&cm_of(e->ibv.id)->dst, peer);
	}
	pthread_mutex_unlock(&lock);
	last = most < SMALL_BACKLOG ? 0 : most / 4;
	return most == 0 || n < most - last || (n < most && same < last);
}

static void on_timewait(struct host_timer *t)
{
	cm_event_simple(CONTAINER(t, struct cm_id, timewait), RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
}

void cm_event_ended(struct cm_id *id, const void *private_data, size_t len)
{
	const struct rdma_cm_event ev = {.id = &id->ibv, .event = RDMA_CM_EVENT_DISCONNECTED};

	cm_event_push(&ev, private_data, len);
	if (id->host->device.transport_type == IBV_TRANSPORT_IWARP)
		return;
	id->timewait.due = on_timewait;
	host_timer_start(id->host, &id->timewait, TIMEWAIT_MS);
}

/* Takes the first event of this id out of its queue. The semaphore of a parent is not the child's.
 */
static struct cm_event *extract(struct cm_id *id)
{
	struct channel *c = channel_of(id);
	struct cm_event **at = &c->first, *e;

	while (*at && (*at)->holder != id && (*at)->ibv.id != &id->ibv)
		at = &(*at)->next;
	e = *at;
	if (e) {
		*at = e->next;
		if (!*at)
			c->last = at;
		if (c->generation == fork_generation() && !semaphore_take(c->ibv.fd))
			c->owed++;
	}
	return e;
}

/* Destroys the id of a request that the program has not taken. With event_lock: an event for it may
 * be arriving. */
static void destroy_untaken_id(struct cm_id *id)
{
	struct host *h = id->host;

	pthread_mutex_lock(&h->event_lock);
	session_end_leave(&id->end);
	host_remove_watch(h, &id->watch);
	pthread_mutex_unlock(&h->event_lock);
	cm_event_forget(id); /* that the request is gone */
	cm_free(id);
}

void cm_event_forget(struct cm_id *id)
{
	struct cm_event *e;

	pthread_mutex_lock(&lock);
	while ((e = extract(id))) {
		if (e->ibv.event == RDMA_CM_EVENT_CONNECT_REQUEST && e->ibv.id != &id->ibv) {
			pthread_mutex_unlock(&lock);
			destroy_untaken_id(cm_of(e->ibv.id));
			pthread_mutex_lock(&lock);
		}
		free(e);
	}
	while (id->unacked > 0)
		pthread_cond_wait(&acked, &lock);
	pthread_mutex_unlock(&lock);
}

void cm_event_migrate(struct cm_id *id, struct rdma_event_channel *to)
{
	struct cm_event *first = NULL, **last = &first, *e;

	pthread_mutex_lock(&lock);
	while ((e = extract(id))) {
		*last = e;
		last = &e->next;
	}
	*last = NULL;
	id->channel = id->ibv.channel = to;
	while ((e = first)) {
		first = e->next;
		queue_event((struct channel *)to, e);
	}
	pthread_mutex_unlock(&lock);
}

static struct cm_event *take_first(struct channel *c)
{
	struct cm_event *e;

	pthread_mutex_lock(&lock);
	e = c->owed > 0 ? NULL : c->first;
	c->owed -= c->owed > 0;
	if (e) {
		c->first = e->next;
		if (!c->first)
			c->last = &c->first;
		e->holder->unacked++;
	}
	pthread_mutex_unlock(&lock);
	return e;
}

/* Blocks unless the program has set O_NONBLOCK. */
int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct cm_event *e = NULL;

	if (((struct channel *)channel)->generation != fork_generation()) {
		error_unsupported("rdma_get_cm_event", ERROR_PARENTS_OBJECT, ECHILD);
		return -1;
	}
	while (!e) {
		if (semaphore_wait(channel->fd))
			return -1;
		e = take_first((struct channel *)channel);
	}
	*event = &e->ibv;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct cm_event *e = (struct cm_event *)event;

	if (!event) {
		errno = EINVAL;
		return -1;
	}
	pthread_mutex_lock(&lock);
	e->holder->unacked--;
	give_back(e);
	pthread_cond_broadcast(&acked);
	pthread_mutex_unlock(&lock);
	return 0;
}
