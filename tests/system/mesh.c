/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * N processes on each of two daemons, or twice as many on one, connect all pairs: N * N sessions.
 * Each process listens at one common port with a key of its own and begins half of its sessions.
 *
 *   mesh N SOCKET ADDRESS SOCKET2 ADDRESS2
 *
 * When all sessions are established, prints how long that took, and keeps them until standard input
 * ends.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/patience.h"
#include "tests/system/rig.h"

enum { SIDES = 2, MOST = 64, QUEUE = 16 };

static unsigned n;
static const char *socket_path[SIDES], *address[SIDES];
static uint16_t *port; /* of each side, in memory that all processes share */

/* A process. */
struct rank {
	unsigned side, number;
	struct end e;
	struct ddp_id *id[MOST];
	struct ddp_qp *qp[MOST];
	unsigned ids, established;
};

/* Pipes: processes tell that they are ready, and wait until the other end is closed. */
static int ready[2], connect_now[2], end_now[2];

static void tell(void)
{
	if (write(ready[1], "", 1) != 1)
		fail("pipe");
}

static void child_ended(int sig)
{
	static const char text[] = "FAILED: a process has ended\n";

	(void)sig;
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) > 0)
		_exit(1);
	_exit(2);
}

static void wait_for_all(unsigned count)
{
	char c;

	while (count-- > 0)
		if (read(ready[0], &c, 1) != 1)
			fail("a process has failed");
}

static void wait_until_closed(const int fds[2])
{
	char c;

	close(fds[1]);
	if (read(fds[0], &c, 1) != 0)
		fail("pipe");
}

static void listen_with_key(struct rank *r)
{
	struct ddp_listen_attr attr = DDP_INIT(ddp_listen_attr);
	struct ddp_id_attr at = DDP_INIT(ddp_id_attr);

	attr.port = port[r->side];
	attr.service_key = r->number + 1;
	attr.backlog = MOST;
	MUST(ddp_create_id(r->e.ctx, NULL, &r->e.listener));
	MUST(ddp_listen_service(r->e.listener, &attr));
	MUST(ddp_query_id(r->e.listener, &at));
	port[r->side] = at.port;
}

static void make_qp(struct rank *r, struct ddp_id *id)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	init.send_cq = init.recv_cq = r->e.cq;
	init.max_send_wr = init.max_recv_wr = QUEUE;
	r->id[r->ids] = id;
	MUST(ddp_create_qp(id, r->e.pd, &init, &r->qp[r->ids++]));
}

static void begin(struct rank *r, unsigned to)
{
	struct ddp_conn_param p = DDP_INIT(ddp_conn_param);
	struct ddp_id *id;

	p.service_key = to + 1;
	p.timeout_ms = 60000;
	MUST(ddp_create_id(r->e.ctx, NULL, &id));
	make_qp(r, id);
	MUST(ddp_connect_name(id, address[!r->side], port[!r->side], &p));
}

/* Takes one event. */
static void serve(struct rank *r)
{
	struct ddp_cm_event *ev;

	MUST(ddp_get_cm_event(r->e.ctx, &ev, PATIENCE_MS));
	if (ev->type == DDP_CM_CONNECT_REQUEST) {
		make_qp(r, ev->id);
		MUST(ddp_accept(ev->id, NULL));
	} else if (ev->type == DDP_CM_ESTABLISHED) {
		r->established++;
	} else {
		fail("%s: %s", ddp_event_str(ev->type), ev->reason);
	}
	ddp_ack_cm_event(ev);
}

static void run(unsigned side, unsigned number)
{
	struct rank r = {.side = side, .number = number};

	end_open(&r.e, "rank", socket_path[side]);
	listen_with_key(&r);
	tell();
	wait_until_closed(connect_now);
	for (unsigned to = 0; to < n; to++)
		if ((number + to) % 2 == side)
			begin(&r, to);
	while (r.established < n)
		serve(&r);
	tell();
	wait_until_closed(end_now);
	_exit(0);
}

static void start(unsigned side, unsigned number)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid == 0)
		signal(SIGCHLD, SIG_DFL);
	if (pid == 0)
		run(side, number);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void open_pipes(void)
{
	if (pipe(ready) || pipe(connect_now) || pipe(end_now))
		fail("pipe");
	port = mmap(NULL, SIDES * sizeof(*port), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		    -1, 0);
	if (port == MAP_FAILED)
		fail("mmap");
}

/* The first process of each side gets the port for all. */
static void start_all(void)
{
	for (unsigned side = 0; side < SIDES; side++) {
		bool alone = side == 1 && !strcmp(socket_path[0], socket_path[1]);

		/* One daemon: the sides have ports of their own, because keys repeat. */
		port[side] = 0;
		start(side, 0);
		wait_for_all(1);
		if (alone && port[0] == port[1])
			fail("one port for both sides");
		for (unsigned i = 1; i < n; i++)
			start(side, i);
		wait_for_all(n - 1);
	}
}

static void end_all(void)
{
	int status, failed = 0;

	close(end_now[1]);
	while (wait(&status) > 0)
		failed += status != 0;
	if (failed)
		fail("%d processes failed", failed);
}

int main(int argc, char **argv)
{
	double before, took;

	if (argc != 6 || (n = (unsigned)atoi(argv[1])) == 0 || n > MOST) {
		fprintf(stderr, "usage: mesh N SOCKET ADDRESS SOCKET2 ADDRESS2\n");
		return 2;
	}
	alarm(LIFE_S);
	for (int i = 0; i < SIDES; i++) {
		socket_path[i] = argv[2 + 2 * i];
		address[i] = argv[3 + 2 * i];
	}
	open_pipes();
	signal(SIGCHLD, child_ended);
	start_all();
	before = now();
	close(connect_now[1]);
	wait_for_all(SIDES * n);
	took = now() - before;
	printf("%u sessions of %u processes in %.3f s: %.0f a second\n", n * n, SIDES * n, took,
	       n * n / took);
	fflush(stdout);
	if (read(STDIN_FILENO, port, 1) != 0)
		fail("standard input");
	signal(SIGCHLD, SIG_DFL);
	end_all();
	return 0;
}
