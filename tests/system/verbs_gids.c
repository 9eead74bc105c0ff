/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for libibverbs and librdmacm. Promise: each address of a daemon is a GID of its device,
 * and each GID is of use: queue pairs connect from it to that of the other device at the same
 * index, datagrams go there, and rdma_cm binds to it and leads to it.
 *
 *   verbs_gids FROM TO ADDRESS...    numbers of devices, whose tables have the same families in the
 *                                    same order, and the addresses of TO, but for those of the
 *                                    loopback; exit status 0 if it held
 */
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/verbs_rig.h"

enum {
	GRH = 40,
	QKEY = 0x11111111,
	PORT = 4712,
};

static struct side from, to;

static union ibv_gid gid_at(const struct side *s, int index)
{
	union ibv_gid ret;

	VERB(ibv_query_gid(s->ctx, 1, index, &ret) == 0);
	return ret;
}

/* From the GID of this index to the other one's. */
static struct ibv_ah_attr way_to(const struct side *peer, int index)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = {.dgid = gid_at(peer, index), .sgid_index = (uint8_t)index, .hop_limit = 1},
	};
}

/* ---- queue pairs ---- */

static void to_rtr(struct pair *p, int end, int index)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = p->qp[!end]->qp_num,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = way_to(p->side[!end], index),
	};

	VERB(ibv_modify_qp(p->qp[end], &attr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER) == 0);
}

static void connect_at(int index)
{
	struct pair p = {.side = {&from, &to}};

	for (int i = 0; i < 2; i++) {
		struct ibv_qp_init_attr init = side_init(p.side[i]);

		VERB(p.qp[i] = ibv_create_qp(p.side[i]->pd, &init));
		rig_to_init(p.qp[i]);
	}
	for (int i = 0; i < 2; i++)
		to_rtr(&p, i, index);
	for (int i = 0; i < 2; i++)
		rig_to_rts(p.qp[i], 7);
	pair_send(&p, 0, 3000, 1);
	pair_send(&p, 1, 3000, 2);
	pair_close(&p);
}

/* ---- datagrams ---- */

static struct ibv_qp *datagram_qp(struct side *s)
{
	struct ibv_qp_init_attr init = side_init(s);
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};
	struct ibv_qp *qp;

	init.qp_type = IBV_QPT_UD;
	VERB(qp = ibv_create_qp(s->pd, &init));
	VERB(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY) == 0);
	attr.qp_state = IBV_QPS_RTR;
	VERB(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0);
	attr.qp_state = IBV_QPS_RTS;
	VERB(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
	return qp;
}

static void datagram_at(int index)
{
	struct ibv_qp *sender = datagram_qp(&from), *receiver = datagram_qp(&to);
	struct pair p = {.side = {&from, &to}, .qp = {sender, receiver}};
	struct ibv_ah_attr attr = way_to(&to, index);
	struct ibv_sge sge = side_sge(&from, 0, 500);
	struct ibv_send_wr wr = {.wr_id = 3, .opcode = IBV_WR_SEND};
	const struct ibv_grh *grh = (const void *)to.mem;
	const union ibv_gid source = gid_at(&from, index);

	VERB(wr.wr.ud.ah = ibv_create_ah(from.pd, &attr));
	wr.wr.ud.remote_qpn = receiver->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	post_recv(&p, 1, 4, 0, GRH + 500);
	rig_fill(from.mem, 500, 3);
	VERB(post(&p, 0, &wr, &sge) == 0);
	rig_done(from.cq, 3, IBV_WC_SEND);
	rig_done(to.cq, 4, IBV_WC_RECV);
	rig_same(to.mem + GRH, 500, 3);
	VERB(memcmp(&grh->sgid, &source, sizeof(source)) == 0);
	VERB(ibv_destroy_ah(wr.wr.ud.ah) == 0);
	pair_close(&p);
}

/* ---- addresses ---- */

static struct sockaddr_storage parse(const char *text)
{
	struct addrinfo want = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *got;
	struct sockaddr_storage ret = {0};

	VERB(getaddrinfo(text, NULL, &want, &got) == 0);
	memcpy(&ret, got->ai_addr, got->ai_addrlen);
	freeaddrinfo(got);
	((struct sockaddr_in *)&ret)->sin_port = htons(PORT); /* at the same place for IPv6 */
	return ret;
}

static bool has_gid(const struct sockaddr_storage *a, int n)
{
	const void *bytes = a->ss_family == AF_INET6
				    ? (const void *)&((const struct sockaddr_in6 *)a)->sin6_addr
				    : (const void *)&((const struct sockaddr_in *)a)->sin_addr;
	const size_t len = a->ss_family == AF_INET6 ? 16 : 4;

	for (int i = 0; i < n; i++) {
		union ibv_gid gid = gid_at(&to, i);

		if (memcmp(gid.raw + 16 - len, bytes, len) == 0)
			return true;
	}
	return false;
}

static void bind_and_find(const char *text)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct sockaddr_storage a = parse(text);
	struct rdma_cm_id *server, *client;
	struct rdma_cm_event *ev;

	VERB(ch && rdma_create_id(ch, &server, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_create_id(ch, &client, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_bind_addr(server, (struct sockaddr *)&a) == 0 && server->verbs);
	VERB(rdma_listen(server, 1) == 0);
	VERB(rdma_resolve_addr(client, NULL, (struct sockaddr *)&a, 1000) == 0);
	VERB(rdma_get_cm_event(ch, &ev) == 0 && ev->event == RDMA_CM_EVENT_ADDR_RESOLVED);
	VERB(rdma_ack_cm_event(ev) == 0);
	VERB(rdma_destroy_id(client) == 0 && rdma_destroy_id(server) == 0);
	rdma_destroy_event_channel(ch);
}

int main(int argc, char **argv)
{
	struct ibv_port_attr port;

	setvbuf(stdout, NULL, _IOLBF, 0);
	VERB(argc > 3);
	side_open(&from, (unsigned)atoi(argv[1]));
	side_open(&to, (unsigned)atoi(argv[2]));
	VERB(ibv_query_port(to.ctx, 1, &port) == 0);
	VERB(port.gid_tbl_len >= argc - 3);
	for (int i = 0; i < argc - 3; i++) {
		struct sockaddr_storage a = parse(argv[3 + i]);

		VERB(has_gid(&a, argc - 3));
		bind_and_find(argv[3 + i]);
		connect_at(i);
		datagram_at(i);
	}
	printf("%d addresses are GIDs, and each is of use\n", argc - 3);
	side_close(&from);
	side_close(&to);
	return 0;
}
