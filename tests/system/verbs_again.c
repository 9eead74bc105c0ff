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
	VERB(!readable(c->id->verbs->async_fd));
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

static void live_with_ids(int life)
{
	struct rdma_cm_id *l = listener_at(&addr[0]);
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
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	cm_rig_open(argc, argv);
	live_with_verbs(1);
	live_with_ids(2);
	live_with_ids(3);
	VERB(opens(NULL) && !no_devices());
	printf("ok a daemon that starts again\n");
	return 0;
}
