/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/system/side.h"

#include <arpa/inet.h>
#include <string.h>

struct side a, b;

struct ddp_qp_init side_init(const struct side *s)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	init.qp_type = DDP_QP_DATAGRAM;
	init.send_cq = init.recv_cq = s->e.cq;
	init.max_send_wr = SIDE_SENDS;
	init.max_recv_wr = RIG_DEPTH;
	init.max_send_sge = init.max_recv_sge = 3;
	init.max_inline = 64;
	init.qkey = SIDE_QKEY;
	return init;
}

void side_open(struct side *s, const char *name, const char *socket, const char *address)
{
	struct ddp_qp_init init;

	end_open(&s->e, name, socket);
	s->at = (struct sockaddr_in){.sin_family = AF_INET};
	if (inet_pton(AF_INET, address, &s->at.sin_addr) != 1)
		fail("%s is not an address", address);
	init = side_init(s);
	MUST(ddp_create_qp(NULL, s->e.pd, &init, &s->qp));
	s->num = ddp_qp_num(s->qp);
}

struct ddp_ah *side_handle(const struct side *s, const struct side *to)
{
	struct ddp_ah *ah;

	MUST(ddp_create_ah(s->e.pd, (const struct sockaddr *)&to->at, NULL, &ah));
	return ah;
}

void side_recv(struct side *s, size_t offset, uint32_t len)
{
	struct ddp_sge sge = end_sge(&s->e, offset, len);
	struct ddp_recv_wr wr = {.wr_id = offset, .sg_list = &sge, .num_sge = 1};

	MUST(ddp_post_recv(s->qp, &wr, NULL));
}

struct ddp_send_wr side_to(const struct side *s, uint32_t num)
{
	return (struct ddp_send_wr){.opcode = DDP_WR_SEND,
				    .send_flags = DDP_SEND_SIGNALED,
				    .ud = {s->to, num, SIDE_QKEY}};
}

void side_send(struct side *s, struct ddp_send_wr wr, uint32_t len)
{
	struct ddp_sge sge = end_sge(&s->e, 0, len);

	if (!wr.sg_list) {
		wr.sg_list = &sge;
		wr.num_sge = 1;
	}
	MUST(ddp_post_send(s->qp, &wr, NULL));
	end_done(&s->e, DDP_WC_SEND, DDP_WC_SUCCESS);
}

static void expect_grh(const uint8_t *grh, const struct side *from, const struct side *at,
		       uint32_t len)
{
	uint8_t want[DDP_GRH_LEN] = {0x60, [6] = 0x1b, [7] = 255};

	want[4] = (uint8_t)(len >> 8);
	want[5] = (uint8_t)len;
	want[18] = want[19] = want[34] = want[35] = 0xff;
	memcpy(want + 20, &from->at.sin_addr, 4);
	memcpy(want + 36, &at->at.sin_addr, 4);
	same("the addresses before them", grh, want, sizeof(want));
}

struct ddp_wc side_arrived(struct side *s, const struct side *from, uint32_t len)
{
	struct ddp_wc wc = end_done(&s->e, DDP_WC_RECV, DDP_WC_SUCCESS);

	is("the length of the receive", wc.byte_len, DDP_GRH_LEN + len);
	is("the sender's number", wc.src_qp, from->num);
	is("the receiver's number", wc.qp_num, s->num);
	same("its bytes", end_at(&s->e, wc.wr_id) + DDP_GRH_LEN, end_at(&from->e, 0), len);
	expect_grh(end_at(&s->e, wc.wr_id), from, s, len);
	return wc;
}

void side_close(struct side *s)
{
	MUST(ddp_destroy_ah(s->to));
	MUST(ddp_destroy_qp(s->qp));
	end_close(&s->e);
}
