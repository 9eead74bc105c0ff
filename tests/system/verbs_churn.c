/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that create queue pairs and ids of rdma_cm at two devices, connect them to each other and
 * to those of another process, move queue pairs between ids, and destroy all of it in any order and
 * at any time. The other process does the same, and is killed now and then. Promise: each call
 * returns, what is destroyed is gone, nothing is left in the daemons, and sanitizers are silent.
 *
 *   verbs_churn LIVES ADDRESS-OF-FIRST-DEVICE ADDRESS-OF-SECOND [SEED]
 *
 * LIVES of queue pairs and ids, of each thread. It is linked with the library, because programs
 * with sanitizers cannot be preloaded. The last line has what happened, so that a test sees that
 * it did.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/patience.h"
#include "tests/stress/pace.h"
#include "tests/system/verbs_churn.h"
#include "tests/system/verbs_rig.h"

struct board *board;
struct ibv_context **devices;
union ibv_gid gid[2];
static int board_fd;
static struct sockaddr_in addr[2];

static const char *const count_name[] = {"connects", "requests",          "sessions",  "ends",
					 "ready",    "queue pairs moved", "datagrams", "kills"};
static _Atomic unsigned counts[NUM_COUNTS];

unsigned draw(struct thread *t, unsigned n)
{
	return pace_draw(&t->rng, n);
}

void count(unsigned what)
{
	atomic_fetch_add_explicit(&counts[what], 1, memory_order_relaxed);
}

/* ---- ids ---- */

static struct rdma_cm_id *new_id(struct thread *t)
{
	struct rdma_cm_id *id;

	VERB(rdma_create_id(t->channel[draw(t, 2)], &id, t, RDMA_PS_TCP) == 0);
	return id;
}

static unsigned device_of(const struct rdma_cm_id *id)
{
	return id->verbs == devices[1];
}

static void tell_port(struct thread *t, const struct life *l)
{
	atomic_store(&board->port[t->number][l->at], ntohs(rdma_get_src_port(l->id)));
}

static void make_listener(struct thread *t, struct life *l)
{
	struct sockaddr_in at = addr[l->at];

	l->id = new_id(t);
	VERB(rdma_bind_addr(l->id, (struct sockaddr *)&at) == 0);
	if (draw(t, 2)) /* requests may come before rdma_listen() */
		tell_port(t, l);
	VERB(rdma_listen(l->id, 8) == 0);
	l->listens = true;
	tell_port(t, l);
}

/* A way to a listener of any thread. */
static void make_client(struct thread *t, struct life *l)
{
	unsigned to = draw(t, 2);
	struct sockaddr_in src = addr[l->at], dst = addr[to];

	dst.sin_port = htons((uint16_t)atomic_load(&board->port[draw(t, THREADS + 1)][to]));
	l->id = new_id(t);
	VERB(rdma_resolve_addr(l->id, (struct sockaddr *)&src, (struct sockaddr *)&dst, 2000) == 0);
	VERB(rdma_resolve_route(l->id, 2000) == 0);
	VERB(device_of(l->id) == l->at);
}

static void make_qp_of_id(struct thread *t, struct life *l)
{
	struct ibv_qp_init_attr init = init_attr(t, l->at);

	if (!l->id->qp)
		VERB(rdma_create_qp(l->id, t->pd[l->at], &init) == 0);
}

static void connect_id(struct thread *t, struct life *l)
{
	struct rdma_conn_param param = {
		.initiator_depth = 1,
		.responder_resources = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};

	if (l->qp)
		param.qp_num = l->qp->qp_num;
	else
		make_qp_of_id(t, l);
	if (draw(t, 2))
		post_any(t, l->qp ? l->qp : l->id->qp, l->at);
	if (!l->request && rdma_connect(l->id, &param) == 0)
		count(CONNECTS);
	if (l->request && draw(t, 8) > 0)
		rdma_accept(l->id, &param);
	else if (l->request)
		rdma_reject(l->id, "no", 3);
}

/* The members of ids are the program's: it exchanges the queue pairs of two. */
static void exchange_qps(struct life *a, struct life *b)
{
	struct ibv_qp *qp = a->id->qp;

	a->id->qp = b->id->qp;
	b->id->qp = qp;
	count(MOVES);
}

static void use_id(struct thread *t, struct life *l)
{
	struct life *other = &t->place[draw(t, PLACES)];

	switch (draw(t, 6)) {
	case 0:
		rdma_disconnect(l->id);
		break;
	case 1:
		VERB(rdma_migrate_id(l->id, t->channel[draw(t, 2)]) == 0);
		break;
	case 2:
		if (other != l && other->id && !other->listens && other->at == l->at)
			exchange_qps(l, other);
		break;
	case 3:
		if (!l->qp && !l->id->qp)
			make_qp(t, l);
		break;
	default:
		connect_id(t, l);
		break;
	}
}

/* ---- events ---- */

static struct life *free_place(struct thread *t)
{
	for (unsigned i = 0; i < PLACES; i++)
		if (!t->place[i].id && !t->place[i].qp)
			return &t->place[i];
	return NULL;
}

static void take_request(struct thread *t, struct rdma_cm_id *id)
{
	struct life *l = free_place(t);

	count(REQUESTS);
	if (l && draw(t, 8) > 0)
		*l = (struct life){.id = id, .request = true, .at = device_of(id)};
	else
		VERB(rdma_destroy_id(id) == 0);
}

static void take_event(struct thread *t, struct rdma_event_channel *ch)
{
	struct rdma_cm_event *ev;
	struct rdma_cm_id *asks = NULL;

	if (rdma_get_cm_event(ch, &ev)) {
		VERB(errno == EAGAIN);
		return;
	}
	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		asks = ev->id;
	else if (ev->event == RDMA_CM_EVENT_ESTABLISHED ||
		 ev->event == RDMA_CM_EVENT_CONNECT_RESPONSE)
		count(SESSIONS);
	else if (ev->event == RDMA_CM_EVENT_DISCONNECTED)
		count(ENDS);
	VERB(rdma_ack_cm_event(ev) == 0);
	if (asks)
		take_request(t, asks);
}

/* Mostly without waiting, so that much ends before it has begun. */
static void take_events(struct thread *t)
{
	struct pollfd p[2] = {
		{.fd = t->channel[0]->fd, .events = POLLIN},
		{.fd = t->channel[1]->fd, .events = POLLIN},
	};

	if (draw(t, 4) == 0)
		poll(p, 2, 2);
	take_event(t, t->channel[0]);
	take_event(t, t->channel[1]);
}

/* ---- lives ---- */

static void begin_life(struct thread *t, struct life *l)
{
	*l = (struct life){.at = draw(t, 2)};
	switch (draw(t, 8)) {
	case 0:
	case 1:
		make_listener(t, l);
		break;
	case 2:
	case 3:
		make_qp(t, l);
		break;
	default:
		make_client(t, l);
		break;
	}
}

/* The queue pair first, the id first, or the id alone: then the queue pair lives on. */
static void end_life(struct thread *t, struct life *l)
{
	unsigned how = draw(t, 4);

	if (l->id && l->id->qp && how == 0) {
		rdma_destroy_qp(l->id);
	} else if (l->id && l->id->qp && how == 1) {
		VERB(ibv_destroy_qp(l->id->qp) == 0);
		l->id->qp = NULL;
	} else if (l->id && l->id->qp && l->qp) {
		rdma_destroy_qp(l->id);
	}
	if (l->qp && how == 2) {
		VERB(ibv_destroy_qp(l->qp) == 0);
		l->qp = NULL;
	}
	if (l->id) {
		struct ibv_qp *rest = l->qp ? l->qp : l->id->qp;

		VERB(rdma_destroy_id(l->id) == 0);
		*l = (struct life){.qp = rest, .at = l->at};
	}
	if (l->qp && how != 3) {
		VERB(ibv_destroy_qp(l->qp) == 0);
		l->qp = NULL;
	}
	t->left -= t->left > 0;
}

static void step(struct thread *t)
{
	struct life *l = &t->place[draw(t, PLACES)];
	struct ibv_qp *qp = l->qp || !l->id ? l->qp : l->id->qp;

	take_events(t);
	if (!l->id && !l->qp)
		begin_life(t, l);
	else if (draw(t, l->listens ? 24 : 6) == 0)
		end_life(t, l);
	else if (l->listens)
		return;
	else if (l->id && (!qp || draw(t, 2)))
		use_id(t, l);
	else if (qp)
		use_qp(t, qp, l->at);
}

/* ---- threads ---- */

static void open_side(struct thread *t, unsigned at)
{
	VERB(t->channel[at] = rdma_create_event_channel());
	VERB(fcntl(t->channel[at]->fd, F_SETFL, O_NONBLOCK) == 0);
	VERB(t->pd[at] = ibv_alloc_pd(devices[at]));
	VERB(t->cq[at] = ibv_create_cq(devices[at], 4 * PLACES * DEPTH, NULL, NULL, 0));
	VERB(posix_memalign((void **)&t->mem[at], BYTES, BYTES) == 0);
	VERB(t->mr[at] = ibv_reg_mr(t->pd[at], t->mem[at], BYTES, IBV_ACCESS_LOCAL_WRITE));
}

static void close_side(struct thread *t, unsigned at)
{
	VERB(ibv_dereg_mr(t->mr[at]) == 0);
	VERB(ibv_destroy_cq(t->cq[at]) == 0);
	VERB(ibv_dealloc_pd(t->pd[at]) == 0);
	rdma_destroy_event_channel(t->channel[at]);
	free(t->mem[at]);
}

static void *run(void *arg)
{
	struct thread *t = arg;

	open_side(t, 0);
	open_side(t, 1);
	while (t->left > 0)
		step(t);
	for (unsigned i = 0; i < PLACES; i++)
		while (t->place[i].id || t->place[i].qp)
			end_life(t, &t->place[i]);
	close_side(t, 0);
	close_side(t, 1);
	return NULL;
}

static void open_devices(char **address)
{
	int n;

	for (int i = 0; i < 2; i++) {
		addr[i].sin_family = AF_INET;
		VERB(inet_pton(AF_INET, address[i], &addr[i].sin_addr) == 1);
	}
	VERB((devices = rdma_get_devices(&n)) && n == 2);
	for (int i = 0; i < 2; i++)
		VERB(ibv_query_gid(devices[i], 1, 0, &gid[i]) == 0);
}

static void map_board(void)
{
	VERB(board_fd >= 0);
	VERB((board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, board_fd,
			   0)) != MAP_FAILED);
}

/* ---- the other process ---- */

/* verbs_churn peer SEED BOARD ADDRESS ADDRESS: until it is killed. */
static int be_peer(char **argv)
{
	struct thread t = {.left = UINT64_MAX};

	alarm(LIFE_S);
	t.rng = strtoull(argv[2], NULL, 0);
	board_fd = atoi(argv[3]);
	t.number = THREADS;
	map_board();
	open_devices(argv + 4);
	run(&t);
	return 1;
}

static pid_t spawn_peer(uint64_t seed, char **address)
{
	char text[2][32];
	char *argv[] = {"verbs_churn", "peer", text[0], text[1], address[0], address[1], NULL};
	pid_t pid;

	snprintf(text[0], sizeof(text[0]), "%llu", (unsigned long long)seed);
	snprintf(text[1], sizeof(text[1]), "%d", board_fd);
	VERB(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) == 0);
	return pid;
}

static void kill_peer(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	VERB(waitpid(pid, &status, 0) == pid);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
		printf("FAILED: the other process: status %#x\n", status);
		exit(1);
	}
	count(KILLS);
}

/* ---- all ---- */

static void run_all(struct thread *t, uint64_t seed, char **address)
{
	pid_t peer = spawn_peer(seed + THREADS + 1, address);

	for (unsigned i = 0; i < THREADS; i++)
		VERB(pthread_create(&t[i].pthread, NULL, run, &t[i]) == 0);
	for (unsigned i = 0; i < THREADS;) {
		if (rig_joined(t[i].pthread, PEER_MS)) {
			i++;
			continue;
		}
		kill_peer(peer);
		peer = spawn_peer(++seed + THREADS + 1, address);
	}
	kill_peer(peer);
}

int main(int argc, char **argv)
{
	static struct thread t[THREADS];
	uint64_t seed = argc == 5 ? strtoull(argv[4], NULL, 0) : (uint64_t)time(NULL);

	if (argc == 6 && strcmp(argv[1], "peer") == 0)
		return be_peer(argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	VERB(argc >= 4);
	printf("seed %llu\n", (unsigned long long)seed);
	board_fd = memfd_create("board", 0);
	VERB(ftruncate(board_fd, sizeof(*board)) == 0);
	map_board();
	open_devices(argv + 2);
	for (unsigned i = 0; i < THREADS; i++) {
		t[i].number = i;
		t[i].rng = (seed + i) * UINT64_C(0x9e3779b97f4a7c15) | 1;
		t[i].left = strtoull(argv[1], NULL, 0);
	}
	run_all(t, seed, argv + 2);
	rdma_free_devices(devices);
	for (unsigned i = 0; i < NUM_COUNTS; i++)
		printf("%s%u %s", i ? ", " : "", atomic_load(&counts[i]), count_name[i]);
	puts("");
	return 0;
}
