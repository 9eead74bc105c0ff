/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions and clients are isolated from each other: domains, tied regions, keys of another client,
 * full completion queues, unread events.
 *
 *   apart SOCKET-A SOCKET-B ADDRESS-B      two daemons, whose limits.events is 16
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/patience.h"
#include "tests/lib/row.h"
#include "tests/system/rig.h"

enum { ROUNDS = 200, LEN = 512 };

static struct end a, b;
static const char *address;

/* ---- one session and another ---- */

static struct ddp_send_wr on(enum ddp_wr_opcode op, const struct ddp_mr *mr)
{
	return (struct ddp_send_wr){.opcode = op, .rdma = {mr->iova, mr->rkey}};
}

static void reaches(const struct session *s, const struct ddp_mr *mr)
{
	end_fill(&a, 0, LEN, mr->rkey);
	session_send(s, 0, on(DDP_WR_RDMA_WRITE, mr), 0, LEN);
	end_done(&a, DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
	session_send(s, 0, on(DDP_WR_RDMA_READ, mr), LEN, LEN);
	end_done(&a, DDP_WC_RDMA_READ, DDP_WC_SUCCESS);
	same("a session can access its own region", mr->addr, end_at(&a, 0), LEN);
	same("in both directions", end_at(&a, LEN), end_at(&a, 0), LEN);
}

/* Each access to a region that a session of this domain must not use ends only that session. */
static void is_out_of_reach(struct ddp_mr *mr, struct ddp_pd *pd)
{
	static const struct {
		const char *what;
		enum ddp_wr_opcode op;
		uint16_t term;
	} ways[] = {
		{"Write", DDP_WR_RDMA_WRITE, 0x1102},
		{"Read", DDP_WR_RDMA_READ, 0x0103},
		{"FetchAdd", DDP_WR_ATOMIC_FETCH_AND_ADD, 0x0103},
		{"Send with Invalidate", DDP_WR_SEND_WITH_INV, 0x0109},
	};
	uint8_t before[LEN];

	memcpy(before, mr->addr, LEN);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct ddp_send_wr wr = on(ways[i].op, mr);
		bool send = wr.opcode == DDP_WR_SEND_WITH_INV;
		struct how how = {.pd[1] = pd};
		struct ddp_recv_wr recv = {0};
		struct session s;

		session_open(&s, &a, &b, address, &how);
		MUST(ddp_post_recv(s.qp[1], &recv, NULL));
		wr.invalidate_rkey = mr->rkey;
		end_fill(&a, 0, 8, 1);
		session_send(&s, 0, wr, 0, send ? 0 : 8);
		session_broken(&s, 1, ways[i].term);
		same(ways[i].what, mr->addr, before, LEN);
	}
}

static void domains(void)
{
	struct how how[2] = {0};
	struct ddp_mr *mr[2];
	struct session s[2];

	for (int i = 0; i < 2; i++) {
		MUST(ddp_alloc_pd(b.ctx, &how[i].pd[1]));
		MUST(ddp_alloc_mr(how[i].pd[1], LEN, RIG_ALL, &mr[i]));
		session_open(&s[i], &a, &b, address, &how[i]);
	}
	for (int i = 0; i < 2; i++) {
		reaches(&s[i], mr[i]);
		is_out_of_reach(mr[i], how[!i].pd[1]);
	}
	for (int i = 0; i < 2; i++) {
		reaches(&s[i], mr[i]);
		session_close(&s[i], 0);
		MUST(ddp_dereg_mr(mr[i]));
		MUST(ddp_dealloc_pd(how[i].pd[1]));
	}
}

static void tied_regions(void)
{
	struct ddp_mr *mr[2];
	struct session s[2];

	for (int i = 0; i < 2; i++) {
		session_open(&s[i], &a, &b, address, NULL);
		MUST(ddp_alloc_mr(b.pd, LEN, RIG_ALL, &mr[i]));
		MUST(ddp_bind_mr(mr[i], s[i].qp[1]));
	}
	for (int i = 0; i < 2; i++) {
		reaches(&s[i], mr[i]);
		is_out_of_reach(mr[i], b.pd);
		/* The owner's other queue pair may not use it either. */
		struct ddp_sge sge = {mr[i]->iova, 8, mr[i]->lkey};
		struct ddp_send_wr wr = on(DDP_WR_RDMA_WRITE, a.mr);

		wr.sg_list = &sge;
		wr.num_sge = 1;
		session_post(&s[!i], 1, wr);
		end_done(&b, DDP_WC_RDMA_WRITE, DDP_WC_LOC_PD_ERR);
	}
	for (int i = 0; i < 2; i++) {
		reaches(&s[i], mr[i]);
		session_close(&s[i], 1);
		MUST(ddp_dereg_mr(mr[i]));
	}
	row("5042-6.1.1-01 5042-6.4.5-01", "sessions with separate domains, or with regions tied "
					   "to them, cannot access each other's memory");
}

/* ---- one client and another of the same daemon ---- */

/* c is the other client; neither b nor b's peer may use its objects. */
static void keys_of(struct end *c)
{
	struct ddp_send_wr inv = {.opcode = DDP_WR_LOCAL_INV, .invalidate_rkey = c->mr->rkey};
	struct ddp_send_wr wr = on(DDP_WR_RDMA_WRITE, a.mr);
	struct ddp_sge sge = {c->mr->iova, 8, c->mr->lkey};
	struct ddp_mr_attr attr = DDP_INIT(ddp_mr_attr);
	struct ddp_recv_wr recv = {.sg_list = &sge, .num_sge = 1};
	struct session s;

	is_out_of_reach(c->mr, NULL);
	session_open(&s, &a, &b, address, NULL);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	session_post(&s, 1, wr);
	end_done(&b, DDP_WC_RDMA_WRITE, DDP_WC_LOC_PD_ERR);
	wr.opcode = DDP_WR_RDMA_READ;
	session_post(&s, 1, wr);
	end_done(&b, DDP_WC_RDMA_READ, DDP_WC_LOC_PD_ERR);
	session_post(&s, 1, inv);
	end_done(&b, DDP_WC_LOCAL_INV, DDP_WC_LOC_PD_ERR);
	ok("keys of another client are refused to requests");
	MUST(ddp_post_recv(s.qp[1], &recv, NULL));
	session_send(&s, 0, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, 0, 8);
	end_done(&b, DDP_WC_RECV, DDP_WC_LOC_PD_ERR);
	ok("and to receives");
	session_broken(&s, 1, 0x1202);
	MUST(ddp_query_mr(c->mr, &attr));
	is("the other client's region is valid", attr.valid, 1);
}

static void goes_on(struct session *s, int rounds)
{
	struct ddp_send_wr send = {.opcode = DDP_WR_SEND};

	for (int i = 0; i < rounds; i++) {
		session_recv(s, 1, 0, LEN);
		session_send(s, 0, on(DDP_WR_RDMA_WRITE, s->end[1]->mr), 0, LEN);
		session_send(s, 0, send, 0, LEN);
		end_done(&a, DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
		end_done(&a, DDP_WC_SEND, DDP_WC_SUCCESS);
		end_done(s->end[1], DDP_WC_RECV, DDP_WC_SUCCESS);
	}
}

/* A client that does not poll: its completion queue of one entry is full from the second message
 * on. */
static void full_queue(const char *socket, struct session *others)
{
	struct ddp_cq_attr one = DDP_INIT(ddp_cq_attr);
	struct ddp_cq_state st = DDP_INIT(ddp_cq_state);
	struct how how = {0};
	struct session s;
	struct end d;

	end_open(&d, "d", socket);
	end_listen(&d);
	one.entries = 1;
	MUST(ddp_create_cq(d.ctx, &one, &how.init[1].send_cq));
	session_open(&s, &a, &d, address, &how);
	for (int i = 0; i < 4; i++)
		session_send(&s, 1, on(DDP_WR_RDMA_WRITE, a.mr), 0, LEN);
	goes_on(others, ROUNDS);
	MUST(ddp_query_cq(how.init[1].send_cq, &st));
	is("completions of a client that does not poll", st.completions, 1);
	is("that wait", st.waiting, 1);
	for (int i = 0; i < 4; i++) {
		struct ddp_wc wc;

		is("requests that waited for room continue",
		   (uint64_t)ddp_wait_cq(how.init[1].send_cq, 1, &wc, RIG_WAIT_MS), 1);
	}
	session_close(&s, 0);
	how.init[1].recv_cq = how.init[1].send_cq;
	session_open(&s, &a, &d, address, &how);
	for (int i = 0; i < 3; i++) {
		session_recv(&s, 1, 0, LEN);
		session_send(&s, 0, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, 0, LEN);
	}
	session_broken(&s, 1, 0x1202);
	goes_on(others, ROUNDS);
	ok("messages for a full queue end that session, others continue");
	MUST(ddp_destroy_cq(how.init[1].send_cq));
	end_close(&d);
	row("5040-8.1.1-05", "one client's full completion queue: its session waits or ends, "
			     "another client of the daemon continues");
}

/* A queue pair whose connection fails, which is one event, and which is destroyed then. */
static struct ddp_id *fail_to_connect(struct end *e)
{
	struct ddp_qp_attr attr = DDP_INIT(ddp_qp_attr);
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_id *id;
	struct ddp_qp *qp;

	init.send_cq = init.recv_cq = e->cq;
	init.max_send_wr = init.max_recv_wr = 1;
	MUST(ddp_create_id(e->ctx, NULL, &id));
	MUST(ddp_create_qp(id, e->pd, &init, &qp));
	MUST(ddp_connect_name(id, address, 1, NULL));
	do
		MUST(ddp_query_qp(qp, &attr));
	while (attr.state != DDP_QP_ERROR);
	MUST(ddp_destroy_qp(qp));
	return id;
}

/* A client that reads no events, and destroys what they are about. */
static void unread_events(const char *socket, struct session *others)
{
	enum { FAILURES = 200, LIMIT = 16, SOCKET = 32 };
	struct ddp_id *id[FAILURES];
	struct ddp_cm_event *ev;
	struct end e;
	unsigned n = 0;

	end_open(&e, "e", socket);
	for (unsigned i = 0; i < FAILURES; i++)
		id[i] = fail_to_connect(&e);
	goes_on(others, ROUNDS);
	while (ddp_get_cm_event(e.ctx, &ev, 0) == 0) {
		is("the event", ev->type, DDP_CM_CONNECT_ERROR);
		ddp_ack_cm_event(ev);
		n++;
	}
	is("there are events", n > 0, true);
	is("no more wait than limits.events and the socket permit", n <= LIMIT + SOCKET, true);
	for (unsigned i = 0; i < FAILURES; i++)
		MUST(ddp_destroy_id(id[i]));
	end_close(&e);
	ok("unread events of destroyed queue pairs stop at a limit, and the client goes on");
	row("5040-8.1.2-01", "a client that does not read its events has at most limits.events of "
			     "destroyed objects waiting");
}

int main(int argc, char **argv)
{
	struct session others;
	struct end c;

	if (argc != 4) {
		fprintf(stderr, "usage: apart SOCKET-A SOCKET-B ADDRESS-B\n");
		return 2;
	}
	alarm(LIFE_S);
	address = argv[3];
	end_open(&a, "a", argv[1]);
	end_open(&b, "b", argv[2]);
	end_open(&c, "c", argv[2]);
	end_listen(&b);
	domains();
	tied_regions();
	keys_of(&c);
	session_open(&others, &a, &b, address, NULL);
	full_queue(argv[2], &others);
	unread_events(argv[2], &others);
	session_close(&others, 0);
	end_close(&c);
	end_close(&b);
	end_close(&a);
	return 0;
}
