/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/client.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/objects/cq.h"
#include "daemon/objects/listener.h"
#include "daemon/base/log.h"
#include "daemon/objects/mr.h"
#include "daemon/objects/mw.h"
#include "daemon/objects/pd.h"
#include "daemon/objects/qp.h"
#include "daemon/service/record.h"
#include "daemon/objects/srq.h"
#include "ipc/conn.h"
#include "ipc/doorbell.h"
#include "ipc/memfd.h"
#include "ipc/version.h"
#include "util/cleanup.h"

enum {
	REQUESTS_PER_WAKE = 16, /* of one client, before others have their turn */
	REPLIES_MAX = 65536,    /* records that may wait: ddpctl asks for one per object */
};

/* ---- its end ---- */

void client_fault(struct client *c, const char *fmt, ...)
{
	va_list ap;

	if (list_linked(&c->faulty))
		return;
	va_start(ap, fmt);
	vsnprintf(c->fault, sizeof(c->fault), fmt, ap);
	va_end(ap);
	list_add_tail(&c->daemon->faulty, &c->faulty);
}

static void send_fault(struct client *c)
{
	struct msg_error e = {.hdr = {MSG_ERROR, c->fault_seq},
			      .err = c->fault_err ? c->fault_err : EPROTO,
			      .fatal = 1};

	memcpy(e.reason, c->fault, sizeof(e.reason));
	conn_send(c->fd, &e, sizeof(e), NULL, 0); /* it may be gone: then nobody needs to know */
}

bool client_end_faulty(struct daemon *d)
{
	struct list *l;
	bool any = false;

	while ((l = list_pop(&d->faulty))) {
		struct client *c = list_entry(l, struct client, faulty);

		if (c->fault[0]) {
			log_info("client %u (%s, pid %d, uid %u): ended: %s", c->id, c->comm,
				 (int)c->pid, (unsigned)c->uid, c->fault);
			send_fault(c);
		}
		client_free(c);
		any = true;
	}
	return any;
}

/* Frees every object of a table through its own function. */
#define FREE_ALL(table, type, fn)                                                                  \
	do {                                                                                       \
		uint32_t pos_ = 0;                                                                 \
		struct type *o_;                                                                   \
                                                                                                   \
		while ((o_ = idtab_next(&(table), &pos_)))                                         \
			fn(o_);                                                                    \
		idtab_deinit(&(table));                                                            \
	} while (0)

static void free_objects(struct client *c)
{
	FREE_ALL(c->listeners, listener, listener_free);
	FREE_ALL(c->requests, request, listener_request_free);
	FREE_ALL(c->qps, qp, qp_free);
	FREE_ALL(c->srqs, srq, srq_free);
	FREE_ALL(c->mws, mw, mw_free);
	FREE_ALL(c->mrs, mr, mr_free);
	FREE_ALL(c->cqs, cq, cq_free);
	FREE_ALL(c->pds, pd, pd_free);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void client_free(struct client *c)
{
	list_del(&c->faulty);
	free_objects(c);
	event_loop_unwatch(c->watch);
	event_loop_unwatch(c->bell_watch);
	outq_deinit(&c->replies);
	outq_deinit(&c->events);
	if (c->page)
		munmap(c->page, sizeof(*c->page));
	close_fd(c->bell);
	close_fd(c->event_fd);
	close_fd(c->fd);
	idtab_del(&c->daemon->clients, c->handle);
	acct_release(&c->charge);
	free(c);
}

/* ---- its beginning ---- */

static int credentials(struct client *c)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	c->pid = cred.pid;
	c->uid = cred.uid;
	c->gid = cred.gid;
	return 0;
}

static void readable(void *user, unsigned what);

static void queue_failed(void *user, const char *reason)
{
	client_fault(user, "%s", reason);
}

static int attach(struct client *c)
{
	struct daemon *d = c->daemon;
	char reason[ACCT_REASON_MAX];
	int r = credentials(c);

	if (r)
		return r;
	r = acct_charge(d->acct, c->uid, ACCT_CLIENTS, 1, &c->charge, reason, sizeof(reason));
	if (r > 0) {
		snprintf(c->fault, sizeof(c->fault), "%s", reason);
		c->fault_err = EDQUOT;
		send_fault(c);
		log_info("client of pid %d refused: %s", (int)c->pid, reason);
		return -EDQUOT;
	}
	if (r < 0)
		return r;
	if (idtab_add(&d->clients, c, &c->handle))
		return -ENOMEM;
	outq_init(&c->replies, d->loop, c->fd, REPLIES_MAX, queue_failed, c);
	return event_loop_watch(d->loop, c->fd, EVENT_LOOP_READ, readable, c, &c->watch);
}

void client_allow(struct client *c)
{
	const struct config *cfg = &c->daemon->cfg;
	const struct config_limits *l = &cfg->limits;

	idtab_allow(&c->pds, l->pds);
	idtab_allow(&c->mrs, l->mrs);
	idtab_allow(&c->mws, l->mws);
	idtab_allow(&c->cqs, l->cqs);
	idtab_allow(&c->qps, l->qps < BELL_QUEUES ? l->qps : BELL_QUEUES);
	idtab_allow(&c->srqs, l->srqs);
	idtab_allow(&c->listeners, l->listeners);
	idtab_allow(&c->requests, cfg->session.pending_max * l->listeners);
}

int client_new(struct daemon *d, int fd)
{
	struct client *c = calloc(1, sizeof(*c));
	int r;

	if (!c) {
		close(fd);
		return -ENOMEM;
	}
	c->daemon = d;
	c->fd = fd;
	c->event_fd = c->bell = -1;
	c->id = ++d->last_client;
	c->since_ms = d->now_ms;
	list_init(&c->faulty);
	client_allow(c);
	r = attach(c);
	if (r)
		client_free(c);
	return r;
}

int client_charge(struct client *c, enum acct_kind kind, uint64_t amount, struct acct_charge *ret,
		  struct reply *rep)
{
	char reason[ACCT_REASON_MAX];
	int r = acct_charge(c->daemon->acct, c->uid, kind, amount, ret, reason, sizeof(reason));

	if (r > 0)
		return reply_refuse(rep, EDQUOT, "%s", reason);
	return r < 0 ? reply_refuse(rep, -r, "out of memory") : 0;
}

int client_change(struct client *c, struct acct_charge *charge, uint64_t amount, struct reply *rep)
{
	char reason[ACCT_REASON_MAX];

	if (acct_change(c->daemon->acct, charge, amount, reason, sizeof(reason)))
		return reply_refuse(rep, EDQUOT, "%s", reason);
	return 0;
}

/* ---- hello ---- */

static int make_events(struct client *c, struct reply *rep)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	c->event_fd = pair[0];
	reply_add_fd(rep, pair[1]);
	outq_init(&c->events, c->daemon->loop, c->event_fd, c->daemon->cfg.limits.events,
		  queue_failed, c);
	return 0;
}

/* The sleep is over, which is all that it is rung for; the news is on the bell page. */
static void rung(void *user, unsigned what)
{
	struct client *c = user;

	(void)what;
	/* Who closed its end, as ddpctl does, posts no work; its socket tells when it ends. */
	if (doorbell_drain(c->bell) < 0)
		c->bell_watch = event_loop_unwatch(c->bell_watch);
}

static int make_bell(struct client *c, struct reply *rep)
{
	void *map;
	int fd, r;

	r = memfd_create_mapped("ddp-bells", sizeof(struct bell_page), &fd, &map);
	if (r)
		return r;
	c->page = map;
	reply_add_fd(rep, fd);
	r = doorbell_create(&fd, &c->bell);
	if (r)
		return r;
	reply_add_fd(rep, fd);
	return event_loop_watch(c->daemon->loop, c->bell, EVENT_LOOP_READ, rung, c, &c->bell_watch);
}

int client_hello(struct client *c, const struct msg_hello *req, struct reply *rep)
{
	int r;

	if (c->hello)
		return reply_violation(rep, EPROTO, "hello: said already");
	if (req->major != IPC_VERSION_MAJOR)
		return reply_violation(rep, EPROTO,
				       "hello: the library speaks version %u.%u of the local "
				       "protocol, this daemon %d.%d",
				       req->major, req->minor, IPC_VERSION_MAJOR,
				       IPC_VERSION_MINOR);
	for (size_t i = 0; i < sizeof(c->comm) - 1 && req->comm[i]; i++)
		c->comm[i] = (char)(req->comm[i] < ' ' || req->comm[i] > '~' ? '?' : req->comm[i]);
	r = make_events(c, rep);
	if (!r)
		r = make_bell(c, rep);
	if (r)
		return reply_violation(rep, -r, "hello: no resources: %s", strerror(-r));
	c->hello = true;
	rep->hello.major = IPC_VERSION_MAJOR;
	rep->hello.minor = IPC_VERSION_MINOR;
	rep->hello.client = c->id;
	rep->hello.poll_us = event_loop_poll_us(c->daemon->loop);
	log_debug("client %u: %s, pid %d, uid %u", c->id, c->comm, (int)c->pid, (unsigned)c->uid);
	return 0;
}

/* ---- records ---- */

static void readable(void *user, unsigned what)
{
	struct client *c = user;
	_Alignas(8) unsigned char rec[MSG_MAX];
	int fds[MSG_MAX_FDS];
	unsigned nfds;
	size_t len;

	(void)what;
	for (int i = 0; i < REQUESTS_PER_WAKE && !list_linked(&c->faulty); i++) {
		int r = conn_recv(c->fd, rec, sizeof(rec), &len, fds, &nfds);

		if (r == CONN_E_AGAIN)
			return;
		if (r == CONN_E_OK)
			record_handle(c, rec, len, fds, nfds);
		else if (r == CONN_E_TRUNCATED)
			client_fault(c,
				     "a record of more than %d bytes or %d descriptors, or this "
				     "daemon may open no more of them",
				     MSG_MAX, MSG_MAX_FDS);
		else
			client_fault(c, "%s", ""); /* gone: there is nobody to tell */
	}
}

bool client_event_quota_ok(const struct client *c)
{
	return c->events.count < c->events.max / 2;
}

void client_event(struct client *c, struct msg_event *ev)
{
	ev->hdr.op = MSG_EVENT;
	outq_send(&c->events, ev, sizeof(*ev), NULL, 0);
}

/* ---- bells ---- */

static void wake_queues(struct client *c, unsigned word, uint64_t bits)
{
	while (bits) {
		unsigned slot = word * 64 + (unsigned)__builtin_ctzll(bits);
		struct qp *qp = idtab_at(&c->qps, slot);

		bits &= bits - 1;
		if (qp)
			qp_wake(qp);
	}
}

void client_ring(struct client *c, const struct qp *qp)
{
	bell_ring(c->page, (qp->handle & 0xffff) - 1);
}

bool client_take_bells(struct client *c)
{
	uint64_t words;

	if (!c->page || !bell_any(c->page))
		return false;
	words = bell_take(c->page);
	while (words) {
		unsigned w = (unsigned)__builtin_ctzll(words);

		words &= words - 1;
		wake_queues(c, w, bell_take_word(c->page, w));
	}
	return true;
}

bool client_sleep(struct client *c)
{
	return !c->page || bell_sleep(c->page);
}

void client_awake(struct client *c)
{
	if (c->page)
		bell_awake(c->page);
}
