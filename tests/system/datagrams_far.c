/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams between two daemons: foreign peers, and the end of a daemon. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/system/side.h"

static struct ddp_qp *plain_qp(struct ddp_id *id)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_qp *qp;

	init.send_cq = init.recv_cq = a.e.cq;
	init.max_send_wr = init.max_recv_wr = RIG_DEPTH;
	MUST(ddp_create_qp(id, a.e.pd, &init, &qp));
	return qp;
}

/* A program that connects to the port of datagrams, with this private data. */
static bool connects(struct ddp_id *id, const void *hello, size_t len, const char *port)
{
	struct ddp_conn_param p = DDP_INIT(ddp_conn_param);
	struct sockaddr_in peer = b.at;
	struct ddp_cm_event *ev;
	bool up;

	peer.sin_port = htons((uint16_t)atoi(port));
	p.private_data = hello;
	p.private_len = len;
	MUST(ddp_connect(id, (struct sockaddr *)&peer, &p));
	MUST(ddp_get_cm_event(a.e.ctx, &ev, RIG_WAIT_MS));
	up = ev->type == DDP_CM_ESTABLISHED;
	ddp_ack_cm_event(ev);
	return up;
}

/* Messages that are no datagrams, and one that is: the number of nobody. */
static void send_anything(struct ddp_qp *qp, uint32_t len, unsigned seed)
{
	struct ddp_sge sge = end_sge(&a.e, 0, len);
	struct ddp_send_wr wr = {.opcode = seed % 8 == 7 ? DDP_WR_RDMA_WRITE : DDP_WR_SEND,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .rdma = {seed, 0x100 * seed}};

	end_fill(&a.e, 0, len, seed);
	if (seed % 2)
		*end_at(&a.e, 0) = 1;
	(void)ddp_post_send(qp, &wr, NULL);
}

/* Promise: a peer at the port of datagrams that is no daemon is refused, or its messages are
 * dropped. */
void far_foreign(const char *port)
{
	static const char hello[8] = "ddpdgm\0\1";
	static const uint32_t lengths[] = {0, 1, 23, 24, 25, 100, 4120, 4121, 20000};

	for (unsigned i = 0; i < 40; i++) {
		struct ddp_cm_event *ev;
		struct ddp_id *id;
		struct ddp_qp *qp;

		MUST(ddp_create_id(a.e.ctx, NULL, &id));
		qp = plain_qp(id);
		if (i == 0) {
			if (connects(id, "foreign", 7, port))
				fail("a foreign program was accepted");
			ok("a foreign program is refused");
		} else if (connects(id, hello, sizeof(hello), port)) {
			for (unsigned n = 0; n < 4; n++)
				send_anything(qp, lengths[i % 9], i + n);
			MUST(ddp_disconnect(id));
			MUST(ddp_get_cm_event(a.e.ctx, &ev, RIG_WAIT_MS));
			ddp_ack_cm_event(ev);
		}
		MUST(ddp_destroy_qp(qp));
		MUST(ddp_destroy_id(id));
		end_drain(&a.e);
	}
	end_drain(&b.e);
	side_recv(&b, SIDE_AT, SIDE_SLOT);
	side_send(&a, side_to(&a, b.num), 10);
	side_arrived(&b, &a, 10);
	ok("what it sends harms nobody");
}

/* Opens carriers until one is refused, prints how many there are, and keeps them. */
int far_crowd(char **argv)
{
	static const char hello[8] = "ddpdgm\0\1";
	unsigned n = 0;
	bool up;

	end_open(&a.e, "a", argv[0]);
	b.at = (struct sockaddr_in){.sin_family = AF_INET};
	if (inet_pton(AF_INET, argv[1], &b.at.sin_addr) != 1)
		fail("%s is not an address", argv[1]);
	do {
		struct ddp_id *id;

		MUST(ddp_create_id(a.e.ctx, NULL, &id));
		plain_qp(id);
		up = connects(id, hello, sizeof(hello), argv[2]);
		n += up;
	} while (up && n < 2000);
	printf("crowd %u\n", n);
	fflush(stdout);
	pause();
	return 0;
}

/* Waits for datagrams, and prints how many came. */
int far_hold(const char *socket, const char *address)
{
	unsigned n = 0;

	side_open(&b, "b", socket, address);
	for (unsigned i = 0; i < RIG_DEPTH; i++)
		side_recv(&b, SIDE_AT, SIDE_SLOT);
	printf("number %u\n", b.num);
	fflush(stdout);
	for (;;) {
		struct ddp_wc wc;

		if (ddp_wait_cq(b.e.cq, 1, &wc, -1) < 0)
			return 0;
		side_recv(&b, SIDE_AT, SIDE_SLOT);
		printf("came %u\n", ++n);
		fflush(stdout);
	}
}

static struct ddp_qp *other_qp(void)
{
	struct ddp_qp_init init = side_init(&a);
	struct ddp_qp *qp;

	MUST(ddp_create_qp(NULL, a.e.pd, &init, &qp));
	return qp;
}

/* How many of these datagrams were dropped at once. */
static uint64_t drops_of(struct ddp_qp *qp, unsigned n, const char *number)
{
	struct ddp_qp_attr attr = DDP_INIT(ddp_qp_attr);
	struct ddp_qp *kept = a.qp;

	a.qp = qp;
	for (unsigned i = 0; i < n; i++)
		side_send(&a, side_to(&a, (uint32_t)atoi(number)), 100);
	a.qp = kept;
	MUST(ddp_query_qp(qp, &attr));
	return attr.tx_dropped;
}

/* Promise: while the other daemon does not answer, a queue pair that sends more than finds room
 * does not have the first datagram of another one dropped. The others arrive after the
 * program has ended, which is now. */
int far_share(char **argv)
{
	enum { MANY = 500 };
	struct ddp_qp *first, *second;
	uint64_t dropped;

	side_open(&a, "a", argv[0], argv[1]);
	b.at = (struct sockaddr_in){.sin_family = AF_INET};
	if (inet_pton(AF_INET, argv[2], &b.at.sin_addr) != 1)
		fail("%s is not an address", argv[2]);
	a.to = side_handle(&a, &b);
	first = other_qp();
	second = other_qp();
	dropped = drops_of(a.qp, MANY, argv[3]);
	if (dropped == 0 || dropped >= MANY / 2)
		fail("%u datagrams: %ju were dropped", MANY, (uintmax_t)dropped);
	is("the first datagram of another queue pair", drops_of(first, 1, argv[3]), 0);
	is("that of a third one", drops_of(second, 1, argv[3]), 0);
	is("the second one of it", drops_of(second, 1, argv[3]), 1);
	printf("wait %ju\n", MANY - (uintmax_t)dropped + 2);
	return 0;
}

/* Sends to a number until it is killed: no Send fails, whatever happens to the other daemon. */
int far_send(char **argv)
{
	side_open(&a, "a", argv[0], argv[1]);
	b.at = (struct sockaddr_in){.sin_family = AF_INET};
	if (inet_pton(AF_INET, argv[2], &b.at.sin_addr) != 1)
		fail("%s is not an address", argv[2]);
	a.to = side_handle(&a, &b);
	for (;;) {
		struct ddp_sge sge = end_sge(&a.e, 0, 100);
		struct ddp_send_wr wr = side_to(&a, (uint32_t)atoi(argv[3]));
		struct ddp_wc wc;

		wr.sg_list = &sge;
		wr.num_sge = 1;
		MUST(ddp_post_send(a.qp, &wr, NULL));
		if (ddp_wait_cq(a.e.cq, 1, &wc, RIG_WAIT_MS) != 1 || wc.status != DDP_WC_SUCCESS)
			fail("a Send failed, or waited");
		if (atoi(argv[4]) == 1)
			return 0;
		if (atoi(argv[4]) == 2)
			pause();
		usleep(1000);
	}
}
