/* SPDX-License-Identifier: BSD-2-Clause */
/* What a reregistration charges, when it succeeds and when it fails. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/base/state.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/memory/stags.h"
#include "daemon/service/attach.h"
#include "daemon/service/record.h"
#include "ipc/conn.h"
#include "ipc/local_protocol.h"

enum { LEN = 16384 };

static struct daemon d;
static struct client *c;
static int client_end;
static _Alignas(8) uint8_t rec[MSG_MAX];

static int memory(size_t len)
{
	int fd = memfd_create("memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, (off_t)len), 0);
	return fd;
}

/* Handles a record of the client, and returns the reply. fd: -1 or a descriptor, which is closed.
 */
static const void *answer_to(const void *request, size_t len, int fd)
{
	int fds[MSG_MAX_FDS] = {fd};
	unsigned n = 0;
	size_t got;

	record_handle(c, request, len, fds, fd >= 0);
	cr_assert_eq(conn_recv(client_end, rec, sizeof(rec), &got, fds, &n), CONN_E_OK);
	while (n > 0)
		close(fds[--n]);
	return rec;
}

static uint32_t op_of(const void *reply)
{
	return ((const struct msg_hdr *)reply)->op;
}

static void start(void)
{
	const struct msg_hello hello = {.hdr = {MSG_HELLO, 1}, .major = IPC_VERSION_MAJOR};
	static const struct event_loop_hooks never_run;
	uint32_t pos = 0;
	int pair[2];

	log_set_level(LOG_LEVEL_ERR);
	config_default(&d.cfg);
	d.cfg.limits.mr_bytes = 2 * LEN;
	worker_init(&d.worker, &d, 4);
	cr_assert_eq(acct_new(&d.cfg.limits, &d.acct), 0);
	cr_assert_eq(event_loop_new(&never_run, &d.worker, 0, &d.worker.loop), 0);
	cr_assert_eq(stags_new(16, getrandom, &d.stags), 0);
	idtab_init(&d.clients, 4);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	cr_assert_eq(attach_client(&d.worker, pair[0]), 0);
	client_end = pair[1];
	c = idtab_next(&d.clients, &pos);
	cr_assert_eq(op_of(answer_to(&hello, sizeof(hello), -1)), MSG_HELLO);
}

TestSuite(rereg, .init = start);

static uint32_t region(void)
{
	const struct msg_hdr alloc = {MSG_ALLOC_PD, 1};
	struct msg_reg_mr reg = {.hdr = {MSG_REG_MR, 1}, .len = LEN};

	reg.pd = ((const struct msg_handle *)answer_to(&alloc, sizeof(alloc), -1))->handle;
	cr_assert_eq(op_of(answer_to(&reg, sizeof(reg), memory(LEN))), MSG_REG_MR);
	return ((const struct msg_mr *)rec)->handle;
}

static struct msg_rereg_mr smaller(uint32_t mr)
{
	return (struct msg_rereg_mr){
		.hdr = {MSG_REMAP_MR, 1}, .mr = mr, .what = MSG_REREG_TRANSLATION, .len = LEN / 2};
}

static uint64_t charged(void)
{
	return acct_used(d.acct, c->uid, ACCT_MR_BYTES);
}

Test(rereg, a_failed_one_keeps_the_charge_even_beyond_a_lower_limit)
{
	struct msg_rereg_mr m = smaller(region());

	d.cfg.limits.mr_bytes = LEN / 4; /* as by a reload */
	acct_set_limits(d.acct, &d.cfg.limits);
	cr_assert_eq(op_of(answer_to(&m, sizeof(m), open("/dev/null", O_RDWR | O_CLOEXEC))),
		     MSG_ERROR);
	cr_assert_eq(charged(), LEN);
	cr_assert_eq(c->regions.bytes, LEN);
}

Test(rereg, a_successful_one_charges_the_new_length)
{
	struct msg_rereg_mr m = smaller(region());

	cr_assert_eq(op_of(answer_to(&m, sizeof(m), memory(LEN))), MSG_REMAP_MR);
	cr_assert_eq(charged(), LEN / 2);
	cr_assert_eq(c->regions.bytes, LEN / 2);
}
