/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes as much of the daemon's memory as limits.memory allows, then leaves replies unread.
 *
 *   memory SOCKET [PID]      exit status 0 if every case held; PID: also checks the daemon's memory
 * maps
 */
#include <ddp/ddp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ipc/ctl.h"
#include "tests/system/bad_rig.h"

enum {
	ENTRIES = 16384, /* limits.qp_wr */
	MOST_QPS = 100,
	MOST_REPLIES = 60000, /* that a daemon without the limit would take */
	REGIONS = 60000,
	MOST_REGIONS = 66000, /* with a memfd each: limits.mrs is 65535 */
	MOST_MAPS = 2000,
	QUEUES = 900,
	QUEUE_MAPS = 500,
	OBJECTS = 2000,
	TURNS = 100,
};

/* Creates queue pairs until the daemon refuses one. Returns how many there are. */
static unsigned fill_memory(struct bad *b)
{
	struct msg_create_qp m = {
		.hdr = {MSG_CREATE_QP, 4},
		.sq_entries = ENTRIES,
		.rq_entries = ENTRIES,
		.max_send_sge = 1,
		.max_recv_sge = 1,
	};
	const struct msg_hdr *hdr = (const void *)b->rec;

	m.pd = make_pd(b);
	m.send_cq = m.recv_cq = make_cq(b);
	for (unsigned n = 0; n < MOST_QPS; n++) {
		put(b, &m, sizeof(m), NULL, 0);
		if (!get(b))
			die("no reply");
		if (hdr->op != MSG_CREATE_QP)
			return n;
	}
	return MOST_QPS;
}

static bool queue_pairs_are_charged(const char *path)
{
	struct bad b = {.path = path, .fd = attach(path)};
	const struct msg_error *e = (const void *)b.rec;
	unsigned n;

	hello(&b);
	n = fill_memory(&b);
	printf("# %u queue pairs: %s\n", n, e->reason);
	close(b.fd);
	return n > 0 && n < MOST_QPS && e->err == EDQUOT && !e->fatal &&
	       strstr(e->reason, "(limits.memory)");
}

/* Sends until the socket takes no more, however many turns the daemon has. */
static unsigned send_unread(struct bad *b, struct bad *by)
{
	struct msg_hdr m = {MSG_QUERY, 0};
	unsigned full = 0;

	while (m.seq < MOST_REPLIES && full < TURNS) {
		if (send(b->fd, &m, sizeof(m), MSG_DONTWAIT) == (ssize_t)sizeof(m)) {
			m.seq++;
			full = 0;
		} else {
			full++;
			client_works(by);
		}
	}
	return m.seq;
}

static bool unread_replies_end_the_reading(const char *path, struct bad *by)
{
	struct bad b = {.path = path, .fd = attach(path)};
	const struct msg_hdr *hdr = (const void *)b.rec;
	unsigned sent, i;

	hello(&b);
	sent = send_unread(&b, by);
	for (i = 0; i < sent && get(&b); i++)
		if (hdr->op != MSG_QUERY || hdr->seq != i)
			break;
	printf("# %u requests taken, %u replies in order\n", sent, i);
	return sent < MOST_REPLIES && i == sent && client_works(&b);
}

/* Registers a page of the memfd. Returns whether the daemon did. */
static bool registers(struct bad *b, struct msg_reg_mr *m, int fd)
{
	const struct msg_hdr *hdr = (const void *)b->rec;

	put(b, m, sizeof(*m), &fd, 1);
	if (!get(b))
		die("no reply");
	return hdr->op == MSG_REG_MR;
}

/* Registers pages of different memfds until the daemon refuses. Returns how many there are. */
static unsigned fill_maps(struct bad *b)
{
	struct msg_reg_mr m = {.hdr = {MSG_REG_MR, 6}, .pd = make_pd(b), .len = 4096};
	bool registered = true;
	unsigned n = 0;

	while (registered && n < MOST_REGIONS) {
		int fd = make_memfd(4096);

		registered = registers(b, &m, fd);
		n += registered;
		close(fd);
	}
	return n;
}

static bool regions_leave_maps(const char *path)
{
	struct bad b = {.path = path, .fd = attach(path)};
	struct bad next = {.path = path, .fd = attach(path)};
	const struct msg_error *e = (const void *)b.rec;
	bool held;
	unsigned n;

	hello(&b);
	n = fill_maps(&b);
	printf("# %u regions: %s\n", n, e->reason);
	/* Some kernels allow more memory maps than a user may have regions. */
	held = n < MOST_REGIONS &&
	       (strstr(e->reason, "(vm.max_map_count)") || strstr(e->reason, "(limits.mrs)"));
	hello(&next);
	held &= client_works(&next) && client_works(&b);
	close(next.fd);
	close(b.fd);
	return held;
}

/* Memory maps of a process: lines of its table. */
static unsigned count_maps(const char *pid)
{
	unsigned n = 0;
	char name[64];
	FILE *f;
	int c;

	snprintf(name, sizeof(name), "/proc/%s/maps", pid);
	f = fopen(name, "r");
	if (!f)
		die(name);
	while ((c = getc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

static bool regions_of_a_memfd_share_maps(const char *path, const char *pid)
{
	struct bad b = {.path = path, .fd = attach(path)};
	struct msg_reg_mr m = {.hdr = {MSG_REG_MR, 6}, .len = 4096};
	int fd = make_memfd((off_t)REGIONS * 4096);
	unsigned n = 0, maps;

	hello(&b);
	m.pd = make_pd(&b);
	for (; n < REGIONS && registers(&b, &m, fd); n++) {
		m.offset += 4096;
		m.access = n % 2; /* DDP_ACCESS_LOCAL_WRITE, or none */
	}
	maps = count_maps(pid);
	printf("# %u regions of a memfd: %u maps\n", n, maps);
	close(fd);
	close(b.fd);
	return n == REGIONS && maps < MOST_MAPS;
}

/* Memory of the library: the program also needs few maps and descriptors. */
static bool small_regions_share_maps(const char *path, const char *pid)
{
	static struct ddp_mr *mrs[REGIONS];
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);
	struct ddp_ctx *ctx;
	struct ddp_pd *pd;
	unsigned n = 0, maps, ours;

	attr.socket = path;
	if (ddp_open(&attr, &ctx) || ddp_alloc_pd(ctx, &pd))
		die(ddp_last_reason());
	while (n < REGIONS && ddp_alloc_mr(pd, 64, DDP_ACCESS_LOCAL_WRITE, &mrs[n]) == 0)
		n++;
	maps = count_maps(pid);
	ours = count_maps("self");
	printf("# %u regions of 64 bytes: %u maps, here %u: %s\n", n, maps, ours,
	       ddp_last_reason());
	for (unsigned i = 0; i < n; i++)
		if (ddp_dereg_mr(mrs[i]))
			die(ddp_last_reason());
	if (ddp_dealloc_pd(pd) || ddp_close(ctx))
		die(ddp_last_reason());
	return n == REGIONS && maps < MOST_MAPS && ours < MOST_MAPS;
}

struct queue {
	struct ddp_cq *cq;
	struct ddp_id *id;
	struct ddp_qp *qp;
};

static bool make_queue(struct ddp_ctx *ctx, struct ddp_pd *pd, struct queue *q)
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	attr.entries = 32;
	init.max_send_wr = init.max_recv_wr = 16;
	if (ddp_create_cq(ctx, &attr, &q->cq) || ddp_create_id(ctx, NULL, &q->id))
		return false;
	init.send_cq = init.recv_cq = q->cq;
	return ddp_create_qp(q->id, pd, &init, &q->qp) == 0;
}

static void destroy_queue(const struct queue *q)
{
	if (ddp_destroy_qp(q->qp) || ddp_destroy_id(q->id) || ddp_destroy_cq(q->cq))
		die(ddp_last_reason());
}

static bool rings_share_maps(const char *path, const char *pid)
{
	static struct queue queue[QUEUES];
	unsigned before = count_maps(pid), ours = count_maps("self"), n = 0, more, here;
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);
	struct ddp_ctx *ctx;
	struct ddp_pd *pd;

	attr.socket = path;
	if (ddp_open(&attr, &ctx) || ddp_alloc_pd(ctx, &pd))
		die(ddp_last_reason());
	while (n < QUEUES && make_queue(ctx, pd, &queue[n]))
		n++;
	more = count_maps(pid) - before;
	here = count_maps("self") - ours;
	printf("# %u queue pairs and completion queues: %u maps, here %u: %s\n", n, more, here,
	       ddp_last_reason());
	for (unsigned i = 0; i < n; i++)
		destroy_queue(&queue[i]);
	if (ddp_dealloc_pd(pd) || ddp_close(ctx))
		die(ddp_last_reason());
	return n == QUEUES && more < QUEUE_MAPS && here < QUEUE_MAPS;
}

static bool maps_are_bounded(const char *path, const char *pid)
{
	bool held =
		check("regions of a memfd share maps", regions_of_a_memfd_share_maps(path, pid));

	held &= check("rings share maps", rings_share_maps(path, pid));
	held &= check("small regions share maps", small_regions_share_maps(path, pid));
	return check("regions leave maps for other clients", regions_leave_maps(path)) && held;
}

static void wait_turns(struct bad *by)
{
	for (int i = 0; i < TURNS; i++)
		client_works(by);
}

/* More records than the socket and the daemon hold: the answer continues as they are read. */
static bool a_long_answer_waits(const char *path, struct bad *by)
{
	struct bad b = {.path = path, .fd = attach(path)};
	struct ctl_show m = {.hdr = {MSG_CTL_SHOW, 7}, .version = CTL_VERSION, .object = CTL_PD};
	const struct ctl_end *end = (const void *)b.rec;
	unsigned n = 0;

	hello(&b);
	for (int i = 0; i < OBJECTS; i++)
		make_pd(&b);
	put(&b, &m, sizeof(m), NULL, 0);
	wait_turns(by);
	while (get(&b) && end->hdr.op == MSG_CTL_RECORD && end->hdr.seq == 7)
		n++;
	printf("# %u objects: %u records\n", OBJECTS, n);
	return n == OBJECTS && end->hdr.op == MSG_CTL_END && end->records == OBJECTS &&
	       client_works(&b);
}

int main(int argc, char **argv)
{
	struct bad by;
	bool held;

	if (argc < 2)
		die("usage: memory SOCKET [PID]");
	if (argc > 2)
		return maps_are_bounded(argv[1], argv[2]) ? 0 : 1;
	by = (struct bad){.path = argv[1], .fd = attach(argv[1])};
	hello(&by);
	held = check("rings and endpoints are charged", queue_pairs_are_charged(argv[1]));
	held &= check("nothing is read from a client that reads no replies",
		      unread_replies_end_the_reading(argv[1], &by));
	held &= check("a long answer waits for its reader", a_long_answer_waits(argv[1], &by));
	return held ? 0 : 1;
}
