/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Datagrams between two programs. Each part states a promise of ddp_create_ah(3).
 *
 *   datagrams SOCKET-A SOCKET-B ADDRESS-A ADDRESS-B PORT
 *   datagrams hold SOCKET ADDRESS                            waits for datagrams until it is killed
 *   datagrams take SOCKET ADDRESS                            the same, with a number that it took
 *   datagrams send SOCKET ADDRESS ADDRESS-B NUMBER COUNT     COUNT 1: one; 2: one, and stays; 0:
 * until it is killed
 *   datagrams share SOCKET ADDRESS ADDRESS-B NUMBER          two queue pairs, while daemon B sleeps
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/patience.h"
#include "tests/system/side.h"

enum { HANDLES = 10000 };

static struct ddp_qp_attr state(struct ddp_qp *qp)
{
	struct ddp_qp_attr attr = DDP_INIT(ddp_qp_attr);

	MUST(ddp_query_qp(qp, &attr));
	return attr;
}

static void refused(const char *what, struct ddp_send_wr wr, uint32_t len, int err)
{
	struct ddp_sge sge = end_sge(&a.e, 0, len);

	wr.sg_list = &sge;
	wr.num_sge = 1;
	REFUSED(what, ddp_post_send(a.qp, &wr, NULL), err);
}

/* ---- those that arrive ---- */

static void sizes(void)
{
	static const uint32_t lengths[] = {0, 1, 255, 1500, 4095, DDP_DATAGRAM_MAX};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		end_fill(&a.e, 0, DDP_DATAGRAM_MAX, (unsigned)i);
		side_recv(&b, SIDE_AT, SIDE_SLOT);
		side_send(&a, side_to(&a, b.num), lengths[i]);
		is("flags", side_arrived(&b, &a, lengths[i]).wc_flags, 0);
	}
	end_fill(&b.e, 0, 100, 9);
	side_recv(&a, SIDE_AT, SIDE_SLOT);
	side_send(&b, side_to(&b, a.num), 100);
	side_arrived(&a, &b, 100);
}

static void immediate(void)
{
	struct ddp_send_wr wr = side_to(&a, b.num);
	struct ddp_wc wc;

	wr.imm_data = UINT64_C(0x1122334455667788);
	wr.send_flags |= DDP_SEND_WITH_IMM | DDP_SEND_SOLICITED;
	side_recv(&b, SIDE_AT, SIDE_SLOT);
	side_send(&a, wr, 10);
	wc = side_arrived(&b, &a, 10);
	is("flags of both", wc.wc_flags, DDP_WC_WITH_IMM | DDP_WC_SOLICITED);
	is("the immediate data", wc.imm_data, wr.imm_data);
}

static void pieces(void)
{
	struct ddp_sge from[3] = {end_sge(&a.e, 0, 10), end_sge(&a.e, 10, 0),
				  end_sge(&a.e, 10, 50)};
	struct ddp_sge in[3] = {end_sge(&b.e, SIDE_AT, 30), end_sge(&b.e, SIDE_AT + 30, 20),
				end_sge(&b.e, SIDE_AT + 50, 60)};
	struct ddp_recv_wr r = {.wr_id = SIDE_AT, .sg_list = in, .num_sge = 3};
	struct ddp_send_wr wr = side_to(&a, b.num);

	MUST(ddp_post_recv(b.qp, &r, NULL));
	wr.sg_list = from;
	wr.num_sge = 3;
	side_send(&a, wr, 60);
	side_arrived(&b, &a, 60);
	from[0] = (struct ddp_sge){(uintptr_t)end_at(&a.e, 0), 64, 0};
	wr.num_sge = 1;
	wr.send_flags |= DDP_SEND_INLINE;
	side_recv(&b, SIDE_AT, SIDE_SLOT);
	side_send(&a, wr, 64);
	side_arrived(&b, &a, 64);
}

/* ---- those that are dropped ---- */

/* Until the daemon of the other side counted it. */
static void dropped(const char *what, struct ddp_qp *qp, uint64_t rx)
{
	while (state(qp).rx_dropped < rx)
		;
	is(what, state(qp).rx_dropped, rx);
}

static void drops(void)
{
	struct ddp_send_wr wr = side_to(&a, b.num);
	uint64_t rx = state(b.qp).rx_dropped;

	side_send(&a, wr, 10);
	dropped("a datagram without a receive", b.qp, rx + 1);
	side_recv(&b, SIDE_AT, SIDE_SLOT);
	wr.ud.remote_qkey = SIDE_QKEY + 1;
	side_send(&a, wr, 10);
	dropped("one with another Q_Key", b.qp, rx + 2);
	wr.ud.remote_qkey = DDP_QKEY_OWN | 5;
	side_send(&a, wr, 10);
	side_arrived(&b, &a, 10);
	MUST(ddp_set_qp_qkey(b.qp, 7));
	is("the new Q_Key", state(b.qp).qkey, 7);
	side_recv(&b, SIDE_AT, SIDE_SLOT);
	side_send(&a, wr, 10);
	dropped("one with the former Q_Key", b.qp, rx + 3);
	wr.ud.remote_qkey = 7;
	side_send(&a, wr, 20);
	side_arrived(&b, &a, 20);
	MUST(ddp_set_qp_qkey(b.qp, SIDE_QKEY));
}

/* Nobody has the number; and it is not the sender's fault. */
static void nobody(bool same_daemon)
{
	uint64_t tx = state(a.qp).tx_dropped;
	uint32_t none = a.num > b.num ? a.num + 1000 : b.num + 1000;

	for (unsigned i = 0; i < 100; i++)
		side_send(&a, side_to(&a, none), 10);
	if (same_daemon)
		is("datagrams to a number that nobody has", state(a.qp).tx_dropped, tx + 100);
}

/* A receive that cannot be used completes with its error, and the datagram takes the next one. */
static void bad_receives(void)
{
	struct ddp_sge sge = end_sge(&b.e, SIDE_AT, SIDE_SLOT);
	struct ddp_recv_wr r = {.wr_id = 1, .sg_list = &sge, .num_sge = 1};
	struct ddp_wc wc;

	sge.lkey ^= 0x100;
	MUST(ddp_post_recv(b.qp, &r, NULL));
	side_recv(&b, SIDE_AT, DDP_GRH_LEN + 9);
	side_recv(&b, SIDE_AT, DDP_GRH_LEN + 10);
	side_send(&a, side_to(&a, b.num), 10);
	wc = end_done(&b.e, DDP_WC_RECV, DDP_WC_LOC_KEY_ERR);
	is("the receive with a wrong key", wc.wr_id, 1);
	end_done(&b.e, DDP_WC_RECV, DDP_WC_LOC_LEN_ERR);
	ok("a receive that is too short");
	side_arrived(&b, &a, 10);
}

/* Completions of receives that nobody takes stop neither the sender nor later datagrams. */
static void full_queue(void)
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);
	struct ddp_qp_init init = side_init(&b);
	uint64_t rx = 0;
	struct ddp_qp *kept = b.qp;
	struct ddp_cq *cq;
	struct ddp_wc wc[4];

	attr.entries = 1;
	MUST(ddp_create_cq(b.e.ctx, &attr, &cq));
	init.recv_cq = cq;
	init.max_recv_wr = 4;
	MUST(ddp_create_qp(NULL, b.e.pd, &init, &b.qp));
	MUST(ddp_resize_cq(cq, 1));
	for (unsigned i = 0; i < 4; i++)
		side_recv(&b, SIDE_AT, SIDE_SLOT);
	for (unsigned i = 0; i < 4; i++)
		side_send(&a, side_to(&a, ddp_qp_num(b.qp)), 10);
	dropped("datagrams that found no room for a completion", b.qp, rx + 3);
	is("the one that found room", (uint64_t)ddp_wait_cq(cq, 4, wc, RIG_WAIT_MS), 1);
	side_send(&a, side_to(&a, ddp_qp_num(b.qp)), 10);
	is("one after the program took it", (uint64_t)ddp_wait_cq(cq, 4, wc, RIG_WAIT_MS), 1);
	MUST(ddp_destroy_qp(b.qp));
	MUST(ddp_destroy_cq(cq));
	b.qp = kept;
}

static void shared_receives(void)
{
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);
	struct ddp_qp_init init = side_init(&b);
	struct ddp_sge sge = end_sge(&b.e, SIDE_AT, SIDE_SLOT);
	struct ddp_recv_wr r = {.wr_id = SIDE_AT, .sg_list = &sge, .num_sge = 1};
	struct ddp_qp *qp[2];
	struct ddp_srq *srq;

	attr.max_wr = 4;
	MUST(ddp_create_srq(b.e.pd, &attr, &srq));
	init.srq = srq;
	for (unsigned i = 0; i < 2; i++)
		MUST(ddp_create_qp(NULL, b.e.pd, &init, &qp[i]));
	for (unsigned i = 0; i < 2; i++) {
		MUST(ddp_post_srq_recv(srq, &r, NULL));
		side_send(&a, side_to(&a, ddp_qp_num(qp[i])), 30);
		is("who took a shared receive", end_done(&b.e, DDP_WC_RECV, DDP_WC_SUCCESS).qp_num,
		   ddp_qp_num(qp[i]));
	}
	for (unsigned i = 0; i < 2; i++)
		MUST(ddp_destroy_qp(qp[i]));
	MUST(ddp_destroy_srq(srq));
}

/* ---- the queue pair ---- */

static void attributes(void)
{
	struct ddp_qp_attr attr = state(a.qp);

	is("the type", attr.qp_type, DDP_QP_DATAGRAM);
	is("it is ready at once", attr.state, DDP_QP_RTS);
	is("the Q_Key", attr.qkey, SIDE_QKEY);
	if (a.num == b.num || a.num >> 24 || b.num >> 24 || !a.num || !b.num)
		fail("numbers 0x%x and 0x%x", a.num, b.num);
	ok("numbers are different, and have 24 bits");
}

/* A number is not given out again for a long time. */
static void numbers(void)
{
	struct ddp_qp_init init = side_init(&a);
	uint32_t before = 0;

	for (unsigned i = 0; i < 50; i++) {
		struct ddp_qp *qp;

		MUST(ddp_create_qp(NULL, a.e.pd, &init, &qp));
		if (ddp_qp_num(qp) == before)
			fail("number 0x%x was given out again", before);
		before = ddp_qp_num(qp);
		MUST(ddp_destroy_qp(qp));
	}
	ok("a number is not used again at once");
}

static void no_sessions(void)
{
	struct ddp_qp_init init = side_init(&a);
	struct sockaddr_in peer = b.at;
	struct ddp_id *id, *other;
	struct ddp_qp *qp;

	MUST(ddp_create_id(a.e.ctx, NULL, &id));
	MUST(ddp_create_id(a.e.ctx, NULL, &other));
	MUST(ddp_create_qp(id, a.e.pd, &init, &qp));
	peer.sin_port = htons(5043);
	REFUSED("a session", ddp_connect(id, (const struct sockaddr *)&peer, NULL), EOPNOTSUPP);
	REFUSED("another id", ddp_move_qp(qp, other), EINVAL);
	MUST(ddp_destroy_qp(qp));
	init.max_ord = 1;
	REFUSED("a depth of Reads", ddp_create_qp(id, a.e.pd, &init, &qp), EINVAL);
	init = side_init(&a);
	init.options = DDP_QP_ACKED;
	REFUSED("an option", ddp_create_qp(id, a.e.pd, &init, &qp), EINVAL);
	init = side_init(&a);
	init.qp_type = DDP_QP_RDMAP;
	REFUSED("a Q_Key of another type", ddp_create_qp(id, a.e.pd, &init, &qp), EINVAL);
	init.qkey = 0;
	REFUSED("another type without an id", ddp_create_qp(NULL, a.e.pd, &init, &qp), EINVAL);
	MUST(ddp_create_qp(id, a.e.pd, &init, &qp));
	REFUSED("its Q_Key", ddp_set_qp_qkey(qp, 1), EINVAL);
	MUST(ddp_destroy_qp(qp));
	MUST(ddp_destroy_id(other));
	MUST(ddp_destroy_id(id));
}

/* ddp_disconnect() ends it for good. */
static void flushed(void)
{
	struct ddp_qp_init init = side_init(&b);
	struct ddp_qp *kept = b.qp;
	struct ddp_send_wr wr;
	struct ddp_id *id;

	MUST(ddp_create_id(b.e.ctx, NULL, &id));
	MUST(ddp_create_qp(id, b.e.pd, &init, &b.qp));
	side_recv(&b, SIDE_AT, SIDE_SLOT);
	MUST(ddp_disconnect(id));
	end_done(&b.e, DDP_WC_RECV, DDP_WC_FLUSH_ERR);
	side_recv(&b, SIDE_AT, SIDE_SLOT);
	end_done(&b.e, DDP_WC_RECV, DDP_WC_FLUSH_ERR);
	wr = side_to(&b, a.num);
	MUST(ddp_post_send(b.qp, &wr, NULL));
	end_done(&b.e, DDP_WC_SEND, DDP_WC_FLUSH_ERR);
	is("its state", state(b.qp).state, DDP_QP_ERROR);
	MUST(ddp_destroy_qp(b.qp));
	MUST(ddp_destroy_id(id));
	b.qp = kept;
}

/* A Send that fails flushes those after it, also those that are there already, until the program
 * sets the Q_Key. The queue pair receives meanwhile. */
static void failed_send(void)
{
	enum { AFTER = 40 }; /* more than the daemon takes for a bell */
	struct ddp_send_wr wr = side_to(&a, b.num);
	struct ddp_sge sge = end_sge(&a.e, 0, 10);

	sge.lkey ^= 0x100;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.send_flags = 0;
	MUST(ddp_post_send(a.qp, &wr, NULL));
	sge.lkey ^= 0x100;
	for (unsigned i = 0; i < AFTER; i++)
		MUST(ddp_post_send(a.qp, &wr, NULL));
	end_done(&a.e, DDP_WC_SEND, DDP_WC_LOC_KEY_ERR);
	MUST(ddp_set_qp_qkey(a.qp, SIDE_QKEY));
	for (unsigned i = 0; i < AFTER; i++)
		end_done(&a.e, DDP_WC_SEND, DDP_WC_FLUSH_ERR);
	sge.lkey ^= 0x100;
	MUST(ddp_post_send(a.qp, &wr, NULL));
	end_done(&a.e, DDP_WC_SEND, DDP_WC_LOC_KEY_ERR);
	sge.lkey ^= 0x100;
	MUST(ddp_post_send(a.qp, &wr, NULL));
	end_done(&a.e, DDP_WC_SEND, DDP_WC_FLUSH_ERR);
	side_recv(&a, SIDE_AT, SIDE_SLOT);
	side_send(&b, side_to(&b, a.num), 10);
	side_arrived(&a, &b, 10);
	MUST(ddp_set_qp_qkey(a.qp, SIDE_QKEY));
	side_recv(&b, SIDE_AT, SIDE_SLOT);
	side_send(&a, side_to(&a, b.num), 10);
	side_arrived(&b, &a, 10);
	ok("a Send that fails flushes those after it until the Q_Key is set");
}

/* Datagrams to the number of one reach the other, and are of that number. */
static void taken_number(void)
{
	struct ddp_qp_init init = side_init(&b);
	struct ddp_qp *before = b.qp, *third;
	const uint32_t own = b.num;
	uint32_t num;

	side_recv(&b, SIDE_AT, SIDE_SLOT);
	MUST(ddp_create_qp(NULL, b.e.pd, &init, &b.qp));
	num = ddp_qp_num(b.qp);
	REFUSED("its own number", ddp_take_qp_number(b.qp, b.qp), EINVAL);
	MUST(ddp_take_qp_number(b.qp, before));
	end_done(&b.e, DDP_WC_RECV, DDP_WC_FLUSH_ERR);
	REFUSED("a number for one that has ended", ddp_take_qp_number(before, b.qp), EINVAL);
	MUST(ddp_create_qp(NULL, b.e.pd, &init, &third));
	REFUSED("a number that was given away", ddp_take_qp_number(third, before), EINVAL);
	MUST(ddp_destroy_qp(third));
	MUST(ddp_destroy_qp(before));
	side_recv(&b, SIDE_AT, SIDE_SLOT);
	side_send(&a, side_to(&a, own), 10);
	is("the number of its completion", end_done(&b.e, DDP_WC_RECV, DDP_WC_SUCCESS).qp_num, num);
	side_recv(&a, SIDE_AT, SIDE_SLOT);
	side_send(&b, side_to(&b, a.num), 10);
	is("the number of the sender", side_arrived(&a, &b, 10).src_qp, own);
}

/* ---- refusals ---- */

static void requests(void)
{
	struct ddp_send_wr wr = side_to(&a, b.num);
	struct ddp_ah *foreign;
	struct ddp_pd *pd;

	refused("a datagram that is too long", wr, DDP_DATAGRAM_MAX + 1, EINVAL);
	wr.opcode = DDP_WR_RDMA_WRITE;
	refused("a Write", wr, 1, EINVAL);
	wr.opcode = DDP_WR_IMM_DATA;
	refused("Immediate Data", wr, 0, EINVAL);
	wr = side_to(&a, b.num);
	wr.send_flags |= DDP_SEND_FENCE;
	refused("a fence", wr, 1, EINVAL);
	wr = side_to(&a, 0);
	refused("number 0", wr, 1, EINVAL);
	wr = side_to(&a, 1 << 24);
	refused("a number of more than 24 bits", wr, 1, EINVAL);
	wr = side_to(&a, b.num);
	wr.ud.ah = NULL;
	refused("no address handle", wr, 1, EINVAL);
	MUST(ddp_alloc_pd(a.e.ctx, &pd));
	MUST(ddp_create_ah(pd, (const struct sockaddr *)&b.at, NULL, &foreign));
	wr.ud.ah = foreign;
	refused("an address handle of another domain", wr, 1, EINVAL);
	REFUSED("the end of its domain", ddp_dealloc_pd(pd), EBUSY);
	MUST(ddp_destroy_ah(foreign));
	MUST(ddp_dealloc_pd(pd));
}

static void refuse_handle(const char *what, const char *address, const char *local, int err)
{
	struct sockaddr_in r = {.sin_family = AF_INET}, l = {.sin_family = AF_INET};
	struct ddp_ah *ah;

	if (inet_pton(AF_INET, address, &r.sin_addr) != 1 ||
	    (local && inet_pton(AF_INET, local, &l.sin_addr) != 1))
		fail("no address: %s, %s", address, local);
	REFUSED(what,
		ddp_create_ah(a.e.pd, (struct sockaddr *)&r, local ? (struct sockaddr *)&l : NULL,
			      &ah),
		err);
}

static void handles(const char *address)
{
	static struct ddp_ah *ah[HANDLES];
	struct sockaddr none = {.sa_family = AF_UNIX};

	refuse_handle("no address of a host", "0.0.0.0", NULL, EADDRNOTAVAIL);
	refuse_handle("a group", "224.0.0.1", NULL, EADDRNOTAVAIL);
	refuse_handle("a local address of another host", address, "192.0.2.1", EADDRNOTAVAIL);
	REFUSED("another family", ddp_create_ah(a.e.pd, &none, NULL, &ah[0]), EAFNOSUPPORT);
	REFUSED("no address", ddp_create_ah(a.e.pd, NULL, NULL, &ah[0]), EINVAL);
	for (unsigned i = 0; i < HANDLES; i++)
		ah[i] = side_handle(&a, &b);
	for (unsigned i = 0; i < HANDLES; i++)
		MUST(ddp_destroy_ah(ah[i]));
	ok("%d address handles of one program", HANDLES);
}

/* ---- many ---- */

/* All that find receives arrive in order, though the ring holds more than a bell permits. */
static void many(void)
{
	enum { ROUNDS = 200 };
	struct ddp_sge sge = end_sge(&a.e, 0, 64);

	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < RIG_DEPTH; i++)
			side_recv(&b, SIDE_AT + i * 128, 128);
		for (unsigned i = 0; i < RIG_DEPTH; i++) {
			struct ddp_send_wr wr = side_to(&a, b.num);

			wr.send_flags = i + 1 < RIG_DEPTH ? DDP_SEND_WITH_IMM
							  : DDP_SEND_WITH_IMM | DDP_SEND_SIGNALED;
			wr.imm_data = i;
			wr.sg_list = &sge;
			wr.num_sge = 1;
			MUST(ddp_post_send(a.qp, &wr, NULL));
		}
		end_done(&a.e, DDP_WC_SEND, DDP_WC_SUCCESS);
		for (unsigned i = 0; i < RIG_DEPTH; i++) {
			struct ddp_wc wc = end_done(&b.e, DDP_WC_RECV, DDP_WC_SUCCESS);

			if (wc.imm_data != i || wc.wr_id != SIDE_AT + i * 128)
				fail("datagram %u came as number %llu", i,
				     (unsigned long long)wc.imm_data);
		}
	}
	ok("%d datagrams in order", ROUNDS * RIG_DEPTH);
}

/* A call follows all that were posted before it: none fails. Their Q_Key is wrong, so that nobody
 * gets one. */
static void before_a_call(void)
{
	enum { SENDS = 4096 };
	static struct ddp_send_wr wr[SENDS];
	struct ddp_qp_init init = side_init(&a);
	struct ddp_sge sge = {.length = DDP_DATAGRAM_MAX};
	struct ddp_mr *mr;
	struct ddp_qp *qp;

	MUST(ddp_alloc_mr(a.e.pd, DDP_DATAGRAM_MAX, RIG_ALL, &mr));
	sge.addr = mr->iova;
	sge.lkey = mr->lkey;
	init.max_send_wr = SENDS;
	MUST(ddp_create_qp(NULL, a.e.pd, &init, &qp));
	for (unsigned i = 0; i < SENDS; i++) {
		wr[i] = side_to(&a, b.num);
		wr[i].ud.remote_qkey++;
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].send_flags = i + 1 < SENDS ? 0 : DDP_SEND_SIGNALED;
		wr[i].next = i + 1 < SENDS ? &wr[i + 1] : NULL;
	}
	MUST(ddp_post_send(qp, wr, NULL));
	MUST(ddp_dereg_mr(mr));
	end_done(&a.e, DDP_WC_SEND, DDP_WC_SUCCESS);
	MUST(ddp_destroy_qp(qp));
	ok("%d datagrams before their memory is deregistered", SENDS);
}

int main(int argc, char **argv)
{
	bool same_daemon;

	if (argc == 4 && (strcmp(argv[1], "hold") == 0 || strcmp(argv[1], "take") == 0))
		return far_hold(argv[2], argv[3], strcmp(argv[1], "take") == 0);
	if (argc == 6 && strcmp(argv[1], "share") == 0)
		return far_share(argv + 2);
	if (argc == 7 && strcmp(argv[1], "send") == 0)
		return far_send(argv + 2);
	if (argc != 6) {
		fprintf(stderr, "usage: datagrams SOCKET-A SOCKET-B ADDRESS-A ADDRESS-B PORT\n"
				"       datagrams hold|take SOCKET ADDRESS\n"
				"       datagrams send SOCKET ADDRESS ADDRESS-B NUMBER COUNT\n"
				"       datagrams share SOCKET ADDRESS ADDRESS-B NUMBER\n");
		return 2;
	}
	alarm(LIFE_S);
	same_daemon = strcmp(argv[1], argv[2]) == 0;
	side_open(&a, "a", argv[1], argv[3]);
	side_open(&b, "b", argv[2], argv[4]);
	a.to = side_handle(&a, &b);
	b.to = side_handle(&b, &a);
	attributes();
	sizes();
	immediate();
	pieces();
	drops();
	nobody(same_daemon);
	bad_receives();
	full_queue();
	shared_receives();
	numbers();
	no_sessions();
	flushed();
	failed_send();
	requests();
	handles(argv[4]);
	many();
	before_a_call();
	if (!same_daemon)
		far_reserved(argv[5]);
	taken_number();
	side_close(&a);
	side_close(&b);
	ok("all objects can be freed");
	return 0;
}
