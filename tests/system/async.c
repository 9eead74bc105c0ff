/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asynchronous events of real daemons. Promise: each failure is reported once and for its object,
 * what is not taken merges, and an object with an event that is not acknowledged stays.
 *
 *   async SOCKET SOCKET2 ADDRESS2
 *   async -w SOCKET COUNT       prints so many events as they come
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/patience.h"
#include "tests/system/rig.h"

enum { SLOT = 64 };

static struct end a, b;
static const char *address;

static struct ddp_async_event event_of(struct end *e, enum ddp_async_type type)
{
	struct ddp_async_event ev;
	int r = ddp_get_async_event(e->ctx, &ev, RIG_WAIT_MS);

	if (r)
		fail("%s: event %s was expected: %s", e->name, ddp_async_str(type), strerror(-r));
	if (ev.type != type)
		fail("%s: event %s was expected, %s came", e->name, ddp_async_str(type),
		     ddp_async_str(ev.type));
	return ev;
}

static void no_event(struct end *e)
{
	struct pollfd p = {.fd = ddp_async_fd(e->ctx), .events = POLLIN};
	struct ddp_async_event ev;

	REFUSED("a further event", ddp_get_async_event(e->ctx, &ev, 0), EAGAIN);
	is("descriptors that are readable", (uint64_t)poll(&p, 1, 0), 0);
}

/* A Write with a wrong key fails the session at both ends. */
static void break_session(struct session *s)
{
	const struct ddp_send_wr wr = {.opcode = DDP_WR_RDMA_WRITE, .rdma = {0, 0xbad}};

	session_send(s, 0, wr, 0, SLOT);
	ddp_ack_cm_event(end_event(&b, DDP_CM_DISCONNECTED));
	ddp_ack_cm_event(end_event(&a, DDP_CM_DISCONNECTED));
	end_drain(&a);
}

static void qp_fatal(void)
{
	struct ddp_async_event ev;
	struct session s;

	session_open(&s, &a, &b, address, NULL);
	no_event(&a);
	break_session(&s);
	ev = event_of(&a, DDP_ASYNC_QP_FATAL);
	is("its QP", (uintptr_t)ev.qp, (uintptr_t)s.qp[0]);
	is("the error of the sender", (uint64_t)-ev.err, EREMOTEIO);
	is("its term", ev.term, 0x1100);
	REFUSED("destroying a QP with an event", ddp_destroy_qp(s.qp[0]), EBUSY);
	ddp_ack_async_event(&ev);
	ev = event_of(&b, DDP_ASYNC_QP_FATAL);
	is("the error of the receiver", (uint64_t)-ev.err, EPROTO);
	ddp_ack_async_event(&ev);
	session_free(&s);
	session_open(&s, &a, &b, address, NULL);
	session_close(&s, 0);
	no_event(&a);
	ok("the orderly end of a session is no asynchronous event");
}

/* Events that nobody takes: one for each object, and none for one that is gone. */
static void merge(void)
{
	enum { SESSIONS = 8 };
	struct ddp_async_event ev;
	struct session s[SESSIONS];

	for (int i = 0; i < SESSIONS; i++) {
		session_open(&s[i], &a, &b, address, NULL);
		break_session(&s[i]);
	}
	session_free(&s[3]);
	for (int i = 0; i < SESSIONS; i++) {
		if (i == 3)
			continue;
		for (int side = 0; side < 2; side++) {
			ev = event_of(s[i].end[side], DDP_ASYNC_QP_FATAL);
			is("the event of a QP, in order", (uintptr_t)ev.qp,
			   (uintptr_t)s[i].qp[side]);
			ddp_ack_async_event(&ev);
		}
		session_free(&s[i]);
	}
	no_event(&a);
	no_event(&b);
}

/* Two messages, and room for one completion. */
static void cq_overrun(void)
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);
	struct how how = {0};
	struct ddp_async_event ev;
	struct ddp_cq *small;
	struct session s;

	attr.entries = 1;
	MUST(ddp_create_cq(b.ctx, &attr, &small));
	how.init[1].recv_cq = small;
	session_open(&s, &a, &b, address, &how);
	for (size_t i = 0; i < 2; i++)
		session_recv(&s, 1, i * SLOT, SLOT);
	for (int i = 0; i < 2; i++)
		session_send(&s, 0, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, 0, SLOT);
	ev = event_of(&b, DDP_ASYNC_CQ_OVERRUN);
	is("its CQ", (uintptr_t)ev.cq, (uintptr_t)small);
	ddp_ack_cm_event(end_event(&b, DDP_CM_DISCONNECTED));
	ddp_ack_cm_event(end_event(&a, DDP_CM_DISCONNECTED));
	ddp_ack_async_event(&ev);
	for (int side = 0; side < 2; side++) {
		ev = event_of(s.end[side], DDP_ASYNC_QP_FATAL);
		ddp_ack_async_event(&ev);
	}
	session_free(&s);
	MUST(ddp_destroy_cq(small));
	no_event(&b);
}

static void srq_limit(void)
{
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);
	struct ddp_sge sge = end_sge(&b, 0, SLOT);
	struct ddp_recv_wr recv = {.sg_list = &sge, .num_sge = 1};
	struct ddp_async_event ev;
	struct ddp_cm_event *cm;
	struct how how = {0};
	struct ddp_srq *srq;
	struct session s;

	attr.max_wr = 4;
	attr.limit = 2;
	MUST(ddp_create_srq(b.pd, &attr, &srq));
	how.init[1].srq = srq;
	session_open(&s, &a, &b, address, &how);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 2; i++)
			MUST(ddp_post_srq_recv(srq, &recv, NULL));
		MUST(ddp_modify_srq(srq, &attr, DDP_SRQ_LIMIT));
		for (int i = 0; i < 2; i++) {
			session_send(&s, 0, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, 0, SLOT);
			end_done(&b, DDP_WC_RECV, DDP_WC_SUCCESS);
			end_done(&a, DDP_WC_SEND, DDP_WC_SUCCESS);
		}
	}
	ev = event_of(&b, DDP_ASYNC_SRQ_LIMIT);
	is("its SRQ", (uintptr_t)ev.srq, (uintptr_t)srq);
	no_event(&b);
	REFUSED("an event of the other kind", ddp_get_cm_event(b.ctx, &cm, 0), EAGAIN);
	session_close(&s, 0);
	REFUSED("destroying an SRQ with an event", ddp_destroy_srq(srq), EBUSY);
	ddp_ack_async_event(&ev);
	MUST(ddp_destroy_srq(srq));
}

static int watch(const char *socket, int count)
{
	struct ddp_async_event ev;
	struct end e;

	end_open(&e, "watcher", socket);
	MUST(ddp_async_fd(e.ctx));
	puts("ready");
	fflush(stdout);
	while (count-- > 0) {
		MUST(ddp_get_async_event(e.ctx, &ev, -1));
		puts(ddp_async_str(ev.type));
		fflush(stdout);
		ddp_ack_async_event(&ev);
	}
	return 0;
}

int main(int argc, char **argv)
{
	alarm(LIFE_S);
	if (argc == 4 && strcmp(argv[1], "-w") == 0)
		return watch(argv[2], atoi(argv[3]));
	if (argc != 4) {
		fprintf(stderr, "usage: async SOCKET SOCKET2 ADDRESS2 | -w SOCKET COUNT\n");
		return 2;
	}
	address = argv[3];
	end_open(&a, "a", argv[1]);
	end_open(&b, "b", argv[2]);
	end_listen(&b);
	MUST(ddp_async_fd(a.ctx));
	MUST(ddp_async_fd(b.ctx));
	qp_fatal();
	merge();
	cq_overrun();
	srq_limit();
	return 0;
}
