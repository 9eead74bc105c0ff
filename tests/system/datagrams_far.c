/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams between two daemons: what programs may not do, and the end of a daemon. */
#include <arpa/inet.h>
#include <errno.h>
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

/* The call must be refused, for a reason that has this word. */
static void refused_for(const char *what, int came, const char *word)
{
	const char *reason = ddp_last_reason();

	if (came != -EACCES || !strstr(reason, word))
		fail("%s: %d, %s; -EACCES and a reason with \"%s\" were expected", what, came,
		     reason, word);
	ok("%s is refused", what);
}

/* A program connects to a port of the other daemon, with this private data. */
static void try_to_connect(const char *what, uint16_t port, const void *hello, const char *word)
{
	struct ddp_conn_param p = DDP_INIT(ddp_conn_param);
	struct sockaddr_in peer = b.at;
	struct ddp_id *id;
	struct ddp_qp *qp;

	peer.sin_port = htons(port);
	p.private_data = hello;
	p.private_len = hello ? 8 : 0;
	MUST(ddp_create_id(a.e.ctx, NULL, &id));
	qp = plain_qp(id);
	refused_for(what, ddp_connect(id, (struct sockaddr *)&peer, &p), word);
	MUST(ddp_destroy_qp(qp));
	MUST(ddp_destroy_id(id));
}

static void try_to_listen(struct end *e, uint16_t port)
{
	struct ddp_listen_attr attr = DDP_INIT(ddp_listen_attr);
	struct ddp_id *id;

	MUST(ddp_create_id(e->ctx, NULL, &id));
	refused_for("a listener", ddp_listen(id, NULL, port, 0), "session.datagram_port");
	attr.port = port;
	attr.service_key = 7;
	refused_for("one with a service key", ddp_listen_service(id, &attr),
		    "session.datagram_port");
	MUST(ddp_destroy_id(id));
}

void far_reserved(const char *text)
{
	const uint16_t port = (uint16_t)atoi(text);

	try_to_connect("a connect to the port", port, NULL, "session.datagram_port");
	try_to_connect("one with the private data of daemons", port, "ddpdgm\0\1", "datagram_port");
	try_to_connect("the same to another port", port + 1, "ddpdgm\0\1", "ddpdgm");
	try_to_connect("that of another version", port + 1, "ddpdgm\0\2", "ddpdgm");
	try_to_listen(&a.e, port);
	try_to_listen(&b.e, port);
}

/* Another queue pair takes the place of that of side b, and its number. */
static void take_place(void)
{
	struct ddp_qp_init init = side_init(&b);
	struct ddp_qp *before = b.qp;

	MUST(ddp_create_qp(NULL, b.e.pd, &init, &b.qp));
	MUST(ddp_take_qp_number(b.qp, before));
	MUST(ddp_destroy_qp(before));
}

int far_hold(const char *socket, const char *address, bool take)
{
	unsigned n = 0;

	side_open(&b, "b", socket, address);
	if (take)
		take_place();
	for (unsigned i = 0; i < RIG_DEPTH; i++)
		side_recv(&b, SIDE_AT, SIDE_SLOT);
	printf("own %u\nnumber %u\n", ddp_qp_num(b.qp), b.num);
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
