/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/ipc/fake.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ipc/conn.h"
#include "ipc/doorbell.h"
#include "ipc/local_protocol.h"
#include "ipc/rung.h"
#include "ipc/shadow.h"
#include "util/checked.h"

/* A thread of the test: abort() shows where it stopped. */
#define MUST_FAIL(...) (fprintf(stderr, "fake daemon: " __VA_ARGS__), fputc('\n', stderr), abort())
#include "tests/lib/must.h"

static void say_hello(struct fake *f, struct fake_reply *r)
{
	int sv[2];
	void *map;

	HOLDS(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) == 0);
	f->event_fd = sv[0];
	r->fds[0] = sv[1];
	HOLDS(memfd_create_mapped("fake-page", sizeof(*f->page), &r->fds[1], &map) == 0);
	f->page = map;
	HOLDS(doorbell_create(&r->fds[2], &f->bell) == 0);
	r->hello.major = IPC_VERSION_MAJOR;
	r->hello.minor = IPC_VERSION_MINOR;
	r->hello.client = 1;
	r->hello.poll_us = 10;
}

static void make_cq(struct fake *f, const struct msg_create_cq *req, struct fake_reply *r)
{
	struct fake_cq *cq = &f->cq[f->ncq++];
	void *map;

	r->create_cq.handle = f->ncq;
	r->create_cq.entries = req->entries;
	r->create_cq.bytes = ring_bytes(req->entries, sizeof(struct wqe_cqe));
	HOLDS(memfd_create_mapped("fake-cq", r->create_cq.bytes, &r->fds[0], &map) == 0);
	ring_init(&cq->ring, map, req->entries, sizeof(struct wqe_cqe));
	HOLDS(doorbell_create(&cq->bell, &r->fds[1]) == 0);
}

/* The entries of the old ring are the test's to move. */
static void resize_cq(struct fake *f, const struct msg_resize_cq *req, struct fake_reply *r)
{
	struct fake_cq *cq = &f->cq[req->cq - 1];
	void *map;

	r->resize_cq.handle = req->cq;
	r->resize_cq.entries = req->entries;
	r->resize_cq.bytes = ring_bytes(req->entries, sizeof(struct wqe_cqe));
	HOLDS(memfd_create_mapped("fake-cq", r->resize_cq.bytes, &r->fds[0], &map) == 0);
	ring_init(&cq->ring, map, req->entries, sizeof(struct wqe_cqe));
}

static void make_qp(struct fake *f, const struct msg_create_qp *req, struct fake_reply *r)
{
	struct fake_qp *qp = &f->qp[f->nqp++];
	struct msg_qp *m = &r->create_qp;
	void *map;

	m->handle = f->nqp;
	m->qp_num = 100 + f->nqp;
	m->slot = qp->slot = 70 * f->nqp;
	m->sq_entry = wqe_send_size(req->max_send_sge, req->max_inline);
	m->bytes = ring_bytes(req->sq_entries, m->sq_entry);
	if (!req->srq) {
		m->rq_entry = wqe_recv_size(req->max_recv_sge);
		m->rq_offset = checked_round_up(m->bytes, RING_LINE);
		m->bytes = m->rq_offset + ring_bytes(req->rq_entries, m->rq_entry);
	}
	HOLDS(memfd_create_mapped("fake-qp", m->bytes, &r->fds[0], &map) == 0);
	ring_init(&qp->sq, map, req->sq_entries, m->sq_entry);
	if (!req->srq)
		ring_init(&qp->rq, (uint8_t *)map + m->rq_offset, req->rq_entries, m->rq_entry);
}

static void make_srq(struct fake *f, const struct msg_create_srq *req, struct fake_reply *r)
{
	void *map;

	r->create_srq.handle = 9;
	r->create_srq.entry = wqe_recv_size(req->max_sge);
	r->create_srq.bytes = ring_bytes(req->entries, r->create_srq.entry);
	HOLDS(memfd_create_mapped("fake-srq", r->create_srq.bytes, &r->fds[0], &map) == 0);
	ring_init(&f->srq, map, req->entries, r->create_srq.entry);
}

static void make_mr(struct fake *f, const struct msg_reg_mr *req, int fd, struct msg_mr *ret)
{
	HOLDS(memfd_map_client(fd, req->offset, req->len, req->access != 4, &f->mr) == 0);
	ret->handle = 7;
	ret->stag = 0x1a2b3c00 + f->nrec;
}

static void make_own_mr(struct fake *f, const struct msg_reg_own_mr *req, int fd,
			struct msg_mr *ret)
{
	struct msg_reg_mr all = req->reg;

	if (req->rung == RUNG_AGENT) {
		all.offset = 0;
		all.len = shadow_layout(req->reg.offset + req->reg.len).total;
		all.access = 1; /* LOCAL_WRITE */
	}
	make_mr(f, &all, fd, ret);
}

static void open_agent(struct fake *f, struct fake_reply *r)
{
	void *map;

	r->open_agent.bytes = sizeof(*f->agent);
	HOLDS(memfd_create_mapped("fake-agent", sizeof(*f->agent), &r->fds[0], &map) == 0);
	f->agent = map;
	HOLDS(doorbell_create(&f->agent_bell, &r->fds[1]) == 0);
}

static void remap_mr(struct fake *f, const struct msg_rereg_mr *req, int fd, struct fake_reply *r)
{
	memfd_unmap(&f->mr);
	HOLDS(memfd_map_client(fd, req->offset, req->len, true, &f->mr) == 0);
	r->remap_mr.stag = 0x1a2b3c00 + f->nrec;
}

static void fill_request(struct msg_request_state *m)
{
	m->local = (struct sockaddr_storage){.ss_family = AF_INET};
	m->remote = (struct sockaddr_storage){.ss_family = AF_INET6};
	m->assoc = 16;
	m->stream = 17;
	m->peer.security = MSG_SECURITY_DTLS;
	memset(m->peer.name, 'x', sizeof(m->peer.name)); /* no NUL */
}

/* Each member gets a different number, so that tests detect a wrong one. */
static void fill_reply(const union fake_record *req, struct fake_reply *r)
{
	switch (req->hdr.op) {
	case MSG_QUERY:
		r->query.max_qp = 11;
		r->query.retransmits = 12;
		r->query.max_srq = 13;
		r->query.max_mw = 14;
		r->query.features = MSG_CAP_ATOMIC | MSG_CAP_RAW;
		r->query.max_raw_queues = 15;
		r->query.cpu_user_us = 16;
		r->query.cpu_system_us = 17;
		memset(r->query.transport, 'x', sizeof(r->query.transport)); /* no NUL */
		break;
	case MSG_QUERY_QP:
		r->query_qp.state = 2;
		r->query_qp.max_tagged = 1400;
		r->query_qp.max_ord = 12;
		r->query_qp.max_ird = 34;
		break;
	case MSG_QUERY_REQUEST:
		fill_request(&r->query_request);
		break;
	case MSG_QUERY_PEER:
		r->query_peer.peer =
			(struct msg_peer_facts){MSG_SECURITY_DTLS, 1, 1, {[31] = 9}, "lab"};
		break;
	case MSG_QUERY_ADDRS:
		r->query_addrs.n = 2;
		r->query_addrs.addrs[0] =
			(struct msg_addr){.family = AF_INET, .bytes = {10, 1, 0, 1}};
		r->query_addrs.addrs[1] =
			(struct msg_addr){.family = AF_INET6, .bytes = {[15] = 1}};
		break;
	case MSG_QUERY_PD:
		r->query_pd = (struct msg_pd_state){r->hdr, 1, 2, 3, 4};
		break;
	case MSG_QUERY_MR:
		r->query_mr = (struct msg_mr_state){r->hdr, 1, 2, 3, 4, 5, 6, 7, 8};
		break;
	case MSG_QUERY_MW:
		r->query_mw = (struct msg_mw_state){r->hdr, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0};
		break;
	case MSG_QUERY_CQ:
		r->query_cq = (struct msg_cq_state){r->hdr, 1, 2, 3, 4, 5, 6};
		break;
	case MSG_QUERY_SRQ:
		r->query_srq = (struct msg_srq_state){r->hdr, 1, 2, 3, 4, 5, 6, 7, 8, 9};
		break;
	case MSG_QP_OPTIONS:
	case MSG_SRQ_OPTIONS: /* the same struct */
		r->qp_options = (struct msg_options_state){r->hdr, 11, 12, 1, 14, 15, 4, 0};
		break;
	default:
		break;
	}
}

static void answer_async(struct fake *f, struct fake_reply *r)
{
	struct msg_hdr hdr = r->hdr;

	if (hdr.op == MSG_ASYNC_OPEN) {
		HOLDS(doorbell_create(&f->async_bell, &r->fds[0]) == 0);
		return;
	}
	r->async_take = f->async;
	r->hdr = hdr;
	f->async = (struct msg_async){0};
}

/* The reply of a daemon that accepts the request. */
static void answer(struct fake *f, const union fake_record *req, int fd, struct fake_reply *r)
{
	switch (req->hdr.op) {
	case MSG_HELLO:
		say_hello(f, r);
		break;
	case MSG_ALLOC_PD:
		r->alloc_pd.handle = f->nrec;
		break;
	case MSG_REG_MR:
		make_mr(f, &req->reg_mr, fd, &r->reg_mr);
		break;
	case MSG_REG_OWN_MR:
		make_own_mr(f, &req->reg_own_mr, fd, &r->reg_own_mr);
		break;
	case MSG_OPEN_AGENT:
		open_agent(f, r);
		break;
	case MSG_BIND_MR:
	case MSG_REREG_MR: /* the same struct */
		r->bind_mr.stag = 0x1a2b3c00 + f->nrec;
		break;
	case MSG_CREATE_CQ:
		make_cq(f, &req->create_cq, r);
		break;
	case MSG_RESIZE_CQ:
		resize_cq(f, &req->resize_cq, r);
		break;
	case MSG_CREATE_QP:
		make_qp(f, &req->create_qp, r);
		break;
	case MSG_REMAP_MR:
		remap_mr(f, &req->remap_mr, fd, r);
		break;
	case MSG_ALLOC_MW:
	case MSG_BIND_MW: /* the same struct */
		r->alloc_mw.handle = 8;
		r->alloc_mw.stag = 0x4d5e6f00 + f->nrec;
		break;
	case MSG_CREATE_AH:
		r->create_ah.handle = 6;
		break;
	case MSG_CREATE_SRQ:
		make_srq(f, &req->create_srq, r);
		break;
	case MSG_LISTEN:
	case MSG_LISTEN_KEY: /* the same struct */
		r->listen.handle = 5;
		r->listen.port = 5043;
		break;
	case MSG_ASYNC_OPEN:
	case MSG_ASYNC_TAKE:
		answer_async(f, r);
		break;
	default:
		fill_reply(req, r);
		break;
	}
}

static void close_all(struct fake *f)
{
	close(f->fd);
	close(f->event_fd);
	close(f->bell);
	if (f->async_bell >= 0)
		close(f->async_bell);
	if (f->agent)
		close(f->agent_bell);
	for (unsigned i = 0; i < f->ncq; i++)
		close(f->cq[i].bell);
	f->closed = true;
}

/* Serves one request. False if the client has ended, or the script ends the daemon. */
static bool serve(struct fake *f)
{
	union fake_record *req = &f->rec[f->nrec];
	struct fake_reply r = {0};
	const struct msg_shape *shape;
	int fds[MSG_MAX_FDS] = {-1};
	unsigned nfds = 0;
	size_t len;

	memset(req, 0, sizeof(*req));
	if (conn_recv(f->fd, req, sizeof(*req), &len, fds, &nfds))
		return false;
	if (req->hdr.op == MSG_HELLO)
		f->hello = req->hello;
	else
		f->nrec++;
	HOLDS(f->nrec < FAKE_RECORDS);
	shape = msg_shape(req->hdr.op);
	r.hdr = req->hdr;
	r.len = shape->reply_len;
	r.nfds = shape->reply_nfds;
	answer(f, req, fds[0], &r);
	for (unsigned i = 0; i < nfds; i++)
		close(fds[i]);
	if (f->script)
		f->script(f, &r);
	if (r.silent)
		close_all(f);
	else
		conn_send(f->fd, r.bytes, r.len, r.fds, r.nfds);
	for (unsigned i = 0; i < r.nfds; i++)
		close(r.fds[i]);
	return !r.silent;
}

static void *run(void *arg)
{
	struct fake *f = arg;

	f->fd = accept(f->listen_fd, NULL, NULL);
	if (f->fd < 0)
		return NULL;
	while (serve(f))
		;
	return NULL;
}

/* Listens at its path, and serves the first client. */
static void serve_there(struct fake *f)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};

	strcpy(sun.sun_path, f->path);
	f->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	HOLDS(bind(f->listen_fd, (struct sockaddr *)&sun, sizeof(sun)) == 0);
	HOLDS(listen(f->listen_fd, 1) == 0);
	HOLDS(pthread_create(&f->thread, NULL, run, f) == 0);
}

void fake_start(struct fake *f)
{
	*f = (struct fake){.fd = -1, .event_fd = -1, .bell = -1, .async_bell = -1};
	strcpy(f->dir, "/tmp/ddp-fake-XXXXXX");
	HOLDS(mkdtemp(f->dir));
	HOLDS(chmod(f->dir, 0755) == 0);
	snprintf(f->path, sizeof(f->path), "%s/sock", f->dir);
	setenv("DDP_SOCKET", f->path, 1);
	serve_there(f);
}

void fake_restart(struct fake *f, void (*script)(struct fake *f, struct fake_reply *r))
{
	struct fake next = {.fd = -1, .event_fd = -1, .bell = -1, .async_bell = -1};

	fake_die(f);
	unlink(f->path);
	memcpy(next.dir, f->dir, sizeof(next.dir));
	memcpy(next.path, f->path, sizeof(next.path));
	next.script = script;
	*f = next;
	serve_there(f);
}

void fake_die(struct fake *f)
{
	if (f->listen_fd < 0)
		return;
	shutdown(f->listen_fd, SHUT_RDWR);
	if (f->fd >= 0)
		shutdown(f->fd, SHUT_RDWR);
	pthread_join(f->thread, NULL);
	if (!f->closed)
		close_all(f);
	close(f->listen_fd);
	f->listen_fd = -1;
}

void fake_stop(struct fake *f)
{
	fake_die(f);
	unlink(f->path);
	rmdir(f->dir);
}

const union fake_record *fake_last(const struct fake *f, uint32_t op)
{
	const union fake_record *req = &f->rec[f->nrec - 1];

	if (f->nrec == 0 || req->hdr.op != op) {
		fprintf(stderr, "fake daemon: the last request is %s, not %s\n",
			f->nrec ? msg_op_str(req->hdr.op) : "none", msg_op_str(op));
		abort();
	}
	return req;
}

void fake_refuse(struct fake_reply *r, int err, const char *reason)
{
	struct msg_hdr hdr = r->hdr;

	for (unsigned i = 0; i < r->nfds; i++)
		close(r->fds[i]);
	r->nfds = 0;
	memset(r->bytes, 0, sizeof(r->bytes));
	r->hdr = hdr;
	r->hdr.op = MSG_ERROR;
	r->error.err = err;
	snprintf(r->error.reason, MSG_REASON_MAX, "%s", reason);
	r->len = sizeof(r->error);
}

void fake_complete(struct fake_cq *cq, const struct wqe_cqe *e, bool solicited)
{
	HOLDS(ring_room(&cq->ring, 1) > 0);
	memcpy(ring_reserve(&cq->ring), e, sizeof(*e));
	ring_submit(&cq->ring);
	if (ring_wake(&cq->ring, solicited))
		doorbell_ring(cq->bell);
}

void fake_event(struct fake *f, struct msg_event ev)
{
	ev.hdr.op = MSG_EVENT;
	HOLDS(conn_send(f->event_fd, &ev, sizeof(ev), NULL, 0) == 0);
}
