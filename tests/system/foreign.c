/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client uses handles of another client of the same uid in every request with a handle. Promise:
 * each request fails with "no such object", and the other client is not affected.
 *
 *   foreign SOCKET ADDRESS      exit status 0 if it held
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ipc/conn.h"
#include "tests/lib/patience.h"
#include "tests/lib/row.h"
#include "tests/system/bad_rig.h"

enum kind { PD, MR, CQ, QP, SRQ, AH, MW, LISTENER, REQUEST, KINDS };

/* More than a new client has of any kind. */
enum { MANY = 3 };

struct owner {
	struct bad conn;
	uint32_t has[KINDS];
};

/* Requests that begin with a handle; the rest of the record is 0. */
static const struct {
	const char *what;
	enum kind kind;
	uint32_t op;
	size_t len;
	bool memfd;
} named[] = {
	{"dealloc of a domain", PD, MSG_DEALLOC_PD, sizeof(struct msg_handle), false},
	{"query of a domain", PD, MSG_QUERY_PD, sizeof(struct msg_handle), false},
	{"a region in a domain", PD, MSG_REG_MR, sizeof(struct msg_reg_mr), true},
	{"own memory in a domain", PD, MSG_REG_OWN_MR, sizeof(struct msg_reg_own_mr), true},
	{"a window in a domain", PD, MSG_ALLOC_MW, sizeof(struct msg_alloc_mw), false},
	{"a shared queue in a domain", PD, MSG_CREATE_SRQ, sizeof(struct msg_create_srq), false},
	{"a queue pair in a domain", PD, MSG_CREATE_QP, sizeof(struct msg_create_qp), false},
	{"dereg of a region", MR, MSG_DEREG_MR, sizeof(struct msg_handle), false},
	{"query of a region", MR, MSG_QUERY_MR, sizeof(struct msg_handle), false},
	{"a tie of a region", MR, MSG_BIND_MR, sizeof(struct msg_bind_mr), false},
	{"notices of a region", MR, MSG_NOTIFY_MR, sizeof(struct msg_notify_mr), false},
	{"rereg of a region", MR, MSG_REREG_MR, sizeof(struct msg_rereg_mr), false},
	{"remap of a region", MR, MSG_REMAP_MR, sizeof(struct msg_rereg_mr), true},
	{"destroy of a queue", CQ, MSG_DESTROY_CQ, sizeof(struct msg_handle), false},
	{"a new size of a queue", CQ, MSG_RESIZE_CQ, sizeof(struct msg_resize_cq), false},
	{"query of a queue", CQ, MSG_QUERY_CQ, sizeof(struct msg_handle), false},
	{"destroy of a queue pair", QP, MSG_DESTROY_QP, sizeof(struct msg_handle), false},
	{"query of a queue pair", QP, MSG_QUERY_QP, sizeof(struct msg_handle), false},
	{"disconnect of a queue pair", QP, MSG_DISCONNECT, sizeof(struct msg_handle), false},
	{"paths of a queue pair", QP, MSG_QUERY_PATHS, sizeof(struct msg_handle), false},
	{"primary path of a queue pair", QP, MSG_SET_PRIMARY, sizeof(struct msg_set_primary),
	 false},
	{"connect of a queue pair", QP, MSG_CONNECT, sizeof(struct msg_connect), false},
	{"destroy of a shared queue", SRQ, MSG_DESTROY_SRQ, sizeof(struct msg_handle), false},
	{"query of a shared queue", SRQ, MSG_QUERY_SRQ, sizeof(struct msg_handle), false},
	{"change of a shared queue", SRQ, MSG_MODIFY_SRQ, sizeof(struct msg_modify_srq), false},
	{"options of a queue pair", QP, MSG_QP_OPTIONS, sizeof(struct msg_options), false},
	{"waits of a queue pair", QP, MSG_SET_QP_RNR, sizeof(struct msg_qp_rnr), false},
	{"the Q_Key of a queue pair", QP, MSG_SET_QP_QKEY, sizeof(struct msg_qp_qkey), false},
	{"the number of a queue pair", QP, MSG_TAKE_QP_NUMBER, sizeof(struct msg_qp_number), false},
	{"the peer of a queue pair", QP, MSG_QUERY_PEER, sizeof(struct msg_handle), false},
	{"an address handle in a domain", PD, MSG_CREATE_AH, sizeof(struct msg_create_ah), false},
	{"destroy of an address handle", AH, MSG_DESTROY_AH, sizeof(struct msg_handle), false},
	{"options of a shared queue", SRQ, MSG_SRQ_OPTIONS, sizeof(struct msg_options), false},
	{"dealloc of a window", MW, MSG_DEALLOC_MW, sizeof(struct msg_handle), false},
	{"query of a window", MW, MSG_QUERY_MW, sizeof(struct msg_handle), false},
	{"bind of a window", MW, MSG_BIND_MW, sizeof(struct msg_bind_mw), false},
	{"destroy of a listener", LISTENER, MSG_UNLISTEN, sizeof(struct msg_handle), false},
	{"query of a request", REQUEST, MSG_QUERY_REQUEST, sizeof(struct msg_handle), false},
	{"reject of a request", REQUEST, MSG_REJECT, sizeof(struct msg_reject), false},
};

/* ---- the owner ---- */

static struct msg_addr at(const char *address, uint16_t port)
{
	struct msg_addr m = {.family = AF_INET, .port = port};

	if (inet_pton(AF_INET, address, m.bytes) != 1)
		die(address);
	return m;
}

/* Connects its own queue pair to its own listener: the request waits. */
static void make_request(struct owner *o, const char *address)
{
	struct msg_listen listen = {.hdr = {MSG_LISTEN, 1}};
	struct msg_connect conn = {.hdr = {MSG_CONNECT, 1}};
	uint16_t port = (uint16_t)(10000 + getpid() % 50000);
	_Alignas(8) unsigned char rec[MSG_MAX];
	const struct msg_event *ev = (void *)rec;
	struct pollfd wire_depth = {.fd = o->conn.event_fd, .events = POLLIN};
	struct ring sq;
	unsigned nfds;
	size_t len;
	int fds[MSG_MAX_FDS];

	for (int i = 0; i < MANY; i++) {
		listen.port = (uint16_t)(port + i);
		listen.addrs[0] = at(address, listen.port);
		listen.naddrs = 1;
		o->has[LISTENER] = ((const struct msg_listener *)call(&o->conn, &listen,
								      sizeof(listen), NULL, 0))
					   ->handle;
	}
	conn.qp = make_qp(&o->conn, &sq).handle;
	conn.peers[0] = listen.addrs[0];
	conn.npeers = 1;
	call(&o->conn, &conn, sizeof(conn), NULL, 0);
	if (poll(&wire_depth, 1, PATIENCE_MS) != 1 ||
	    conn_recv(o->conn.event_fd, rec, sizeof(rec), &len, fds, &nfds) != CONN_E_OK ||
	    ev->type != MSG_EV_REQUEST)
		die("no request came");
	o->has[REQUEST] = ev->request;
}

static uint32_t make_ah(struct bad *b, uint32_t pd, const char *address)
{
	struct msg_create_ah ah = {.hdr = {MSG_CREATE_AH, 1}, .pd = pd, .remote = at(address, 0)};

	return ((const struct msg_handle *)call(b, &ah, sizeof(ah), NULL, 0))->handle;
}

static void make_owner(struct owner *o, const char *socket, const char *address)
{
	struct ring sq;

	*o = (struct owner){.conn.fd = attach(socket)};
	hello(&o->conn);
	for (int i = 0; i < MANY; i++) {
		uint32_t pd = make_pd(&o->conn);

		o->has[PD] = pd;
		o->has[CQ] = make_cq(&o->conn);
		o->has[MR] = make_mr(&o->conn, pd, 4 | 16);
		o->has[MW] = make_mw(&o->conn, pd, MSG_MW_TYPE_1);
		o->has[SRQ] = make_srq(&o->conn, pd);
		o->has[QP] = make_qp(&o->conn, &sq).handle;
		o->has[AH] = make_ah(&o->conn, pd, address);
	}
	make_request(o, address);
}

/* Each object still answers. */
static bool has_all(struct owner *o)
{
	static const uint32_t queries[KINDS] = {
		[PD] = MSG_QUERY_PD, [MR] = MSG_QUERY_MR,   [CQ] = MSG_QUERY_CQ,
		[QP] = MSG_QUERY_QP, [SRQ] = MSG_QUERY_SRQ, [MW] = MSG_QUERY_MW,
	};

	for (int k = 0; k < KINDS; k++) {
		struct msg_handle m = {.hdr = {queries[k], 1}, .handle = o->has[k]};

		if (queries[k])
			call(&o->conn, &m, sizeof(m), NULL, 0);
	}
	return true;
}

/* ---- the other client ---- */

/* Sends handles of the other client; the reply says that they are unknown, and no more. */
static unsigned refused(struct owner *o, const char *what, struct bad *b, const void *rec,
			size_t len, const int *fd)
{
	const struct msg_error *e = (const void *)b->rec;
	bool ok;

	put(b, rec, len, fd, fd ? 1 : 0);
	ok = get(b) && e->hdr.op == MSG_ERROR && (e->err == ENOENT || e->err == ECONNABORTED);
	if (ok)
		printf("      refused: %s\n", e->reason);
	drop_fds(b);
	close(b->fd);
	return !check(what, ok && has_all(o));
}

static void make_other(struct bad *b, const char *socket)
{
	*b = (struct bad){.fd = attach(socket)};
	hello(b);
}

static unsigned name_each(struct owner *o, const char *socket)
{
	int fd = make_memfd(4096);
	unsigned failed = 0;

	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		_Alignas(8) unsigned char rec[MSG_MAX] = {0};
		struct msg_handle *m = (void *)rec;
		struct bad b;

		make_other(&b, socket);
		m->hdr = (struct msg_hdr){named[i].op, 1};
		m->handle = o->has[named[i].kind];
		failed += refused(o, named[i].what, &b, rec, named[i].len,
				  named[i].memfd ? &fd : NULL);
	}
	close(fd);
	return failed;
}

/* Requests that mix objects of another client with the client's own. */
static unsigned name_second(struct owner *o, const char *socket)
{
	struct msg_create_qp qp = {.hdr = {MSG_CREATE_QP, 1},
				   .sq_entries = 16,
				   .rq_entries = 16,
				   .max_send_sge = 1,
				   .max_recv_sge = 1};
	struct msg_bind_mr tie = {.hdr = {MSG_BIND_MR, 1}, .qp = o->has[QP]};
	struct msg_bind_mw bind = {
		.hdr = {MSG_BIND_MW, 1}, .mr = o->has[MR], .addr = 0x10000, .len = 1};
	struct msg_rereg_mr rereg = {
		.hdr = {MSG_REREG_MR, 1}, .what = MSG_REREG_PD, .pd = o->has[PD]};
	struct msg_accept acc = {.hdr = {MSG_ACCEPT, 1}, .request = o->has[REQUEST]};
	unsigned failed = 0;
	struct ring sq;
	struct bad b;

	make_other(&b, socket);
	qp.pd = make_pd(&b);
	qp.send_cq = make_cq(&b);
	qp.recv_cq = o->has[CQ];
	failed += refused(o, "another's completion queue", &b, &qp, sizeof(qp), NULL);
	make_other(&b, socket);
	qp.pd = make_pd(&b);
	qp.recv_cq = qp.send_cq = make_cq(&b);
	qp.srq = o->has[SRQ];
	qp.rq_entries = 0;
	failed += refused(o, "another's shared queue", &b, &qp, sizeof(qp), NULL);
	make_other(&b, socket);
	tie.mr = make_mr(&b, make_pd(&b), 4);
	failed += refused(o, "a tie to another's queue pair", &b, &tie, sizeof(tie), NULL);
	make_other(&b, socket);
	bind.mw = make_mw(&b, make_pd(&b), MSG_MW_TYPE_1);
	failed += refused(o, "a window on another's region", &b, &bind, sizeof(bind), NULL);
	make_other(&b, socket);
	rereg.mr = make_mr(&b, make_pd(&b), 4);
	failed += refused(o, "rereg into another's domain", &b, &rereg, sizeof(rereg), NULL);
	make_other(&b, socket);
	acc.qp = make_qp(&b, &sq).handle;
	failed += refused(o, "accept of another's request", &b, &acc, sizeof(acc), NULL);
	return failed;
}

int main(int argc, char **argv)
{
	struct owner o;
	unsigned failed;

	if (argc != 3) {
		fprintf(stderr, "usage: foreign SOCKET ADDRESS\n");
		return 2;
	}
	alarm(LIFE_S);
	make_owner(&o, argv[1], argv[2]);
	failed = name_each(&o, argv[1]) + name_second(&o, argv[1]);
	printf("%u failed\n", failed);
	if (failed)
		return 1;
	row("5041-8.3.2-03 5040-8.1.1-04",
	    "a request that names an object of another client fails: no such object");
	return 0;
}
