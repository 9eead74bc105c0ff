/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs whose agent stops, ends or writes malformed data, while a peer reads, writes and adds in
 * their memory. Others are served meanwhile.
 *
 *   agent_ends stop SOCKET-OF-A SOCKET-OF-B ADDRESS-OF-B
 *   agent_ends malformed SOCKET-OF-A SOCKET-OF-B ADDRESS-OF-B LANE
 *
 * LANE is 0 or 1: each has half of the sessions. Most last for session.agent_ms, so that of b is
 * short.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/system/rig.h"

enum { LEN = 100000, READS = 300, MALFORMED = 40, LANES = 2 };

/* What the program tells its peer. */
struct place {
	uint16_t port;
	uint32_t rkey;
	uint64_t iova;
};

struct program {
	pid_t pid;
	int out; /* struct place, and nothing more */
	struct place place;
};

static const char *socket_a, *socket_b, *address;

/* ---- the program ---- */

static struct ddp_mr *reg(const struct end *e)
{
	void *p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct ddp_mr *mr;

	MUST(ddp_reg_mr(e->pd, p, LEN, RIG_ALL, NULL, &mr));
	return mr;
}

static void tell(int fd, const struct end *e, const struct ddp_mr *mr)
{
	const struct place place = {e->port, mr->rkey, mr->iova};

	if (write(fd, &place, sizeof(place)) != sizeof(place))
		_exit(2);
}

static void accepts(struct end *e, struct session *s)
{
	*s = (struct session){.end = {e, e}};
	ddp_ack_cm_event(session_request(s));
	session_make_qp(s, 1, NULL);
	MUST(ddp_accept(s->id[1], NULL));
	end_expect(e, DDP_CM_ESTABLISHED);
}

/* Serves one session until it ends. Exits with 0 if this program was too late. */
static void serve_memory(int fd, bool copied)
{
	struct ddp_cm_event *ev;
	struct session s;
	struct end e;

	end_open(&e, "program", socket_b);
	end_listen(&e);
	tell(fd, &e, copied ? reg(&e) : e.mr);
	accepts(&e, &s);
	MUST(ddp_get_cm_event(e.ctx, &ev, -1));
	printf("program: %s\n", ev->reason);
	_exit(strstr(ev->reason, "did not copy") ? 0 : 1);
}

static void serve(int fd)
{
	serve_memory(fd, true);
}

static void serve_plain(int fd)
{
	serve_memory(fd, false);
}

/* The longest mapping with this name. */
static void *find_mapping(const char *name, size_t *ret_len)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	void *found = NULL;
	char line[512];

	*ret_len = 0;
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, name) && sscanf(line, "%lx-%lx", &start, &end) == 2 &&
		    end - start > *ret_len) {
			*ret_len = end - start;
			found = (void *)start;
		}
	if (f)
		fclose(f);
	return found;
}

static void scribble(uint32_t *p, size_t len, unsigned *seed)
{
	for (unsigned i = 0; i < 2000; i++)
		__atomic_store_n(&p[(unsigned)rand_r(seed) % (len / sizeof(*p))],
				 (uint32_t)rand_r(seed) % 5 - 1, __ATOMIC_RELAXED);
}

/* Writes to what its agent and the daemon share, until it is killed. */
static void serve_malformed(int fd)
{
	size_t rings_len, marks_len;
	void *rings, *marks;
	unsigned seed = 1;
	struct session s;
	struct end e;

	end_open(&e, "malformed", socket_b);
	end_listen(&e);
	tell(fd, &e, reg(&e));
	rings = find_mapping("ddp-rings", &rings_len);
	marks = find_mapping("ddp-shadow", &marks_len);
	if (!rings || !marks)
		_exit(3);
	for (;;) {
		accepts(&e, &s);
		while (poll(&(struct pollfd){ddp_fd(e.ctx), POLLIN, 0}, 1, 0) == 0) {
			scribble(rings, rings_len, &seed);
			scribble(marks, marks_len, &seed);
		}
		end_expect(&e, DDP_CM_DISCONNECTED);
		MUST(ddp_destroy_qp(s.qp[1]));
		MUST(ddp_destroy_id(s.id[1]));
	}
}

/* ---- its peer ---- */

static void start(struct program *p, void (*serves)(int fd))
{
	int fds[2];

	fflush(NULL);
	if (pipe(fds) < 0)
		fail("pipe: %s", strerror(errno));
	p->pid = fork();
	if (p->pid == 0) {
		close(fds[0]);
		serves(fds[1]);
	}
	close(fds[1]);
	p->out = fds[0];
	if (p->pid < 0 || read(p->out, &p->place, sizeof(p->place)) != sizeof(p->place))
		fail("the program does not start");
}

static int finish(struct program *p, int signal)
{
	int status = -1;

	if (signal)
		kill(p->pid, signal);
	if (waitpid(p->pid, &status, 0) != p->pid)
		fail("waitpid: %s", strerror(errno));
	close(p->out);
	return status;
}

/* The peer's side of a session with the program. */
static void opens(struct session *s, struct end *e, const struct program *p)
{
	struct end target = {.name = "target", .socket = socket_b, .port = p->place.port};

	session_connect(s, e, &target, address, NULL);
	s->end[1] = e;
	if (end_expect(e, DDP_CM_ESTABLISHED) != s->id[0])
		fail("ESTABLISHED for another id");
}

static void posts(const struct session *s, const struct place *at, enum ddp_wr_opcode op,
		  uint64_t offset, uint32_t len)
{
	session_send(s, 0,
		     (struct ddp_send_wr){.opcode = op, .rdma = {at->iova + offset, at->rkey}}, 0,
		     len);
}

static void reads(const struct session *s, const struct place *at, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		posts(s, at, DDP_WR_RDMA_READ, i, 1000);
		end_done(s->end[0], DDP_WC_RDMA_READ, DDP_WC_SUCCESS);
	}
}

static void ends(struct session *s)
{
	struct ddp_cm_event *ev = end_event(s->end[0], DDP_CM_DISCONNECTED);

	printf("peer: %s\n", ev->reason);
	ddp_ack_cm_event(ev);
	session_free(s);
}

/* The completion of a request that did not succeed. */
static void fails(struct end *e, const char *what)
{
	struct ddp_wc wc;

	if (ddp_wait_cq(e->cq, 1, &wc, RIG_WAIT_MS) != 1 || wc.status == DDP_WC_SUCCESS)
		fail("%s succeeds, or does not end", what);
	ok("%s ends with an error", what);
}

/* ---- cases ---- */

/* Returns when all its threads have stopped: the agent may run for a while after kill(). */
static void halt(const struct program *p)
{
	int status;

	kill(p->pid, SIGSTOP);
	if (waitpid(p->pid, &status, WUNTRACED) != p->pid || !WIFSTOPPED(status))
		fail("a program does not stop");
}

/* A stopped program, and another one at the same daemons. */
static void stops(struct end *c, struct end *d)
{
	struct program one, two;
	struct session s, other;

	start(&one, serve);
	start(&two, serve);
	opens(&s, c, &one);
	opens(&other, d, &two);
	reads(&s, &one.place, READS);
	halt(&one);
	posts(&s, &one.place, DDP_WR_RDMA_WRITE, 0, LEN);
	end_done(c, DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
	ok("a Write to a stopped program completes");
	posts(&s, &one.place, DDP_WR_RDMA_READ, 0, 1000);
	reads(&other, &two.place, READS);
	ok("%d Reads of another program meanwhile", READS);
	fails(c, "a Read of a stopped program");
	ends(&s);
	kill(one.pid, SIGCONT);
	is("the program learns why", (uint64_t)finish(&one, 0), 0);
	reads(&other, &two.place, READS);
	ok("the other program goes on");
	finish(&two, SIGKILL);
	ends(&other);
}

/* Killed in the middle of requests. */
static void dies(struct end *c)
{
	struct program p;
	struct session s;

	start(&p, serve);
	opens(&s, c, &p);
	reads(&s, &p.place, 10);
	for (unsigned i = 0; i < 4; i++)
		posts(&s, &p.place, DDP_WR_RDMA_READ, 0, LEN);
	finish(&p, SIGKILL);
	ends(&s);
	end_drain(c);
	ok("a program that is killed while it is read");
}

/* Requests of all kinds, until the session ends or enough were made. */
static void tries(struct session *s, const struct place *at, unsigned seed)
{
	static const enum ddp_wr_opcode ops[] = {DDP_WR_RDMA_READ, DDP_WR_RDMA_WRITE,
						 DDP_WR_ATOMIC_FETCH_AND_ADD,
						 DDP_WR_ATOMIC_CMP_AND_SWP};
	struct ddp_wc wc = {.status = DDP_WC_SUCCESS};

	for (unsigned i = 0; i < READS && wc.status == DDP_WC_SUCCESS; i++) {
		enum ddp_wr_opcode op = ops[(unsigned)rand_r(&seed) % 4];
		bool atomic = op != DDP_WR_RDMA_READ && op != DDP_WR_RDMA_WRITE;

		posts(s, at, op, (unsigned)rand_r(&seed) % 1000 * 8,
		      atomic ? 8 : (uint32_t)rand_r(&seed) % 50000);
		if (ddp_wait_cq(s->end[0]->cq, 1, &wc, RIG_WAIT_MS) != 1)
			fail("a request does not end");
	}
	if (wc.status == DDP_WC_SUCCESS)
		MUST(ddp_disconnect(s->id[0]));
	ends(s);
}

static void writes_malformed(struct end *c, struct end *d, unsigned lane)
{
	struct program p, two;
	struct session s, other;

	start(&p, serve_malformed);
	start(&two, serve_plain);
	opens(&other, d, &two);
	for (unsigned i = lane; i < MALFORMED; i += LANES) {
		opens(&s, c, &p);
		tries(&s, &p.place, i);
		reads(&other, &two.place, 3);
	}
	ok("%d sessions with a program that writes malformed data", MALFORMED / LANES);
	finish(&p, SIGKILL);
	finish(&two, SIGKILL);
	ends(&other);
}

int main(int argc, char **argv)
{
	struct end c, d;

	if (argc != (argc > 1 && strcmp(argv[1], "malformed") == 0 ? 6 : 5))
		return 2;
	socket_a = argv[2];
	socket_b = argv[3];
	address = argv[4];
	end_open(&c, "c", socket_a);
	end_open(&d, "d", socket_a);
	if (argc == 6) {
		writes_malformed(&c, &d, (unsigned)atoi(argv[5]));
	} else {
		stops(&c, &d);
		dies(&c);
	}
	end_close(&c);
	end_close(&d);
	return 0;
}
