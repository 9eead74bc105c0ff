/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/service/hello.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/base/descriptors.h"
#include "daemon/base/log.h"
#include "daemon/objects/client/client.h"
#include "ipc/doorbell.h"
#include "ipc/local_protocol.h"
#include "ipc/memfd.h"
#include "util/checked.h"

/* Places for events that are charged in advance; others when their object is made. */
enum { EVENTS_FREE = 64 };

static bool is_ddpctl(const struct client *c)
{
	return strcmp(c->comm, "ddpctl") == 0;
}

static bool fits(const struct client *c, uint64_t bytes)
{
	const struct acct *a = c->daemon->acct;
	uint64_t used = acct_used(a, c->uid, ACCT_MEMORY);

	return checked_range(used, bytes, acct_limit(a, c->uid, ACCT_MEMORY));
}

/* The bell page, unread replies, and the first unread events. Who looks for what uses up the memory
 * of a uid gets in: a few of them. */
static int charge(struct client *c, struct reply *rep)
{
	uint64_t records = CLIENT_REPLIES_MAX * MSG_MAX + EVENTS_FREE * OUTQ_PLACE_BYTES;
	uint64_t bytes = records + sizeof(struct bell_page);
	int r;

	if (c->hello.refusal[0]) /* of the reserve already */
		return 0;
	if (is_ddpctl(c) && !fits(c, bytes))
		r = client_charge(c, ACCT_RESERVE, 1, &c->memory, rep);
	else
		r = client_charge(c, ACCT_MEMORY, bytes, &c->memory, rep);
	rep->fatal = r != 0;
	return r;
}

static int make_events(struct client *c, struct reply *rep)
{
	const int least = 0; /* the kernel makes it its own minimum */
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	c->io.event_fd = pair[0];
	/* The socket takes few: events in it cannot be taken back. */
	setsockopt(c->io.event_fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof(least));
	reply_add_fd(rep, pair[1]);
	c->io.events_max = c->daemon->cfg.limits.events;
	outq_init(&c->io.events, c->worker->loop, c->io.event_fd, UINT_MAX, client_queue_failed, c);
	outq_charge(&c->io.events, c->daemon->acct, c->uid, EVENTS_FREE * OUTQ_PLACE_BYTES);
	return 0;
}

/* The client has rung: its bell page says for which queue pairs. After a sleep the next turn serves
 * them before the bell is read. */
static void rung(void *user, unsigned what)
{
	struct client *c = user;

	if (what == EVENT_LOOP_BELL) {
		client_poll_bells(c);
		return;
	}
	/* A client that closed its end, as ddpctl does, posts no work. Its socket tells its end. */
	if (doorbell_drain(c->bells.doorbell) < 0)
		c->bells.watch = event_loop_unwatch(c->bells.watch);
	else
		client_poll_bells(c);
}

static int make_doorbell(struct client *c, struct reply *rep)
{
	void *map;
	int fd, r;

	r = memfd_create_mapped("ddp-bells", sizeof(struct bell_page), &fd, &map);
	if (r)
		return r;
	c->bells.page = map;
	bell_sleep(c->bells.page); /* until it rings for the first time */
	reply_add_fd(rep, fd);
	r = doorbell_create(&fd, &c->bells.doorbell);
	if (r)
		return r;
	reply_add_fd(rep, fd);
	return event_loop_watch(c->worker->loop, c->bells.doorbell,
				EVENT_LOOP_READ | EVENT_LOOP_BELL, rung, c, &c->bells.watch);
}

static int check_hello(const struct client *c, const struct msg_hello *req, struct reply *rep)
{
	if (c->hello.done)
		return reply_violation(rep, EPROTO, "hello: sent twice");
	if (req->major != IPC_VERSION_MAJOR)
		return reply_violation(rep, EPROTO,
				       "hello: the library speaks version %u.%u of the local "
				       "protocol, this daemon %d.%d",
				       req->major, req->minor, IPC_VERSION_MAJOR,
				       IPC_VERSION_MINOR);
	return 0;
}

int hello_answer(struct client *c, const struct msg_hello *req, struct msg_hello_reply *ret,
		 struct reply *rep)
{
	int r = check_hello(c, req, rep);

	if (r)
		return r;
	for (size_t i = 0; i < sizeof(c->comm) - 1 && req->comm[i]; i++)
		c->comm[i] = (char)(req->comm[i] < ' ' || req->comm[i] > '~' ? '?' : req->comm[i]);
	if (c->hello.refusal[0] && !is_ddpctl(c))
		return reply_violation(rep, EDQUOT, "%s", c->hello.refusal);
	r = charge(c, rep);
	if (r)
		return r;
	r = make_events(c, rep);
	if (!r)
		r = make_doorbell(c, rep);
	if (r) {
		descriptors_refuse(rep, -r, "hello");
		rep->fatal = true;
		return r;
	}
	c->hello.minor = req->minor;
	c->hello.done = true;
	ret->major = IPC_VERSION_MAJOR;
	ret->minor = IPC_VERSION_MINOR;
	ret->client = c->id;
	ret->poll_us = event_loop_poll_us(c->worker->loop);
	log_debug("client %u: %s, pid %d, uid %u", c->id, c->comm, (int)c->pid, (unsigned)c->uid);
	return 0;
}
