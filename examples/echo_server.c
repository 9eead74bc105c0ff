/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * echo_server [PORT]
 *
 * Returns each message to its sender, for any number of clients, until SIGTERM or Ctrl-C: one
 * thread, one shared receive queue, and epoll for completions, events and signals. echo_clients.c
 * are its clients.
 *
 *	cc echo_server.c -lddpclient -o echo_server
 */
#include <ddp/ddp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

/* A slot is memory for a message. It is in the shared queue, or holds a message until the message
 * has been sent back. */
enum { SLOTS = 256, SLOT = 1024, FIRST_SLOTS = 64, SENT = 1 << 16, PORT = 5043 };

static struct ddp_ctx *ctx;
static struct ddp_pd *pd;
static struct ddp_cq *cq;
static struct ddp_srq *srq;
static struct ddp_mr *mr;
static struct ddp_id *listener;
static unsigned slots, sessions, most;
static unsigned long long messages;

static void fail(const char *what, const char *reason)
{
	fprintf(stderr, "echo_server: %s: %s\n", what, reason);
	exit(1);
}

/* Every call returns 0 or more, or a negative errno value; ddp_last_reason() says why. */
static int check(int r)
{
	if (r < 0)
		fail("failed", ddp_last_reason());
	return r;
}

/* ---- receives ---- */

static void post_slot(uint64_t slot)
{
	struct ddp_sge sge = {mr->iova + slot * SLOT, SLOT, mr->lkey};
	struct ddp_recv_wr recv = {.wr_id = slot, .sg_list = &sge, .num_sge = 1};

	check(ddp_post_srq_recv(srq, &recv, NULL));
}

/* 1. More slots if there are, and an event when fewer than a quarter of them are left. */
static void add_slots(void)
{
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);

	for (unsigned i = 0; i < FIRST_SLOTS && slots < SLOTS; i++)
		post_slot(slots++);
	attr.limit = slots < SLOTS ? slots / 4 : 0;
	check(ddp_modify_srq(srq, &attr, DDP_SRQ_LIMIT));
}

/* 2. The objects that all clients share. While the clients send faster than this program answers,
 * their messages wait in the hold of their sessions, for at most 10 s. */
static void set_up(uint16_t port)
{
	struct ddp_srq_attr srq_attr = DDP_INIT(ddp_srq_attr);
	struct ddp_cq_attr cq_attr = DDP_INIT(ddp_cq_attr);

	check(ddp_open(NULL, &ctx));
	check(ddp_alloc_pd(ctx, &pd));
	cq_attr.entries = 4096;
	check(ddp_create_cq(ctx, &cq_attr, &cq));
	srq_attr.max_wr = SLOTS;
	srq_attr.hold_bytes = 64 * SLOT;
	srq_attr.hold_ms = 10000;
	check(ddp_create_srq(pd, &srq_attr, &srq));
	check(ddp_alloc_mr(pd, (size_t)SLOTS * SLOT, DDP_ACCESS_LOCAL_WRITE, &mr));
	add_slots();
	check(ddp_create_id(ctx, NULL, &listener));
	check(ddp_listen(listener, NULL, port, 0));
}

/* ---- completions ---- */

/* 3. Sends a message back from where it is. */
static void echo(const struct ddp_wc *wc)
{
	struct ddp_sge sge = {mr->iova + wc->wr_id * SLOT, wc->byte_len, mr->lkey};
	struct ddp_send_wr wr = {.wr_id = wc->wr_id | SENT,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .send_flags = DDP_SEND_SIGNALED};
	struct ddp_id *id = ddp_find_id(ctx, wc->qp_num);

	messages++;
	if (!id || ddp_post_send(ddp_id_qp(id), &wr, NULL) < 0)
		post_slot(wc->wr_id); /* the session is gone, or does not take its echoes */
}

/* A message, or the end of a Send; requests of a session that has ended are failed. */
static void on_completion(const struct ddp_wc *wc)
{
	if (wc->wr_id & SENT)
		post_slot(wc->wr_id & ~(uint64_t)SENT);
	else if (wc->status == DDP_WC_SUCCESS)
		echo(wc);
	else
		post_slot(wc->wr_id);
}

static void take_completions(void)
{
	struct ddp_wc wc[16];
	int n;

	while ((n = check(ddp_poll_cq(cq, 16, wc))) > 0)
		for (int i = 0; i < n; i++)
			on_completion(&wc[i]);
}

/* ---- events ---- */

/* 4. A client: its own queue pair, with the receives of all. */
static void accept_client(struct ddp_id *id)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_qp *qp;

	init.send_cq = init.recv_cq = cq;
	init.max_send_wr = SLOTS;
	init.srq = srq;
	if (ddp_create_qp(id, pd, &init, &qp) < 0 || ddp_accept(id, NULL) < 0) {
		fprintf(stderr, "echo_server: a client was refused: %s\n", ddp_last_reason());
		ddp_destroy_qp(ddp_id_qp(id));
		ddp_destroy_id(id);
	}
}

/* 5. The completions of a session precede its event: after them all, no slot is lost. */
static void end_client(struct ddp_id *id)
{
	take_completions();
	check(ddp_destroy_qp(ddp_id_qp(id)));
	check(ddp_destroy_id(id));
}

static void on_event(struct ddp_cm_event *ev)
{
	struct ddp_id *id = ev->id;
	enum ddp_cm_event_type type = ev->type;

	if (type == DDP_CM_DISCONNECTED && ev->err)
		fprintf(stderr, "echo_server: a session failed: %s\n", ev->reason);
	ddp_ack_cm_event(ev); /* first: an id cannot be destroyed before */
	switch (type) {
	case DDP_CM_CONNECT_REQUEST:
		accept_client(id);
		break;
	case DDP_CM_ESTABLISHED:
		sessions++;
		most = sessions > most ? sessions : most;
		break;
	case DDP_CM_SRQ_LIMIT:
		add_slots();
		break;
	case DDP_CM_DISCONNECTED:
		sessions--;
		end_client(id);
		break;
	case DDP_CM_CONNECT_ERROR:
	case DDP_CM_REQUEST_GONE: /* before it was established */
		end_client(id);
		break;
	default: /* a path has changed, or a type of a later version */
		break;
	}
}

static void take_events(void)
{
	struct ddp_cm_event *ev;
	int r;

	while ((r = ddp_get_cm_event(ctx, &ev, 0)) == 0)
		on_event(ev);
	if (r != -EAGAIN)
		check(r);
}

/* ---- the loop ---- */

static int signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static void watch(int epoll, int fd)
{
	struct epoll_event in = {.events = EPOLLIN, .data.fd = fd};

	if (fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &in) < 0)
		fail("epoll", strerror(errno));
}

/* 6. Take all, arm the completion queue, sleep. */
static void serve(int epoll, int signal)
{
	for (;;) {
		struct epoll_event ready[3];
		int n;

		take_events();
		take_completions();
		if (check(ddp_req_notify_cq(cq, 0)) == 1)
			continue; /* there are completions already */
		n = epoll_wait(epoll, ready, 3, -1);
		for (int i = 0; i < n; i++)
			if (ready[i].data.fd == signal)
				return;
	}
}

int main(int argc, char **argv)
{
	int signal = signals(), epoll = epoll_create1(EPOLL_CLOEXEC);

	set_up(argc > 1 ? (uint16_t)atoi(argv[1]) : PORT);
	watch(epoll, signal);
	watch(epoll, ddp_fd(ctx));
	watch(epoll, ddp_cq_fd(cq));
	serve(epoll, signal);
	printf("%llu messages, of at most %u clients at a time, with %u receives\n", messages, most,
	       slots);
	return 0; /* the end of the process frees all */
}
