/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ipc/agent.h"
#include "ipc/conn.h"
#include "ipc/ctl.h"
#include "ipc/doorbell.h"
#include "ipc/local_protocol.h"
#include "ipc/memfd.h"
#include "ipc/msg.h"
#include "ipc/rung.h"
#include "ipc/wqe.h"
#include "util/checked.h"

enum {
	AREAS = 64,   /* of shared memory that it keeps */
	RINGS = 6,    /* of completions */
	QUEUES = 8,   /* of work */
	PAGE = 4096,  /* what the input can add to a memfd */
	EVENTS = 200, /* of one input: fewer than the socket holds */
	YIELDS = 100000,
	FDS = 6, /* of a reply: more than the library has room for */
};

/* What the input does with a reply. */
enum {
	REFUSE = 1,
	PATCH = 2,
	WRONG_LEN = 4,
	WRONG_FDS = 8,
	SAME_MEMFD = 16, /* as that of the reply before; it may have grown */
	ODD_MEMFD = 32,  /* of another size, or none */
	HANG_UP = 64,
};

struct area {
	uint8_t *p;
	size_t len;
};

/* The reply that is about to be sent: a member for each operation. */
union reply {
	struct msg_hdr hdr;
	struct msg_error error;
#define X(op, name, object, request, reply, ...) MSG_REPLY_##reply name;
	MSG_OPS(X)
#undef X
	uint8_t bytes[MSG_MAX + 8];
};

union record {
	struct msg_hdr hdr;
#define X(op, name, object, request, ...) MSG_REQUEST_##request name;
	MSG_OPS(X)
#undef X
	uint8_t bytes[MSG_MAX];
};

static struct {
	struct input *in;
	bool busy;              /* it sends: what it sends is no request */
	int fd, event_fd, bell; /* its ends */
	int async_bell, agent_bell;
	int cq_bell[RINGS];
	int memfd; /* the last one that it made */
	struct area area[AREAS];
	struct ring cq[RINGS], queue[QUEUES];
	unsigned nareas, ncqs, nqueues, made, events;
	struct agent_area *agent; /* the one that the library maps */
} h;

/* ---- memory ---- */

static void *keep_area(int fd, size_t len)
{
	struct area *a = &h.area[h.nareas];

	if (h.nareas == AREAS)
		return NULL;
	h.nareas++;
	a->len = len;
	a->p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(a->p != MAP_FAILED);
	return a->p;
}

static int new_memfd(size_t len)
{
	int fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	must(fd >= 0 && ftruncate(fd, (off_t)len) == 0);
	return fd;
}

static int no_memfd(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	must(fd >= 0);
	return fd;
}

/* Memory for a reply. NULL: the library gets other memory than the daemon thinks. */
static void *make_memory(uint8_t how, size_t len, int *ret_fd)
{
	if (how & ODD_MEMFD)
		*ret_fd = in_8(h.in) % 4 ? new_memfd(in_16(h.in)) : no_memfd();
	else if (how & SAME_MEMFD && h.memfd >= 0)
		*ret_fd = dup(h.memfd);
	else
		*ret_fd = new_memfd(len);
	must(*ret_fd >= 0);
	if (how & SAME_MEMFD) {
		struct stat st;

		must(fstat(*ret_fd, &st) == 0);
		(void)ftruncate(*ret_fd, st.st_size + in_8(h.in) * PAGE);
	}
	if (h.memfd >= 0)
		close(h.memfd);
	h.memfd = dup(*ret_fd);
	return how & (SAME_MEMFD | ODD_MEMFD) ? NULL : keep_area(*ret_fd, len);
}

/* ---- replies ---- */

static void say_hello(uint8_t how, union reply *r, int fds[])
{
	int sv[2];

	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) == 0);
	if (h.event_fd >= 0)
		close(h.event_fd);
	h.event_fd = sv[0];
	fds[0] = sv[1];
	make_memory(how, sizeof(struct bell_page), &fds[1]);
	if (h.bell >= 0)
		close(h.bell);
	must(doorbell_create(&fds[2], &h.bell) == 0);
	r->hello.major = IPC_VERSION_MAJOR;
	r->hello.minor = IPC_VERSION_MINOR;
	r->hello.client = 1;
}

static void ring_of(struct ring *ring, uint8_t *p, uint32_t entries, uint32_t size)
{
	if (p)
		ring_init(ring, p, entries, size);
}

static void make_cq(uint8_t how, uint32_t entries, union reply *r, int *ret_fd)
{
	r->create_cq.handle = ++h.made;
	r->create_cq.entries = entries;
	r->create_cq.bytes = ring_bytes(entries, sizeof(struct wqe_cqe));
	ring_of(&h.cq[h.ncqs % RINGS], make_memory(how, r->create_cq.bytes, ret_fd), entries,
		sizeof(struct wqe_cqe));
}

static void make_cq_bell(int *ret_fd)
{
	int *bell = &h.cq_bell[h.ncqs++ % RINGS];

	if (*bell >= 0)
		close(*bell);
	must(doorbell_create(bell, ret_fd) == 0);
}

static void make_qp(uint8_t how, const struct msg_create_qp *req, struct msg_qp *m, int *ret_fd)
{
	uint8_t *p;

	m->handle = ++h.made;
	m->qp_num = 100 + m->handle;
	m->slot = m->handle % BELL_QUEUES;
	m->sq_entry = wqe_send_size(req->max_send_sge, req->max_inline);
	m->bytes = ring_bytes(req->sq_entries, m->sq_entry);
	m->rq_entry = wqe_recv_size(req->max_recv_sge);
	m->rq_offset = checked_round_up(m->bytes, RING_LINE);
	if (!req->srq)
		m->bytes = m->rq_offset + ring_bytes(req->rq_entries, m->rq_entry);
	p = make_memory(how, m->bytes, ret_fd);
	ring_of(&h.queue[h.nqueues++ % QUEUES], p, req->sq_entries, m->sq_entry);
	if (p && !req->srq)
		ring_of(&h.queue[h.nqueues++ % QUEUES], p + m->rq_offset, req->rq_entries,
			m->rq_entry);
}

static void make_srq(uint8_t how, const struct msg_create_srq *req, struct msg_srq *m, int *ret_fd)
{
	m->handle = ++h.made;
	m->entry = wqe_recv_size(req->max_sge);
	m->bytes = ring_bytes(req->entries, m->entry);
	ring_of(&h.queue[h.nqueues++ % QUEUES], make_memory(how, m->bytes, ret_fd), req->entries,
		m->entry);
}

static void open_agent(uint8_t how, union reply *r, int fds[])
{
	r->open_agent.bytes = sizeof(*h.agent);
	h.agent = make_memory(how, sizeof(*h.agent), &fds[0]);
	if (h.agent_bell >= 0)
		close(h.agent_bell);
	must(doorbell_create(&h.agent_bell, &fds[1]) == 0);
}

static void open_async(int *ret_fd)
{
	if (h.async_bell >= 0)
		close(h.async_bell);
	must(doorbell_create(&h.async_bell, ret_fd) == 0);
}

static void make_region(struct msg_mr *m)
{
	m->handle = ++h.made;
	m->stag = h.made << 8;
}

/* What a daemon that accepts everything answers. */
static void answer(uint8_t how, const union record *req, union reply *r, int fds[])
{
	switch (req->hdr.op) {
	case MSG_HELLO:
		say_hello(how, r, fds);
		break;
	case MSG_QUERY:
		r->query.max_cqe = 1 << 16;
		break;
	case MSG_ALLOC_PD:
	case MSG_LISTEN:
	case MSG_LISTEN_KEY: /* a handle first */
		r->alloc_pd.handle = ++h.made;
		break;
	case MSG_REG_MR:
	case MSG_REG_OWN_MR:
	case MSG_REREG_MR:
	case MSG_REMAP_MR:
	case MSG_BIND_MR:
	case MSG_ALLOC_MW:
	case MSG_BIND_MW: /* the same struct */
		make_region(&r->reg_mr);
		break;
	case MSG_CREATE_CQ:
		make_cq(how, req->create_cq.entries, r, &fds[0]);
		make_cq_bell(&fds[1]);
		break;
	case MSG_RESIZE_CQ:
		make_cq(how, req->resize_cq.entries, r, &fds[0]);
		break;
	case MSG_CREATE_QP:
		make_qp(how, &req->create_qp, &r->create_qp, &fds[0]);
		break;
	case MSG_CREATE_SRQ:
		make_srq(how, &req->create_srq, &r->create_srq, &fds[0]);
		break;
	case MSG_OPEN_AGENT:
		open_agent(how, r, fds);
		break;
	case MSG_ASYNC_OPEN:
		open_async(&fds[0]);
		break;
	default:
		break;
	}
}

/* Changes bytes of the record at any place. */
static void patch(uint8_t *p, size_t len)
{
	for (unsigned n = 1 + in_8(h.in) % 8; n > 0; n--) {
		size_t at = in_16(h.in) % len;

		in_fill(h.in, p + at, len - at < 4 ? len - at : 4);
	}
}

static void hang_up(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* With any number of descriptors: conn_send() refuses too many. */
static int send_with(const void *rec, size_t len, const int *fds, unsigned n)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(FDS * sizeof(int))];
	} c = {.room = {0}};
	struct iovec iov = {(void *)(uintptr_t)rec, len};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *cm;

	if (n <= MSG_MAX_FDS)
		return conn_send(h.fd, rec, len, fds, n);
	m.msg_control = &c;
	m.msg_controllen = CMSG_SPACE(n * sizeof(int));
	cm = CMSG_FIRSTHDR(&m);
	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(cm), fds, n * sizeof(int));
	return sendmsg(h.fd, &m, MSG_NOSIGNAL) < 0;
}

/* The operation decides what the library expects; the input what it gets. */
static void reply_to(const union record *req)
{
	const struct msg_shape *shape = msg_shape(req->hdr.op);
	union reply r = {.hdr = req->hdr};
	uint8_t how = in_8(h.in);
	int fds[FDS] = {-1, -1, -1, -1, -1, -1};
	unsigned n = shape->reply_nfds;
	size_t len = shape->reply_len;

	if (how & HANG_UP) {
		hang_up(&h.fd);
		return;
	}
	answer(how, req, &r, fds);
	if (how & REFUSE) {
		r.hdr.op = MSG_ERROR;
		r.error.err = in_16(h.in);
		memset(r.error.reason, in_8(h.in) % 2 ? 'x' : 0, sizeof(r.error.reason));
		len = sizeof(r.error);
	}
	if (how & PATCH)
		patch(r.bytes, len);
	if (how & WRONG_LEN)
		len = 1 + in_16(h.in) % sizeof(r.bytes);
	if (how & (WRONG_FDS | REFUSE))
		n = how & WRONG_FDS ? in_8(h.in) % (FDS + 1) : 0;
	for (unsigned i = 0; i < n; i++)
		if (fds[i] < 0)
			fds[i] = no_memfd();
	if (send_with(r.bytes, len, fds, n))
		hang_up(&h.fd);
	for (unsigned i = 0; i < FDS; i++)
		hang_up(&fds[i]);
}

/* The shadow of a region is the library's memory, which the daemon maps. */
static void take_memory(const union record *req, int fd)
{
	struct stat st;

	if (req->hdr.op == MSG_REG_OWN_MR && fstat(fd, &st) == 0 && st.st_size > 0)
		keep_area(fd, (size_t)st.st_size);
}

/* Serves the requests that the library has sent. */
static void serve(void)
{
	static union record req;
	int fds[MSG_MAX_FDS];
	unsigned nfds;
	size_t len;

	while (h.fd >= 0 && conn_recv(h.fd, &req, sizeof(req), &len, fds, &nfds) == CONN_E_OK) {
		must(msg_shape(req.hdr.op) && len == msg_shape(req.hdr.op)->len);
		if (nfds)
			take_memory(&req, fds[0]);
		reply_to(&req);
		while (nfds > 0)
			close(fds[--nfds]);
	}
}

/* ---- the library's system calls ---- */

#define FOR_LIBRARY __attribute__((visibility("default")))

/* To the daemon's socket, wherever that is. */
FOR_LIBRARY int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	int sv[2];

	(void)addr;
	(void)len;
	if (in_8(h.in) % 8 == 7) {
		errno = ECONNREFUSED;
		return -1;
	}
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) == 0);
	must(dup3(sv[0], fd, O_CLOEXEC) == fd && fcntl(sv[1], F_SETFL, O_NONBLOCK) == 0);
	close(sv[0]);
	hang_up(&h.fd);
	h.fd = sv[1];
	return 0;
}

FOR_LIBRARY ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	ssize_t n = syscall(SYS_sendmsg, fd, m, flags);

	if (!h.busy) {
		h.busy = true;
		serve();
		h.busy = false;
	}
	return n;
}

/* ---- what the daemon does of its own ---- */

static void send_event(const void *rec, size_t len)
{
	if (h.event_fd < 0 || len == 0 || h.events++ >= EVENTS)
		return;
	h.busy = true;
	(void)conn_try_send(h.event_fd, rec, len, NULL, 0); /* no other thread would make room */
	h.busy = false;
}

void hostile_event(void)
{
	struct msg_event ev = {.hdr.op = MSG_EVENT};
	uint8_t type = in_8(h.in);

	ev.type = type & 15;
	ev.cookie = in_8(h.in) % 8;
	ev.request = in_8(h.in) % 4;
	ev.path.remote.family = AF_INET;
	if (type & 16)
		patch((uint8_t *)&ev, sizeof(ev));
	send_event(&ev, sizeof(ev));
}

void hostile_bytes(void)
{
	uint8_t b[MSG_MAX];
	size_t n = in_8(h.in) % 2 ? in_8(h.in) : sizeof(struct msg_event);

	in_fill(h.in, b, n);
	send_event(b, n);
}

void hostile_scribble(void)
{
	const uint8_t which = in_8(h.in);
	size_t at = in_32(h.in), n = in_8(h.in);
	const struct area *a;

	if (h.nareas == 0)
		return;
	a = &h.area[which % h.nareas];
	at %= a->len;
	in_copy(h.in, a->p + at, n < a->len - at ? n : a->len - at);
}

void hostile_complete(void)
{
	uint8_t what = in_8(h.in);
	unsigned i = what % RINGS;
	struct ring *ring = &h.cq[i];

	if (what & 64 && h.async_bell >= 0)
		doorbell_ring(h.async_bell);
	if (!ring->sh)
		return;
	in_copy(h.in, ring_slot(ring, atomic_load(&ring->sh->tail)), in_8(h.in) % 65);
	atomic_fetch_add(&ring->sh->tail, what & 128 ? in_8(h.in) : 1);
	if (what & 32)
		atomic_store(&ring->sh->blocked, 1);
	if (h.cq_bell[i] >= 0)
		doorbell_ring(h.cq_bell[i]);
}

void hostile_done(void)
{
	struct ring_shared *sh = h.queue[in_8(h.in) % QUEUES].sh;
	uint8_t what = in_8(h.in);

	if (!sh)
		return;
	atomic_store(&sh->head, what & 1 ? in_32(h.in) : atomic_load(&sh->tail));
	atomic_store(&sh->done, what & 2 ? in_32(h.in) : atomic_load(&sh->tail));
	atomic_store(&sh->sleeping, what & 4);
}

/* The agent serves every marked slot before it sleeps again. False: no thread uses this memory,
 * because the library has refused it, or bytes of the input say that it is awake. */
static bool agent_sleeps(const struct agent_area *a)
{
	for (unsigned i = 0; i < YIELDS; i++) {
		if (!atomic_load(&a->work.summary) && !atomic_load(&a->placed.summary) &&
		    atomic_load(&a->work.sleeping) && atomic_load(&a->placed.sleeping))
			return true;
		sched_yield();
	}
	return false;
}

void hostile_agent(void)
{
	struct agent_area *a = h.agent;
	uint32_t n = in_16(h.in) % AGENT_SLOTS;
	struct agent_request q;

	if (!a || h.agent_bell < 0)
		return;
	in_fill(h.in, &q, sizeof(q));
	q.op %= 8;
	if (!agent_sleeps(a)) {
		h.agent = NULL;
		return;
	}
	agent_ask(&a->slot[n], &q, atomic_load(&a->slot[n].answered) + 1);
	bell_ring(&a->placed, in_16(h.in) % BELL_QUEUES);
	bell_ring(&a->work, n);
	if (doorbell_ring(h.agent_bell) == 0 && !agent_sleeps(a))
		h.agent = NULL;
}

/* ---- one input ---- */

void hostile_begin(struct input *in)
{
	memset(&h, 0, sizeof(h));
	h.in = in;
	h.fd = h.event_fd = h.bell = h.async_bell = h.agent_bell = h.memfd = -1;
	for (unsigned i = 0; i < RINGS; i++)
		h.cq_bell[i] = -1;
}

void hostile_end(void)
{
	int *fds[] = {&h.fd, &h.event_fd, &h.bell, &h.async_bell, &h.agent_bell, &h.memfd};

	for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		hang_up(fds[i]);
	for (unsigned i = 0; i < RINGS; i++)
		hang_up(&h.cq_bell[i]);
	while (h.nareas > 0) {
		h.nareas--;
		munmap(h.area[h.nareas].p, h.area[h.nareas].len);
	}
	memset(h.cq, 0, sizeof(h.cq));
	memset(h.queue, 0, sizeof(h.queue));
	h.agent = NULL;
}
