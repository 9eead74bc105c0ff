/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/system/bad_rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ipc/conn.h"
#include "ipc/local_protocol.h"

void die(const char *what)
{
	fprintf(stderr, "bad_client: %s: %s\n", what, strerror(errno));
	exit(2);
}

int attach(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strncpy(sun.sun_path, path, sizeof(sun.sun_path) - 1);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sun, sizeof(sun)) < 0)
		die(path);
	return fd;
}

void drop_fds(struct bad *b)
{
	while (b->nfds > 0)
		close(b->fds[--b->nfds]);
}

void put(struct bad *b, const void *rec, size_t len, const int *fds, unsigned nfds)
{
	if (conn_send(b->fd, rec, len, fds, nfds))
		die("send");
}

/* The reply; false if the connection is closed. */
bool get(struct bad *b)
{
	drop_fds(b);
	return conn_recv(b->fd, b->rec, sizeof(b->rec), &b->len, b->fds, &b->nfds) == CONN_E_OK;
}

/* A request that must succeed. */
const void *call(struct bad *b, const void *rec, size_t len, const int *fds, unsigned nfds)
{
	const struct msg_hdr *hdr = (const void *)b->rec;
	const struct msg_hdr *req = rec;

	put(b, rec, len, fds, nfds);
	if (!get(b) || hdr->op != req->op)
		die("a correct request failed");
	return b->rec;
}

void hello(struct bad *b)
{
	struct msg_hello m = {.hdr = {MSG_HELLO, 1},
			      .major = IPC_VERSION_MAJOR,
			      .minor = IPC_VERSION_MINOR,
			      .comm = "bad_client"};

	call(b, &m, sizeof(m), NULL, 0);
	b->event_fd = b->fds[0];
	b->page = mmap(NULL, sizeof(*b->page), PROT_READ | PROT_WRITE, MAP_SHARED, b->fds[1], 0);
	b->bell = b->fds[2];
	b->nfds = 0; /* they stay open to the end */
	if (b->page == MAP_FAILED)
		die("mmap");
}

uint32_t make_pd(struct bad *b)
{
	struct msg_hdr m = {MSG_ALLOC_PD, 2};
	const struct msg_handle *h = call(b, &m, sizeof(m), NULL, 0);

	return h->handle;
}

uint32_t make_cq(struct bad *b)
{
	struct msg_create_cq m = {.hdr = {MSG_CREATE_CQ, 3}, .entries = 16};
	const struct msg_cq *cq = call(b, &m, sizeof(m), NULL, 0);

	return cq->handle;
}

/* A queue pair and its send ring. */
struct msg_qp make_qp(struct bad *b, struct ring *ret_sq)
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
	map = mmap(NULL, qp.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, b->fds[0], (off_t)qp.offset);
	if (map == MAP_FAILED)
		die("mmap");
	ring_init(ret_sq, map, 16, qp.sq_entry);
	return qp;
}

uint32_t make_srq(struct bad *b, uint32_t pd)
{
	struct msg_create_srq m = {
		.hdr = {MSG_CREATE_SRQ, 5}, .pd = pd, .entries = 16, .max_sge = 2};
	const struct msg_srq *srq = call(b, &m, sizeof(m), NULL, 0);

	return srq->handle;
}

uint32_t make_mw(struct bad *b, uint32_t pd, uint32_t type)
{
	struct msg_alloc_mw m = {.hdr = {MSG_ALLOC_MW, 6}, .pd = pd, .type = type};
	const struct msg_mr *mw = call(b, &m, sizeof(m), NULL, 0);

	return mw->handle;
}

int make_memfd(off_t size)
{
	int fd = memfd_create("bad_client", MFD_ALLOW_SEALING | MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, size) < 0)
		die("memfd");
	return fd;
}

/* A region of one page at iova 0x10000. */
uint32_t make_mr(struct bad *b, uint32_t pd, uint32_t access)
{
	struct msg_reg_mr m = {
		.hdr = {MSG_REG_MR, 7}, .pd = pd, .access = access, .len = 4096, .iova = 0x10000};
	int fd = make_memfd(4096);
	const struct msg_mr *mr = call(b, &m, sizeof(m), &fd, 1);

	close(fd);
	return mr->handle;
}

bool client_works(struct bad *by)
{
	struct msg_hdr m = {MSG_QUERY, 9};

	put(by, &m, sizeof(m), NULL, 0);
	return get(by) && by->len == sizeof(struct msg_caps);
}

bool check(const char *name, bool ok)
{
	printf("%s %s\n", ok ? "ok  " : "FAIL", name);
	return ok;
}
