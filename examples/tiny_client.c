/* SPDX-License-Identifier: BSD-2-Clause */
/* The smallest program that sends a message, to hello_server. */
#include <ddp/ddp.h>
#include <stdio.h>

/* All calls return a negative errno value on failure; ddp_last_reason() says why. */
#define OK(call)                                                                                   \
	do {                                                                                       \
		if ((call) < 0)                                                                    \
			return fprintf(stderr, "%s\n", ddp_last_reason()), 1;                      \
	} while (0)

int main(int argc, char **argv)
{
	struct ddp_cq_attr cq_attr = {.struct_size = sizeof(cq_attr), .entries = 4, .spin_us = -1};
	struct ddp_qp_init qp_init = DDP_INIT(ddp_qp_init);
	struct ddp_cm_event *ev;
	struct ddp_ctx *ctx;
	struct ddp_pd *pd;
	struct ddp_mr *mr;
	struct ddp_cq *cq;
	struct ddp_id *id;
	struct ddp_qp *qp;
	struct ddp_wc wc;
	char text[256];

	OK(ddp_open(NULL, &ctx));   /* the daemon of this host */
	OK(ddp_alloc_pd(ctx, &pd)); /* a protection domain */
	OK(ddp_alloc_mr(pd, 4096, DDP_ACCESS_LOCAL_WRITE,
			&mr));                 /* memory, shared with the daemon */
	OK(ddp_create_cq(ctx, &cq_attr, &cq)); /* completion queue */
	qp_init.send_cq = qp_init.recv_cq = cq;
	OK(ddp_create_id(ctx, NULL, &id));
	OK(ddp_create_qp(id, pd, &qp_init, &qp)); /* queue pair */

	struct ddp_sge sge = {mr->iova, (uint32_t)mr->length, mr->lkey};
	struct ddp_recv_wr recv = {.sg_list = &sge, .num_sge = 1};
	OK(ddp_post_recv(qp, &recv, NULL)); /* for the message of the server */

	OK(ddp_connect_name(id, argc > 1 ? argv[1] : "127.0.0.1", 5043, NULL));
	OK(ddp_get_cm_event(ctx, &ev, -1));
	if (ev->type != DDP_CM_ESTABLISHED)
		return fprintf(stderr, "%s: %s\n", ddp_event_str(ev->type), ev->reason), 1;
	ddp_ack_cm_event(ev);
	OK(ddp_wait_cq(cq, 1, &wc, -1));

	sge.length = (uint32_t)sprintf(mr->addr, "Hello, world!") + 1;
	struct ddp_send_wr send = {.sg_list = &sge, .num_sge = 1, .send_flags = DDP_SEND_SIGNALED};
	OK(ddp_post_send(qp, &send, NULL));
	OK(ddp_wait_cq(cq, 1, &wc, -1));
	ddp_explain(&wc, text, sizeof(text));
	puts(text); /* "Send completed" */
	return wc.status != DDP_WC_SUCCESS;
}
