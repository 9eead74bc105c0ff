/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for libibverbs. Promise: a datagram of up to 4,096 bytes arrives whole, with its
 * header, the number of its sender and Immediate Data, and a handle made from its completion leads
 * back; one without a receive, with another Q_Key or to a number of nobody is dropped, and its Send
 * completes all the same.
 *
 *   verbs_ud FROM TO     numbers of devices; exit status 0 if it held
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/verbs_rig.h"

enum {
	GRH = 40,
	LARGEST = 4096,
	QKEY = 0x11111111,
	OTHER_QKEY = 0x22222222,
	PRIVILEGED = 0x80000000, /* stands for the sender's own */
	NOBODY = 0xfffffe,
	TARGET = 8192, /* offset of receives */
};

static struct side from, to;
static struct ibv_qp *sender, *receiver;
static struct ibv_ah *ah;

/* ---- queue pairs ---- */

static struct ibv_qp *create(struct side *s, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.srq = srq,
		.cap = {RIG_DEPTH, RIG_DEPTH, 4, 4, 100},
		.qp_type = IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = s->pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
	};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};
	struct ibv_qp *qp;

	VERB(qp = ibv_create_qp_ex(s->ctx, &init));
	VERB(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY) == 0);
	attr.qp_state = IBV_QPS_RTR;
	VERB(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0);
	attr.qp_state = IBV_QPS_RTS;
	VERB(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
	return qp;
}

static struct ibv_ah *handle(struct side *s, const struct side *peer)
{
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = peer->gid}};
	struct ibv_ah *ret;

	VERB(ret = ibv_create_ah(s->pd, &attr));
	return ret;
}

static void set_qkey(struct ibv_qp *qp, uint32_t qkey)
{
	struct ibv_qp_attr attr = {.qkey = qkey};

	VERB(ibv_modify_qp(qp, &attr, IBV_QP_QKEY) == 0);
}

/* ---- work ---- */

static struct ibv_send_wr send_of(struct ibv_sge *sge, uint32_t num, uint32_t qkey)
{
	return (struct ibv_send_wr){
		.wr_id = 1,
		.sg_list = sge,
		.num_sge = sge->length > 0 ? 1 : 0,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = {.ah = ah, .remote_qpn = num, .remote_qkey = qkey},
	};
}

/* Sends, and waits for its completion. */
static void send_to(uint32_t num, uint32_t qkey, uint32_t len)
{
	struct ibv_sge sge = side_sge(&from, 0, len);
	struct ibv_send_wr wr = send_of(&sge, num, qkey), *bad;

	VERB(ibv_post_send(sender, &wr, &bad) == 0);
	rig_done(from.cq, 1, IBV_WC_SEND);
}

static void take(uint64_t wr_id, uint32_t room)
{
	struct ibv_sge sge = side_sge(&to, TARGET, GRH + room);
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	memset(to.mem + TARGET, 0xee, GRH + room);
	VERB(ibv_post_recv(receiver, &wr, &bad) == 0);
}

/* A datagram of len bytes with this seed has come. */
static struct ibv_wc arrived(uint64_t wr_id, uint32_t len, unsigned seed)
{
	struct ibv_wc wc = rig_done(to.cq, wr_id, IBV_WC_RECV);
	const struct ibv_grh *grh = (const void *)(to.mem + TARGET);

	VERB(wc.byte_len == GRH + len);
	VERB(wc.wc_flags & IBV_WC_GRH && wc.src_qp == sender->qp_num &&
	     wc.qp_num == receiver->qp_num);
	VERB(memcmp(&grh->sgid, &from.gid, 16) == 0 && memcmp(&grh->dgid, &to.gid, 16) == 0);
	VERB(ntohl(grh->version_tclass_flow) >> 28 == 6);
	rig_same(to.mem + TARGET + GRH, len, seed);
	return wc;
}

/* ---- cases ---- */

static void sizes(void)
{
	static const uint32_t lens[] = {0, 1, 7, 64, 1000, 2048, 4095, LARGEST};

	for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		take(10 + i, lens[i]);
		rig_fill(from.mem, lens[i], i);
		send_to(receiver->qp_num, QKEY, lens[i]);
		VERB(!(arrived(10 + i, lens[i], i).wc_flags & IBV_WC_WITH_IMM));
	}
	puts("datagrams of all sizes arrive");
}

static void too_long(void)
{
	struct ibv_sge sge = side_sge(&from, 0, LARGEST + 1);
	struct ibv_send_wr wr = send_of(&sge, receiver->qp_num, QKEY), *bad = NULL;

	VERB(ibv_post_send(sender, &wr, &bad) == EINVAL && bad == &wr);
	wr.num_sge = 0;
	wr.wr.ud.ah = NULL;
	VERB(ibv_post_send(sender, &wr, &bad) == EINVAL && bad == &wr);
	wr = send_of(&sge, receiver->qp_num, QKEY);
	wr.opcode = IBV_WR_RDMA_WRITE;
	sge.length = 8;
	VERB(ibv_post_send(sender, &wr, &bad) == EINVAL && bad == &wr);
	puts("a datagram that is too long, or goes nowhere, or is none, fails in the call");
}

static void immediate(void)
{
	struct ibv_sge sge = side_sge(&from, 0, 20);
	struct ibv_send_wr wr = send_of(&sge, receiver->qp_num, QKEY), *bad;
	struct ibv_wc wc;

	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = htonl(0x01020304);
	take(2, 20);
	rig_fill(from.mem, 20, 5);
	VERB(ibv_post_send(sender, &wr, &bad) == 0);
	rig_done(from.cq, 1, IBV_WC_SEND);
	wc = arrived(2, 20, 5);
	VERB(wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == htonl(0x01020304));
	puts("immediate data arrives");
}

/* A handle without a GID has the LID of the other device, for programs that know nothing else. */
static void by_lid(void)
{
	struct ibv_ah_attr attr = {.port_num = 1};
	struct ibv_ah *global = ah;
	struct ibv_port_attr port;

	VERB(ibv_query_port(to.ctx, 1, &port) == 0);
	attr.dlid = port.lid;
	VERB(ah = ibv_create_ah(from.pd, &attr));
	take(6, 12);
	rig_fill(from.mem, 12, 4);
	send_to(receiver->qp_num, QKEY, 12);
	arrived(6, 12, 4);
	VERB(ibv_destroy_ah(ah) == 0);
	ah = global;
	puts("a LID leads to its device");
}

/* The functions of extended queue pairs, and inline data, which the program may change at once. */
static void extended(void)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(sender);
	uint8_t data[30];
	struct ibv_wc wc;

	take(3, sizeof(data));
	rig_fill(data, sizeof(data), 6);
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send_imm(ex, htonl(7));
	ibv_wr_set_ud_addr(ex, ah, receiver->qp_num, QKEY);
	ibv_wr_set_inline_data(ex, data, sizeof(data));
	VERB(ibv_wr_complete(ex) == 0);
	memset(data, 0, sizeof(data));
	rig_done(from.cq, 1, IBV_WC_SEND);
	wc = arrived(3, sizeof(data), 6);
	VERB(wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == htonl(7));
	puts("functions of extended queue pairs send");
}

/* The receiver answers by what it has received alone. */
static void answer(void)
{
	struct ibv_sge sge = side_sge(&to, 0, 50), room = side_sge(&from, TARGET, GRH + 50);
	struct ibv_recv_wr recv = {.wr_id = 5, .sg_list = &room, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr wr, *bad;
	struct ibv_ah *back;
	struct ibv_wc wc;

	VERB(ibv_post_recv(sender, &recv, &bad_recv) == 0);
	take(4, 10);
	rig_fill(from.mem, 10, 8);
	send_to(receiver->qp_num, QKEY, 10);
	wc = arrived(4, 10, 8);
	VERB(back = ibv_create_ah_from_wc(to.pd, &wc, (struct ibv_grh *)(to.mem + TARGET), 1));
	wr = send_of(&sge, wc.src_qp, QKEY);
	wr.wr.ud.ah = back;
	rig_fill(to.mem, 50, 9);
	VERB(ibv_post_send(receiver, &wr, &bad) == 0);
	rig_done(to.cq, 1, IBV_WC_SEND);
	wc = rig_done(from.cq, 5, IBV_WC_RECV);
	VERB(wc.src_qp == receiver->qp_num && wc.byte_len == GRH + 50);
	rig_same(from.mem + TARGET + GRH, 50, 9);
	VERB(ibv_destroy_ah(back) == 0);
	puts("a completion leads back to its sender");
}

/* What follows one that was dropped arrives, and is the first. */
static void expect_dropped(const char *why)
{
	take(20, 16);
	rig_fill(from.mem, 16, 3);
	send_to(receiver->qp_num, QKEY, 16);
	arrived(20, 16, 3);
	printf("dropped: %s\n", why);
}

static void drops(void)
{
	take(20, 16);
	rig_fill(from.mem, 16, 4);
	send_to(receiver->qp_num, OTHER_QKEY, 16);
	send_to(NOBODY, QKEY, 16);
	rig_fill(from.mem, 16, 3);
	send_to(receiver->qp_num, QKEY, 16);
	arrived(20, 16, 3);
	puts("dropped: another Q_Key, and a number of nobody");
	/* Each is handed over before the next: there is no receive for them. */
	for (int i = 0; i < 100; i++)
		send_to(NOBODY, QKEY, 16);
	expect_dropped("a flood to nobody");
}

/* A number with the high bit stands for the Q_Key of the sender. */
static void own_qkey(void)
{
	set_qkey(sender, OTHER_QKEY);
	set_qkey(receiver, OTHER_QKEY);
	take(21, 16);
	rig_fill(from.mem, 16, 2);
	send_to(receiver->qp_num, QKEY, 16); /* is dropped */
	send_to(receiver->qp_num, PRIVILEGED, 16);
	arrived(21, 16, 2);
	set_qkey(sender, QKEY);
	set_qkey(receiver, QKEY);
	puts("a Q_Key with the high bit is that of the sender");
}

static void shared_queue(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_sge sge = side_sge(&to, TARGET, GRH + 16);
	struct ibv_recv_wr wr = {.wr_id = 30, .sg_list = &sge, .num_sge = 1}, *bad;
	struct ibv_qp *own = receiver;
	struct ibv_srq *srq;

	VERB(srq = ibv_create_srq(to.pd, &init));
	receiver = create(&to, srq);
	VERB(ibv_post_srq_recv(srq, &wr, &bad) == 0);
	rig_fill(from.mem, 16, 1);
	send_to(receiver->qp_num, QKEY, 16);
	arrived(30, 16, 1);
	VERB(ibv_destroy_qp(receiver) == 0);
	VERB(ibv_destroy_srq(srq) == 0);
	receiver = own;
	puts("a shared receive queue serves datagrams");
}

/* The sender receives from the other side. */
static void answer_in_sqe(void)
{
	struct ibv_sge sge = side_sge(&to, 0, 16), room = side_sge(&from, TARGET, GRH + 16);
	struct ibv_recv_wr recv = {.wr_id = 55, .sg_list = &room, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr wr, *bad;
	struct ibv_ah *back = handle(&to, &from);

	VERB(ibv_post_recv(sender, &recv, &bad_recv) == 0);
	wr = send_of(&sge, sender->qp_num, QKEY);
	wr.wr.ud.ah = back;
	VERB(ibv_post_send(receiver, &wr, &bad) == 0);
	rig_done(to.cq, 1, IBV_WC_SEND);
	rig_done(from.cq, 55, IBV_WC_RECV);
	VERB(ibv_destroy_ah(back) == 0);
}

/* A Send that fails leads to SQE: those after it are flushed, receives go on, and RTS sends again.
 */
static void local_error(void)
{
	struct ibv_sge sge = side_sge(&from, 0, 16), spoilt = sge;
	struct ibv_send_wr wr[3], *bad;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQE};
	struct ibv_wc wc;

	spoilt.lkey ^= 0x100;
	for (unsigned i = 0; i < 3; i++) {
		wr[i] = send_of(i ? &sge : &spoilt, receiver->qp_num, QKEY);
		wr[i].wr_id = 50 + i;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	VERB(ibv_post_send(sender, wr, &bad) == 0);
	for (unsigned i = 0; i < 3; i++) {
		wc = rig_wc(from.cq);
		VERB(wc.wr_id == 50 + i);
		VERB(wc.status == (i ? IBV_WC_WR_FLUSH_ERR : IBV_WC_LOC_PROT_ERR));
	}
	VERB(sender->state == IBV_QPS_SQE);
	VERB(ibv_post_send(sender, &wr[2], &bad) == 0);
	VERB(rig_wc(from.cq).status == IBV_WC_WR_FLUSH_ERR);
	answer_in_sqe();
	VERB(ibv_modify_qp(sender, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE) == 0);
	take(56, 16);
	rig_fill(from.mem, 16, 7);
	send_to(receiver->qp_num, QKEY, 16);
	arrived(56, 16, 7);
	puts("a Send that fails leads to SQE, and RTS sends again");
}

/* After RESET it goes on with the same number, also from ERR; what waited before is gone. */
static void again(enum ibv_qp_state by)
{
	struct ibv_qp_attr attr = {.qp_state = by};
	const uint32_t num = receiver->qp_num;

	take(40, 16);
	VERB(by == IBV_QPS_RESET || ibv_modify_qp(receiver, &attr, IBV_QP_STATE) == 0);
	attr.qp_state = IBV_QPS_RESET;
	VERB(ibv_modify_qp(receiver, &attr, IBV_QP_STATE) == 0);
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};
	VERB(ibv_modify_qp(receiver, &attr,
			   IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY) == 0);
	attr.qp_state = IBV_QPS_RTR;
	VERB(ibv_modify_qp(receiver, &attr, IBV_QP_STATE) == 0);
	take(41, 16);
	rig_fill(from.mem, 16, 9);
	send_to(num, QKEY, 16);
	arrived(41, 16, 9);
	VERB(receiver->qp_num == num);
	puts("after RESET a queue pair has its number, and receives again");
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	VERB(argc == 3);
	side_open(&from, (unsigned)atoi(argv[1]));
	side_open(&to, (unsigned)atoi(argv[2]));
	sender = create(&from, NULL);
	receiver = create(&to, NULL);
	ah = handle(&from, &to);
	VERB(sender->qp_num != receiver->qp_num);
	sizes();
	too_long();
	immediate();
	by_lid();
	extended();
	answer();
	drops();
	own_qkey();
	shared_queue();
	local_error();
	again(IBV_QPS_RESET);
	again(IBV_QPS_RESET);
	again(IBV_QPS_ERR);
	VERB(ibv_destroy_ah(ah) == 0);
	VERB(ibv_destroy_qp(sender) == 0);
	VERB(ibv_destroy_qp(receiver) == 0);
	side_close(&from);
	side_close(&to);
	return 0;
}
