/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for the events of libibverbs and librdmacm at two devices. Promise: the descriptor of a
 * channel is readable if and only if a call finds an event there, also when events are deleted with
 * their object or move to another channel. An object is destroyed when the program has acknowledged
 * each event that it got of it. A signal ends a wait for an event if its handler says so, but a
 * stop of the process does not.
 *
 *   verbs_events ADDRESS-OF-FIRST-DEVICE ADDRESS-OF-SECOND      exit status 0 if it held
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/system/verbs_cm_rig.h"
#include "tests/system/verbs_signals.h"

static struct side a;

static bool is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

static bool becomes_readable(void *arg)
{
	return is_readable(*(int *)arg);
}

static bool becomes_silent(void *arg)
{
	return !is_readable(*(int *)arg);
}

static void has_none(struct rdma_event_channel *ch)
{
	struct rdma_cm_event *ev;

	VERB(!is_readable(ch->fd));
	VERB(fcntl(ch->fd, F_SETFL, O_NONBLOCK) == 0);
	VERB(rdma_get_cm_event(ch, &ev) == -1 && errno == EAGAIN);
	VERB(fcntl(ch->fd, F_SETFL, 0) == 0);
}

/* ---- events of ids ---- */

static void connect_ends(struct end *c, struct end *s, struct rdma_cm_id *l)
{
	resolve(c, 1, 0, rdma_get_src_port(l));
	make_qp(c);
	ask(c, 0);
	take_request(s, l);
	make_qp(s);
	VERB(rdma_accept(s->id, NULL) == 0);
	expect_only(servers, RDMA_CM_EVENT_ESTABLISHED);
	expect_only(clients, RDMA_CM_EVENT_ESTABLISHED);
}

/* DISCONNECTED is queued when its queue pair is gone. */
static void end_with_event(struct end *c)
{
	VERB(rdma_disconnect(c->id) == 0);
	rdma_destroy_qp(c->id);
	VERB(is_readable(clients->fd));
}

static void close_ended(struct end *s, struct rdma_cm_id *l)
{
	end_close(s, NULL);
	VERB(rdma_destroy_id(l) == 0);
}

static void close_server(struct end *s, struct rdma_cm_id *l)
{
	expect_only(servers, RDMA_CM_EVENT_DISCONNECTED);
	close_ended(s, l);
}

static void destroyed_id(void)
{
	struct rdma_cm_id *l = listener_at(&addr[0]);
	struct end c, s;

	connect_ends(&c, &s, l);
	has_none(clients);
	end_with_event(&c);
	VERB(rdma_destroy_id(c.id) == 0);
	has_none(clients);
	end_free(&c);
	close_server(&s, l);
}

/* The events of another id stay. */
static void destroyed_id_of_two(void)
{
	struct rdma_cm_id *l[2] = {listener_at(&addr[0]), listener_at(&addr[0])};
	struct rdma_cm_event *ev;
	struct end c[2], s[2];

	for (int i = 0; i < 2; i++)
		connect_ends(&c[i], &s[i], l[i]);
	for (int i = 0; i < 2; i++)
		end_with_event(&c[i]);
	VERB(rdma_destroy_id(c[0].id) == 0);
	VERB(is_readable(clients->fd));
	ev = expect(clients, RDMA_CM_EVENT_DISCONNECTED);
	VERB(ev->id == c[1].id);
	VERB(rdma_ack_cm_event(ev) == 0);
	VERB(rdma_destroy_id(c[1].id) == 0);
	has_none(clients);
	/* Two sessions end in any order. */
	for (int i = 0; i < 2; i++)
		expect_only(servers, RDMA_CM_EVENT_DISCONNECTED);
	for (int i = 0; i < 2; i++) {
		end_free(&c[i]);
		close_ended(&s[i], l[i]);
	}
}

static void destroyed_listener(void)
{
	struct rdma_cm_id *l = listener_at(&addr[0]);
	struct rdma_cm_event *ev;
	struct end c;

	resolve(&c, 1, 0, rdma_get_src_port(l));
	make_qp(&c);
	ask(&c, 0);
	VERB(rig_eventually(becomes_readable, &servers->fd));
	VERB(rdma_destroy_id(l) == 0);
	has_none(servers);
	VERB(rdma_get_cm_event(clients, &ev) == 0 && ev->id == c.id && ev->status != 0);
	VERB(rdma_ack_cm_event(ev) == 0);
	end_close(&c, NULL);
}

static void moved_id(void)
{
	struct rdma_event_channel *other = rdma_create_event_channel();
	struct rdma_cm_id *l = listener_at(&addr[0]);
	struct end c, s;

	VERB(other);
	connect_ends(&c, &s, l);
	end_with_event(&c);
	VERB(rdma_migrate_id(c.id, other) == 0);
	has_none(clients);
	VERB(is_readable(other->fd));
	expect_only(other, RDMA_CM_EVENT_DISCONNECTED);
	VERB(rdma_destroy_id(c.id) == 0);
	has_none(other);
	rdma_destroy_event_channel(other);
	end_free(&c);
	close_server(&s, l);
}

/* ---- asynchronous events ---- */

/* A queue pair with a shared receive queue that has failed, whose event is queued. */
static struct ibv_qp *failed_qp(struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = side_init(&a);
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp *qp;

	init.srq = srq;
	VERB(qp = ibv_create_qp(a.pd, &init));
	rig_to_init(qp);
	VERB(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0);
	VERB(is_readable(a.ctx->async_fd));
	return qp;
}

static void last_wqe_of(const struct ibv_qp *qp, struct ibv_async_event *ret)
{
	VERB(ibv_get_async_event(a.ctx, ret) == 0);
	VERB(ret->event_type == IBV_EVENT_QP_LAST_WQE_REACHED && ret->element.qp == qp);
}

static struct ibv_srq *new_srq(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_srq *srq;

	VERB(srq = ibv_create_srq(a.pd, &init));
	return srq;
}

static void destroyed_qp(void)
{
	struct ibv_srq *srq = new_srq();
	struct ibv_async_event ev;
	struct ibv_qp *first, *second;

	VERB(!is_readable(a.ctx->async_fd));
	VERB(ibv_destroy_qp(failed_qp(srq)) == 0);
	VERB(!is_readable(a.ctx->async_fd));
	first = failed_qp(srq);
	second = failed_qp(srq);
	VERB(ibv_destroy_qp(first) == 0);
	VERB(is_readable(a.ctx->async_fd));
	last_wqe_of(second, &ev);
	ibv_ack_async_event(&ev);
	VERB(!is_readable(a.ctx->async_fd));
	VERB(ibv_destroy_qp(second) == 0);
	VERB(ibv_destroy_srq(srq) == 0);
}

/* ---- acknowledging ---- */

enum { STILL_MS = 100 };

static void *destroy_qp(void *qp)
{
	VERB(ibv_destroy_qp(qp) == 0);
	return NULL;
}

static void *destroy_srq(void *srq)
{
	VERB(ibv_destroy_srq(srq) == 0);
	return NULL;
}

static void *destroy_cq(void *cq)
{
	VERB(ibv_destroy_cq(cq) == 0);
	return NULL;
}

/* A thread that destroys an object, and waits. */
static pthread_t waits(void *(*destroy)(void *), void *object)
{
	pthread_t thread;

	VERB(pthread_create(&thread, NULL, destroy, object) == 0);
	VERB(!rig_joined(thread, STILL_MS));
	return thread;
}

/* Other calls go on meanwhile, also of the queue pair. */
static void held_qp(void)
{
	struct ibv_srq *srq = new_srq();
	struct ibv_qp *qp = failed_qp(srq);
	struct ibv_async_event ev, other;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	pthread_t thread;

	last_wqe_of(qp, &ev);
	thread = waits(destroy_qp, qp);
	qp = failed_qp(srq);
	last_wqe_of(qp, &other);
	ibv_ack_async_event(&other);
	VERB(ibv_destroy_qp(qp) == 0);
	VERB(!rig_joined(thread, STILL_MS));
	VERB(ibv_query_qp(ev.element.qp, &attr, IBV_QP_STATE, &init) == 0);
	VERB(attr.qp_state == IBV_QPS_ERR);
	ibv_ack_async_event(&ev);
	VERB(pthread_join(thread, NULL) == 0);
	VERB(ibv_destroy_srq(srq) == 0);
}

static void held_srq(void)
{
	struct ibv_srq_attr attr = {.srq_limit = 4}; /* there is no receive */
	struct ibv_srq *srq = new_srq();
	struct ibv_async_event ev;
	pthread_t thread;

	VERB(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT) == 0);
	VERB(ibv_get_async_event(a.ctx, &ev) == 0);
	VERB(ev.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && ev.element.srq == srq);
	thread = waits(destroy_srq, srq);
	VERB(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT) == 0);
	ibv_ack_async_event(&ev);
	VERB(pthread_join(thread, NULL) == 0);
}

/* A receive that is flushed: a completion, and its event. */
static void flush_armed(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = side_init(&a);
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct pair p = {.side = {&a}};

	init.recv_cq = cq;
	VERB(p.qp[0] = ibv_create_qp(a.pd, &init));
	rig_to_init(p.qp[0]);
	post_recv(&p, 0, 1, 0, 8);
	VERB(ibv_req_notify_cq(cq, 0) == 0);
	VERB(ibv_modify_qp(p.qp[0], &attr, IBV_QP_STATE) == 0);
	VERB(rig_wc(cq).status == IBV_WC_WR_FLUSH_ERR);
	VERB(ibv_destroy_qp(p.qp[0]) == 0);
}

static void flush_one(struct ibv_cq *cq)
{
	flush_armed(cq);
	VERB(rig_eventually(becomes_readable, &cq->channel->fd));
}

/* Two events are acknowledged one by one; a third, which no call has returned, is deleted. */
static void held_cq(void)
{
	struct ibv_comp_channel *ch;
	struct ibv_cq *cq, *got;
	struct ibv_wc wc;
	pthread_t thread;
	void *user;

	VERB(ch = ibv_create_comp_channel(a.ctx));
	VERB(cq = ibv_create_cq(a.ctx, 8, &ch, ch, 0));
	for (int i = 0; i < 2; i++) {
		flush_one(cq);
		VERB(ibv_get_cq_event(ch, &got, &user) == 0 && got == cq && user == &ch);
		VERB(!is_readable(ch->fd));
	}
	flush_one(cq);
	thread = waits(destroy_cq, cq);
	VERB(rig_eventually(becomes_silent, &ch->fd));
	ibv_ack_cq_events(cq, 1);
	VERB(!rig_joined(thread, STILL_MS));
	VERB(ibv_req_notify_cq(cq, 0) == 0 && ibv_poll_cq(cq, 1, &wc) == 0);
	ibv_ack_cq_events(cq, 1);
	VERB(pthread_join(thread, NULL) == 0);
	VERB(ibv_destroy_comp_channel(ch) == 0);
}

static void signaled_wait(void)
{
	verbs_signals_wait(&a, flush_armed);
}

static void stopped_wait(void)
{
	verbs_signals_stop(&a, flush_armed);
}

/* ---- windows ---- */

/* A call binds the window, and makes the completion itself. */
struct binder {
	struct ibv_comp_channel *ch;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mw *mw;
};

static void open_binder(struct binder *b)
{
	struct ibv_qp_init_attr init = side_init(&a);

	VERB(b->ch = ibv_create_comp_channel(a.ctx));
	VERB(b->cq = ibv_create_cq(a.ctx, 8, b, b->ch, 0));
	init.send_cq = b->cq;
	VERB(b->qp = ibv_create_qp(a.pd, &init));
	VERB(b->mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1));
}

/* All but the queue. */
static void close_binder(struct binder *b)
{
	VERB(ibv_dealloc_mw(b->mw) == 0);
	VERB(ibv_destroy_qp(b->qp) == 0);
}

static void bind_one(struct binder *b)
{
	struct ibv_mw_bind bind = {
		.wr_id = 5,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {a.mr, (uintptr_t)a.mem, 64, IBV_ACCESS_REMOTE_WRITE},
	};

	VERB(ibv_bind_mw(b->qp, b->mw, &bind) == 0);
}

static void take_event_of(struct binder *b)
{
	struct ibv_cq *got;
	void *user;

	VERB(is_readable(b->ch->fd));
	VERB(ibv_get_cq_event(b->ch, &got, &user) == 0 && got == b->cq && user == b);
}

/* As armed: never, for any completion, or for a solicited one, which this is not. */
static void bound_window(void)
{
	struct binder b;

	open_binder(&b);
	bind_one(&b);
	VERB(!is_readable(b.ch->fd));
	rig_done(b.cq, 5, IBV_WC_BIND_MW);
	for (int i = 0; i < 3; i++) {
		VERB(ibv_req_notify_cq(b.cq, 0) == 0 && ibv_req_notify_cq(b.cq, 1) == 0);
		bind_one(&b);
		bind_one(&b);
		take_event_of(&b);
		VERB(!is_readable(b.ch->fd));
		ibv_ack_cq_events(b.cq, 1);
		rig_done(b.cq, 5, IBV_WC_BIND_MW);
		rig_done(b.cq, 5, IBV_WC_BIND_MW);
	}
	VERB(ibv_req_notify_cq(b.cq, 1) == 0);
	bind_one(&b);
	VERB(!is_readable(b.ch->fd));
	close_binder(&b);
	VERB(ibv_destroy_cq(b.cq) == 0);
	VERB(ibv_destroy_comp_channel(b.ch) == 0);
}

/* An event that the program got holds the queue, and one that it did not get goes with it. */
static void held_binder(void)
{
	struct binder b;
	pthread_t thread;

	open_binder(&b);
	for (int i = 0; i < 2; i++) {
		VERB(ibv_req_notify_cq(b.cq, 0) == 0);
		bind_one(&b);
	}
	take_event_of(&b);
	VERB(is_readable(b.ch->fd));
	close_binder(&b);
	thread = waits(destroy_cq, b.cq);
	VERB(rig_eventually(becomes_silent, &b.ch->fd));
	ibv_ack_cq_events(b.cq, 1);
	VERB(pthread_join(thread, NULL) == 0);
	VERB(ibv_destroy_comp_channel(b.ch) == 0);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"an id that is destroyed takes its event along", destroyed_id},
	{"and leaves that of another", destroyed_id_of_two},
	{"a listener takes a request along", destroyed_listener},
	{"an id that moves takes its event along", moved_id},
	{"a queue pair that is destroyed takes its event along", destroyed_qp},
	{"a queue pair is held by its event", held_qp},
	{"a shared receive queue is held by its event", held_srq},
	{"a completion queue is held by its events", held_cq},
	{"a signal ends a wait if its handler says so", signaled_wait},
	{"a stop of the process ends no wait", stopped_wait},
	{"a window that a call binds makes an event", bound_window},
	{"and that event holds the queue", held_binder},
};

int main(int argc, char **argv)
{
	cm_rig_open(argc, argv);
	side_open(&a, 0);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cases[i].run();
		printf("ok %s\n", cases[i].name);
	}
	side_close(&a);
	return 0;
}
