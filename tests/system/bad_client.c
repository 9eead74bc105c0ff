/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends a running daemon what no correct library would send. Promise: that client is told why and
 * disconnected, a bystander notices nothing, and faults of single requests end nobody.
 *
 *   bad_client SOCKET      exit status 0 if every case held
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ipc/conn.h"
#include "ipc/ctl.h"
#include "ipc/msg.h"
#include "ipc/ring.h"
#include "ipc/version.h"
#include "ipc/wqe.h"

struct bad {
	const char *path;
	int fd;
	_Alignas(8) unsigned char rec[MSG_MAX];
	size_t len;
	int fds[MSG_MAX_FDS];
	unsigned nfds;
};

static void die(const char *what)
{
	fprintf(stderr, "bad_client: %s: %s\n", what, strerror(errno));
	exit(2);
}

static int attach(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strncpy(sun.sun_path, path, sizeof(sun.sun_path) - 1);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sun, sizeof(sun)) < 0)
		die(path);
	return fd;
}

static void drop_fds(struct bad *b)
{
	while (b->nfds > 0)
		close(b->fds[--b->nfds]);
}

static void put(struct bad *b, const void *rec, size_t len, const int *fds, unsigned nfds)
{
	if (conn_send(b->fd, rec, len, fds, nfds))
		die("send");
}

/* The reply; false if the connection is closed. */
static bool get(struct bad *b)
{
	drop_fds(b);
	return conn_recv(b->fd, b->rec, sizeof(b->rec), &b->len, b->fds, &b->nfds) == CONN_E_OK;
}

/* A request that must succeed. */
static const void *call(struct bad *b, const void *rec, size_t len, const int *fds, unsigned nfds)
{
	const struct msg_hdr *hdr = (const void *)b->rec;
	const struct msg_hdr *req = rec;

	put(b, rec, len, fds, nfds);
	if (!get(b) || hdr->op != req->op)
		die("a correct request failed");
	return b->rec;
}

static void hello(struct bad *b)
{
	struct msg_hello m = {
		.hdr = {MSG_HELLO, 1}, .major = IPC_VERSION_MAJOR, .comm = "bad_client"};

	call(b, &m, sizeof(m), NULL, 0);
	b->nfds = 0; /* the event socket and the bell stay open to the end */
}

static uint32_t make_pd(struct bad *b)
{
	struct msg_hdr m = {MSG_ALLOC_PD, 2};
	const struct msg_handle *h = call(b, &m, sizeof(m), NULL, 0);

	return h->handle;
}

static uint32_t make_cq(struct bad *b)
{
	struct msg_create_cq m = {.hdr = {MSG_CREATE_CQ, 3}, .entries = 16};
	const struct msg_cq *cq = call(b, &m, sizeof(m), NULL, 0);

	return cq->handle;
}

/* A queue pair and its send ring. */
static struct msg_qp make_qp(struct bad *b, struct ring *ret_sq)
{
	struct msg_create_qp m = {
		.hdr = {MSG_CREATE_QP, 4},
		.pd = make_pd(b),
		.sq_entries = 16,
		.rq_entries = 16,
		.max_send_sge = 1,
		.max_recv_sge = 1,
	};
	struct msg_qp qp;
	void *map;

	m.send_cq = m.recv_cq = make_cq(b);
	qp = *(const struct msg_qp *)call(b, &m, sizeof(m), NULL, 0);
	map = mmap(NULL, qp.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, b->fds[0], 0);
	if (map == MAP_FAILED)
		die("mmap");
	ring_init(ret_sq, map, 16, qp.sq_entry);
	return qp;
}

/* ---- cases: each does its worst on a fresh connection ---- */

static void no_hello(struct bad *b)
{
	struct msg_hdr m = {MSG_ALLOC_PD, 1};

	put(b, &m, sizeof(m), NULL, 0);
}

static void wrong_version(struct bad *b)
{
	struct msg_hello m = {.hdr = {MSG_HELLO, 1}, .major = 99};

	put(b, &m, sizeof(m), NULL, 0);
}

static void unknown_opcode(struct bad *b)
{
	struct msg_hdr m = {77, 1};

	hello(b);
	put(b, &m, sizeof(m), NULL, 0);
}

static void opcode_zero(struct bad *b)
{
	struct msg_hdr m = {0, 1};

	hello(b);
	put(b, &m, sizeof(m), NULL, 0);
}

static void too_short(struct bad *b)
{
	struct msg_create_cq m = {.hdr = {MSG_CREATE_CQ, 1}, .entries = 16};

	hello(b);
	put(b, &m, sizeof(m) - 1, NULL, 0);
}

static void too_long(struct bad *b)
{
	struct msg_hdr m[2] = {{MSG_ALLOC_PD, 1}, {0, 0}};

	hello(b);
	put(b, m, sizeof(m), NULL, 0);
}

static void one_byte(struct bad *b)
{
	hello(b);
	put(b, "x", 1, NULL, 0);
}

static void beyond_any_record(struct bad *b)
{
	static const unsigned char big[MSG_MAX + 1];

	hello(b);
	put(b, big, sizeof(big), NULL, 0);
}

static void fd_missing(struct bad *b)
{
	struct msg_reg_mr m = {.hdr = {MSG_REG_MR, 1}, .len = 4096};

	hello(b);
	m.pd = make_pd(b);
	put(b, &m, sizeof(m), NULL, 0);
}

static void fd_too_many(struct bad *b)
{
	struct msg_hdr m = {MSG_ALLOC_PD, 1};
	int fd = 0;

	hello(b);
	put(b, &m, sizeof(m), &fd, 1);
}

static void foreign_handle(struct bad *b)
{
	struct msg_handle m = {.hdr = {MSG_DEALLOC_PD, 1}, .handle = 0x00050001};

	hello(b);
	put(b, &m, sizeof(m), NULL, 0);
}

static void stale_handle(struct bad *b)
{
	struct msg_handle m = {.hdr = {MSG_DEALLOC_PD, 1}};

	hello(b);
	m.handle = make_pd(b);
	call(b, &m, sizeof(m), NULL, 0);
	put(b, &m, sizeof(m), NULL, 0);
}

static void hello_twice(struct bad *b)
{
	struct msg_hello m = {.hdr = {MSG_HELLO, 1}, .major = IPC_VERSION_MAJOR};

	hello(b);
	put(b, &m, sizeof(m), NULL, 0);
}

static void private_data_too_long(struct bad *b)
{
	struct msg_connect m = {.hdr = {MSG_CONNECT, 1}, .private_len = 513};
	struct ring sq;

	hello(b);
	m.qp = make_qp(b, &sq).handle;
	m.peer.ss_family = AF_INET;
	put(b, &m, sizeof(m), NULL, 0);
}

static void unknown_object(struct bad *b)
{
	struct ctl_show m = {.hdr = {MSG_CTL_SHOW, 1}, .object = 99};

	hello(b);
	put(b, &m, sizeof(m), NULL, 0);
}

static const struct {
	const char *name;
	void (*act)(struct bad *b);
	const char *words; /* of the reason */
} fatal[] = {
	{"a request before hello", no_hello, "hello comes first"},
	{"another version", wrong_version, "version 99.0"},
	{"an unknown opcode", unknown_opcode, "request 77"},
	{"opcode 0", opcode_zero, "request 0"},
	{"a record too short", too_short, "bytes"},
	{"a record too long", too_long, "bytes"},
	{"a record of one byte", one_byte, "there is none"},
	{"a record beyond every limit", beyond_any_record, "a record of more than"},
	{"a descriptor missing", fd_missing, "0 descriptors, 1 are right"},
	{"a descriptor too many", fd_too_many, "1 descriptors, 0 are right"},
	{"a foreign handle", foreign_handle, "none of that handle"},
	{"a stale handle", stale_handle, "none of that handle"},
	{"hello twice", hello_twice, "said already"},
	{"513 bytes of private data", private_data_too_long, "513 bytes"},
	{"an unknown admin object", unknown_object, "number 99"},
};

static bool ended_with(struct bad *b, const char *words)
{
	const struct msg_error *e = (const void *)b->rec;

	if (!get(b) || b->len != sizeof(*e) || e->hdr.op != MSG_ERROR || !e->fatal)
		return false;
	if (!strstr(e->reason, words)) {
		fprintf(stderr, "bad_client: the reason was: %s\n", e->reason);
		return false;
	}
	return !get(b);
}

static bool bystander_lives(struct bad *by)
{
	struct msg_hdr m = {MSG_QUERY, 9};

	put(by, &m, sizeof(m), NULL, 0);
	return get(by) && by->len == sizeof(struct msg_caps);
}

static unsigned run_fatal(const char *path, struct bad *by)
{
	unsigned failed = 0;

	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
		struct bad b = {.path = path, .fd = attach(path)};
		bool ok;

		fatal[i].act(&b);
		ok = ended_with(&b, fatal[i].words) && bystander_lives(by);
		printf("%s %s\n", ok ? "ok  " : "FAIL", fatal[i].name);
		failed += !ok;
		drop_fds(&b);
		close(b.fd);
	}
	return failed;
}

/* ---- requests that are refused without further harm ---- */

static int refused(struct bad *b, const void *rec, size_t len, const int *fds, unsigned nfds)
{
	const struct msg_error *e = (const void *)b->rec;

	put(b, rec, len, fds, nfds);
	if (!get(b) || e->hdr.op != MSG_ERROR || e->fatal)
		return -1;
	printf("      refused: %s\n", e->reason);
	return e->err;
}

static bool check(const char *name, bool ok)
{
	printf("%s %s\n", ok ? "ok  " : "FAIL", name);
	return ok;
}

static unsigned run_refusals(struct bad *b)
{
	struct msg_create_cq cq = {.hdr = {MSG_CREATE_CQ, 1}, .entries = 17};
	struct msg_reg_mr mr = {.hdr = {MSG_REG_MR, 1}, .len = 8192, .access = 7};
	int plain = open("/dev/null", 2), memfd = memfd_create("short", MFD_ALLOW_SEALING);
	unsigned failed = 0;

	if (plain < 0 || memfd < 0 || ftruncate(memfd, 4096) < 0)
		die("preparation");
	mr.pd = make_pd(b);
	failed += !check("a queue of 17 entries", refused(b, &cq, sizeof(cq), NULL, 0) == EINVAL);
	failed += !check("a device as memory", refused(b, &mr, sizeof(mr), &plain, 1) == EINVAL);
	failed +=
		!check("beyond the memfd's end", refused(b, &mr, sizeof(mr), &memfd, 1) == EINVAL);
	mr.iova = UINT64_MAX - 100;
	failed += !check("iova that wraps", refused(b, &mr, sizeof(mr), &memfd, 1) == EINVAL);
	mr.iova = 0;
	mr.access = 64;
	failed += !check("unknown access flags", refused(b, &mr, sizeof(mr), &memfd, 1) == EINVAL);
	failed += !check("and it goes on", bystander_lives(b));
	close(plain);
	close(memfd);
	return failed;
}

int main(int argc, char **argv)
{
	struct bad by = {0};
	unsigned failed;

	if (argc != 2) {
		fprintf(stderr, "usage: bad_client SOCKET\n");
		return 2;
	}
	alarm(60);
	by.fd = attach(argv[1]);
	hello(&by);
	failed = run_fatal(argv[1], &by);
	failed += run_refusals(&by);
	printf("%u failed\n", failed);
	return failed ? 1 : 0;
}
