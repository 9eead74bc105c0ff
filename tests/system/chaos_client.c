/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ipc/conn.h"
#include "ipc/doorbell.h"
#include "ipc/ring.h"
#include "ipc/wqe.h"
#include "tests/system/chaos.h"

enum { REPLY_MS = 100, INDEX_BYTES = 256 };

/* ---- numbers ---- */

static uint64_t chaos_next(struct chaos *c)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return c->random;
}

uint32_t chaos_below(struct chaos *c, uint32_t n)
{
	return (uint32_t)((chaos_next(c) >> 16) % n);
}

bool chaos_once_in(struct chaos *c, uint32_t n)
{
	return chaos_below(c, n) == 0;
}

uint32_t chaos_handle(struct chaos *c, enum chaos_kind kind)
{
	uint32_t n = c->nheld[kind];

	if (chaos_once_in(c, 2000))
		return (uint32_t)chaos_next(c);
	if (n > 0)
		return c->held[kind][chaos_below(c, n)];
	c->lacking = true;
	return 0;
}

void chaos_hold(struct chaos *c, enum chaos_kind kind, uint32_t handle)
{
	uint32_t *n = &c->nheld[kind];

	c->held[kind][*n < CHAOS_HELD ? (*n)++ : chaos_below(c, CHAOS_HELD)] = handle;
}

void chaos_forget(struct chaos *c, enum chaos_kind kind, uint32_t handle)
{
	uint32_t *held = c->held[kind];

	for (uint32_t i = 0; i < c->nheld[kind]; i++)
		if (held[i] == handle)
			held[i] = held[--c->nheld[kind]];
}

uint32_t chaos_stag(struct chaos *c)
{
	uint32_t n = c->shared->nstags;

	if (n > 0 && !chaos_once_in(c, 20))
		return c->shared->stags[chaos_below(c, n < CHAOS_STAGS ? n : CHAOS_STAGS)];
	return (uint32_t)chaos_next(c);
}

/* ---- shared memory ---- */

/* Maps the memfd and remembers the piece of it. */
static void chaos_map(struct chaos *c, int fd, uint64_t offset, uint64_t len,
		      struct chaos_area area)
{
	unsigned n = c->nareas;
	struct stat st;
	uint8_t *map;

	if (n == CHAOS_AREAS || fstat(fd, &st) < 0 || offset + len > (uint64_t)st.st_size)
		return;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return;
	area.p = map + offset;
	area.len = len;
	c->area[n] = area;
	c->nareas = n + 1;
}

/* Writes some bytes into memory that the daemon may be reading. indices: also of rings' heads. */
static void chaos_scribble(struct chaos *c, bool indices)
{
	unsigned n = c->nareas;
	const struct chaos_area *a;
	size_t at;

	if (n == 0)
		return;
	a = &c->area[chaos_below(c, n)];
	at = chaos_below(c, (uint32_t)a->len);
	if (indices && chaos_once_in(c, 2))
		at %= INDEX_BYTES;
	else if (a->entry && at < sizeof(struct ring_shared))
		return;
	if (at < a->len)
		a->p[at] = chaos_once_in(c, 2) ? (uint8_t)chaos_next(c) : (uint8_t)(a->p[at] + 1);
}

/* Changes entries while the daemon reads them. */
static void *chaos_change(void *arg)
{
	struct chaos c = *(struct chaos *)arg;
	struct chaos *of = arg;
	bool indices = chaos_once_in(&c, 8);

	for (;;) {
		memcpy(c.area, of->area, sizeof(c.area));
		c.nareas = of->nareas;
		for (int i = 0; i < 200; i++)
			chaos_scribble(&c, indices);
		sched_yield();
	}
	return NULL;
}

/* ---- rings ---- */

static void chaos_element(struct chaos *c, struct wqe_sge *s)
{
	s->addr = CHAOS_IOVA + chaos_below(c, CHAOS_MEMORY / 4);
	s->len = chaos_once_in(c, 30) ? (uint32_t)chaos_next(c) : chaos_below(c, 20000);
	s->lkey = chaos_stag(c);
}

/* For a queue pair of datagrams, to the number that a stag may be. */
static void chaos_fill_datagram(struct chaos *c, struct wqe_send *w)
{
	uint32_t n = c->nheld[CHAOS_AH];

	w->opcode = WQE_SEND;
	w->flags = WQE_SIGNALED | (chaos_once_in(c, 2) ? WQE_WITH_IMM : 0);
	w->fetch = 0;
	w->inv_rkey = n > 0 ? c->held[CHAOS_AH][chaos_below(c, n)] : 0;
	w->remote_addr = chaos_below(c, 3);
}

static void chaos_fill_send(struct chaos *c, struct wqe_send *w)
{
	memset(w, 0, sizeof(*w));
	w->wr_id = chaos_next(c);
	w->opcode = (uint8_t)chaos_below(c, WQE_OPCODE_COUNT + 1);
	w->flags = (uint8_t)(chaos_once_in(c, 8) ? chaos_next(c) : chaos_below(c, 8));
	w->num_sge = (uint8_t)chaos_below(c, chaos_once_in(c, 50) ? 256 : 3);
	w->fetch = chaos_once_in(c, 20);
	w->inline_len = chaos_below(c, chaos_once_in(c, 50) ? 1 << 20 : 64);
	w->remote_addr = CHAOS_IOVA + 8 * (uint64_t)chaos_below(c, CHAOS_MEMORY / 32);
	w->rkey = chaos_stag(c);
	w->inv_rkey = chaos_stag(c);
	for (unsigned i = 0; i < 4; i++)
		w->operand[i] = chaos_next(c);
	if (w->opcode == WQE_BIND) {
		w->bind.region = chaos_stag(c);
		w->bind.access = chaos_below(c, 32);
		w->bind.length = chaos_below(c, CHAOS_MEMORY);
	}
	if (chaos_once_in(c, 4))
		chaos_fill_datagram(c, w);
	for (unsigned i = 0; i < 3; i++)
		chaos_element(c, &w->sge[i]);
}

static void chaos_fill_recv(struct chaos *c, struct wqe_recv *w)
{
	memset(w, 0, sizeof(*w));
	w->wr_id = chaos_next(c);
	w->num_sge = (uint8_t)chaos_below(c, chaos_once_in(c, 50) ? 256 : 3);
	w->qn = chaos_once_in(c, 8) ? chaos_below(c, 4) : 0;
	for (unsigned i = 0; i < 3; i++)
		chaos_element(c, &w->sge[i]);
}

/* Publishes entries in some ring, and rings. */
static void chaos_post(struct chaos *c)
{
	unsigned n = c->nareas;
	struct chaos_area a;
	struct ring r;
	union {
		struct wqe_send send;
		struct wqe_recv recv;
	} w;

	if (n == 0)
		return;
	a = c->area[chaos_below(c, n)];
	if (!a.entry)
		return;
	ring_init(&r, a.p, a.entries, a.entry);
	for (unsigned more = 1 + chaos_below(c, 4); more > 0; more--) {
		uint32_t tail = r.sh->tail;

		if (a.sends)
			chaos_fill_send(c, &w.send);
		else
			chaos_fill_recv(c, &w.recv);
		memcpy(ring_slot(&r, tail), &w, a.entry < sizeof(w) ? a.entry : sizeof(w));
		if (tail - r.sh->head < a.entries || chaos_once_in(c, 500))
			r.sh->tail = tail + 1;
	}
	c->shared->posts++;
	if (c->page && bell_ring(c->page, a.slot % BELL_QUEUES))
		doorbell_ring(c->bell);
}

/* Takes completions, so that work goes on. */
static void chaos_poll(struct chaos *c)
{
	for (unsigned i = 0; i < c->nareas; i++) {
		struct ring_shared *sh = (void *)c->area[i].p;

		if (c->area[i].entry == sizeof(struct wqe_cqe))
			sh->head = sh->tail;
	}
}

/* ---- replies ---- */

static void chaos_took_queue(struct chaos *c, const struct msg_qp *m, const int *fds, unsigned n)
{
	uint64_t rq = m->bytes - m->rq_offset;

	if (n == 0 || m->sq_entry == 0)
		return;
	chaos_map(c, fds[0], m->offset, m->rq_offset ? m->rq_offset : m->bytes,
		  (struct chaos_area){
			  .entry = m->sq_entry, .entries = 16, .slot = m->slot, .sends = true});
	if (m->rq_offset && m->rq_entry)
		chaos_map(
			c, fds[0], m->offset + m->rq_offset, rq,
			(struct chaos_area){.entry = m->rq_entry, .entries = 16, .slot = m->slot});
}

static void chaos_took_hello(struct chaos *c, const struct msg_hello_reply *m, int *fds, unsigned n)
{
	if (n < 3 || c->page)
		return;
	c->id = m->client;
	c->page = mmap(NULL, sizeof(*c->page), PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
	if (c->page == MAP_FAILED)
		c->page = NULL;
	c->event_fd = fds[0];
	c->bell = fds[2];
	fds[0] = fds[2] = -1;
	chaos_map(c, fds[1], 0, sizeof(*c->page), (struct chaos_area){0});
}

static void chaos_took(struct chaos *c, const uint8_t *rec, int *fds, unsigned n)
{
	const struct msg_hdr *hdr = (const void *)rec;
	enum chaos_kind kind = chaos_record_makes(hdr->op);

	if (hdr->op < MSG_OP_COUNT)
		c->shared->done[hdr->op]++;
	else if (hdr->op == MSG_CTL_END)
		c->shared->done[MSG_CTL_SHOW]++;
	if (chaos_record_ends(hdr->op) != CHAOS_KINDS)
		chaos_forget(c, chaos_record_ends(hdr->op), c->requested);
	if (kind != CHAOS_KINDS)
		chaos_hold(c, kind, ((const struct msg_handle *)rec)->handle);
	if (kind == CHAOS_MR || kind == CHAOS_MW)
		c->shared->stags[c->shared->nstags++ % CHAOS_STAGS] =
			((const struct msg_mr *)rec)->stag;
	else if (kind == CHAOS_QP)
		c->shared->stags[c->shared->nstags++ % CHAOS_STAGS] =
			((const struct msg_qp *)rec)->qp_num;
	switch (hdr->op) {
	case MSG_HELLO:
		chaos_took_hello(c, (const void *)rec, fds, n);
		break;
	case MSG_CREATE_QP:
		chaos_took_queue(c, (const void *)rec, fds, n);
		break;
	case MSG_CREATE_CQ:
	case MSG_RESIZE_CQ:
		if (n > 0)
			chaos_map(c, fds[0], ((const struct msg_cq *)rec)->offset,
				  ((const struct msg_cq *)rec)->bytes,
				  (struct chaos_area){.entry = sizeof(struct wqe_cqe),
						      .entries = 16});
		break;
	case MSG_CREATE_SRQ:
		if (n > 0)
			chaos_map(c, fds[0], ((const struct msg_srq *)rec)->offset,
				  ((const struct msg_srq *)rec)->bytes,
				  (struct chaos_area){.entry = ((const struct msg_srq *)rec)->entry,
						      .entries = 16});
		break;
	case MSG_OPEN_AGENT:
	case MSG_CTL_CAPTURE:
		if (n > 0)
			chaos_map(c, fds[0], 0, 4096, (struct chaos_area){0});
		break;
	default:;
	}
}

/* A record of that socket, if one comes in time. False: the connection is over. */
static bool chaos_receive(struct chaos *c, int fd, int ms)
{
	_Alignas(8) uint8_t rec[MSG_MAX];
	const struct msg_event *ev = (const void *)rec;
	struct pollfd p = {fd, POLLIN, 0};
	int fds[MSG_MAX_FDS];
	unsigned n = 0;
	size_t len;

	if (poll(&p, 1, ms) <= 0)
		return true;
	if (conn_recv(fd, rec, sizeof(rec), &len, fds, &n) != CONN_E_OK)
		return false;
	if (ev->hdr.op == MSG_EVENT) {
		c->shared->events++;
		if (ev->type == MSG_EV_REQUEST)
			chaos_hold(c, CHAOS_REQUEST, ev->request);
		else if (ev->type == MSG_EV_WITHDRAWN)
			chaos_forget(c, CHAOS_REQUEST, ev->request);
	} else {
		chaos_took(c, rec, fds, n);
	}
	for (unsigned i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return true;
}

static bool chaos_send(struct chaos *c, const void *rec, size_t len, const int *fds, unsigned n)
{
	const struct msg_hdr *hdr = rec;

	if (len >= sizeof(*hdr) && hdr->op < MSG_OP_COUNT)
		c->shared->sent[hdr->op]++;
	c->requested = ((const struct msg_handle *)rec)->handle;
	return conn_send(c->fd, rec, len, fds, n) == 0;
}

bool chaos_call(struct chaos *c, uint32_t op)
{
	_Alignas(8) uint8_t rec[MSG_MAX];
	int fds[MSG_MAX_FDS];
	unsigned n;
	size_t len = chaos_record_of(c, op, rec, fds, &n);

	return chaos_send(c, rec, len, fds, n) && chaos_receive(c, c->fd, 10 * REPLY_MS);
}

/* Some request; now and then the reply waits. */
static bool chaos_request(struct chaos *c)
{
	_Alignas(8) uint8_t rec[MSG_MAX];
	int fds[MSG_MAX_FDS];
	unsigned n;
	size_t len = chaos_record(c, rec, fds, &n);

	return chaos_send(c, rec, len, fds, n) &&
	       (chaos_once_in(c, 30) || chaos_receive(c, c->fd, REPLY_MS));
}

/* ---- its life ---- */

/* Nothing of a hostile program outlives the one that started it. */
static void chaos_fork(struct chaos *c)
{
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		c->random += 0x9e3779b97f4a7c15;
	}
}

/* Closes or shuts down something that the daemon uses. */
static void chaos_close(struct chaos *c)
{
	switch (chaos_below(c, 4)) {
	case 0:
		close(c->event_fd);
		c->event_fd = -1;
		break;
	case 1:
		close(c->bell);
		c->bell = -1;
		break;
	case 2:
		shutdown(c->fd, (int)chaos_below(c, 3));
		break;
	default:
		shutdown(c->event_fd, (int)chaos_below(c, 3));
	}
}

static bool chaos_step(struct chaos *c)
{
	switch (chaos_below(c, 16)) {
	case 0:
	case 1:
	case 2:
		chaos_post(c);
		return true;
	case 3:
		chaos_poll(c);
		return true;
	case 4:
	case 5:
		return c->event_fd < 0 || chaos_receive(c, c->event_fd, 0);
	case 6:
		if (chaos_once_in(c, 10))
			chaos_scribble(c, chaos_once_in(c, 10));
		return true;
	case 7:
		if (chaos_once_in(c, 100))
			chaos_close(c);
		if (chaos_once_in(c, 200))
			chaos_fork(c);
		if (chaos_once_in(c, 200))
			raise(SIGSTOP);
		return true;
	default:
		return chaos_request(c);
	}
}

static bool chaos_connect(struct chaos *c)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};

	strncpy(sun.sun_path, c->path, sizeof(sun.sun_path) - 1);
	c->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	return c->fd >= 0 && connect(c->fd, (struct sockaddr *)&sun, sizeof(sun)) == 0;
}

/* Descriptors to send: the first one is as it should be. */
static void chaos_descriptors(struct chaos *c)
{
	int pair[2] = {-1, -1};

	c->fds[0] = memfd_create("chaos", MFD_ALLOW_SEALING);
	c->fds[1] = memfd_create("unsealable", 0);
	c->fds[2] = memfd_create("empty", MFD_ALLOW_SEALING);
	c->fds[3] = open("/dev/null", O_RDWR);
	(void)!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair);
	c->fds[4] = pair[0];
	c->fds[5] = pair[1];
	(void)!ftruncate(c->fds[0], CHAOS_MEMORY);
	(void)!ftruncate(c->fds[1], CHAOS_MEMORY);
	chaos_map(c, c->fds[0], 0, CHAOS_MEMORY, (struct chaos_area){0});
}

void chaos_run(struct chaos *c, unsigned steps)
{
	pthread_t thread;

	c->event_fd = c->bell = -1;
	chaos_descriptors(c);
	if (!chaos_connect(c))
		return;
	if (!chaos_once_in(c, 20) && !chaos_call(c, MSG_HELLO))
		return;
	if (chaos_once_in(c, 3))
		(void)!pthread_create(&thread, NULL, chaos_change, c);
	while (steps-- > 0 && chaos_step(c))
		;
}
