/* SPDX-License-Identifier: BSD-2-Clause */
/* A receiver that is late: messages wait for its receives, in bounded memory and time. */
#include <errno.h>
#include <string.h>

#include "tests/system/posted.h"
#include "tests/system/whole.h"

enum { SLOT = 256, MESSAGES = 8, HOLD = 64 << 10, LONG_MS = 60000, SHORT_MS = 50 };

static struct how holding(uint32_t bytes, uint32_t ms)
{
	struct how how = {0};

	how.init[1].hold_bytes = bytes;
	how.init[1].hold_ms = ms;
	return how;
}

static struct ddp_qp_attr use_of(struct session *s)
{
	struct ddp_qp_attr attr = DDP_INIT(ddp_qp_attr);

	MUST(ddp_query_qp(s->qp[1], &attr));
	return attr;
}

/* Sends messages of SLOT bytes, until the first one waits. */
static void send_all(struct session *s, unsigned n)
{
	const struct ddp_send_wr wr = {.opcode = DDP_WR_SEND};

	end_fill(s->end[0], 0, (size_t)n * SLOT, n);
	for (unsigned i = 0; i < n; i++)
		session_send(s, 0, wr, (size_t)i * SLOT, SLOT);
	for (unsigned i = 0; i < n; i++)
		end_done(s->end[0], DDP_WC_SEND, DDP_WC_SUCCESS);
	while (use_of(s).held_msgs == 0)
		;
}

static void expect(struct session *s, unsigned i)
{
	struct ddp_wc wc = end_done(s->end[1], DDP_WC_RECV, DDP_WC_SUCCESS);

	is("a late receive, in order", wc.wr_id, (uint64_t)i * SLOT);
	is("its length", wc.byte_len, SLOT);
	same("its bytes", end_at(s->end[1], wc.wr_id), end_at(s->end[0], wc.wr_id), SLOT);
}

void whole_late(struct whole *w)
{
	struct how how = holding(HOLD, LONG_MS);
	struct session s;

	session_open(&s, &w->a, &w->b, w->address, &how);
	is("room for late receives", use_of(&s).hold_bytes, HOLD);
	is("and their time", use_of(&s).hold_ms, LONG_MS);
	for (int round = 0; round < 3; round++) {
		send_all(&s, MESSAGES);
		for (unsigned i = 0; i < MESSAGES; i++) {
			session_recv(&s, 1, (size_t)i * SLOT, SLOT);
			expect(&s, i);
		}
	}
	is("what is held in the end", use_of(&s).held_bytes, 0);
	session_close(&s, 0);
}

/* The peer has ended before the first receive is posted. */
void whole_late_end(struct whole *w)
{
	struct how how = holding(HOLD, LONG_MS);
	struct session s;

	session_open(&s, &w->a, &w->b, w->address, &how);
	send_all(&s, 2);
	MUST(ddp_disconnect(s.id[0]));
	session_recv(&s, 1, 0, SLOT);
	session_recv(&s, 1, SLOT, SLOT);
	expect(&s, 0);
	expect(&s, 1);
	end_expect(&w->b, DDP_CM_DISCONNECTED);
	end_expect(&w->a, DDP_CM_DISCONNECTED);
	session_free(&s);
}

static void bounded(struct whole *w, const struct how *how, unsigned messages)
{
	const struct ddp_send_wr wr = {.opcode = DDP_WR_SEND};
	struct session s;

	session_open(&s, &w->a, &w->b, w->address, how);
	for (unsigned i = 0; i < messages; i++)
		session_send(&s, 0, wr, 0, 4 * SLOT);
	session_broken(&s, 1, 0x1202);
}

/* Time and room are bounded, for each queue pair and for all of a user. */
void whole_late_bounds(struct whole *w)
{
	struct how brief = holding(HOLD, SHORT_MS), small = holding(4096, LONG_MS);

	bounded(w, &brief, 1);
	ok("after its time the session ends");
	bounded(w, &small, RIG_DEPTH);
	ok("a peer that uses up the room ends its session");
}

/* Both ends send more than the other holds, and post no receive before. */
static void send_too_much(struct session *s, unsigned n, uint32_t len)
{
	const struct ddp_send_wr wr = {.opcode = DDP_WR_SEND};

	for (int side = 0; side < 2; side++) {
		end_fill(s->end[side], 0, len, 50 + (unsigned)side);
		for (unsigned i = 0; i < n; i++)
			session_send(s, side, wr, 0, len);
	}
	while (use_of(s).held_msgs == 0)
		;
}

/* Receives them one by one. *sends: completions of this side's own Sends so far. */
static void receive_late(struct session *s, int side, unsigned n, uint32_t len, unsigned *sends)
{
	for (unsigned got = 0; got < n;) {
		struct ddp_wc wc;

		session_recv(s, side, RIG_HALF, len);
		do {
			wc = end_wc(s->end[side]);
			is("its status", wc.status, DDP_WC_SUCCESS);
			*sends += wc.opcode == DDP_WC_SEND;
		} while (wc.opcode != DDP_WC_RECV);
		same("a message that waited", end_at(s->end[side], RIG_HALF),
		     end_at(s->end[!side], 0), len);
		got++;
	}
}

/* Without DDP_QP_CREDITS the session ends: whole_late_bounds(). */
void whole_late_credits(struct whole *w)
{
	enum { ROOM = 512 << 10, LEN = 64 << 10 };
	struct how how = {0};
	unsigned sends[2] = {0};
	struct session s;

	for (int side = 0; side < 2; side++) {
		how.init[side].hold_bytes = ROOM;
		how.init[side].hold_ms = LONG_MS;
		how.init[side].options = DDP_QP_CREDITS;
	}
	session_open(&s, &w->a, &w->b, w->address, &how);
	is("the option", use_of(&s).options, DDP_QP_CREDITS);
	send_too_much(&s, RIG_DEPTH, LEN);
	receive_late(&s, 1, RIG_DEPTH, LEN, &sends[1]);
	ok("the other end has posted no receive yet");
	receive_late(&s, 0, RIG_DEPTH, LEN, &sends[0]);
	for (int side = 0; side < 2; side++)
		while (sends[side]++ < RIG_DEPTH)
			end_done(s.end[side], DDP_WC_SEND, DDP_WC_SUCCESS);
	is("what is held in the end", use_of(&s).held_bytes, 0);
	session_close(&s, 0);
}

/* Requests that wait are flushed when the session ends. */
void whole_late_waiting_end(struct whole *w)
{
	const struct ddp_send_wr wr = {.opcode = DDP_WR_SEND};
	struct how how = holding(512 << 10, SHORT_MS);
	struct session s;

	how.init[0].options = how.init[1].options = DDP_QP_CREDITS;
	session_open(&s, &w->a, &w->b, w->address, &how);
	for (unsigned i = 0; i < RIG_DEPTH; i++)
		session_send(&s, 0, wr, 0, 64 << 10);
	session_broken(&s, 1, 0x1202);
	ok("requests that wait for receives end with their session");
}

static int try_qp(struct end *e, struct ddp_id *id, struct ddp_qp_init init, struct ddp_qp **ret)
{
	init.struct_size = sizeof(init);
	init.send_cq = init.recv_cq = e->cq;
	init.max_send_wr = 1;
	init.max_recv_wr = init.srq ? 0 : 1;
	return ddp_create_qp(id, e->pd, &init, ret);
}

static void refused_retries(struct whole *w)
{
	const struct ddp_qp_init alone = {.options = DDP_QP_RNR}, plain = {.options = 0},
				 both = {.options = DDP_QP_CREDITS | DDP_QP_RNR};
	struct ddp_id *id;
	struct ddp_qp *qp;

	MUST(ddp_create_id(w->b.ctx, NULL, &id));
	REFUSED("retries without credits", try_qp(&w->b, id, alone, &qp), EINVAL);
	MUST(try_qp(&w->b, id, plain, &qp));
	REFUSED("retries of a queue pair without them", ddp_set_qp_rnr(qp, 1, 1), EINVAL);
	MUST(ddp_destroy_qp(qp));
	MUST(try_qp(&w->b, id, both, &qp));
	REFUSED("too many retries", ddp_set_qp_rnr(qp, DDP_RNR_NO_END + 1, 1), EINVAL);
	REFUSED("retries without time", ddp_set_qp_rnr(qp, 1, 0), EINVAL);
	REFUSED("retries that take too long", ddp_set_qp_rnr(qp, 1, 60001), EINVAL);
	MUST(ddp_set_qp_rnr(qp, 0, 60000));
	MUST(ddp_destroy_qp(qp));
	MUST(ddp_destroy_id(id));
}

void whole_late_refused(struct whole *w)
{
	enum { MANY = 128, EACH = 16 << 20 };
	const struct ddp_qp_init huge = {.hold_bytes = EACH + 1},
				 forever = {.hold_bytes = 1, .hold_ms = UINT32_MAX},
				 nowhere = {.hold_ms = 1}, unknown = {.options = 4096},
				 narrow = {.options = DDP_QP_CREDITS,
					   .hold_bytes = 393352,
					   .hold_ms = 1},
				 any_order = {.options = DDP_QP_IMM_OF_SEND},
				 raw = {.hold_bytes = 4096, .qp_type = DDP_QP_RAW},
				 most = {.hold_bytes = EACH};
	struct ddp_id *id[MANY] = {0};
	struct ddp_qp *qp[MANY] = {0};
	unsigned n = 0;
	int r = 0;

	MUST(ddp_create_id(w->b.ctx, NULL, &id[0]));
	REFUSED("more room than a queue pair may have", try_qp(&w->b, id[0], huge, &qp[0]), EINVAL);
	REFUSED("more time", try_qp(&w->b, id[0], forever, &qp[0]), EINVAL);
	REFUSED("time without room", try_qp(&w->b, id[0], nowhere, &qp[0]), EINVAL);
	REFUSED("an unknown option", try_qp(&w->b, id[0], unknown, &qp[0]), EINVAL);
	REFUSED("Immediate Data of Sends that may overtake them",
		try_qp(&w->b, id[0], any_order, &qp[0]), EINVAL);
	REFUSED("credits of a hold that is too small", try_qp(&w->b, id[0], narrow, &qp[0]),
		EINVAL);
	REFUSED("raw queue pairs", try_qp(&w->b, id[0], raw, &qp[0]), EOPNOTSUPP);
	MUST(ddp_destroy_id(id[0]));
	refused_retries(w);
	for (; n < MANY && r == 0; n++) {
		MUST(ddp_create_id(w->b.ctx, NULL, &id[n]));
		r = try_qp(&w->b, id[n], most, &qp[n]);
	}
	is("holds that no message waits in cost no memory", (uint64_t)-r, 0);
	while (n-- > 0) {
		MUST(ddp_destroy_qp(qp[n]));
		MUST(ddp_destroy_id(id[n]));
	}
}

/* Two sessions, whose receives are of one queue. */
static struct ddp_srq *open_shared(struct whole *w, struct session s[2])
{
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);
	struct how how = {0};

	attr.max_wr = MESSAGES;
	attr.hold_bytes = HOLD;
	attr.hold_ms = LONG_MS;
	MUST(ddp_create_srq(w->b.pd, &attr, &how.init[1].srq));
	for (int i = 0; i < 2; i++)
		session_open(&s[i], &w->a, &w->b, w->address, &how);
	return how.init[1].srq;
}

/* One shared queue, two sessions: each gets its messages when the receives come. */
void whole_late_srq(struct whole *w)
{
	struct ddp_srq_state st = DDP_INIT(ddp_srq_state);
	struct session s[2];
	struct ddp_srq *srq = open_shared(w, s);

	send_all(&s[0], 2);
	send_all(&s[1], 2);
	MUST(ddp_query_srq(srq, &st));
	is("room of each queue pair", st.hold_bytes, HOLD);
	is("messages that wait", st.held_msgs, 2);
	for (unsigned i = 0; i < 4; i++) {
		struct ddp_sge sge = end_sge(&w->b, (size_t)i * SLOT, SLOT);
		struct ddp_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1};

		MUST(ddp_post_srq_recv(srq, &wr, NULL));
		is("a shared receive", end_done(&w->b, DDP_WC_RECV, DDP_WC_SUCCESS).wr_id, i);
	}
	session_close(&s[0], 0);
	session_close(&s[1], 1);
	MUST(ddp_destroy_srq(srq));
}

/* Work of a session without a waiting message does not hide that another one's waits. */
void whole_late_srq_other(struct whole *w)
{
	const struct ddp_send_wr send = {.opcode = DDP_WR_SEND};
	struct ddp_sge sge = end_sge(&w->b, 0, SLOT);
	struct ddp_recv_wr wr = {.wr_id = 77, .sg_list = &sge, .num_sge = 1};
	struct session s[2];
	struct ddp_srq *srq = open_shared(w, s);

	send_all(&s[1], 1);
	session_recv(&s[0], 0, RIG_HALF, SLOT);
	session_send(&s[0], 1, send, RIG_HALF, SLOT);
	end_done(&w->b, DDP_WC_SEND, DDP_WC_SUCCESS);
	end_done(&w->a, DDP_WC_RECV, DDP_WC_SUCCESS);
	MUST(ddp_post_srq_recv(srq, &wr, NULL));
	is("a shared receive after other work", end_done(&w->b, DDP_WC_RECV, DDP_WC_SUCCESS).wr_id,
	   77);
	session_close(&s[0], 0);
	session_close(&s[1], 1);
	MUST(ddp_destroy_srq(srq));
}

/* A receive with a wrong key is the error that both completion and event name. */
void whole_late_key(struct whole *w)
{
	struct ddp_sge sge = {end_sge(&w->b, 0, SLOT).addr, SLOT, 0xdeadbeef};
	struct ddp_recv_wr recv = {.sg_list = &sge, .num_sge = 1};
	const struct ddp_send_wr wr = {.opcode = DDP_WR_SEND};
	struct ddp_cm_event *ev;
	struct session s;

	whole_open(w, &s);
	posted_refusal(s.number, 1, 0x1202);
	MUST(ddp_post_recv(s.qp[1], &recv, NULL));
	session_send(&s, 0, wr, 0, SLOT);
	end_done(&w->b, DDP_WC_RECV, DDP_WC_LOC_KEY_ERR);
	ev = end_event(&w->b, DDP_CM_DISCONNECTED);
	is("the code for the peer", ev->term, 0x1202);
	if (!strstr(ev->reason, "were invalid"))
		fail("the event says that the receive was invalid: %s", ev->reason);
	ddp_ack_cm_event(ev);
	end_expect(&w->a, DDP_CM_DISCONNECTED);
	session_free(&s);
	ok("an invalid receive is named as such");
}

/* The peer's end leaves the receives alone; the program's end flushes them. */
void whole_keep(struct whole *w)
{
	struct how how = {0};
	struct session s;
	struct ddp_wc wc;

	how.init[1].options = DDP_QP_KEEP_RECVS;
	session_open(&s, &w->a, &w->b, w->address, &how);
	is("the option", use_of(&s).options, DDP_QP_KEEP_RECVS);
	for (unsigned i = 0; i < 3; i++)
		session_recv(&s, 1, (size_t)i * SLOT, SLOT);
	session_send(&s, 0, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, 0, SLOT);
	end_done(&w->a, DDP_WC_SEND, DDP_WC_SUCCESS);
	end_done(&w->b, DDP_WC_RECV, DDP_WC_SUCCESS);
	MUST(ddp_disconnect(s.id[0]));
	end_expect(&w->b, DDP_CM_DISCONNECTED);
	end_expect(&w->a, DDP_CM_DISCONNECTED);
	session_recv(&s, 1, 3 * SLOT, SLOT);
	use_of(&s); /* the daemon has seen it */
	is("completions after the peer's end", (uint64_t)MUST(ddp_poll_cq(w->b.cq, 1, &wc)), 0);
	MUST(ddp_disconnect(s.id[1]));
	for (unsigned i = 1; i < 4; i++)
		is("a flushed receive", end_done(&w->b, DDP_WC_RECV, DDP_WC_FLUSH_ERR).wr_id,
		   (uint64_t)i * SLOT);
	session_free(&s);
}

/* Writes with their bytes in order; the loss is in the unit tests and in the kernel's tests. */
void whole_in_order(struct whole *w)
{
	const struct ddp_send_wr wr = {.opcode = DDP_WR_RDMA_WRITE,
				       .rdma = {w->b.mr->iova + RIG_HALF, w->b.mr->rkey}};
	struct how how = {0};
	struct session s;

	how.init[1].options = DDP_QP_PLACE_IN_ORDER;
	session_open(&s, &w->a, &w->b, w->address, &how);
	is("the option", use_of(&s).options, DDP_QP_PLACE_IN_ORDER);
	is("its room", use_of(&s).hold_bytes, 4 << 20);
	end_fill(&w->a, 0, RIG_HALF, 9);
	*end_at(&w->a, RIG_HALF - 1) = 0xa5;
	*end_at(&w->b, RIG_SIZE - 1) = 0;
	session_send(&s, 0, wr, 0, RIG_HALF);
	end_done(&w->a, DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
	while (__atomic_load_n(end_at(&w->b, RIG_SIZE - 1), __ATOMIC_ACQUIRE) != 0xa5)
		;
	same("all bytes, once the last one is there", end_at(&w->b, RIG_HALF), end_at(&w->a, 0),
	     RIG_HALF);
	session_close(&s, 1);
}

/* A completion says that the bytes are there: nothing else tells this program. */
void whole_placed(struct whole *w)
{
	const struct ddp_send_wr wr = {.opcode = DDP_WR_RDMA_WRITE,
				       .send_flags = DDP_SEND_PLACED,
				       .rdma = {w->b.mr->iova + RIG_HALF, w->b.mr->rkey}};
	struct session s;

	whole_open(w, &s);
	for (unsigned round = 0; round < 20; round++) {
		end_fill(&w->a, 0, RIG_HALF, 100 + round);
		session_send(&s, 0, wr, 0, RIG_HALF);
		end_done(&w->a, DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
		same("bytes at the completion", end_at(&w->b, RIG_HALF), end_at(&w->a, 0),
		     RIG_HALF);
	}
	session_close(&s, 0);
}
