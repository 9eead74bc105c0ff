/* SPDX-License-Identifier: BSD-2-Clause */
/* Rings of a client share memfds, which are charged as a whole and used again. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/base/state.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/queues/cq.h"
#include "daemon/objects/client/rings.h"
#include "daemon/objects/memory/stags.h"
#include "daemon/service/attach.h"
#include "daemon/service/record.h"
#include "ipc/conn.h"
#include "ipc/local_protocol.h"
#include "ipc/wqe.h"

enum { SMALL = 16, LARGE = 4096 /* entries: more than SLAB_RANGE_MAX bytes */ };

static struct daemon d;
static struct client *c;
static int client_end;
static _Alignas(8) uint8_t rec[MSG_MAX];
static size_t reply_len;
static ino_t reply_ino; /* of the reply's first descriptor */

/* Handles a record of the client. Returns the op of the reply. */
static uint32_t answer_to(const void *request, size_t len)
{
	int fds[MSG_MAX_FDS];
	unsigned n = 0;
	struct stat st = {0};

	record_handle(c, request, len, fds, 0);
	cr_assert_eq(conn_recv(client_end, rec, sizeof(rec), &reply_len, fds, &n), CONN_E_OK);
	if (n > 0)
		cr_assert_eq(fstat(fds[0], &st), 0);
	reply_ino = st.st_ino;
	while (n > 0)
		close(fds[--n]);
	return ((const struct msg_hdr *)rec)->op;
}

static void greet(uint16_t minor)
{
	const struct msg_hello hello = {
		.hdr = {MSG_HELLO, 1}, .major = IPC_VERSION_MAJOR, .minor = minor};

	cr_assert_eq(answer_to(&hello, sizeof(hello)), MSG_HELLO);
}

static void start(void)
{
	static const struct event_loop_hooks never_run;
	uint32_t pos = 0;
	int pair[2];

	log_set_level(LOG_LEVEL_ERR);
	config_default(&d.cfg);
	worker_init(&d.worker, &d, 4);
	cr_assert_eq(acct_new(&d.cfg.limits, &d.acct), 0);
	cr_assert_eq(event_loop_new(&never_run, &d.worker, 0, &d.worker.loop), 0);
	idtab_init(&d.clients, 4);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	cr_assert_eq(attach_client(&d.worker, pair[0]), 0);
	client_end = pair[1];
	c = idtab_next(&d.clients, &pos);
}

TestSuite(rings, .init = start);

static struct msg_cq make(uint32_t entries)
{
	const struct msg_create_cq req = {.hdr = {MSG_CREATE_CQ, 1}, .entries = entries};
	struct msg_cq cq = {.offset = 0};

	cr_assert_eq(answer_to(&req, sizeof(req)), MSG_CREATE_CQ);
	memcpy(&cq, rec, reply_len);
	return cq;
}

static void destroy(uint32_t handle)
{
	const struct msg_handle req = {.hdr = {MSG_DESTROY_CQ, 1}, .handle = handle};

	cr_assert_eq(answer_to(&req, sizeof(req)), MSG_DESTROY_CQ);
}

static uint64_t used(enum acct_kind kind)
{
	return acct_used(d.acct, c->uid, kind);
}

Test(rings, small_ones_lie_in_one_memfd_and_its_size_is_charged)
{
	struct msg_cq a, b;
	uint64_t before;
	ino_t ino;

	greet(IPC_VERSION_MINOR);
	before = used(ACCT_MEMORY);
	a = make(SMALL);
	ino = reply_ino;
	b = make(SMALL);
	cr_expect_eq(reply_ino, ino);
	cr_expect_geq(b.offset, a.offset + a.bytes);
	cr_expect_eq(used(ACCT_MEMORY) - before, RINGS_SLAB_BYTES);
	cr_expect_eq(used(ACCT_MAPS), 1);
	destroy(a.handle);
	cr_expect_eq(used(ACCT_MAPS), 1);
	destroy(b.handle);
	cr_expect_eq(used(ACCT_MEMORY), before);
	cr_expect_eq(used(ACCT_MAPS), 0);
}

Test(rings, freed_space_is_used_again)
{
	struct msg_cq a, keep;
	struct cq *cq;

	greet(IPC_VERSION_MINOR);
	a = make(SMALL);
	keep = make(SMALL);
	cq = idtab_get(&c->handles.cqs, a.handle);
	memset(cq->rings.mem, 7, cq->rings.bytes);
	for (int i = 0; i < 1000; i++) {
		destroy(a.handle);
		a = make(SMALL);
	}
	cr_expect_neq(a.offset, keep.offset);
	cr_expect_eq(used(ACCT_MAPS), 1);
	cq = idtab_get(&c->handles.cqs, a.handle);
	cr_expect_eq(cq->ring.sh->tail + cq->ring.sh->head, 0, "it is zeroed");
}

Test(rings, large_ones_have_a_memfd_of_their_own)
{
	struct msg_cq a;
	ino_t ino;

	greet(IPC_VERSION_MINOR);
	make(SMALL);
	ino = reply_ino;
	a = make(LARGE);
	cr_expect_neq(reply_ino, ino);
	cr_expect_eq(a.offset, 0);
	cr_expect_eq(used(ACCT_MAPS), 2);
}

Test(rings, an_old_library_gets_a_memfd_for_each_and_the_old_reply)
{
	struct msg_cq a;
	ino_t ino;

	greet(0);
	a = make(SMALL);
	ino = reply_ino;
	cr_expect_eq(reply_len, offsetof(struct msg_cq, offset));
	cr_expect_eq(a.bytes, ring_bytes(SMALL, sizeof(struct wqe_cqe)));
	make(SMALL);
	cr_expect_neq(reply_ino, ino);
	cr_expect_eq(used(ACCT_MAPS), 2);
}

Test(rings, descriptors_are_charged_and_released)
{
	uint32_t first, large;

	greet(IPC_VERSION_MINOR);
	cr_expect_eq(used(ACCT_DESCRIPTORS), CLIENT_FDS);
	first = make(SMALL).handle;
	cr_expect_eq(used(ACCT_DESCRIPTORS), CLIENT_FDS + 2, "a shared memfd, and a bell");
	large = make(LARGE).handle;
	cr_expect_eq(used(ACCT_DESCRIPTORS), CLIENT_FDS + 3, "only its bell is kept");
	destroy(first);
	destroy(large);
	cr_expect_eq(used(ACCT_DESCRIPTORS), CLIENT_FDS);
	acct_set_total(d.acct, ACCT_DESCRIPTORS, CLIENT_FDS + 1);
	cr_expect_eq(answer_to(&(struct msg_create_cq){.hdr = {MSG_CREATE_CQ, 1}, .entries = SMALL},
			       sizeof(struct msg_create_cq)),
		     MSG_ERROR);
	cr_expect_eq(used(ACCT_CQS), 0);
	cr_expect_eq(used(ACCT_DESCRIPTORS), CLIENT_FDS);
}

Test(rings, no_descriptors_are_sent_while_others_are_unread)
{
	const struct msg_create_cq req = {.hdr = {MSG_CREATE_CQ, 1}, .entries = SMALL};
	const struct msg_error *e = (const void *)rec;

	greet(IPC_VERSION_MINOR);
	record_handle(c, &req, sizeof(req), NULL, 0);
	cr_expect_eq(answer_to(&req, sizeof(req)), MSG_CREATE_CQ, "the first one");
	cr_assert_eq(conn_recv(client_end, rec, sizeof(rec), &reply_len, (int[MSG_MAX_FDS]){0},
			       &(unsigned){0}),
		     CONN_E_OK);
	cr_expect_eq(e->hdr.op, MSG_ERROR);
	cr_expect_eq(e->err, EBUSY);
	cr_expect_eq(used(ACCT_CQS), 1);
	cr_expect_eq(answer_to(&req, sizeof(req)), MSG_CREATE_CQ, "all are read");
}

Test(rings, a_refused_memfd_leaves_no_charge)
{
	const struct msg_create_cq req = {.hdr = {MSG_CREATE_CQ, 1}, .entries = SMALL};
	uint64_t before;

	greet(IPC_VERSION_MINOR);
	before = used(ACCT_MEMORY);
	acct_set_total(d.acct, ACCT_MAPS, 1); /* three quarters of it are none */
	cr_expect_eq(answer_to(&req, sizeof(req)), MSG_ERROR);
	cr_expect_neq(strstr(((const struct msg_error *)rec)->reason, "vm.max_map_count"), NULL);
	cr_expect_eq(used(ACCT_MEMORY), before);
	cr_expect_eq(used(ACCT_CQS), 0);
}
