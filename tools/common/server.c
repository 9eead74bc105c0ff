/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/common/server.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tools/common/host_list.h"
#include "tools/common/message.h"
#include "tools/common/ready.h"
#include "tools/common/tool.h"
#include "util/limit_text.h"

enum { LOOK_MS = 200 }; /* interval of checking tool_stopped() */

enum slot_state {
	SLOT_FREE,
	SLOT_ACCEPTED, /* the event that it is established is awaited */
	SLOT_RUNNING,  /* has a thread */
};

struct slot {
	struct session s;
	struct server *server;
	enum slot_state state;
	pthread_t thread;
	atomic_bool done; /* the thread is about to end */
	int status;       /* exit status of run, once done */
};

struct server {
	const struct server_conf *conf;
	struct ddp_ctx *ctx;
	struct ddp_id *listener;
	struct slot *slots;
	unsigned active;
	bool served;    /* a session ran and ended */
	int status;     /* of the last one that ended */
	int done_event; /* eventfd: some thread is done */
};

int server_refuse(struct server_answer *a, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf((char *)a->data, sizeof(a->data), fmt, ap);
	va_end(ap);
	a->len = n < 0 ? 0 : (size_t)n < sizeof(a->data) ? (size_t)n : sizeof(a->data) - 1;
	return SERVER_REJECT;
}

/* For failures outside of the library. */
static int plain_fail(const char *what, int err)
{
	return message_fail(what, err, NULL);
}

static void *slot_thread(void *arg)
{
	struct slot *slot = arg;
	uint64_t one = 1;

	slot->status = slot->server->conf->run(&slot->s);
	atomic_store(&slot->done, true);
	while (write(slot->server->done_event, &one, sizeof(one)) < 0 && errno == EINTR)
		continue;
	return NULL;
}

/* Signals go to the main thread, which notifies the others through tool_stopped(). */
static int start_thread(struct slot *slot)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&slot->thread, NULL, slot_thread, slot);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}

static void slot_free(struct slot *slot)
{
	struct server *sv = slot->server;
	void *state = slot->s.state;

	session_close(&slot->s); /* clears it */
	free(state);
	*slot = (struct slot){.server = sv};
	sv->active--;
}

/* Frees the slots whose threads are done; with wait, also those whose session is over, which makes
 * their threads end. */
static void reap(struct server *sv, bool wait)
{
	for (unsigned i = 0; i < sv->conf->max_sessions; i++) {
		struct slot *slot = &sv->slots[i];
		bool done = atomic_load(&slot->done) || (wait && !atomic_load(&slot->s.up));

		if (slot->state != SLOT_RUNNING || !done)
			continue;
		pthread_join(slot->thread, NULL);
		if (slot->status != TOOL_OK)
			sv->status = slot->status;
		sv->served = true;
		slot_free(slot);
	}
}

static struct slot *free_slot(struct server *sv)
{
	for (unsigned i = 0; i < sv->conf->max_sessions; i++)
		if (sv->slots[i].state == SLOT_FREE)
			return &sv->slots[i];
	return NULL;
}

/* Returns 0 if the slot's session was accepted. */
static int try_accept(struct slot *slot, const struct ddp_cm_event *ev, struct server_answer *a)
{
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);
	const struct server_conf *conf = slot->server->conf;
	struct session *s = &slot->s;
	int r;

	s->ctx = slot->server->ctx;
	s->id = ev->id;
	s->user = conf->user;
	s->own_memory = conf->own_memory;
	s->others = slot->server->active;
	s->state = calloc(1, conf->state_size);
	if (!s->state)
		return plain_fail("allocate a session", -ENOMEM);
	session_addr_str(&ev->peer, s->peer, sizeof(s->peer));
	r = ddp_alloc_pd(s->ctx, &s->pd);
	if (r < 0)
		session_fail("allocate a protection domain", r);
	else
		r = conf->request(s, ev->private_data, ev->private_len, a);
	if (r)
		return r;
	param.private_data = a->data;
	param.private_len = a->len;
	r = ddp_accept(s->id, &param);
	return r < 0 ? session_fail("accept", r) : r;
}

/* Whether all that --once promises has been served. */
static bool all_served(const struct server *sv)
{
	return sv->conf->once && sv->served && (!sv->conf->one_client || sv->active == 0);
}

static void on_connect_request(struct server *sv, struct ddp_cm_event *ev)
{
	struct ddp_conn_param no = DDP_INIT(ddp_conn_param);
	struct server_answer a = {.len = 0};
	struct ddp_id *id = ev->id;
	struct slot *slot = free_slot(sv);
	int r = SERVER_REJECT;

	/* A session that is over gives its place to the next one. */
	if (!slot || sv->conf->one_client) {
		reap(sv, true);
		slot = free_slot(sv);
	}
	if (all_served(sv))
		slot = NULL;
	if (!slot) {
		server_refuse(&a, "busy: %u of %u sessions are in use", sv->active,
			      sv->conf->max_sessions);
	} else {
		r = try_accept(slot, ev, &a);
		slot->state = SLOT_ACCEPTED;
		sv->active++;
	}
	if (r == 0) {
		ddp_id_set_user(id, slot);
	} else {
		if (!a.len)
			server_refuse(&a, "the server cannot accept a session now");
		no.private_data = a.data;
		no.private_len = a.len;
		ddp_reject(id, &no);
	}
	ddp_ack_cm_event(ev);
	if (r == 0)
		return;
	if (slot)
		slot_free(slot);
	else
		ddp_destroy_id(id);
}

static void on_session_up(struct slot *slot)
{
	char words[LIMIT_TEXT_MAX];
	int r;

	atomic_store(&slot->s.up, true);
	r = start_thread(slot);
	if (r < 0) {
		message_fail("start a thread", r, limit_text_of_thread(-r, words, sizeof(words)));
		slot_free(slot);
		return;
	}
	slot->state = SLOT_RUNNING;
}

/* The session is over, or was never established. A thread sees its receives flushed. */
static void on_end(struct slot *slot, const char *reason, int err)
{
	atomic_store(&slot->s.up, false);
	if (err)
		message_fail(slot->s.peer, err, reason);
	if (slot->state == SLOT_ACCEPTED)
		slot_free(slot);
}

static void on_cm_event(struct server *sv, struct ddp_cm_event *ev)
{
	struct slot *slot = ev->id && ev->id != sv->listener ? ddp_id_user(ev->id) : NULL;
	enum ddp_cm_event_type type = ev->type;
	char reason[256];
	int err = ev->err;

	if (type == DDP_CM_CONNECT_REQUEST) {
		on_connect_request(sv, ev);
		return;
	}
	/* A session must not be freed while its event is not acknowledged. */
	snprintf(reason, sizeof(reason), "%s", ev->reason ? ev->reason : "");
	ddp_ack_cm_event(ev);
	if (!slot)
		return;
	switch (type) {
	case DDP_CM_ESTABLISHED:
		on_session_up(slot);
		break;
	case DDP_CM_PATH:
		if (!sv->conf->quiet)
			message_note("%s: %s", slot->s.peer, reason);
		break;
	default:
		on_end(slot, reason, err);
	}
}

static int drain_events(struct server *sv)
{
	struct ddp_cm_event *ev;
	int r;

	while ((r = ddp_get_cm_event(sv->ctx, &ev, 0)) == 0)
		on_cm_event(sv, ev);
	if (r == -EAGAIN || r == -EINTR)
		return 0;
	return r == -EPIPE ? r : session_fail("wait for sessions", r);
}

static bool is_finished(const struct server *sv)
{
	return tool_stopped() || all_served(sv);
}

/* Ends the sessions that are left; their threads see their receives flushed, or the end of the
 * daemon. */
static void end_sessions(struct server *sv)
{
	for (unsigned i = 0; sv->slots && i < sv->conf->max_sessions; i++) {
		struct slot *slot = &sv->slots[i];

		if (slot->state == SLOT_RUNNING) {
			if (atomic_exchange(&slot->s.up, false))
				ddp_disconnect(slot->s.id);
			pthread_join(slot->thread, NULL);
			sv->served = true;
			sv->status = slot->status;
		}
		if (slot->state != SLOT_FREE)
			slot_free(slot);
	}
}

/* The socket is not there, or its daemon has just begun or ends. */
static bool is_absent(int err)
{
	return err == -ENOENT || err == -ECONNREFUSED || err == -EPIPE || err == -ETIMEDOUT;
}

/* The daemon has ended, and all sessions with it. Listens again at the next one. */
static int await_daemon(struct server *sv)
{
	int r;

	message_note("the daemon has ended: waiting for the next one");
	end_sessions(sv);
	do
		r = is_finished(sv) ? -EINTR : ddp_reopen(sv->ctx, LOOK_MS);
	while (is_absent(r));
	if (r < 0)
		return r == -EINTR ? 0 : session_fail("listen at the next daemon", r);
	message_note("listening on port %u again", sv->conf->port);
	return 0;
}

static int serve_sessions(struct server *sv)
{
	while (!is_finished(sv)) {
		struct pollfd fds[2] = {
			{.fd = ddp_fd(sv->ctx), .events = POLLIN},
			{.fd = sv->done_event, .events = POLLIN},
		};
		uint64_t n;
		int r = poll(fds, 2, LOOK_MS);

		if (r < 0 && errno != EINTR)
			return plain_fail("poll", -errno);
		if (r > 0 && fds[1].revents)
			while (read(sv->done_event, &n, sizeof(n)) < 0 && errno == EINTR)
				continue;
		r = drain_events(sv);
		if (r == -EPIPE)
			r = await_daemon(sv);
		if (r < 0)
			return r;
		reap(sv, false);
	}
	return 0;
}

static int listen_at_hosts(struct server *sv)
{
	struct ddp_listen_attr attr = DDP_INIT(ddp_listen_attr);
	struct host_list at = {.n = 0};
	char what[64];
	int r = 0;

	snprintf(what, sizeof(what), "listen on port %u", sv->conf->port);
	if (sv->conf->bind)
		r = host_list_parse("--bind", sv->conf->bind, sv->conf->port, &at);
	if (r < 0)
		return r;
	attr.addrs = at.a;
	attr.num_addrs = at.n;
	attr.port = sv->conf->port;
	attr.flags = sv->conf->listen_flags;
	r = ddp_listen_service(sv->listener, &attr);
	return r < 0 ? session_fail(what, r) : r;
}

static int start_listening(struct server *sv)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);
	int r;

	attr.socket = sv->conf->socket;
	r = ddp_open(&attr, &sv->ctx);
	if (r < 0)
		return session_fail("attach to the daemon", r);
	r = ddp_create_id(sv->ctx, NULL, &sv->listener);
	if (r < 0)
		return session_fail("create a listener", r);
	r = listen_at_hosts(sv);
	if (r < 0)
		return r;
	sv->done_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (sv->done_event < 0)
		return plain_fail("create an eventfd", -errno);
	sv->slots = calloc(sv->conf->max_sessions, sizeof(*sv->slots));
	if (!sv->slots)
		return plain_fail("start", -ENOMEM);
	for (unsigned i = 0; i < sv->conf->max_sessions; i++)
		sv->slots[i].server = sv;
	return 0;
}

static void stop_sessions(struct server *sv)
{
	const int status = sv->status; /* that of the sessions before the signal */

	end_sessions(sv);
	sv->status = status;
	free(sv->slots);
	if (sv->done_event >= 0)
		close(sv->done_event);
	if (sv->listener)
		ddp_destroy_id(sv->listener);
	ddp_close(sv->ctx);
}

int server_run(const struct server_conf *conf)
{
	struct server sv = {.conf = conf, .done_event = -1};
	int r = start_listening(&sv);

	if (r == 0) {
		if (!conf->quiet) {
			printf("%s: listening on port %u\n", tool_name(), conf->port);
			fflush(stdout);
		}
		ready_tell();
		r = serve_sessions(&sv);
	}
	stop_sessions(&sv);
	return r < 0 ? TOOL_FAILED : sv.conf->once ? sv.status : TOOL_OK;
}
