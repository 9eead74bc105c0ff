/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/client_rig.h"

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/net/association.h"
#include "daemon/objects/sessions/assoc_events.h"
#include "daemon/objects/memory/stags.h"
#include "daemon/service/attach.h"
#include "daemon/service/record.h"
#include "daemon/turn.h"
#include "ipc/conn.h"
#include "ipc/ctl.h"
#include "ipc/local_protocol.h"
#include "ipc/msg_addr.h"

enum { PORT = 5043, STREAMS = 512, EVENTS = 16 };

static const struct msg_addr here = {.family = AF_INET, .port = PORT, .bytes = {127, 0, 0, 1}};

struct daemon rig;
uint64_t (*rig_clock_us)(void *user);
const struct event_loop_hooks *rig_hooks;
static struct worker *const w = &rig.worker;

/* Who reads in the turns of the loop, and what it has read. */
static struct rig_program *reader;
static struct msg_event *into;
static unsigned has_read, room;

static bool read_one(struct rig_program *p)
{
	struct msg_event ev;
	int fds[MSG_MAX_FDS];
	unsigned n;
	size_t len;

	if (conn_recv(p->event_fd, &ev, sizeof(ev), &len, fds, &n) != CONN_E_OK)
		return false;
	cr_assert_eq(len, sizeof(ev));
	if (has_read < room)
		into[has_read] = ev;
	has_read++;
	return true;
}

static bool turn(void *user, uint64_t now_ms)
{
	bool any = turn_hooks.turn(user, now_ms);

	while (read_one(reader))
		any = true;
	if (!any && reader->c->io.events.count == 0)
		event_loop_stop(w->loop);
	return any;
}

static uint64_t expiry_us(void *user)
{
	return turn_hooks.expiry_us(user);
}

static bool sleep_on(void *user)
{
	return turn_hooks.sleep(user);
}

static void awake(void *user)
{
	turn_hooks.awake(user);
}

void rig_start(void)
{
	static struct event_loop_hooks hooks = {
		.turn = turn, .expiry_us = expiry_us, .sleep = sleep_on, .awake = awake};
	struct llp_config net = {.addrs = w->own.a, .streams = STREAMS};
	const struct msg_addr own = {.family = AF_INET, .bytes = {127, 0, 0, 1}};

	hooks.clock_us = rig_clock_us;
	signal(SIGPIPE, SIG_IGN);
	log_set_level(LOG_LEVEL_ERR);
	config_default(&rig.cfg);
	rig.cfg.limits.events = EVENTS;
	worker_init(w, &rig, 64);
	w->assoc_events = &assoc_events;
	cr_assert_eq(llp_loop_open(&net, &association_llp_events, &w->net), 0);
	cr_assert_eq(msg_addr_get(&own, &w->own.a[w->own.n++]), 0);
	net.naddrs = w->own.n;
	cr_assert_eq(llp_loop_open(&net, &association_llp_events, &w->self), 0);
	cr_assert_eq(acct_new(&rig.cfg.limits, &rig.acct), 0);
	cr_assert_eq(event_loop_new(rig_hooks ? rig_hooks : &hooks, w, 0, &w->loop), 0);
	cr_assert_eq(stags_new(64, getrandom, &rig.stags), 0);
	idtab_init(&rig.clients, 4);
	w->now_ms = event_loop_now_ms(w->loop);
}

static const struct msg_hdr *receive(struct rig_program *p, int *ret_fds, unsigned *ret_n)
{
	size_t len;

	cr_assert_eq(conn_recv(p->fd, p->rec, sizeof(p->rec), &len, ret_fds, ret_n), CONN_E_OK);
	return (const struct msg_hdr *)p->rec;
}

uint32_t rig_call(struct rig_program *p, const void *req, size_t len)
{
	const struct msg_handle *h = (const void *)p->rec;
	int fds[MSG_MAX_FDS];
	unsigned n = 0;

	record_handle(p->c, req, len, NULL, 0);
	while (receive(p, fds, &n)->op == MSG_CTL_RECORD)
		;
	cr_assert_eq(h->hdr.op, ((const struct msg_hdr *)req)->op, "%s",
		     ((const struct msg_error *)(const void *)h)->reason);
	if (h->hdr.op == MSG_HELLO) {
		p->event_fd = fds[0];
		p->bell = fds[2];
	}
	for (unsigned i = 0; h->hdr.op != MSG_HELLO && i < n; i++)
		close(fds[i]);
	return h->handle;
}

void rig_attach(struct rig_program *p)
{
	const struct msg_hello hello = {.hdr = {MSG_HELLO, 1},
					.major = IPC_VERSION_MAJOR,
					.minor = IPC_VERSION_MINOR,
					.comm = "rig"};
	struct client *c;
	uint32_t pos = 0;
	int pair[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	cr_assert_eq(attach_client(w, pair[0]), 0);
	*p = (struct rig_program){.fd = pair[1]};
	while ((c = idtab_next(&rig.clients, &pos)))
		if (c->io.fd == pair[0])
			p->c = c;
	rig_call(p, &hello, sizeof(hello));
}

static void make_parts(struct rig_program *p)
{
	const struct msg_hdr pd = {MSG_ALLOC_PD, 1};
	const struct msg_create_cq cq = {.hdr = {MSG_CREATE_CQ, 1}, .entries = 16};

	p->pd = rig_call(p, &pd, sizeof(pd));
	p->cq = rig_call(p, &cq, sizeof(cq));
}

uint32_t rig_make_qp(struct rig_program *p)
{
	struct msg_create_qp qp = {
		.hdr = {MSG_CREATE_QP, 1},
		.sq_entries = 8,
		.rq_entries = 8,
		.max_send_sge = 1,
		.max_recv_sge = 1,
	};

	if (!p->pd)
		make_parts(p);
	qp.pd = p->pd;
	qp.send_cq = qp.recv_cq = p->cq;
	return rig_call(p, &qp, sizeof(qp));
}

void rig_destroy_qp(struct rig_program *p, uint32_t qp)
{
	const struct msg_handle m = {.hdr = {MSG_DESTROY_QP, 1}, .handle = qp};

	rig_call(p, &m, sizeof(m));
	rig_turns();
}

uint32_t rig_listen(struct rig_program *p, uint32_t backlog)
{
	struct msg_listen m = {.hdr = {MSG_LISTEN, 1}, .backlog = backlog, .naddrs = 1};

	m.port = PORT;
	m.addrs[0] = here;
	return rig_call(p, &m, sizeof(m));
}

void rig_begin_connect(struct rig_program *p, uint32_t qp)
{
	struct msg_connect m = {.hdr = {MSG_CONNECT, 1}, .qp = qp, .npeers = 1};

	m.peers[0] = here;
	rig_call(p, &m, sizeof(m));
}

void rig_connect(struct rig_program *p, uint32_t qp)
{
	rig_begin_connect(p, qp);
	rig_turns();
}

void rig_turns(void)
{
	for (unsigned i = 0; i < 8; i++)
		turn_hooks.turn(w, w->now_ms + 1);
}

unsigned rig_read_events(struct rig_program *p, struct msg_event *ret, unsigned max)
{
	reader = p;
	into = ret;
	room = max;
	has_read = 0;
	cr_assert_eq(event_loop_run(w->loop), 0);
	return has_read;
}
