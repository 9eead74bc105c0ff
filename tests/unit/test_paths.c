/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses and paths in the daemon, without a network: which addresses it accepts, which sessions
 * share an association, who may choose its primary path, and who gets its path events. Sessions go
 * over the loop transport, which also stands in for a transport with one path per association.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/state.h"
#include "daemon/net/association.h"
#include "daemon/net/endpoint_addrs.h"
#include "daemon/net/path.h"
#include "daemon/objects/sessions/assoc_events.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/queues/cq.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/objects/queues/srq.h"
#include "daemon/objects/memory/stags.h"
#include "daemon/service/attach.h"
#include "daemon/service/record.h"
#include "daemon/turn.h"
#include "ipc/conn.h"
#include "ipc/local_protocol.h"
#include "ipc/msg_addr.h"
#include "util/addr.h"

enum { STAGS = 64, PORT = 5043, ALICE = 4711, BOB = 4712 };

/* A client program's own side. */
struct program {
	struct client *c;
	int fd, event_fd;
	uint32_t qp;
	_Alignas(8) uint8_t rec[MSG_MAX];
};

static struct daemon d;
static struct worker *const w = &d.worker;
static struct reply rep;
static struct association_charges none;

static struct msg_addr at(uint8_t last, uint16_t port)
{
	return (struct msg_addr){.family = AF_INET, .port = port, .bytes = {127, 0, 0, last}};
}

static void start(void)
{
	struct llp_config net = {.streams = 8};

	log_set_level(LOG_LEVEL_ERR);
	config_default(&d.cfg);
	d.cfg.limits.events = 16;
	strcpy(d.transport, "user");
	worker_init(w, &d, 64);
	for (w->own.n = 0; w->own.n < 3; w->own.n++) {
		const struct msg_addr own = at((uint8_t)(w->own.n + 1), 0);

		cr_assert_eq(msg_addr_get(&own, &w->own.a[w->own.n]), 0);
	}
	w->assoc_events = &assoc_events;
	cr_assert_eq(llp_loop_open(&net, &association_llp_events, &w->net), 0);
	net.addrs = w->own.a;
	net.naddrs = w->own.n;
	cr_assert_eq(llp_loop_open(&net, &association_llp_events, &w->self), 0);
	cr_assert_eq(acct_new(&d.cfg.limits, &d.acct), 0);
	cr_assert_eq(event_loop_new(&turn_hooks, w, 0, &w->loop), 0);
	cr_assert_eq(stags_new(STAGS, getrandom, &d.stags), 0);
	idtab_init(&d.clients, 8);
	w->now_ms = 1;
}

TestSuite(addrs, .init = start);
TestSuite(paths, .init = start);

static void turn(void)
{
	turn_hooks.turn(w, w->now_ms + 1);
}

/* ---- accepted addresses ---- */

static struct msg_connect to(unsigned n, ...)
{
	struct msg_connect m = {.npeers = (uint16_t)n};
	va_list ap;

	va_start(ap, n);
	for (unsigned i = 0; i < n; i++)
		m.peers[i] = at((uint8_t)va_arg(ap, int), PORT);
	va_end(ap);
	return m;
}

/* Reads the addresses. Returns 0, or the errno value of the refusal, whose text is checked. */
static int read_addrs(const struct msg_connect *m, struct endpoint_addrs *e, const char *words)
{
	int r;

	memset(&rep, 0, sizeof(rep));
	r = endpoint_addrs_read(w, "connect", m, e, &rep);
	cr_assert(!words || strstr(rep.reason, words), "%s", rep.reason);
	return -r;
}

static struct endpoint_addrs ends_of(struct msg_connect m)
{
	struct endpoint_addrs e = {.port = 0};

	cr_assert_eq(read_addrs(&m, &e, NULL), 0, "%s", rep.reason);
	return e;
}

Test(addrs, a_list_is_taken_as_it_is)
{
	struct msg_connect m = to(3, 1, 9, 8);
	struct endpoint_addrs e;

	m.nlocals = 2;
	m.locals[0] = at(1, 0);
	m.locals[1] = at(3, 0);
	e = ends_of(m);
	cr_assert_eq(e.port, PORT);
	cr_assert_eq(e.peer.n, 3);
	cr_assert_eq(addr_port(&e.peer.a[2]), PORT);
	cr_assert_eq(e.local.n, 2);
	cr_assert_eq(endpoint_addrs_transport(w, &e.peer), w->self, "the first address is ours");
	e = ends_of(to(1, 9));
	cr_assert_eq(e.local.n, 0);
	cr_assert_eq(endpoint_addrs_transport(w, &e.peer), w->net);
}

Test(addrs, invalid_lists_are_refused_with_a_reason)
{
	struct endpoint_addrs e = {.port = 77};
	struct msg_connect m = to(2, 1, 1);

	cr_assert_eq(read_addrs(&m, &e, "127.0.0.1 is given twice"), EINVAL);
	m = to(2, 1, 2);
	m.peers[1].port = 99;
	cr_assert_eq(read_addrs(&m, &e, "127.0.0.2:99: all addresses must have port 5043"), EINVAL);
	m.peers[1] = (struct msg_addr){.family = AF_INET, .port = PORT};
	cr_assert_eq(read_addrs(&m, &e, "0.0.0.0: a wildcard"), EINVAL);
	m.peers[1].family = AF_UNIX;
	cr_assert_eq(read_addrs(&m, &e, "address family 1"), EAFNOSUPPORT);
	m = to(1, 1);
	m.peers[0].port = 0;
	cr_assert_eq(read_addrs(&m, &e, "port 0"), EINVAL);
	m = to(1, 1);
	m.nlocals = 1;
	m.locals[0] = at(9, 0);
	cr_assert_eq(read_addrs(&m, &e, "127.0.0.9 is not an address of the daemon (listen)"),
		     EADDRNOTAVAIL);
	cr_assert_not(rep.fatal);
	m = to(0);
	cr_assert_eq(read_addrs(&m, &e, "no address"), EINVAL);
	cr_assert(rep.fatal, "no library sends that");
	m = to(1, 1);
	m.nlocals = 9;
	cr_assert_eq(read_addrs(&m, &e, "9 addresses: at most 8"), EINVAL);
	cr_assert(rep.fatal);
	cr_assert_eq(e.port, 77);
}

Test(addrs, a_peer_has_the_address_of_one_host)
{
	static const struct {
		struct msg_addr addr;
		const char *words;
	} bad[] = {
		{{AF_INET, PORT, 0, {0}}, "connect: 0.0.0.0 is not the address of one host"},
		{{AF_INET, PORT, 0, {224, 0, 0, 1}}, "224.0.0.1 is not"},
		{{AF_INET, PORT, 0, {255, 255, 255, 255}}, "255.255.255.255 is not"},
		{{AF_INET6, PORT, 0, {0}}, ":: is not"},
		{{AF_INET6, PORT, 0, {0xff, 2, [15] = 1}}, "ff02::1 is not"},
	};
	struct msg_connect m = to(1, 1);
	struct endpoint_addrs e;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		m.peers[0] = bad[i].addr;
		cr_expect_eq(read_addrs(&m, &e, bad[i].words), EADDRNOTAVAIL, "%s", bad[i].words);
		cr_expect_not(rep.fatal);
	}
}

Test(addrs, several_addresses_need_a_transport_that_has_paths)
{
	struct msg_connect m = to(2, 9, 8);
	struct msg_listen l = {.port = PORT, .naddrs = 2, .addrs = {at(1, PORT), at(2, PORT)}};
	struct addr_set at_list;
	struct endpoint_addrs e;

	cr_assert_eq(read_addrs(&m, &e,
				"transport user has one path per association: 2 addresses were "
				"given"),
		     EOPNOTSUPP);
	m = to(1, 9);
	m.nlocals = 3;
	for (uint8_t i = 0; i < 3; i++)
		m.locals[i] = at(i + 1, 0);
	cr_assert_eq(read_addrs(&m, &e, "3 addresses were given"), EOPNOTSUPP);
	cr_assert_eq(endpoint_addrs_read_listen(w, &l, &at_list, &rep), -EOPNOTSUPP);
	l.naddrs = 1;
	cr_assert_eq(endpoint_addrs_read_listen(w, &l, &at_list, &rep), 0);
	cr_assert_eq(at_list.n, 1);
	l.addrs[0] = (struct msg_addr){.family = AF_INET6, .port = PORT};
	w->own.a[0] = (struct sockaddr_storage){.ss_family = AF_INET6};
	cr_assert_eq(endpoint_addrs_read_listen(w, &l, &at_list, &rep), 0);
	cr_assert_eq(at_list.n, 0, "the wildcard is all of them");
}

Test(addrs, an_association_is_shared_by_requests_with_the_same_addresses)
{
	struct msg_connect two = to(3, 1, 9, 8), same = to(3, 1, 8, 9), first = to(3, 9, 1, 8);
	struct msg_connect one = to(1, 1), fewer = to(2, 1, 9), port = to(1, 1), from = to(1, 1);
	struct endpoint_addrs e = ends_of(two);
	struct association *p, *q;

	cr_assert_eq(association_get(w, &e, &none, &p), 0);
	e = ends_of(same);
	cr_assert_eq(association_get(w, &e, &none, &q), 0);
	cr_assert_eq(p, q, "the order of the others does not matter");
	port.peers[0].port = PORT + 1;
	from.nlocals = 1;
	from.locals[0] = at(2, 0);
	struct msg_connect others[] = {one, fewer, port, from};
	for (unsigned i = 0; i < 4; i++) {
		struct association *r;

		e = ends_of(others[i]);
		cr_assert_eq(association_get(w, &e, &none, &q), 0);
		cr_assert_neq(q, p, "%u", i);
		cr_assert_eq(association_get(w, &e, &none, &r), 0);
		cr_assert_eq(q, r, "%u", i);
	}
	cr_assert_eq(w->assocs.used, 5);
	w->own.a[2] = ends_of(to(1, 9)).peer.a[0];
	e = ends_of(first);
	cr_assert_eq(association_get(w, &e, &none, &q), 0);
	cr_assert_neq(p, q, "the same addresses with another one first");
}

/* The reason is the answer to the request, not an event after the handshake. */
Test(addrs, an_association_without_blocks_is_not_opened)
{
	struct endpoint_addrs e = ends_of(to(1, 1));
	struct blocks *pool = &w->pool.blocks;
	uint64_t before = pool->reserved;
	uint64_t left = (uint64_t)pool->chunks * BLOCKS_OF_CHUNK - before;
	struct association *p = NULL;

	cr_assert(blocks_reserve(pool, left));
	cr_expect_eq(association_get(w, &e, &none, &p), -ENOMEM);
	cr_expect_eq(w->assocs.used, 0);
	blocks_unreserve(pool, left);
	cr_assert_eq(association_get(w, &e, &none, &p), 0);
	cr_expect_gt(pool->reserved, before);
	association_free(p);
	cr_expect_eq(pool->reserved, before);
}

/* The association that came in, after another one was opened from this port. */
static struct association *accepted(struct association_listener *l, uint16_t own_port)
{
	struct endpoint_addrs e = ends_of(to(1, 1));
	struct association *p, *q;
	struct llp_listener *ret;
	uint32_t pos = 0;

	cr_assert_eq(llp_listen_at(w->self, &(struct llp_addrs){NULL, 0}, PORT, l, &ret), 0);
	e.own_port = own_port;
	cr_assert_eq(association_get(w, &e, &none, &p), 0);
	turn();
	while ((q = idtab_next(&w->assocs, &pos)))
		if (q != p)
			return q;
	cr_assert_fail("nothing came in");
	return NULL;
}

Test(addrs, an_association_of_the_peer_serves_for_the_port_that_it_began_from)
{
	const struct addr_set at_all = {.n = 0};
	struct association_listener l = {.worker = w, .at = &at_all};
	struct msg_connect back = to(1, 1), named = back, elsewhere = back, both = to(2, 1, 2);
	struct association *in = accepted(&l, 7000), *p;
	struct endpoint_addrs e;

	back.peers[0].port = named.peers[0].port = elsewhere.peers[0].port = 7000;
	both.peers[0].port = both.peers[1].port = 7000;
	named.nlocals = elsewhere.nlocals = 1;
	named.locals[0] = at(1, 0);
	elsewhere.locals[0] = at(2, 0);
	e = ends_of(back);
	cr_assert_eq(association_get(w, &e, &none, &p), 0);
	cr_assert_eq(p, in);
	e = ends_of(named);
	cr_assert_eq(association_get(w, &e, &none, &p), 0);
	cr_assert_eq(p, in);
	e = ends_of(elsewhere);
	cr_assert_eq(association_get(w, &e, &none, &p), 0);
	cr_assert_neq(p, in, "another address of ours");
	e = ends_of(both);
	cr_assert_eq(association_get(w, &e, &none, &p), 0);
	cr_assert_neq(p, in, "another address of the peer");
	e = ends_of(back);
	e.port = 7001;
	cr_assert_eq(association_get(w, &e, &none, &p), 0);
	cr_assert_neq(p, in, "another port");
}

/* ---- clients ---- */

static const void *answer(struct program *p)
{
	int fds[MSG_MAX_FDS];
	unsigned n = 0;
	size_t len;

	cr_assert_eq(conn_recv(p->fd, p->rec, sizeof(p->rec), &len, fds, &n), CONN_E_OK);
	if (n > 0 && ((struct msg_hdr *)p->rec)->op == MSG_HELLO)
		p->event_fd = fds[0];
	else if (n > 0)
		close(fds[0]);
	for (unsigned i = 1; i < n; i++)
		close(fds[i]);
	return p->rec;
}

static const void *call(struct program *p, const void *rec, size_t len)
{
	record_handle(p->c, rec, len, NULL, 0);
	return answer(p);
}

static uint32_t made(struct program *p, const void *rec, size_t len)
{
	const struct msg_handle *h = call(p, rec, len);

	cr_assert_eq(h->hdr.op, ((const struct msg_hdr *)rec)->op);
	return h->handle;
}

static void begin(struct program *p, uid_t uid)
{
	const struct msg_hello hello = {.hdr = {MSG_HELLO, 1}, .major = IPC_VERSION_MAJOR};
	const struct msg_hdr pd = {MSG_ALLOC_PD, 1};
	struct msg_create_cq cq = {.hdr = {MSG_CREATE_CQ, 1}, .entries = 16};
	struct msg_create_qp qp = {.hdr = {MSG_CREATE_QP, 1},
				   .sq_entries = 8,
				   .rq_entries = 8,
				   .max_send_sge = 1,
				   .max_recv_sge = 1};
	struct client *c;
	uint32_t pos = 0;
	int pair[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	cr_assert_eq(attach_client(w, pair[0]), 0);
	*p = (struct program){.fd = pair[1]};
	while ((c = idtab_next(&d.clients, &pos)))
		if (c->io.fd == pair[0])
			p->c = c;
	p->c->uid = uid;
	call(p, &hello, sizeof(hello));
	qp.pd = made(p, &pd, sizeof(pd));
	qp.send_cq = qp.recv_cq = made(p, &cq, sizeof(cq));
	p->qp = made(p, &qp, sizeof(qp));
}

static bool next_event(struct program *p, struct msg_event *ret)
{
	int fds[MSG_MAX_FDS];
	unsigned n;
	size_t len;

	return conn_recv(p->event_fd, ret, sizeof(*ret), &len, fds, &n) == CONN_E_OK;
}

static void expect(struct program *p, enum msg_event_type type, struct msg_event *ret)
{
	cr_assert(next_event(p, ret), "an event of type %d", (int)type);
	cr_assert_eq(ret->type, type);
}

/* A session from one program's queue pair to that of another, which listens. */
static void join(struct program *from, struct program *to_whom)
{
	struct msg_connect con = to(1, 1);
	struct msg_accept acc = {.hdr = {MSG_ACCEPT, 1}, .qp = to_whom->qp};
	struct msg_event ev;

	con.hdr = (struct msg_hdr){MSG_CONNECT, 1};
	con.qp = from->qp;
	made(from, &con, sizeof(con));
	for (int i = 0; i < 4; i++)
		turn();
	expect(to_whom, MSG_EV_REQUEST, &ev);
	acc.request = ev.request;
	made(to_whom, &acc, sizeof(acc));
	for (int i = 0; i < 4; i++)
		turn();
	expect(to_whom, MSG_EV_ESTABLISHED, &ev);
	expect(from, MSG_EV_ESTABLISHED, &ev);
}

static struct program alice, bob, server[2];

/* Sessions of two users on the same association. */
static struct association *two_sessions(uid_t other)
{
	struct msg_listen l = {
		.hdr = {MSG_LISTEN, 1}, .port = PORT, .naddrs = 1, .addrs = {at(1, PORT)}};
	uint32_t pos = 0;
	struct association *p;

	begin(&server[0], BOB);
	begin(&server[1], BOB);
	begin(&alice, ALICE);
	begin(&bob, other);
	made(&server[0], &l, sizeof(l));
	join(&alice, &server[0]);
	/* The second queue pair of the listening program. */
	struct msg_create_qp qp = {.hdr = {MSG_CREATE_QP, 1},
				   .pd = 1,
				   .send_cq = 1,
				   .recv_cq = 1,
				   .sq_entries = 8,
				   .rq_entries = 8,
				   .max_send_sge = 1,
				   .max_recv_sge = 1};
	server[0].qp = made(&server[0], &qp, sizeof(qp));
	join(&bob, &server[0]);
	while ((p = idtab_next(&w->assocs, &pos)))
		if (p->opener)
			return p;
	cr_assert_fail("no association");
	return NULL;
}

static int set_primary(struct program *p, uint32_t qp, uint32_t assoc, uint8_t last)
{
	const struct msg_set_primary m = {
		.hdr = {MSG_SET_PRIMARY, 1}, .qp = qp, .assoc = assoc, .remote = at(last, 0)};
	const struct msg_error *e = call(p, &m, sizeof(m));

	return e->hdr.op == MSG_ERROR ? e->err : 0;
}

Test(paths, a_user_with_all_the_sessions_chooses_for_them)
{
	two_sessions(ALICE);
	cr_assert_eq(set_primary(&alice, alice.qp, 0, 1), 0);
	cr_assert_eq(set_primary(&bob, bob.qp, 0, 1), 0);
	cr_assert_eq(set_primary(&alice, alice.qp, 0, 9), ENOENT);
	cr_assert(strstr(((struct msg_error *)alice.rec)->reason, "no path to 127.0.0.9"));
}

Test(paths, no_user_chooses_for_another)
{
	struct association *p = two_sessions(BOB);

	cr_assert_eq(set_primary(&alice, alice.qp, 0, 1), EPERM);
	cr_assert(strstr(((struct msg_error *)alice.rec)->reason, "sessions of other users"));
	cr_assert_eq(set_primary(&bob, bob.qp, 0, 1), EPERM);
	cr_assert_eq(set_primary(&alice, 0, p->id, 1), EPERM, "numbers are for administrators");
	cr_assert_eq(set_primary(&alice, 0, 99, 1), EPERM, "and are not revealed");
}

Test(paths, root_and_the_daemons_own_user_choose_for_all)
{
	struct association *p = two_sessions(BOB);

	alice.c->uid = 0;
	cr_assert_eq(set_primary(&alice, 0, p->id, 1), 0);
	cr_assert_eq(set_primary(&alice, alice.qp, 0, 1), 0);
	alice.c->uid = geteuid();
	cr_assert_eq(set_primary(&alice, 0, p->id, 1), 0);
	cr_assert_eq(set_primary(&alice, 0, p->id, 9), ENOENT);
	cr_assert_eq(set_primary(&alice, 0, 99, 1), ENOENT);
	cr_assert(strstr(((struct msg_error *)alice.rec)->reason, "no association 99"));
	cr_assert_eq(set_primary(&server[1], server[1].qp, 0, 1), ENOTCONN);
}

Test(paths, the_paths_of_a_session_can_be_queried)
{
	struct msg_handle m = {.hdr = {MSG_QUERY_PATHS, 1}};
	const struct msg_paths *got;
	const struct msg_addr want = at(1, PORT);

	two_sessions(BOB);
	m.handle = alice.qp;
	got = call(&alice, &m, sizeof(m));
	cr_assert_eq(got->hdr.op, MSG_QUERY_PATHS);
	cr_assert_eq(got->n, 1);
	cr_assert_eq(got->total, 1);
	cr_assert_arr_eq(&got->path[0].remote, &want, sizeof(want));
	cr_assert_eq(got->path[0].state, MSG_PATH_ACTIVE);
	cr_assert_eq(got->path[0].primary, 1);
	m.handle = server[1].qp;
	cr_assert_eq(((const struct msg_error *)call(&server[1], &m, sizeof(m)))->err, ENOTCONN);
}

static void change(struct association *p, const char *what)
{
	struct llp_path path[LLP_MAX_PATHS];

	cr_assert_eq(llp_paths(p->conn, path), 1);
	path[0].state = LLP_PATH_INACTIVE;
	association_llp_events.path(p, &path[0], what);
}

Test(paths, each_session_on_the_association_gets_the_event)
{
	struct association *p = two_sessions(BOB);
	struct msg_event ev;

	change(p, "does not answer any more");
	expect(&alice, MSG_EV_PATH, &ev);
	cr_assert_eq(ev.qp, alice.qp);
	cr_assert_eq(ev.assoc, p->id);
	cr_assert_eq(ev.err, 0);
	cr_assert_eq(ev.path.state, MSG_PATH_INACTIVE);
	cr_assert_str_eq(ev.reason, "path to 127.0.0.1 does not answer any more; 1 of 1 paths is "
				    "active");
	expect(&bob, MSG_EV_PATH, &ev);
	cr_assert_not(next_event(&server[0], &ev), "the other end has paths of its own");
	cr_assert_not(next_event(&server[1], &ev));
}

Test(paths, a_program_that_reads_no_events_gets_no_more_path_events_but_the_end_of_its_session)
{
	struct association *p = two_sessions(BOB);
	struct msg_handle m = {.hdr = {MSG_DISCONNECT, 1}};
	struct msg_event ev;
	unsigned explained = 0;

	/* More than the sockets and queues can hold. */
	for (int i = 0; i < 5000; i++)
		change(p, "may have failed");
	turn();
	cr_assert_eq(d.clients.used, 4, "no client was ended for it");
	m.handle = alice.qp;
	made(&alice, &m, sizeof(m));
	for (int i = 0; i < 4; i++)
		turn();
	while (next_event(&alice, &ev) && ev.type == MSG_EV_PATH)
		explained++;
	cr_assert_gt(explained, 0);
	cr_assert_lt(explained, 5000);
	cr_assert_geq(alice.c->io.events.count, 1, "what did not fit into the socket waits");
	cr_assert_leq(alice.c->io.events.count, 9, "and half of the queue is for the end");
}
