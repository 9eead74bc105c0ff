/* SPDX-License-Identifier: BSD-2-Clause */
/* Sides and their work. Who waits for one side looks at the other one, too: the fault may be there.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "tests/faults/verbs.h"

struct side side[2];

/* ---- undoing ---- */

static int undo_device(void *ctx)
{
	return -ibv_close_device(ctx);
}
static int undo_pd(void *pd)
{
	return -ibv_dealloc_pd(pd);
}
static int undo_channel(void *channel)
{
	return -ibv_destroy_comp_channel(channel);
}
static int undo_cq(void *cq)
{
	return -ibv_destroy_cq(cq);
}
static int undo_mr(void *mr)
{
	return -ibv_dereg_mr(mr);
}
static int undo_memory(void *mem)
{
	free(mem);
	return 0;
}

/* ---- objects ---- */

void side_clear(void)
{
	memset(side, 0, sizeof(side));
}

/* The first device is that of the first socket, the second one that of another. */
struct ibv_device *side_device(const struct program *p, int i, struct ibv_device **list)
{
	return list[i && strcmp(p->socket[0], p->socket[1]) != 0];
}

static int undo_list(void *list)
{
	ibv_free_device_list(list);
	return 0;
}

void side_open(const struct program *p, int i)
{
	struct ibv_device **list;
	int n = 0;

	VERB(list = ibv_get_device_list(&n));
	later(undo_list, list);
	if (n != 2)
		give_up("%d devices", n);
	VERB(side[i].ctx = ibv_open_device(side_device(p, i, list)));
	now(list);
	later(undo_device, side[i].ctx);
	fcntl(side[i].ctx->async_fd, F_SETFL, O_NONBLOCK);
	side_objects(i, side[i].ctx);
}

void side_objects(int i, struct ibv_context *ctx)
{
	const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
	struct side *s = &side[i];

	s->ctx = ctx;
	VERB(s->pd = ibv_alloc_pd(ctx));
	later(undo_pd, s->pd);
	VERB(s->channel = ibv_create_comp_channel(ctx));
	later(undo_channel, s->channel);
	VERB(s->cq = ibv_create_cq(ctx, 8 * DEPTH, NULL, s->channel, 0));
	later(undo_cq, s->cq);
	if (!(s->mem = aligned_alloc(4096, SIZE)))
		give_up("no memory");
	memset(s->mem, i, SIZE);
	later(undo_memory, s->mem);
	VERB(s->mr = ibv_reg_mr(s->pd, s->mem, SIZE, all));
	later(undo_mr, s->mr);
}

struct ibv_qp_init_attr side_init(int i)
{
	return (struct ibv_qp_init_attr){
		.send_cq = side[i].cq,
		.recv_cq = side[i].cq,
		.srq = side[i].srq,
		.cap = {DEPTH, side[i].srq ? 0 : DEPTH, 4, side[i].srq ? 0 : 4, 64},
		.qp_type = IBV_QPT_RC,
	};
}

/* ---- work ---- */

void side_fatal(int ms)
{
	struct pollfd fds[2] = {{.fd = -1}, {.fd = -1}};
	struct ibv_async_event ev;

	for (int i = 0; i < 2; i++)
		if (side[i].ctx)
			fds[i] = (struct pollfd){.fd = side[i].ctx->async_fd, .events = POLLIN};
	poll(fds, 2, ms);
	for (int i = 0; i < 2; i++)
		if (fds[i].revents && ibv_get_async_event(side[i].ctx, &ev) == 0) {
			ibv_ack_async_event(&ev);
			give_up("event %s", ibv_event_type_str(ev.event_type));
		}
}

void side_event(int i, enum ibv_event_type type)
{
	struct pollfd p = {.fd = side[i].ctx->async_fd, .events = POLLIN};
	struct ibv_async_event ev;

	if (poll(&p, 1, WAIT_MS) != 1)
		complain("no event %s", ibv_event_type_str(type));
	VERB(ibv_get_async_event(side[i].ctx, &ev) == 0);
	ibv_ack_async_event(&ev);
	if (ev.event_type != type)
		give_up("event %s", ibv_event_type_str(ev.event_type));
}

void side_done(int i, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc;

	for (int ms = 0; ms < WAIT_MS; ms++) {
		int n = ibv_poll_cq(side[i].cq, 1, &wc);

		VERB(n >= 0);
		if (n == 1) {
			if (wc.status != IBV_WC_SUCCESS)
				give_up("%s", ibv_wc_status_str(wc.status));
			if (wc.opcode != opcode)
				complain("opcode %d instead of %d", (int)wc.opcode, (int)opcode);
			return;
		}
		side_fatal(1);
	}
	complain("no completion of opcode %d", (int)opcode);
}

void side_flushed(int i)
{
	struct ibv_wc wc;

	for (int ms = 0; ms < WAIT_MS; ms++) {
		int n = ibv_poll_cq(side[i].cq, 1, &wc);

		VERB(n >= 0);
		if (n == 1 && wc.status == IBV_WC_SUCCESS)
			complain("success of what the peer has refused");
		if (n == 1)
			return;
		poll(NULL, 0, 1);
	}
	complain("no completion of what the peer has refused");
}

void side_post(int i, struct ibv_send_wr wr, uint32_t len)
{
	struct ibv_sge sge = {(uintptr_t)side[i].mem, len, side[i].mr->lkey};
	struct ibv_send_wr *bad;

	if (len) {
		wr.sg_list = &sge;
		wr.num_sge = 1;
	}
	wr.send_flags |= IBV_SEND_SIGNALED;
	VERB(ibv_post_send(side[i].qp, &wr, &bad) == 0);
}

void side_recv(int i, uint32_t len)
{
	struct ibv_sge sge = {(uintptr_t)side[i].mem + SIZE / 2, len, side[i].mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	if (side[i].srq)
		VERB(ibv_post_srq_recv(side[i].srq, &wr, &bad) == 0);
	else
		VERB(ibv_post_recv(side[i].qp, &wr, &bad) == 0);
}

void side_send(int from, uint32_t len)
{
	side_recv(!from, len);
	side_post(from, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, len);
	side_done(from, IBV_WC_SEND);
	side_done(!from, IBV_WC_RECV);
}

void side_reach(int from, enum ibv_wr_opcode opcode, enum ibv_wc_opcode done, uint32_t len)
{
	const struct side *to = &side[!from];
	struct ibv_send_wr wr = {.opcode = opcode};

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = (uintptr_t)to->mem;
		wr.wr.atomic.rkey = to->mr->rkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)to->mem;
		wr.wr.rdma.rkey = to->mr->rkey;
	}
	side_post(from, wr, len);
	side_done(from, done);
}
