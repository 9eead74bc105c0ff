/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program whose daemon is killed and started again, some times. Promise: while the daemon is away
 * or something of the device is open, the device cannot be opened; then it can, in the same
 * process, with verbs and with rdma_cm alone, and the bytes are the expected ones.
 *
 *   verbs_again ADDRESS-OF-THE-DEVICE ADDRESS-OF-THE-DEVICE
 *
 * It prints "waiting N", until the daemon is killed, and "closed N", until it is there again.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "tests/system/verbs_cm_rig.h"

static bool readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

/* ---- verbs ---- */

/* NULL with errno. */
static struct ibv_context *open_first(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ret;

	VERB(list && list[0]);
	ret = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	return ret;
}

static bool opens(void *arg)
{
	struct ibv_context *ctx = open_first();

	(void)arg;
	return ctx && ibv_close_device(ctx) == 0;
}

static void wait_for_end(struct ibv_context *ctx)
{
	struct ibv_async_event ev;

	do {
		VERB(ibv_get_async_event(ctx, &ev) == 0);
		ibv_ack_async_event(&ev);
	} while (ev.event_type != IBV_EVENT_DEVICE_FATAL);
}

static bool no_devices(void)
{
	struct ibv_context **list;
	int n = -1;

	VERB(list = rdma_get_devices(&n));
	rdma_free_devices(list);
	return n == 0;
}

static void live_with_verbs(int life)
{
	struct side a, b;
	struct pair p;

	side_open(&a, 0);
	side_open(&b, 0);
	pair_open(&p, &a, &b);
	pair_send(&p, 0, 1000, 1);
	VERB(!readable(a.ctx->async_fd));
	printf("waiting %d\n", life);
	wait_for_end(a.ctx);
	pair_close(&p);
	side_close(&b);
	VERB(!open_first() && errno == EBUSY);
	side_close(&a);
	VERB(!open_first() && (errno == ECONNREFUSED || errno == ENOENT));
	VERB(no_devices());
	printf("closed %d\n", life);
	VERB(rig_eventually(opens, NULL));
}

/* ---- rdma_cm ---- */

static void connect_ids(struct end *c, struct end *s, struct rdma_cm_id *l)
{
	resolve(c, 0, 0, rdma_get_src_port(l));
	make_qp(c);
	ask(c, 0);
	take_request(s, l);
	make_qp(s);
	VERB(rdma_accept(s->id, NULL) == 0);
	expect_only(clients, RDMA_CM_EVENT_ESTABLISHED);
	expect_only(servers, RDMA_CM_EVENT_ESTABLISHED);
	exchange(c, s, c->id->qp, s->id->qp);
}

/* Binding alone takes no device where the address is one of loopback. */
static bool listens(void *arg)
{
	struct sockaddr_in at = addr[0];
	struct rdma_cm_id *id;
	int r;

	(void)arg;
	VERB(rdma_create_id(servers, &id, NULL, RDMA_PS_TCP) == 0);
	r = rdma_bind_addr(id, (struct sockaddr *)&at) || rdma_listen(id, 1);
	VERB(r == 0 || errno == EADDRNOTAVAIL);
	VERB(rdma_destroy_id(id) == 0);
	return r == 0;
}

static void wait_for_removal(struct rdma_event_channel *ch)
{
	struct rdma_cm_event *ev;
	bool removed;

	do {
		VERB(rdma_get_cm_event(ch, &ev) == 0);
		removed = ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
		VERB(rdma_ack_cm_event(ev) == 0);
	} while (!removed);
}

/* Bound, and not listening yet. */
static struct rdma_cm_id *bind_any(uint16_t port)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct rdma_cm_id *id;

	VERB(rdma_create_id(servers, &id, &addr, RDMA_PS_TCP) == 0);
	VERB(rdma_bind_addr(id, (struct sockaddr *)&any) == 0);
	return id;
}

/* The port is one at the next daemon, too. */
static void listen_at_last(struct rdma_cm_id *bound)
{
	struct end c, s;

	VERB(rdma_listen(bound, 1) == 0);
	connect_ids(&c, &s, bound);
	disconnect(&c);
	expect_only(servers, RDMA_CM_EVENT_DISCONNECTED);
	end_close(&c, NULL);
	end_close(&s, NULL);
	VERB(rdma_destroy_id(bound) == 0);
}

static void live_with_ids(int life)
{
	struct rdma_cm_id *l = listener_at(&addr[0]), *bound = bind_any(7472);
	struct end c, s;

	connect_ids(&c, &s, l);
	printf("waiting %d\n", life);
	wait_for_removal(clients);
	wait_for_removal(servers);
	VERB(!listens(NULL));
	end_close(&c, NULL);
	end_close(&s, NULL);
	VERB(rdma_destroy_id(l) == 0);
	VERB(!listens(NULL) && no_devices());
	printf("closed %d\n", life);
	VERB(rig_eventually(listens, NULL));
	listen_at_last(bound);
}

/* ---- the context that ids share ---- */

static struct ibv_context *shared_context(void)
{
	struct ibv_context **list = rdma_get_devices(NULL), *ret;

	VERB(list && list[0]);
	ret = list[0];
	rdma_free_devices(list);
	return ret;
}

/* A wildcard takes no device: the next daemon is one before it has a port. */
static bool has_domain(void *arg)
{
	struct ibv_pd *pd;

	VERB(rdma_destroy_id(bind_any(0)) == 0);
	pd = ibv_alloc_pd(arg);
	VERB(pd || errno == EPIPE);
	return pd && ibv_dealloc_pd(pd) == 0;
}

static struct ibv_cq *make_cq(struct ibv_comp_channel *ch)
{
	struct ibv_cq *cq = ibv_create_cq(ch->context, 4, NULL, ch, 0);

	VERB(cq && ibv_req_notify_cq(cq, 0) == 0);
	return cq;
}

static int error_of_channel(struct ibv_comp_channel *ch)
{
	struct ibv_cq *cq;
	void *context;

	VERB(ibv_get_cq_event(ch, &cq, &context) == -1);
	return errno;
}

/* The end of each daemon is an event, and stays one while nobody reads it; the thread that waits
 * for it is there again. The channel serves the next CQ. */
static void live_with_context(int life, unsigned ends)
{
	struct ibv_context *ctx = shared_context();
	struct ibv_comp_channel *ch = ibv_create_comp_channel(ctx);
	struct ibv_cq *cq;

	VERB(ch && fcntl(ch->fd, F_SETFL, O_NONBLOCK) == 0);
	for (unsigned i = 0; i < ends; i++)
		wait_for_end(ctx);
	VERB(!readable(ctx->async_fd));
	for (int i = 0; i < 2; i++) {
		cq = make_cq(ch);
		VERB(error_of_channel(ch) == EAGAIN);
		printf("waiting %d\n", life + i);
		wait_for_end(ctx);
		VERB(error_of_channel(ch) == EIO && ibv_destroy_cq(cq) == 0);
		printf("closed %d\n", life + i);
		VERB(rig_eventually(has_domain, ctx));
	}
	VERB(ibv_destroy_comp_channel(ch) == 0);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	cm_rig_open(argc, argv);
	live_with_verbs(1);
	live_with_ids(2);
	live_with_ids(3);
	live_with_context(4, 2);
	VERB(opens(NULL) && !no_devices());
	printf("ok a daemon that starts again\n");
	return 0;
}
