/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for libibverbs at two devices. Promise: a queue pair for datagrams (UD) has a number of
 * its own, takes receives, and refuses work that is not its own; an address handle is made for
 * addresses that a datagram can go to, and for no other; 10,000 of them take at most 10 MB. An
 * iWARP device has neither.
 *
 *   verbs_datagrams      exit status 0 if it held
 */
#include <endian.h>
#include <errno.h>
#include <malloc.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/verbs_rig.h"

enum { HANDLES = 10000, HANDLES_BYTES = 10 << 20, QPS = 300, QKEY = 0x11111111 };

static struct side a, b;

static struct ibv_qp *create(struct side *s)
{
	struct ibv_qp_init_attr init = side_init(s);
	struct ibv_qp *qp;

	init.qp_type = IBV_QPT_UD;
	VERB(qp = ibv_create_qp(s->pd, &init));
	VERB(qp->qp_type == IBV_QPT_UD && qp->state == IBV_QPS_RESET);
	return qp;
}

static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};

	VERB(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY) == 0);
	attr.qp_state = IBV_QPS_RTR;
	VERB(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0);
	attr.qp_state = IBV_QPS_RTS;
	VERB(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
}

/* ---- numbers ---- */

/* Of datagrams and of connections: each number is of one queue pair. */
static void numbers(void)
{
	static struct ibv_qp *qp[QPS];

	for (unsigned i = 0; i < QPS; i++) {
		struct ibv_qp_init_attr init = side_init(&b);

		VERB(qp[i] = i % 3 ? create(&b) : ibv_create_qp(b.pd, &init));
		VERB(qp[i]->qp_num > 1 && qp[i]->qp_num < 1 << 24);
		for (unsigned k = 0; k < i; k++)
			VERB(qp[k]->qp_num != qp[i]->qp_num);
	}
	for (unsigned i = 0; i < QPS; i++)
		VERB(ibv_destroy_qp(qp[i]) == 0);
	puts("numbers differ");
}

/* ---- work ---- */

static void work(void)
{
	struct ibv_sge sge = side_sge(&b, 0, 64);
	struct ibv_recv_wr recv = {.wr_id = 1, .sg_list = &sge, .num_sge = 1}, *bad_recv;
	static const enum ibv_wr_opcode of_connections[] = {
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_SEND_WITH_INV,
		IBV_WR_LOCAL_INV,
		IBV_WR_BIND_MW,
	};
	struct ibv_qp *qp = create(&b);
	struct ibv_wc wc;

	to_rts(qp);
	VERB(ibv_post_recv(qp, &recv, &bad_recv) == 0);
	for (unsigned i = 0; i < sizeof(of_connections) / sizeof(of_connections[0]); i++) {
		struct ibv_send_wr wr = {.opcode = of_connections[i]}, *bad = NULL;

		VERB(ibv_post_send(qp, &wr, &bad) == EINVAL && bad == &wr);
	}
	VERB(ibv_poll_cq(b.cq, 1, &wc) == 0);
	VERB(ibv_destroy_qp(qp) == 0);
	puts("work of connections is refused");
}

/* ---- extended queue pairs ---- */

static struct ibv_qp *create_ex(uint64_t ops)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = b.cq,
		.recv_cq = b.cq,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = b.pd,
		.send_ops_flags = ops,
	};

	errno = 0;
	return ibv_create_qp_ex(b.ctx, &init);
}

static void operations(void)
{
	const uint64_t sends = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	struct ibv_qp *qp;

	for (uint64_t op = 1; op <= IBV_QP_EX_WITH_ATOMIC_WRITE; op <<= 1) {
		qp = create_ex(op);
		VERB(qp ? op & sends : !(op & sends) && errno == EOPNOTSUPP);
		if (qp)
			VERB(ibv_destroy_qp(qp) == 0);
	}
	puts("extended queue pairs have Sends alone");
}

/* ---- address handles ---- */

static struct ibv_ah_attr to(const struct side *s)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = {.dgid = s->gid, .hop_limit = 64},
	};
}

static void refuse(const struct ibv_ah_attr *attr, int err)
{
	struct ibv_ah_attr copy = *attr;

	errno = 0;
	VERB(!ibv_create_ah(b.pd, &copy) && errno == err);
}

static void refuse_gid(const uint8_t raw[16], int err)
{
	struct ibv_ah_attr attr = to(&a);

	memcpy(attr.grh.dgid.raw, raw, 16);
	refuse(&attr, err);
}

static void bad_handles(void)
{
	static const uint8_t any4[16] = {[10] = 0xff, [11] = 0xff}, any6[16] = {0},
			     multicast4[16] = {[10] = 0xff, 0xff, 224, 0, 0, 1},
			     multicast6[16] = {0xff, 0x0e, [15] = 1},
			     other_family[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 1};
	struct ibv_ah_attr attr = to(&a);

	attr.port_num = 2;
	refuse(&attr, EINVAL);
	attr = to(&a);
	attr.is_global = 0; /* and no LID */
	refuse(&attr, EINVAL);
	attr = to(&a);
	attr.grh.sgid_index = 200;
	refuse(&attr, EINVAL);
	refuse_gid(any4, EINVAL);
	refuse_gid(any6, EINVAL);
	refuse_gid(multicast4, EOPNOTSUPP);
	refuse_gid(multicast6, EOPNOTSUPP);
	refuse_gid(other_family, EINVAL);
	puts("handles of no address are refused");
}

static void many_handles(void)
{
	static struct ibv_ah *ah[HANDLES];
	struct ibv_ah_attr attr = to(&b);
	size_t before = mallinfo2().uordblks;

	for (unsigned i = 0; i < HANDLES; i++) {
		VERB(ah[i] = ibv_create_ah(b.pd, &attr));
		VERB(ah[i]->pd == b.pd && ah[i]->context == b.ctx);
	}
	VERB(mallinfo2().uordblks - before <= HANDLES_BYTES);
	for (unsigned i = 0; i < HANDLES; i++)
		VERB(ibv_destroy_ah(ah[i]) == 0);
	puts("10,000 handles fit into 10 MB");
}

/* A completion with its 40 bytes leads to the sender. */
static void handle_of_sender(void)
{
	struct ibv_wc wc = {.wc_flags = IBV_WC_GRH, .src_qp = 7};
	struct ibv_grh grh = {.sgid = a.gid,
			      .dgid = b.gid,
			      .version_tclass_flow = htobe32(6u << 28 | 5u << 20 | 9)};
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;

	VERB(ibv_init_ah_from_wc(b.ctx, 1, &wc, &grh, &attr) == 0);
	VERB(attr.is_global && attr.port_num == 1 && attr.grh.sgid_index == 0);
	VERB(memcmp(&attr.grh.dgid, &a.gid, sizeof(a.gid)) == 0);
	VERB(attr.grh.traffic_class == 5 && attr.grh.flow_label == 9);
	VERB(ah = ibv_create_ah_from_wc(b.pd, &wc, &grh, 1));
	VERB(ibv_destroy_ah(ah) == 0);
	grh.dgid = a.gid; /* was not for this device */
	VERB(ibv_init_ah_from_wc(b.ctx, 1, &wc, &grh, &attr) == -1);
	VERB(!ibv_create_ah_from_wc(b.pd, &wc, &grh, 1));
	puts("a completion leads to its sender");
}

/* ---- what is not possible ---- */

static void multicast(void)
{
	struct ibv_qp *qp = create(&b);

	VERB(ibv_attach_mcast(qp, &a.gid, 0) == EOPNOTSUPP);
	VERB(ibv_detach_mcast(qp, &a.gid, 0) == EOPNOTSUPP);
	VERB(ibv_destroy_qp(qp) == 0);
}

/* Ids of connections have none; those of RDMA_PS_UDP do: verbs_udp.c. */
static void of_id(void)
{
	struct ibv_qp_init_attr init = side_init(&b);
	struct rdma_event_channel *channel;
	struct sockaddr_in own = {.sin_family = AF_INET};
	struct rdma_cm_id *id;

	memcpy(&own.sin_addr, b.gid.raw + 12, sizeof(own.sin_addr));
	VERB(channel = rdma_create_event_channel());
	VERB(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_bind_addr(id, (struct sockaddr *)&own) == 0 && id->verbs);
	init.qp_type = IBV_QPT_UD;
	VERB(rdma_create_qp(id, NULL, &init) == -1 && errno == EINVAL);
	VERB(rdma_destroy_id(id) == 0);
	rdma_destroy_event_channel(channel);
	puts("ids and multicast refuse");
}

static void iwarp(void)
{
	struct ibv_qp_init_attr init = side_init(&b);
	struct rdma_event_channel *channel;
	struct ibv_ah_attr attr = to(&a);
	struct rdma_cm_id *id;

	init.qp_type = IBV_QPT_UD;
	VERB(!ibv_create_qp(b.pd, &init) && errno == EOPNOTSUPP);
	refuse(&attr, EOPNOTSUPP);
	VERB(channel = rdma_create_event_channel());
	VERB(rdma_create_id(channel, &id, NULL, RDMA_PS_UDP) == -1 && errno == EOPNOTSUPP);
	rdma_destroy_event_channel(channel);
	puts("an iWARP device has no datagrams");
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	side_open(&a, 0);
	side_open(&b, 1);
	if (a.ctx->device->transport_type == IBV_TRANSPORT_IWARP) {
		iwarp();
	} else {
		numbers();
		work();
		operations();
		bad_handles();
		many_handles();
		handle_of_sender();
		multicast();
		of_id();
	}
	side_close(&a);
	side_close(&b);
	return 0;
}
