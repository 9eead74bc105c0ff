/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes as those of MPI: RANKS at each of several daemons. Each listens, connects to others by
 * a pattern, and exchanges messages with all of them.
 *
 *   scale RANKS all|log own|key MESSAGES SOCKET ADDRESS [SOCKET ADDRESS]...
 *
 * all: each pair has a session; log: ranks whose distance is a power of two. own: each rank listens
 * at a port of its own; key: those of a daemon share one, with a service key each. Prints a line
 * for each stage ("listening", "connected SESSIONS SECONDS", "exchanged SECONDS"), and waits for a
 * line of standard input after it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/system/rig.h"

enum {
	MOST_HOSTS = 64,
	MOST_RANKS = 4096,
	FIRST_PORT = 20000,
	QUEUE = 4,
	LEN = 64,
	LONG_MS = 300000
};

struct host {
	const char *socket, *address;
};

static struct host host[MOST_HOSTS];
static unsigned hosts, each, ranks; /* each: ranks of a host */
static bool all_pairs, with_keys;
static unsigned messages;
static pthread_barrier_t *barrier; /* of all ranks and the parent */

/* ---- one rank ---- */

struct rank {
	unsigned number;
	struct end e;
	struct ddp_qp *qp[MOST_RANKS]; /* by their order of creation */
	unsigned qps, peers, established;
};

static void meet(void)
{
	int r = pthread_barrier_wait(barrier);

	if (r != 0 && r != PTHREAD_BARRIER_SERIAL_THREAD)
		fail("barrier: %s", strerror(r));
}

static bool is_power_of_two(unsigned n)
{
	return n && (n & (n - 1)) == 0;
}

/* Whether two ranks have a session. The distance goes around. */
static bool are_peers(unsigned i, unsigned k)
{
	unsigned distance = i < k ? k - i : i - k;

	if (distance == 0)
		return false;
	return all_pairs || is_power_of_two(distance) || is_power_of_two(ranks - distance);
}

/* Half of a rank's sessions are begun by it. */
static bool begins(unsigned i, unsigned k)
{
	return (i + k) % 2 ? i < k : i > k;
}

static uint16_t port_of(unsigned rank)
{
	return (uint16_t)(FIRST_PORT + (with_keys ? 0 : rank % each));
}

static uint64_t key_of(unsigned rank)
{
	return with_keys ? rank % each + 1 : 0;
}

static void begin_listening(struct rank *r)
{
	struct ddp_listen_attr attr = DDP_INIT(ddp_listen_attr);

	attr.port = port_of(r->number);
	attr.service_key = key_of(r->number);
	attr.backlog = 256;
	MUST(ddp_create_id(r->e.ctx, NULL, &r->e.listener));
	MUST(ddp_listen_service(r->e.listener, &attr));
}

static void make_qp(struct rank *r, struct ddp_id *id)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	init.send_cq = init.recv_cq = r->e.cq;
	init.max_send_wr = init.max_recv_wr = QUEUE;
	MUST(ddp_create_qp(id, r->e.pd, &init, &r->qp[r->qps++]));
}

static void begin(struct rank *r, unsigned to)
{
	struct ddp_conn_param p = DDP_INIT(ddp_conn_param);
	struct ddp_id *id;

	p.service_key = key_of(to);
	p.timeout_ms = LONG_MS;
	MUST(ddp_create_id(r->e.ctx, NULL, &id));
	make_qp(r, id);
	MUST(ddp_connect_name(id, host[to / each].address, port_of(to), &p));
}

/* Takes one event. */
static void serve(struct rank *r)
{
	struct ddp_cm_event *ev;

	MUST(ddp_get_cm_event(r->e.ctx, &ev, LONG_MS));
	if (ev->type == DDP_CM_CONNECT_REQUEST) {
		make_qp(r, ev->id);
		MUST(ddp_accept(ev->id, NULL));
	} else if (ev->type == DDP_CM_ESTABLISHED) {
		r->established++;
	} else {
		fail("rank %u: %s: %s", r->number, ddp_event_str(ev->type), ev->reason);
	}
	ddp_ack_cm_event(ev);
}

static void connect_all(struct rank *r)
{
	for (unsigned k = 0; k < ranks; k++)
		if (are_peers(r->number, k)) {
			r->peers++;
			if (begins(r->number, k))
				begin(r, k);
		}
	while (r->established < r->peers)
		serve(r);
}

/* One message to each peer, and one from each. */
static void exchange_once(struct rank *r)
{
	struct ddp_sge from = end_sge(&r->e, 0, LEN), to = end_sge(&r->e, RIG_HALF, LEN);
	struct ddp_recv_wr recv = {.sg_list = &to, .num_sge = 1};
	struct ddp_send_wr send = {.opcode = DDP_WR_SEND, .sg_list = &from, .num_sge = 1};
	struct ddp_wc wc[16];

	for (unsigned i = 0; i < r->qps; i++)
		MUST(ddp_post_recv(r->qp[i], &recv, NULL));
	meet();
	for (unsigned i = 0; i < r->qps; i++)
		MUST(ddp_post_send(r->qp[i], &send, NULL));
	for (unsigned got = 0; got < r->peers;) {
		int n = MUST(ddp_wait_cq(r->e.cq, 16, wc, LONG_MS));

		for (int i = 0; i < n; i++)
			if (wc[i].status != DDP_WC_SUCCESS)
				fail("rank %u: %s", r->number, ddp_wc_status_str(wc[i].status));
		got += (unsigned)n;
	}
	meet();
}

static void open_rank(struct rank *r)
{
	struct ddp_cq_attr cq = DDP_INIT(ddp_cq_attr);

	end_open(&r->e, "rank", host[r->number / each].socket);
	MUST(ddp_destroy_cq(r->e.cq));
	cq.entries = 2 * ranks * QUEUE;
	MUST(ddp_create_cq(r->e.ctx, &cq, &r->e.cq));
}

static void run(unsigned number)
{
	static struct rank r;

	r.number = number;
	open_rank(&r);
	begin_listening(&r);
	meet(); /* all listen */
	meet(); /* the parent begins to measure */
	connect_all(&r);
	meet();
	meet();
	for (unsigned i = 0; i < messages; i++)
		exchange_once(&r);
	meet();
	meet();
	_exit(0);
}

/* ---- all of them ---- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void child_ended(int sig)
{
	int status;

	(void)sig;
	while (waitpid(-1, &status, WNOHANG) > 0)
		if (status != 0)
			_exit(1);
}

/* Waits until the script has measured. */
static void stage_done(void)
{
	char line[16];

	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		fail("standard input");
}

static void make_barrier(void)
{
	pthread_barrierattr_t attr;

	barrier = mmap(NULL, sizeof(*barrier), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (barrier == MAP_FAILED)
		fail("mmap");
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(barrier, &attr, ranks + 1);
}

static void start_all(void)
{
	for (unsigned i = 0; i < ranks; i++) {
		pid_t pid = fork();

		if (pid < 0)
			fail("fork");
		if (pid == 0)
			run(i);
	}
}

static unsigned sessions(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < ranks; i++)
		for (unsigned k = 0; k < i; k++)
			n += are_peers(i, k);
	return n;
}

/* From the stage before until all ranks have ended this one. */
static double measure(void)
{
	double before;

	meet();
	before = now();
	meet();
	return now() - before;
}

static void measure_stages(void)
{
	double took;

	meet();
	puts("listening");
	stage_done();
	printf("connected %u %.3f\n", sessions(), measure());
	stage_done();
	took = now();
	meet();
	for (unsigned i = 0; i < 2 * messages; i++)
		meet();
	meet();
	printf("exchanged %.3f\n", now() - took);
	stage_done();
	meet();
}

static int usage(void)
{
	fprintf(stderr,
		"usage: scale RANKS all|log own|key MESSAGES SOCKET ADDRESS [SOCKET ADDRESS]...\n");
	return 2;
}

int main(int argc, char **argv)
{
	if (argc < 7 || argc % 2 == 0 || (argc - 5) / 2 > MOST_HOSTS)
		return usage();
	each = (unsigned)atoi(argv[1]);
	all_pairs = !strcmp(argv[2], "all");
	with_keys = !strcmp(argv[3], "key");
	messages = (unsigned)atoi(argv[4]);
	hosts = (unsigned)(argc - 5) / 2;
	ranks = hosts * each;
	if (each == 0 || ranks > MOST_RANKS)
		return usage();
	for (unsigned i = 0; i < hosts; i++)
		host[i] = (struct host){argv[5 + 2 * i], argv[6 + 2 * i]};
	make_barrier();
	signal(SIGCHLD, child_ended);
	start_all();
	measure_stages();
	signal(SIGCHLD, SIG_DFL);
	while (wait(NULL) > 0)
		;
	return 0;
}
