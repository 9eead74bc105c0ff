/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions that are negotiated (RFC 6581), or refused; and peers that do not negotiate. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/row.h"
#include "tests/system/whole.h"

/* Depths of the queue pairs: a's, and b's. */
enum { A_ORD = 5, A_IRD = 7, B_ORD = 9, B_IRD = 3 };

enum { KEEP = DDP_READS_UNCHANGED, NONE = DDP_READS_NONE };

static const struct how made = {
	.init[0] = {.max_ord = A_ORD, .max_ird = A_IRD},
	.init[1] = {.max_ord = B_ORD, .max_ird = B_IRD},
};

static struct ddp_conn_param negotiate(uint16_t ird, uint16_t ord)
{
	struct ddp_conn_param p = DDP_INIT(ddp_conn_param);

	p.flags = DDP_CONN_NEGOTIATE;
	p.ird = ird;
	p.ord = ord;
	return p;
}

/* ---- depths ---- */

/* Depths of the initiator and the responder, and the ones that must be in force. */
static const struct {
	const char *what;
	uint16_t request_ird, request_ord, answer_ird, answer_ord;
	uint16_t a_ird, a_ord, b_ird, b_ord;
} depths[] = {
	{"the maximum", 0, 0, 0, 0, 7, 3, 3, 7},
	{"less, requested", 2, 1, 0, 0, 2, 1, 3, 2},
	{"less, answered", 0, 0, 1, 1, 7, 1, 1, 1},
	{"none", NONE, NONE, 0, 0, 0, 0, 3, 0},
	{"not negotiated", KEEP, KEEP, 0, 0, 7, 5, 3, 9},
	{"one of them", 4, KEEP, 0, 0, 4, 5, 3, 4},
	{"not negotiated, answered", 0, 0, KEEP, KEEP, 7, 3, 3, 7},
};

static void in_force(struct ddp_qp *qp, const char *what, uint16_t ird, uint16_t ord,
		     uint16_t peer_ird, uint16_t peer_ord)
{
	struct ddp_qp_attr attr = DDP_INIT(ddp_qp_attr);

	MUST(ddp_query_qp(qp, &attr));
	if (attr.ird != ird || attr.ord != ord)
		fail("%s: ird %u, ord %u were expected, %u, %u are in force", what, ird, ord,
		     attr.ird, attr.ord);
	if (attr.peer_ird != peer_ird || attr.peer_ord != peer_ord)
		fail("%s: the peer's ird %u, ord %u were expected, %u, %u came", what, peer_ird,
		     peer_ord, attr.peer_ird, attr.peer_ord);
	ok("%s: ird %u, ord %u; the peer's 0x%x, 0x%x", what, ird, ord, peer_ird, peer_ord);
}

/* The depth that the peer sees. */
static uint16_t wire_depth(uint16_t depth, uint16_t max)
{
	return depth == NONE ? 0 : depth == DDP_READS_MAX ? max : depth;
}

/* Reads in both directions, as many as a queue holds; not if the peer takes fewer and nothing is
 * negotiated. */
static void read_both_ways(struct session *s)
{
	for (int side = 0; side < 2; side++) {
		struct ddp_qp_attr attr = DDP_INIT(ddp_qp_attr), other = DDP_INIT(ddp_qp_attr);
		struct end *e = s->end[side], *peer = s->end[!side];
		struct ddp_send_wr wr = {.opcode = DDP_WR_RDMA_READ,
					 .rdma = {peer->mr->iova, peer->mr->rkey}};

		MUST(ddp_query_qp(s->qp[side], &attr));
		MUST(ddp_query_qp(s->qp[!side], &other));
		if (attr.ord == 0 || attr.ord > other.ird)
			continue;
		for (int i = 0; i < RIG_DEPTH; i++)
			session_send(s, side, wr, RIG_HALF, 1000);
		for (int i = 0; i < RIG_DEPTH; i++)
			end_done(e, DDP_WC_RDMA_READ, DDP_WC_SUCCESS);
	}
}

static void agree(struct whole *w, size_t i)
{
	struct ddp_conn_param request = negotiate(depths[i].request_ird, depths[i].request_ord);
	struct ddp_conn_param answer = negotiate(depths[i].answer_ird, depths[i].answer_ord);
	uint16_t ird = wire_depth(depths[i].request_ird, A_IRD),
		 ord = wire_depth(depths[i].request_ord, A_ORD);
	struct ddp_cm_event *ev;
	struct session s;

	session_connect(&s, &w->a, &w->b, w->address,
			&(struct how){.request = &request, .init[0] = made.init[0]});
	ev = session_request(&s);
	is("an enhanced request", ev->conn_flags, DDP_CONN_NEGOTIATE);
	is("its ird", ev->peer_ird, ird);
	is("its ord", ev->peer_ord, ord);
	ddp_ack_cm_event(ev);
	session_make_qp(&s, 1, &made);
	MUST(ddp_accept(s.id[1], &answer));
	end_expect(&w->b, DDP_CM_ESTABLISHED);
	ev = end_event(&w->a, DDP_CM_ESTABLISHED);
	is("an enhanced answer", ev->conn_flags, DDP_CONN_NEGOTIATE);
	is("its ird", ev->peer_ird, ord == KEEP ? KEEP : depths[i].b_ird);
	is("its ord", ev->peer_ord, ird == KEEP ? KEEP : depths[i].b_ord);
	in_force(s.qp[0], depths[i].what, depths[i].a_ird, depths[i].a_ord, ev->peer_ird,
		 ev->peer_ord);
	in_force(s.qp[1], depths[i].what, depths[i].b_ird, depths[i].b_ord, ird, ord);
	ddp_ack_cm_event(ev);
	read_both_ways(&s);
	session_close(&s, 0);
}

/* Default depths are the same in both directions. */
static void defaults(struct whole *w)
{
	struct ddp_qp_attr attr = DDP_INIT(ddp_qp_attr);
	struct session s;

	whole_open(w, &s);
	MUST(ddp_query_qp(s.qp[0], &attr));
	is("default depths, in and out", attr.max_ird, attr.max_ord);
	is("those in force", attr.ird, attr.ord);
	is("there are some", attr.ird > 0, 1);
	is("a peer that did not send its ird", attr.peer_ird, KEEP);
	is("state", attr.state, DDP_QP_RTS);
	is("type", attr.qp_type, DDP_QP_RDMAP);
	is("entries of its send queue", attr.max_send_wr, RIG_DEPTH);
	is("elements", attr.max_recv_sge, 4);
	is("inline bytes", attr.max_inline, 64);
	is("both kinds of segments are one message of the transport", attr.max_tagged + 14,
	   attr.max_untagged + 18);
	session_close(&s, 0);
	row("5040-6.1-06", "a queue pair made without depths has equal ones");
}

void whole_enhanced(struct whole *w)
{
	defaults(w);
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++)
		agree(w, i);
	row("6581-9.1-01 6581-9.1-04 6581-9.1-07 6581-9.1-09",
	    "both programs get each other's depths, and the ones in force fit");
}

/* ---- the first message ---- */

/* b has posted a Send, which must not be sent before a's first message; no program sees that one.
 */
static void begin_with(struct whole *w, unsigned kinds)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND};
	struct ddp_conn_param request = negotiate(0, 0);
	unsigned flags = DDP_CONN_NEGOTIATE | DDP_CONN_PEER_TO_PEER;
	struct ddp_cm_event *ev;
	struct session s;

	request.flags = flags | kinds;
	session_connect(&s, &w->a, &w->b, w->address,
			&(struct how){.request = &request, .init[0] = made.init[0]});
	ev = session_request(&s);
	is("a request from peer to peer", ev->conn_flags,
	   flags | (kinds ? kinds : DDP_CONN_RTR_SEND | DDP_CONN_RTR_WRITE | DDP_CONN_RTR_READ));
	ddp_ack_cm_event(ev);
	session_make_qp(&s, 1, &made);
	session_recv(&s, 0, 0, 64);
	session_recv(&s, 1, 0, 64);
	memcpy(end_at(&w->b, 100), "from b", 6);
	memcpy(end_at(&w->a, 100), "from a", 6);
	MUST(ddp_accept(s.id[1], NULL));
	end_expect(&w->b, DDP_CM_ESTABLISHED);
	session_send(&s, 1, wr, 100, 6);
	end_expect(&w->a, DDP_CM_ESTABLISHED);
	is("the accepter's Send", end_done(&w->a, DDP_WC_RECV, DDP_WC_SUCCESS).byte_len, 6);
	same("its bytes", end_at(&w->a, 0), "from b", 6);
	end_done(&w->b, DDP_WC_SEND, DDP_WC_SUCCESS);
	session_send(&s, 0, wr, 100, 6);
	end_done(&w->a, DDP_WC_SEND, DDP_WC_SUCCESS);
	is("the first message that b sees", end_done(&w->b, DDP_WC_RECV, DDP_WC_SUCCESS).byte_len,
	   6);
	same("its bytes", end_at(&w->b, 0), "from a", 6);
	session_close(&s, 1);
}

void whole_first_message(struct whole *w)
{
	begin_with(w, 0);
	begin_with(w, DDP_CONN_RTR_WRITE);
	begin_with(w, DDP_CONN_RTR_READ);
	begin_with(w, DDP_CONN_RTR_SEND);
	row("6581-9.2-09", "a ready-to-receive message of each kind lets the accepter send, and "
			   "takes no receive");
}

/* ---- refusals ---- */

static void reject(struct whole *w)
{
	static const char reject_data[508] = "sorry, no";
	struct ddp_conn_param request = negotiate(1, NONE), answer = negotiate(3, 2);
	struct ddp_cm_event *ev;
	struct session s;

	session_connect(&s, &w->a, &w->b, w->address,
			&(struct how){.request = &request, .init[0] = made.init[0]});
	ddp_ack_cm_event(session_request(&s));
	session_make_qp(&s, 1, &made);
	REFUSED("an accept with more than the peer holds", ddp_accept(s.id[1], &answer), ERANGE);
	answer.private_data = reject_data;
	answer.private_len = 509;
	REFUSED("509 bytes in an enhanced message", ddp_reject(s.id[1], &answer), EINVAL);
	answer.private_len = sizeof(reject_data);
	MUST(ddp_reject(s.id[1], &answer));
	ev = end_event(&w->a, DDP_CM_REJECTED);
	is("an enhanced Reject", ev->conn_flags, DDP_CONN_NEGOTIATE);
	is("the ird that it wants", ev->peer_ird, 3);
	is("its ord", ev->peer_ord, 2);
	is("length of its private data", ev->private_len, sizeof(reject_data));
	same("its private data", ev->private_data, reject_data, sizeof(reject_data));
	ddp_ack_cm_event(ev);
	session_free(&s);
	row("6581-9.1-05 6581-7-02 6581-7-04",
	    "a Reject with the depths that are wanted and 508 bytes of private data");
}

/* Retries, errors and reported features, with a daemon that has switched them off. */
static void plain_peer(struct whole *w)
{
	struct ddp_conn_param request = negotiate(0, 0);
	struct ddp_send_wr imm = {.opcode = DDP_WR_IMM_DATA};
	struct ddp_caps caps = DDP_INIT(ddp_caps);
	struct how how = {.request = &request};
	struct ddp_cm_event *ev;
	struct session s;
	struct end c;

	end_open(&c, "c", w->plain_socket);
	end_listen(&c);
	MUST(ddp_query(c.ctx, &caps));
	is("features that are left", caps.features & ~(unsigned)DDP_CAP_MULTIHOMED,
	   DDP_CAP_RAW | DDP_CAP_RNR | DDP_CAP_DATAGRAM | DDP_CAP_STRICT_SENDS | DDP_CAP_WITH_IMM);
	session_connect(&s, &w->a, &c, w->plain_address, &how);
	ev = end_event(&w->a, DDP_CM_CONNECT_ERROR);
	is("an enhanced request that the peer does not know", (uint64_t)-ev->err, ECONNREFUSED);
	ddp_ack_cm_event(ev);
	MUST(ddp_destroy_qp(s.qp[0]));
	MUST(ddp_destroy_id(s.id[0]));
	request.flags |= DDP_CONN_RETRY_PLAIN;
	session_connect(&s, &w->a, &c, w->plain_address, &how);
	ev = session_request(&s);
	is("the second, plain request", ev->conn_flags, 0);
	ddp_ack_cm_event(ev);
	session_make_qp(&s, 1, NULL);
	MUST(ddp_accept(s.id[1], NULL));
	end_expect(&c, DDP_CM_ESTABLISHED);
	ev = end_event(&w->a, DDP_CM_ESTABLISHED);
	is("the plain answer", ev->conn_flags, 0);
	ddp_ack_cm_event(ev);
	read_both_ways(&s);
	row("6581-10-05",
	    "with a retry, a plain session begins with a peer that does not negotiate");
	session_post(&s, 0, imm);
	session_broken(&s, 1, 0x0206);
	ok("Immediate Data is an unexpected opcode there");
	MUST(ddp_create_id(c.ctx, NULL, &s.id[0]));
	s.end[0] = &c;
	session_make_qp(&s, 0, NULL);
	REFUSED("a negotiated session from there",
		ddp_connect_name(s.id[0], w->plain_address, c.port, &request), EOPNOTSUPP);
	MUST(ddp_destroy_qp(s.qp[0]));
	MUST(ddp_destroy_id(s.id[0]));
	end_close(&c);
}

void whole_refused(struct whole *w)
{
	reject(w);
	if (w->plain_socket)
		plain_peer(w);
}
