/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * echo_clients [ADDRESS [CLIENTS [PORT]]]
 *
 * Many sessions with an echo_server, in one thread, by ddp_wait(): no descriptors, no epoll. Each
 * sends 100 messages, the next one after the echo of the last one.
 *
 *	cc echo_clients.c -lddpclient -o echo_clients
 */
#include <ddp/ddp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLIENTS = 64, ROUNDS = 100, SLOT = 1024, PORT = 5043 };

/* A session, with memory for the message that it sends and for its echo. */
struct client {
	struct ddp_id *id;
	struct ddp_qp *qp;
	unsigned round;
	char *message, *answer;
};

static struct ddp_ctx *ctx;
static struct ddp_pd *pd;
static struct ddp_cq *cq;
static struct ddp_mr *mr;
static unsigned wrong;

static void fail(const char *what, const char *reason)
{
	fprintf(stderr, "echo_clients: %s: %s\n", what, reason);
	exit(1);
}

/* Every call returns 0 or more, or a negative errno value; ddp_last_reason() says why. */
static int check(int r)
{
	if (r < 0)
		fail("failed", ddp_last_reason());
	return r;
}

static struct ddp_sge part(const char *p, size_t length)
{
	return (struct ddp_sge){mr->iova + (uint64_t)(p - (const char *)mr->addr), (uint32_t)length,
				mr->lkey};
}

/* 1. The objects that all sessions share: a completion queue with room for all of them. */
static void set_up(unsigned clients)
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);

	check(ddp_open(NULL, &ctx));
	check(ddp_alloc_pd(ctx, &pd));
	attr.entries = 4 * clients;
	attr.spin_us = -1;
	check(ddp_create_cq(ctx, &attr, &cq));
	check(ddp_alloc_mr(pd, (size_t)clients * 2 * SLOT, DDP_ACCESS_LOCAL_WRITE, &mr));
}

/* 2. The user of the id leads from events and completions to the client. */
static void start(struct client *c, unsigned number, const char *address, uint16_t port)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	c->message = (char *)mr->addr + (size_t)number * 2 * SLOT;
	c->answer = c->message + SLOT;
	check(ddp_create_id(ctx, c, &c->id));
	init.send_cq = init.recv_cq = cq;
	init.max_send_wr = init.max_recv_wr = 2;
	check(ddp_create_qp(c->id, pd, &init, &c->qp));
	check(ddp_connect_name(c->id, address, port, NULL));
}

/* 3. The receive for the echo is posted before the message. */
static void send_next(struct client *c)
{
	size_t length = (size_t)snprintf(c->message, SLOT, "round %u of %p", c->round, (void *)c);
	struct ddp_sge from = part(c->message, length), into = part(c->answer, SLOT);
	struct ddp_recv_wr recv = {.sg_list = &into, .num_sge = 1};
	struct ddp_send_wr send = {.sg_list = &from, .num_sge = 1};

	check(ddp_post_recv(c->qp, &recv, NULL));
	check(ddp_post_send(c->qp, &send, NULL));
}

/* 4. Sends complete without a completion here, unless they fail; the echo says that all is well. */
static void on_completion(const struct ddp_wc *wc)
{
	struct ddp_id *id = ddp_find_id(ctx, wc->qp_num);
	struct client *c = id ? ddp_id_user(id) : NULL;
	char reason[256];

	if (!c)
		return;
	if (wc->status != DDP_WC_SUCCESS) {
		ddp_explain(wc, reason, sizeof(reason));
		fail(ddp_wc_status_str(wc->status), reason);
	}
	if (wc->byte_len != strlen(c->message) || memcmp(c->message, c->answer, wc->byte_len) != 0)
		wrong++;
	if (++c->round < ROUNDS)
		send_next(c);
	else
		check(ddp_disconnect(c->id));
}

/* Returns how many sessions have ended. */
static unsigned on_event(struct ddp_cm_event *ev)
{
	struct client *c = ddp_id_user(ev->id);

	if (ev->type == DDP_CM_ESTABLISHED)
		send_next(c);
	else if (ev->type != DDP_CM_DISCONNECTED && ev->type != DDP_CM_PATH)
		fail(ddp_event_str(ev->type), ev->reason);
	if (ev->type != DDP_CM_DISCONNECTED) {
		ddp_ack_cm_event(ev);
		return 0;
	}
	if (ev->err)
		fail("a session failed", ev->reason);
	ddp_ack_cm_event(ev);
	check(ddp_destroy_qp(c->qp));
	check(ddp_destroy_id(c->id));
	return 1;
}

int main(int argc, char **argv)
{
	const char *address = argc > 1 ? argv[1] : "127.0.0.1";
	unsigned clients = argc > 2 ? (unsigned)atoi(argv[2]) : CLIENTS, ended = 0;
	uint16_t port = argc > 3 ? (uint16_t)atoi(argv[3]) : PORT;
	struct client *all = calloc(clients, sizeof(*all));

	if (!all || clients == 0)
		fail("clients", "expected one or more");
	set_up(clients);
	for (unsigned i = 0; i < clients; i++)
		start(&all[i], i, address, port);

	/* 5. The whole loop. */
	while (ended < clients) {
		struct ddp_cm_event *ev;
		struct ddp_wc wc[16];
		int n = check(ddp_wait(cq, 16, wc, &ev, -1));

		for (int i = 0; i < n; i++)
			on_completion(&wc[i]);
		if (ev)
			ended += on_event(ev);
	}
	printf("%u clients, %d messages each, %u wrong\n", clients, ROUNDS, wrong);
	check(ddp_dereg_mr(mr));
	check(ddp_destroy_cq(cq));
	check(ddp_dealloc_pd(pd));
	check(ddp_close(ctx));
	free(all);
	return wrong != 0;
}
