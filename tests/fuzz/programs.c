/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/programs.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/base/config_keys.h"
#include "daemon/base/config_value.h"
#include "daemon/net/association.h"
#include "daemon/net/peers.h"
#include "daemon/objects/sessions/assoc_events.h"
#include "daemon/objects/sessions/carriers.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/queues/cq.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/objects/queues/srq.h"
#include "daemon/objects/memory/stags.h"
#include "daemon/service/attach.h"
#include "daemon/service/record.h"
#include "daemon/service/stop.h"
#include "daemon/turn.h"
#include "ipc/conn.h"
#include "ipc/ctl.h"
#include "ipc/local_protocol.h"
#include "proto/ddp/stag.h"

enum {
	PROGRAMS = 2,
	BEGINS = 6, /* programs in it, one after the other */
	STAGS = 256,
	MEM = 16384,             /* bytes of the memory that clients register */
	FDS = 3,                 /* kinds of descriptors that they send */
	FIRST_NUMBER = 0x100000, /* of datagrams */
};

/* A client's own side. */
struct program {
	uint32_t handle; /* in daemon.clients, 0: not begun */
	int fd, event_fd;
};

struct programs programs;

static struct daemon *const d = &programs.d;
static struct worker *const w = &programs.d.worker;
static struct program program[PROGRAMS];
static int fds[FDS]; /* memfd, memfd that cannot be sealed, no memfd */
static void *mem;
static uint32_t drawn; /* STags in this input */
static struct input *in;
static unsigned begins;
static int lowest_fd;

/* ---- the daemon ---- */

static void limit(struct config *cfg)
{
	config_default(cfg);
	cfg->session.pending_max = 3;
	cfg->session.records = 32;
	cfg->session.early_bytes = 4096;
	cfg->limits = (struct config_limits){
		.clients = PROGRAMS,
		.pds = 4,
		.mrs = 6,
		.mr_bytes = UINT64_C(4) * MEM,
		.mws = 6,
		.cqs = 6,
		.qps = 6,
		.srqs = 3,
		.listeners = 3,
		.associations = 3,
		.memory = UINT64_C(8) << 20,
		.qp_wr = 64,
		.cqe = 64,
		.events = 16,
	};
}

/* An input draws the same values each time: 0x100, 0x200 and so on. */
static ssize_t preset_stags(void *p, size_t len, unsigned flags)
{
	(void)flags;
	for (size_t n = len / sizeof(uint32_t); n > 0; n--)
		((uint32_t *)p)[n - 1] = ++drawn << 8;
	return (ssize_t)len;
}

/* What CTL_SET sets lasts until the end of the input. The memory of the machine is not for it. */
static int change_key(struct daemon *daemon, const struct config_key *k, const struct config *cfg)
{
	if (cfg->limits.memory > daemon->cfg.limits.memory)
		return -1;
	config_value_copy(k, cfg, &daemon->cfg);
	return 0;
}

void programs_make_daemon(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN); /* CTL_RELOAD */
	log_set_level(LOG_LEVEL_ERR);
	limit(&d->cfg);
	worker_init(w, d, 16);
	w->assoc_events = &assoc_events;
	d->change_key = change_key;
	must(msg_addr_get(&programs.own, &w->own.a[w->own.n++]) == 0);
	must(llp_loop_open(
		     &(struct llp_config){.addrs = w->own.a, .naddrs = w->own.n, .streams = 8},
		     &association_llp_events, &w->self) == 0);
	must(acct_new(&d->cfg.limits, &d->acct) == 0);
	must(event_loop_new(&turn_hooks, w, 0, &w->loop) == 0);
	idtab_init(&d->clients, PROGRAMS);
	stop_init(d);
	fds[0] = memfd_create("memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	fds[1] = memfd_create("unsealed", MFD_CLOEXEC);
	fds[2] = dup(STDERR_FILENO);
	must(fds[0] >= 0 && fds[1] >= 0 && fds[2] >= 0);
	must(ftruncate(fds[0], MEM) == 0 && ftruncate(fds[1], MEM) == 0);
	mem = mmap(NULL, MEM, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	must(mem != MAP_FAILED);
}

void programs_turn(uint64_t ms)
{
	turn_hooks.turn(w, w->now_ms + ms);
}

/* ---- clients ---- */

static struct client *client_of(const struct program *p)
{
	return idtab_get(&d->clients, p->handle);
}

/* Reads all replies. Keeps the socket for events. */
static void drain(struct program *p, int fd)
{
	_Alignas(8) uint8_t rec[MSG_MAX];
	int got[MSG_MAX_FDS];
	struct msg_hdr hdr;
	unsigned n;
	size_t len;

	while (fd >= 0 && conn_recv(fd, rec, sizeof(rec), &len, got, &n) == CONN_E_OK) {
		must(len >= sizeof(hdr));
		memcpy(&hdr, rec, sizeof(hdr));
		for (unsigned i = 0; i < n; i++) {
			if (i == 0 && hdr.op == MSG_HELLO && p->event_fd < 0)
				p->event_fd = got[i];
			else
				close(got[i]);
		}
	}
}

/* The descriptors are of one kind. unread: the program does not read its replies. */
struct sending {
	unsigned nfds, kind;
	bool unread;
};

static void send_record(struct program *p, const void *rec, size_t len, struct sending how)
{
	uint8_t *exact;
	int given[MSG_MAX_FDS];

	/* The daemon does not read what follows on replies that wait. */
	if (client_of(p)->show || client_of(p)->io.replies.count > 0)
		return;
	exact = malloc(len);
	must(exact && len > 0);
	memcpy(exact, rec, len);
	for (unsigned i = 0; i < how.nfds; i++)
		given[i] = dup(fds[how.kind % FDS]);
	record_handle(client_of(p), exact, len, given, how.nfds);
	free(exact);
	attach_end_faulty(w);
	if (!how.unread)
		drain(p, p->fd);
}

/* The program closes its sockets; the daemon has not noticed yet. */
static void hang_up(struct program *p)
{
	if (p->handle && p->fd >= 0)
		close(p->fd);
	if (p->event_fd >= 0)
		close(p->event_fd);
	p->fd = p->event_fd = -1;
}

static void end(struct program *p)
{
	if (client_of(p))
		attach_free(client_of(p));
	hang_up(p);
	*p = (struct program){.event_fd = -1};
}

static void begin(struct program *p, bool hello)
{
	const struct msg_hello rec = {.hdr = {MSG_HELLO, 1},
				      .major = IPC_VERSION_MAJOR,
				      /* every second one has an old library */
				      .minor = (uint16_t)((p - program) % 2),
				      .comm = "fuzz"};
	struct client *c;
	uint32_t pos = 0;
	int pair[2];

	end(p);
	begins++;
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	must(attach_client(w, pair[0]) == 0);
	while ((c = idtab_next(&d->clients, &pos)))
		if (c->io.fd == pair[0])
			p->handle = c->handle;
	p->fd = pair[1];
	if (hello)
		send_record(p, &rec, sizeof(rec), (struct sending){0});
}

static struct program *some_program(void)
{
	struct program *p = &program[in_8(in) % PROGRAMS];

	if (!client_of(p))
		begin(p, true);
	return p;
}

/* ---- actions ---- */

/* All records that a client sends; the arrays have room for any of them. */
union request {
	struct msg_hdr hdr;
	struct msg_connect connect;
	struct msg_listen listen;
	struct msg_listen_key listen_key;
	struct msg_set_primary primary;
	struct msg_qp_rnr rnr;
	struct msg_create_ah ah;
	struct ctl_show show;
	struct ctl_do verb;
	struct ctl_set set;
	struct ctl_capture capture;
	uint8_t bytes[MSG_MAX];
};

static void listen_here(struct msg_listen *m)
{
	m->port = PROGRAMS_PORT;
	m->naddrs = 1;
	m->addrs[0] = programs.own;
	m->addrs[0].port = PROGRAMS_PORT;
}

/* What a request needs to be more than refused. A new one has a case here if zeros are not that. */
_Static_assert(MSG_OP_COUNT == MSG_QUERY_PEER + 1, "every request is known");

static void begin_request(union request *r)
{
	switch (r->hdr.op) {
	case MSG_CONNECT:
		r->connect.npeers = 1;
		r->connect.peers[0] = programs.peer;
		break;
	case MSG_LISTEN:
		listen_here(&r->listen);
		break;
	case MSG_LISTEN_KEY:
		listen_here(&r->listen_key.listen);
		r->listen_key.key = 1;
		break;
	case MSG_SET_PRIMARY:
		r->primary.remote = programs.peer;
		break;
	case MSG_SET_QP_RNR:
		r->rnr.timer_ms = 1;
		break;
	case MSG_CREATE_AH:
		r->ah.remote = programs.own;
		break;
	case MSG_CTL_SHOW:
		r->show.version = CTL_VERSION;
		break;
	case MSG_CTL_DO:
		r->verb.version = CTL_VERSION;
		break;
	case MSG_CTL_SET:
		r->set.version = CTL_VERSION;
		break;
	case MSG_CTL_CAPTURE:
		r->capture.version = CTL_VERSION;
		break;
	default:
		break;
	}
}

/* The bytes of a request that do not come from the input: its header, and the version of control
 * requests. */
static size_t head_of(uint32_t op)
{
	if (op == MSG_CTL_DO || op == MSG_CTL_CAPTURE)
		return offsetof(struct ctl_do, verb);
	return op == MSG_CTL_SET ? offsetof(struct ctl_set, key) : sizeof(struct msg_hdr);
}

/* Input: opcode, faults, length, the bytes after the head. The rest of the record is zeros, except
 * for what begin_request() sets. */
static void record(struct program *p)
{
	union request r = {.hdr = {.op = in_8(in), .seq = 7}};
	const struct msg_shape *shape = msg_shape(r.hdr.op);
	uint8_t wrong = in_8(in), n = in_8(in);
	struct sending how = {shape ? shape->nfds : 0, wrong >> 4, wrong & 4};
	size_t len = shape ? shape->len : sizeof(r.hdr);

	begin_request(&r);
	in_copy(in, r.bytes + head_of(r.hdr.op), n);
	if (r.hdr.op == MSG_CTL_SHOW)
		r.show.version = CTL_VERSION;
	if (wrong & 1)
		len = 1 + in_16(in) % MSG_MAX;
	if (wrong & 2)
		how.nfds = in_8(in) % (MSG_MAX_FDS + 1);
	send_record(p, &r, len, how);
}

static struct ring *some_ring(struct client *c, uint8_t kind, struct qp *qp)
{
	struct srq *srq = idtab_at(&c->handles.srqs, kind >> 4);

	if (kind % 4 == 2)
		return srq ? &srq->ring : NULL;
	if (!qp || (kind % 4 == 1 && qp->wq.srq))
		return NULL;
	return kind % 4 == 1 ? &qp->wq.rq : &qp->wq.sq;
}

/* Writes the next entry of a ring, publishes it and rings. */
static void post(struct program *p)
{
	struct client *c = client_of(p);
	uint8_t kind = in_8(in), steps = in_8(in), n = in_8(in);
	struct qp *qp = idtab_at(&c->handles.qps, kind >> 2 & 3);
	struct ring *r = some_ring(c, kind, qp);
	uint32_t tail;

	if (!r)
		return;
	tail = atomic_load(&r->sh->tail);
	in_copy(in, ring_slot(r, tail), n < r->entry_size ? n : r->entry_size);
	atomic_store(&r->sh->tail, tail + 1 + steps);
	if (qp)
		client_ring(c, qp->handle);
}

/* Reads all events, and all completions of a queue. */
static void poll(struct program *p)
{
	struct cq *cq = idtab_at(&client_of(p)->handles.cqs, in_8(in) % 8);

	drain(p, p->event_fd);
	if (cq)
		atomic_store(&cq->ring.sh->head, atomic_load(&cq->ring.sh->tail));
}

/* Writes any bytes anywhere into shared memory. */
static void scribble(struct program *p)
{
	struct client *c = client_of(p);
	uint8_t kind = in_8(in), n = in_8(in);
	uint16_t at = in_16(in);
	const struct cq *cq = idtab_at(&c->handles.cqs, kind >> 2 & 7);
	const struct qp *qp = idtab_at(&c->handles.qps, kind >> 2 & 7);
	const struct srq *srq = idtab_at(&c->handles.srqs, kind >> 2 & 7);
	struct span m = {0};

	if (kind % 4 == 0 && cq)
		m = (struct span){cq->rings.mem, cq->rings.bytes};
	else if (kind % 4 == 1 && qp)
		m = (struct span){qp->rings.mem, qp->rings.bytes};
	else if (kind % 4 == 2 && srq)
		m = (struct span){srq->rings.mem, srq->rings.bytes};
	else if (kind % 4 == 3 && c->bells.page)
		m = (struct span){(uint8_t *)c->bells.page, sizeof(*c->bells.page)};
	if (m.len == 0)
		return;
	at = (uint16_t)(at % m.len);
	in_copy(in, m.p + at, n < m.len - at ? n : m.len - at);
}

void programs_step(void)
{
	uint8_t what = in_8(in);
	struct program *p = some_program();

	switch (what % 8) {
	case 0:
	case 1:
		record(p);
		break;
	case 2:
	case 3:
		post(p);
		break;
	case 4:
		poll(p);
		break;
	case 5:
		scribble(p);
		break;
	case 6:
		programs_turn(UINT64_C(1) << in_8(in) % 16);
		break;
	default:
		if (what >> 3 == 1)
			end(p);
		else if (what >> 3 == 2)
			begin(p, false);
		else if (what >> 3 == 3)
			hang_up(p);
		else if (what >> 3 == 4) {
			hang_up(p);
			end(p);
		}
	}
	programs_turn(1);
}

/* ---- one input ---- */

void programs_begin(struct input *from)
{
	in = from;
	lowest_fd = dup(fds[0]);
	close(lowest_fd);
	memset(mem, 0, MEM);
	drawn = begins = 0;
	limit(&d->cfg);
	must(stags_new(STAGS, preset_stags, &d->stags) == 0);
	d->last_pd = d->last_scope = d->last_qp = d->last_client = d->last_assoc = 0;
	w->last_datagram = FIRST_NUMBER; /* else it begins anywhere */
	w->now_ms = 1;
	for (unsigned i = 0; i < PROGRAMS; i++)
		program[i] = (struct program){.event_fd = -1};
}

bool programs_are_over(void)
{
	return begins >= BEGINS;
}

/* Ended clients leave only associations, which the next ones use. */
void programs_end(void)
{
	uint32_t pos = 0;
	struct association *assoc;

	stop_drain(d, CTL_DRAIN_OFF);
	for (unsigned i = 0; i < PROGRAMS; i++) {
		if (i % 2)
			hang_up(&program[i]);
		end(&program[i]);
	}
	carriers_free(w);
	must(!d->capture && list_empty(&w->journal.watchers) && list_empty(&w->dirty_async));
	must(d->clients.used == 0 && list_empty(&w->faulty) && list_empty(&w->polled));
	must(list_empty(&w->dirty_cqs) && list_empty(&w->low_srqs));
	for (unsigned k = 0; k < ACCT_KINDS; k++)
		must(k == ACCT_ASSOCS || acct_used(d->acct, getuid(), (enum acct_kind)k) == 0);
	for (uint32_t v = 0; v <= drawn; v++)
		must(!stag_find_any_key(stags_table(d->stags), v << 8));
	programs_turn(1);
	while ((assoc = idtab_next(&w->assocs, &pos)))
		association_free(assoc);
	must(w->assocs.used == 0 && list_empty(&w->active));
	must(acct_used(d->acct, getuid(), ACCT_ASSOCS) == 0);
	for (unsigned i = 0; i < 3; i++)
		programs_turn(2000); /* memory goes back to the system */
	must(timer_expiry(&w->timers) == UINT64_MAX);
	programs_turn(1);
	d->stags = stags_free(d->stags);
	must(dup(fds[0]) == lowest_fd); /* no descriptor was lost */
	close(lowest_fd);
}
