/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What calls and requests promise at their limits, with real daemons: Reads and atomics beyond ORD
 * wait, inline data is copied, a queue pair moves to the id of a session request with its receives,
 * a completion queue keeps its events, an id with an event stays.
 *
 *   qp_calls SOCKET SOCKET2 ADDRESS2
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/patience.h"
#include "tests/system/rig.h"

enum { DEPTH = 4, REQUESTS = 60, SLOT = 512 };

static struct end a, b;
static const char *address;

/* ---- Reads and atomics beyond ORD ---- */

static struct ddp_send_wr request_of(unsigned i)
{
	static const enum ddp_wr_opcode op[] = {DDP_WR_RDMA_READ, DDP_WR_ATOMIC_FETCH_AND_ADD,
						DDP_WR_RDMA_READ, DDP_WR_RDMA_WRITE};
	struct ddp_send_wr wr = {.wr_id = i, .opcode = op[i % 4]};

	if (i % 5 == 4 && wr.opcode == DDP_WR_RDMA_WRITE)
		wr.send_flags = DDP_SEND_PLACED;
	wr.rdma.rkey = b.mr->rkey;
	wr.rdma.remote_addr = b.mr->iova;
	if (wr.opcode == DDP_WR_RDMA_WRITE)
		wr.rdma.remote_addr += RIG_HALF;
	wr.atomic.compare_add = 1;
	return wr;
}

static void beyond_ord(void)
{
	struct ddp_qp_attr attr = DDP_INIT(ddp_qp_attr);
	struct how how = {0};
	struct session s;

	how.init[0].max_ord = how.init[1].max_ird = DEPTH;
	how.init[0].max_send_wr = 64;
	memset(end_at(&b, 0), 0, 8);
	session_open(&s, &a, &b, address, &how);
	MUST(ddp_query_qp(s.qp[0], &attr));
	is("ORD", attr.ord, DEPTH);
	for (unsigned i = 0; i < REQUESTS; i++)
		session_send(&s, 0, request_of(i), (size_t)i * SLOT, 8);
	for (unsigned i = 0; i < REQUESTS; i++) {
		struct ddp_wc wc;

		if (MUST(ddp_wait_cq(a.cq, 1, &wc, RIG_WAIT_MS)) != 1 || wc.wr_id != i ||
		    wc.status != DDP_WC_SUCCESS)
			fail("request %u: completion %llu, %s", i, (unsigned long long)wc.wr_id,
			     ddp_wc_status_str(wc.status));
		if (wc.opcode == DDP_WC_FETCH_ADD)
			is("the value before", wc.imm_data, i / 4);
	}
	ok("%d requests with %d outstanding at most complete in order", REQUESTS, DEPTH);
	session_close(&s, 0);
}

/* ---- completion when the peer has acknowledged ---- */

static void acked(void)
{
	struct ddp_qp_attr attr = DDP_INIT(ddp_qp_attr);
	struct ddp_send_wr wr = {.opcode = DDP_WR_RDMA_WRITE, .rdma = {b.mr->iova, b.mr->rkey}};
	struct how how = {0};
	struct session s;

	how.init[0].options = DDP_QP_ACKED;
	session_open(&s, &a, &b, address, &how);
	MUST(ddp_query_qp(s.qp[0], &attr));
	is("the option", attr.options, DDP_QP_ACKED);
	*end_at(&a, 0) = 1;
	*end_at(&b, RIG_HALF) = 0;
	for (unsigned i = 0; i < 4 * RIG_DEPTH; i++) {
		wr.wr_id = i;
		if (i == 4 * RIG_DEPTH - 1)
			wr.rdma.remote_addr += RIG_HALF;
		session_send(&s, 0, wr, 0, i % 3 ? 100 : 20000);
		if (i >= RIG_DEPTH / 2)
			is("a Write, in order",
			   end_done(&a, DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS).wr_id,
			   i - RIG_DEPTH / 2);
	}
	while (!__atomic_load_n(end_at(&b, RIG_HALF), __ATOMIC_ACQUIRE))
		sched_yield(); /* all were sent */
	MUST(ddp_disconnect(s.id[0]));
	for (unsigned i = 0; i < RIG_DEPTH / 2; i++)
		end_done(&a, DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
	ok("what was sent before the end of the session completes");
	end_expect(&a, DDP_CM_DISCONNECTED);
	end_expect(&b, DDP_CM_DISCONNECTED);
	session_free(&s);
}

/* ---- inline data ---- */

static void inline_data(void)
{
	static const uint32_t sizes[] = {0, 1, 64, 128, 256};
	struct ddp_caps caps = DDP_INIT(ddp_caps);
	uint8_t buf[257], copy[256];
	struct how how = {0};
	struct session s;

	MUST(ddp_query(a.ctx, &caps));
	if (caps.max_inline < 128)
		fail("max_inline is %u", caps.max_inline);
	how.init[0].max_inline = caps.max_inline;
	session_open(&s, &a, &b, address, &how);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct ddp_sge sge = {(uintptr_t)buf, sizes[i], 0};
		struct ddp_send_wr wr = {.sg_list = &sge,
					 .num_sge = 1,
					 .opcode = DDP_WR_SEND,
					 .send_flags = DDP_SEND_INLINE};

		memset(buf, (int)i + 1, sizeof(buf));
		memcpy(copy, buf, sizeof(copy));
		session_recv(&s, 1, 0, SLOT);
		session_post(&s, 0, wr);
		memset(buf, 0xee, sizeof(buf)); /* it may be used again at once */
		is("bytes that arrive", end_done(&b, DDP_WC_RECV, DDP_WC_SUCCESS).byte_len,
		   sizes[i]);
		same("inline data", end_at(&b, 0), copy, sizes[i]);
		end_done(&a, DDP_WC_SEND, DDP_WC_SUCCESS);
	}
	session_close(&s, 1);
}

/* ---- ids ---- */

/* The queue pair of the listening side exists before the request, with its receives. */
static void move_qp(void)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_sge sge = end_sge(&b, 0, SLOT);
	struct ddp_recv_wr recv = {.wr_id = 77, .sg_list = &sge, .num_sge = 1};
	struct ddp_id *first;
	struct ddp_qp *qp;
	struct session s;

	init.send_cq = init.recv_cq = b.cq;
	init.max_send_wr = init.max_recv_wr = 4;
	MUST(ddp_create_id(b.ctx, NULL, &first));
	MUST(ddp_create_qp(first, b.pd, &init, &qp));
	MUST(ddp_post_recv(qp, &recv, NULL));
	session_connect(&s, &a, &b, address, NULL);
	ddp_ack_cm_event(session_request(&s));
	REFUSED("a move to an id with a queue pair",
		(session_make_qp(&s, 1, NULL), ddp_move_qp(qp, s.id[1])), EINVAL);
	MUST(ddp_destroy_qp(s.qp[1]));
	MUST(ddp_move_qp(qp, s.id[1]));
	is("the QP of the first id", (uintptr_t)ddp_id_qp(first), 0);
	is("that of the second", (uintptr_t)ddp_id_qp(s.id[1]), (uintptr_t)qp);
	MUST(ddp_destroy_id(first));
	s.qp[1] = qp;
	MUST(ddp_accept(s.id[1], NULL));
	for (int side = 1; side >= 0; side--)
		if (end_expect(s.end[side], DDP_CM_ESTABLISHED) != s.id[side])
			fail("ESTABLISHED for another id");
	end_fill(&a, 0, SLOT, 5);
	session_send(&s, 0, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, 0, SLOT);
	is("the receive from before", end_done(&b, DDP_WC_RECV, DDP_WC_SUCCESS).wr_id, 77);
	same("its bytes", end_at(&b, 0), end_at(&a, 0), SLOT);
	end_done(&a, DDP_WC_SEND, DDP_WC_SUCCESS);
	MUST(ddp_create_id(b.ctx, NULL, &first));
	REFUSED("a move in a session", ddp_move_qp(qp, first), EISCONN);
	MUST(ddp_destroy_id(first));
	session_close(&s, 0);
}

static void held_id(void)
{
	struct ddp_cm_event *ev;
	struct session s;

	session_connect(&s, &a, &b, address, NULL);
	ev = session_request(&s);
	MUST(ddp_reject(s.id[1], NULL));
	REFUSED("destroying an id with an event", ddp_destroy_id(s.id[1]), EBUSY);
	if (!strstr(ddp_last_reason(), "ddp_ack_cm_event() for each, then try again"))
		fail("the reason does not say how to go on");
	ddp_ack_cm_event(ev);
	MUST(ddp_destroy_id(s.id[1]));
	ddp_ack_cm_event(end_event(&a, DDP_CM_REJECTED));
	MUST(ddp_destroy_qp(s.qp[0]));
	MUST(ddp_destroy_id(s.id[0]));
}

/* ---- events of completion queues ---- */

static void one_message(struct session *s, unsigned flags)
{
	session_recv(s, 1, 0, SLOT);
	session_send(s, 0, (struct ddp_send_wr){.opcode = DDP_WR_SEND, .send_flags = flags}, 0, 8);
	end_done(&a, DDP_WC_SEND, DDP_WC_SUCCESS);
}

static void take_one(struct ddp_cq *cq)
{
	struct ddp_wc wc;
	int n;

	while ((n = MUST(ddp_poll_cq(cq, 1, &wc))) == 0)
		;
	is("a receive", wc.status, DDP_WC_SUCCESS);
}

static void cq_events(void)
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);
	struct how how = {0};
	struct ddp_cq *cq;
	struct session s;

	attr.entries = 64;
	attr.keep_events = 1;
	MUST(ddp_create_cq(b.ctx, &attr, &cq));
	how.init[1].recv_cq = cq;
	session_open(&s, &a, &b, address, &how);
	for (int round = 0; round < 3; round++) {
		struct pollfd p = {.fd = ddp_cq_fd(cq), .events = POLLIN};

		MUST(ddp_req_notify_cq(cq, 0));
		one_message(&s, 0);
		take_one(cq);
		is("the event waits", (uint64_t)poll(&p, 1, RIG_WAIT_MS), 1);
		MUST(ddp_get_cq_event(cq, RIG_WAIT_MS));
		REFUSED("a second event", ddp_get_cq_event(cq, 0), EAGAIN);
	}
	MUST(ddp_req_notify_cq(cq, 1));
	one_message(&s, 0);
	take_one(cq);
	REFUSED("an event of an unsolicited message", ddp_get_cq_event(cq, 0), EAGAIN);
	one_message(&s, DDP_SEND_SOLICITED);
	MUST(ddp_get_cq_event(cq, RIG_WAIT_MS));
	take_one(cq);
	session_close(&s, 1);
	MUST(ddp_destroy_cq(cq));
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: qp_calls SOCKET SOCKET2 ADDRESS2\n");
		return 2;
	}
	alarm(LIFE_S);
	address = argv[3];
	end_open(&a, "a", argv[1]);
	end_open(&b, "b", argv[2]);
	end_listen(&b);
	beyond_ord();
	acked();
	inline_data();
	move_qp();
	held_id();
	cq_events();
	return 0;
}
