/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/base/host.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "verbs/base/error.h"
#include "verbs/base/fork.h"
#include "verbs/base/host_timer.h"

/* Of the list, and of the connections. */
static pthread_mutex_t lock = FORK_LOCK;
/* Held by a thread of the library while it does anything but wait. It must not lie on memory that a
 * program registers. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static struct host *hosts[HOST_MAX];
static unsigned count;

__attribute__((constructor)) static void hold_hosts_lock(void)
{
	fork_hold(FORK_HOSTS, &lock);
	fork_renew(&gate);
}

/* ---- identity ---- */

/* Different for each address, and never 0. */
static void set_guid(struct host *h)
{
	uint64_t high, low;

	memcpy(&high, h->gid.raw, 8);
	memcpy(&low, h->gid.raw + 8, 8);
	h->guid = high ^ low ^ UINT64_C(0xdd5c);
}

static bool is_iwarp(void)
{
	const char *text = getenv("DDPVERBS_IWARP");

	return text && *text && strcmp(text, "0") != 0;
}

static void fill_device(struct host *h, unsigned i)
{
	struct ibv_device *d = &h->device;

	d->node_type = is_iwarp() ? IBV_NODE_RNIC : IBV_NODE_CA;
	d->transport_type = is_iwarp() ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
	snprintf(d->name, sizeof(d->name), "ddpsctp%u", i);
	snprintf(d->dev_name, sizeof(d->dev_name), "uverbs_ddpsctp%u", i);
	snprintf(d->dev_path, sizeof(d->dev_path), "/sys/class/infiniband_verbs/%s", d->dev_name);
	snprintf(d->ibdev_path, sizeof(d->ibdev_path), "/sys/class/infiniband/%s", d->name);
}

/* ---- connections ---- */

struct opened {
	struct ddp_ctx *ddp;
	struct ddp_caps caps;
	struct sockaddr_storage addr;
	struct gid_table gids;
};

static int query_addrs(struct opened *o)
{
	struct sockaddr_storage addrs[GID_TABLE_MAX];
	int n = ddp_query_addrs(o->ddp, addrs, GID_TABLE_MAX);

	if (n <= 0)
		return -EADDRNOTAVAIL;
	o->addr = addrs[0];
	gid_table_fill(&o->gids, addrs, n < GID_TABLE_MAX ? (unsigned)n : GID_TABLE_MAX);
	return 0;
}

/* It waits for the daemon. */
static int open_connection(const char *socket, struct opened *ret)
{
	const struct ddp_open_attr attr = {.struct_size = sizeof(attr), .socket = socket};
	int r = ddp_open(&attr, &ret->ddp);

	if (r)
		return r;
	ret->caps = (struct ddp_caps)DDP_INIT(ddp_caps);
	r = ddp_query(ret->ddp, &ret->caps);
	if (r == 0)
		r = query_addrs(ret);
	if (r)
		ddp_close(ret->ddp);
	return r;
}

/* The lock is held. */
static void use_connection(struct host *h, const struct opened *o)
{
	h->ddp = o->ddp;
	h->caps = o->caps;
	h->addr = o->addr;
	h->gids = o->gids;
	h->gid = o->gids.gid[0];
	h->generation = fork_generation();
	h->has_thread = false;
	h->gone = h->port_down = false;
	h->ports = NULL;
	h->datagrams = NULL;
	h->timers = NULL;
	h->timer_fd = -1;
	memset(&h->numbers, 0, sizeof(h->numbers));
}

/* On failure h is as before. */
static int connect_host(struct host *h)
{
	struct opened o;
	int r = open_connection(h->socket, &o);

	if (r == 0)
		use_connection(h, &o);
	return r;
}

/* Appends it. Returns 0 or a negative errno value. */
static int open_host(const char *socket)
{
	struct host *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return -ENOMEM;
	h->socket = socket;
	r = connect_host(h);
	if (r) {
		error_no_device(ddp_last_reason());
		free(h);
		return r;
	}
	hosts[count++] = h;
	return 0;
}

static void close_all(void)
{
	while (count > 0) {
		struct host *h = hosts[--count];

		ddp_close(h->ddp);
		free(h);
	}
}

static void init_host(struct host *h, unsigned i)
{
	fork_init_lock(&h->event_lock);
	fork_hold(FORK_EVENTS, &h->event_lock);
	fill_device(h, i);
	set_guid(h);
}

/* Not the daemon's fault. */
static bool is_shortage(int r)
{
	return r == -ENOMEM || r == -EMFILE || r == -ENFILE || r == -ENOBUFS;
}

/* Opens each of the sockets. A daemon that does not answer is no device; while this process lacks
 * memory or descriptors there is none, so that the next call finds all of them under their names.
 */
static void open_each(char *sockets)
{
	char *rest = NULL;
	bool is_short = false;

	if (!sockets)
		is_short = is_shortage(open_host(NULL));
	for (char *s = sockets ? strtok_r(sockets, ":", &rest) : NULL;
	     s && !is_short && count < HOST_MAX; s = strtok_r(NULL, ":", &rest))
		is_short = is_shortage(open_host(s));
	if (is_short)
		close_all();
	for (unsigned i = 0; i < count; i++)
		init_host(hosts[i], i);
}

/* DDPVERBS_SOCKETS: paths with colons between them. The copy lives as long as the hosts. */
static void open_all(void)
{
	const char *list = getenv("DDPVERBS_SOCKETS");
	char *copy = NULL;

	if (list && *list) {
		copy = strdup(list);
		if (!copy)
			return;
	}
	open_each(copy);
	if (count == 0)
		free(copy);
}

unsigned host_count(void)
{
	unsigned n;

	pthread_mutex_lock(&lock);
	if (count == 0)
		open_all();
	n = count;
	pthread_mutex_unlock(&lock);
	return n;
}

struct host *host_at(unsigned i)
{
	return hosts[i];
}

/* ---- threads ---- */

/* Those of this process for events. One that ends is no longer counted a moment before it is gone:
 * then it is one of the program's. */
static unsigned threads, threads_generation; /* guarded by the lock */

/* fork() leaves them behind. The lock is held. */
static void forget_threads(void)
{
	if (threads_generation == fork_generation())
		return;
	threads_generation = fork_generation();
	threads = 0;
}

bool host_pause(void)
{
	unsigned all;
	struct stat st;

	pthread_mutex_lock(&gate);
	pthread_mutex_lock(&lock);
	forget_threads();
	all = 1 + threads;
	pthread_mutex_unlock(&lock);
	/* Not stat(), which device_files replaces. */
	return fstatat(AT_FDCWD, "/proc/self/task", &st, 0) == 0 && st.st_nlink == 2 + all;
}

void host_resume(void)
{
	pthread_mutex_unlock(&gate);
}

/* ---- connection events ---- */

static void *sink_of(const struct ddp_cm_event *ev)
{
	if (ev->type == DDP_CM_CONNECT_REQUEST)
		return ddp_id_user(ev->listener);
	return ev->id ? ddp_id_user(ev->id) : ev->srq_user;
}

/* An id cannot be destroyed before its event is acknowledged. */
void host_drop_id(struct host *h, struct ddp_id *id)
{
	if (ddp_destroy_id(id) == -EBUSY)
		h->dropped = id;
}

bool host_hand_out(struct host *h)
{
	struct ddp_cm_event *ev;
	struct event_sink *sink;
	int r;

	while ((r = ddp_get_cm_event(h->ddp, &ev, 0)) == 0) {
		sink = sink_of(ev);
		if (sink)
			sink->event(sink, ev);
		ddp_ack_cm_event(ev);
		ddp_destroy_id(h->dropped);
		h->dropped = NULL;
	}
	return r == -EAGAIN || r == -ENOMEM;
}

/* ---- asynchronous events ---- */

void host_add_watch_locked(struct host *h, struct host_watch *w)
{
	w->generation = fork_generation();
	w->next = h->watches;
	h->watches = w;
}

void host_add_watch(struct host *h, struct host_watch *w)
{
	pthread_mutex_lock(&h->event_lock);
	host_add_watch_locked(h, w);
	pthread_mutex_unlock(&h->event_lock);
}

void host_remove_watch(struct host *h, const struct host_watch *w)
{
	struct host_watch **at = &h->watches;

	while (*at && *at != w)
		at = &(*at)->next;
	if (*at)
		*at = w->next;
}

/* Most of those of a parent are of its objects, whose events are not for a child. */
static bool is_for(const struct host_watch *w, const void *object)
{
	return w->ddp == object && (w->inherited || w->generation == fork_generation());
}

static const void *object_of(const struct ddp_async_event *ev)
{
	if (ev->qp)
		return ev->qp;
	return ev->cq ? (const void *)ev->cq : (const void *)ev->srq;
}

static void note_device(struct host *h, enum ddp_async_type type)
{
	if (type == DDP_ASYNC_PORT_DOWN || type == DDP_ASYNC_PORT_UP)
		h->port_down = type == DDP_ASYNC_PORT_DOWN;
	h->gone = h->gone || type == DDP_ASYNC_DEVICE_GONE;
}

/* The caller holds event_lock. */
static void hand_out_async(struct host *h)
{
	struct ddp_async_event ev;

	while (ddp_get_async_event(h->ddp, &ev, 0) == 0) {
		note_device(h, ev.type);
		for (struct host_watch *w = h->watches; w; w = w->next)
			if (is_for(w, object_of(&ev)))
				w->event(w, ev.type);
		ddp_ack_async_event(&ev);
	}
}

bool host_port_is_up(struct host *h)
{
	struct ddp_caps caps = DDP_INIT(ddp_caps);
	bool up;

	pthread_mutex_lock(&h->event_lock);
	hand_out_async(h);
	up = !h->port_down;
	pthread_mutex_unlock(&h->event_lock);
	return up && ddp_query(host_ddp(h), &caps) == 0;
}

/* ---- the thread ---- */

/* The caller holds event_lock. False: the daemon has ended. */
static bool run_events(struct host *h, const struct pollfd *p)
{
	bool open = host_hand_out(h);

	if (p[2].revents)
		host_timer_run(h);
	if (p[1].revents || !open)
		hand_out_async(h);
	return open;
}

/* Timers that start now have no thread. */
static void end_thread(struct host *h, unsigned connection, int timer_fd)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_lock(&h->event_lock);
	if (h->connection == connection)
		h->timer_fd = -1;
	pthread_mutex_unlock(&h->event_lock);
	close(timer_fd);
	pthread_mutex_lock(&lock);
	threads--;
	pthread_mutex_unlock(&lock);
	pthread_mutex_unlock(&gate);
}

static void *event_thread(void *arg)
{
	struct host *h = arg;
	const unsigned connection = h->connection;
	struct pollfd p[] = {
		{.fd = ddp_fd(h->ddp), .events = POLLIN},
		{.fd = h->async_fd, .events = POLLIN},
		{.fd = h->timer_fd, .events = POLLIN},
	};
	bool open;

	do {
		poll(p, 3, -1);
		pthread_mutex_lock(&gate);
		pthread_mutex_lock(&h->event_lock);
		open = h->connection == connection && run_events(h, p);
		pthread_mutex_unlock(&h->event_lock);
		pthread_mutex_unlock(&gate);
	} while (open);
	end_thread(h, connection, p[2].fd);
	return NULL;
}

/* The program's signals are not for this thread. The lock is held. */
static int create_thread(struct host *h)
{
	pthread_t thread;
	sigset_t all, old;
	int r;

	forget_threads();
	threads++;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread, NULL, event_thread, h);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r)
		threads--;
	else
		pthread_detach(thread);
	return r;
}

static int start_event_thread(struct host *h)
{
	int r;

	h->async_fd = ddp_async_fd(h->ddp);
	if (h->async_fd < 0 && h->async_fd != -EOPNOTSUPP)
		return -h->async_fd;
	h->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (h->timer_fd < 0)
		return errno;
	r = create_thread(h);
	if (r) {
		close(h->timer_fd);
		h->timer_fd = -1;
	}
	return r;
}

/* The lock is held. */
static int start_once(struct host *h)
{
	int r = h->has_thread ? 0 : start_event_thread(h);

	h->has_thread = r == 0;
	return r;
}

/* fork() leaves the thread of the parent behind, and the contexts of the parent, for which it ran,
 * serve the child. The lock is held. */
static void connect_again(struct host *h)
{
	const bool had_thread = h->has_thread;

	if (connect_host(h))
		error_once("fork", "the child of fork() cannot connect to the daemon");
	else if (had_thread)
		start_once(h);
}

struct ddp_ctx *host_ddp(struct host *h)
{
	struct ddp_ctx *ret;

	if (h->generation == fork_generation())
		return h->ddp;
	pthread_mutex_lock(&lock);
	if (h->generation != fork_generation())
		connect_again(h);
	ret = h->ddp;
	pthread_mutex_unlock(&lock);
	return ret;
}

/* ---- the next daemon ---- */

/* Its socket says so, or the bell of its events, which may be closed before. */
static bool has_ended(struct host *h)
{
	struct pollfd p = {.fd = ddp_fd(h->ddp)};

	return h->generation == fork_generation() && (h->gone || poll(&p, 1, 0) > 0);
}

/* The objects of a parent are not in the way of its child. The caller holds event_lock. */
static bool has_objects(const struct host *h)
{
	for (const struct host_watch *w = h->watches; w; w = w->next)
		if (!w->stays && is_for(w, w->ddp))
			return true;
	return false;
}

/* EPIPE: the daemon has ended, and all is closed. 0: it runs. The thread may not have run since the
 * end. The caller holds event_lock. */
static int state_of(struct host *h)
{
	if (!has_ended(h))
		return 0;
	host_hand_out(h);
	hand_out_async(h);
	return has_objects(h) ? EBUSY : EPIPE;
}

/* Another thread may be in a call with the connection that ended now, so the one before it is
 * closed; it stays if it has domains or regions, which the program may still deregister. */
static void retire(struct host *h, struct ddp_ctx *ended)
{
	ddp_close(h->former);
	h->former = ended;
	for (struct host_watch *w = h->watches; w; w = w->next)
		if (w->renew && is_for(w, w->ddp))
			w->renew(w);
}

/* The caller holds event_lock. */
static void take_next(struct host *h, const struct opened *next)
{
	struct ddp_ctx *ended = h->ddp;
	bool had_thread;

	if (h->end_ports)
		h->end_ports(h);
	pthread_mutex_lock(&lock);
	had_thread = h->has_thread;
	h->connection++;
	use_connection(h, next);
	if (had_thread && start_once(h))
		error_once("ibv_open_device", "no thread waits for the events of the next daemon");
	pthread_mutex_unlock(&lock);
	retire(h, ended);
}

static int state_now(struct host *h)
{
	int r;

	pthread_mutex_lock(&h->event_lock);
	r = state_of(h);
	pthread_mutex_unlock(&h->event_lock);
	return r;
}

/* No lock is held while the daemon answers: it may take long, and others are not to wait for it.
 * Only ports that ids had are opened later. Meanwhile another thread may have connected. */
int host_revive(struct host *h)
{
	struct opened next;
	int r = state_now(h);

	if (r != EPIPE)
		return r;
	r = open_connection(h->socket, &next);
	if (r)
		return -r;
	ddp_async_fd(next.ddp); /* asks for it: the thread waits for it */
	pthread_mutex_lock(&h->event_lock);
	r = state_of(h);
	if (r == EPIPE)
		take_next(h, &next);
	else
		ddp_close(next.ddp);
	pthread_mutex_unlock(&h->event_lock);
	return r == EPIPE ? 0 : r;
}

void host_revive_all(void)
{
	const unsigned n = host_count();

	for (unsigned i = 0; i < n; i++)
		host_revive(host_at(i));
}

int host_start_events(struct host *h)
{
	int r;

	host_ddp(h);
	pthread_mutex_lock(&lock);
	r = h->generation == fork_generation() ? start_once(h) : EIO;
	pthread_mutex_unlock(&lock);
	return r;
}
