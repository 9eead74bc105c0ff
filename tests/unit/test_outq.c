/* SPDX-License-Identifier: BSD-2-Clause */
/* Unread events are charged when they are queued, and no longer when they are read. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/base/state.h"
#include "daemon/objects/client.h"
#include "daemon/service/attach.h"
#include "daemon/service/record.h"
#include "ipc/conn.h"
#include "ipc/version.h"

enum { MEMORY = 1 << 20, MANY = 500 };

static struct daemon d;
static struct client *c;
static int client_end, event_end;
static unsigned unread; /* events queued and not read */
static _Alignas(8) uint8_t rec[MSG_MAX];

static bool read_one(int fd, int *ret_fds, unsigned *ret_n)
{
	size_t len;

	return conn_recv(fd, rec, sizeof(rec), &len, ret_fds, ret_n) == CONN_E_OK;
}

/* Reads all events; each turn lets the queue send more. */
static bool read_events(void *user, uint64_t now_ms)
{
	int fds[MSG_MAX_FDS];
	unsigned n;

	(void)user;
	(void)now_ms;
	while (unread > 0 && read_one(event_end, fds, &n))
		unread--;
	if (unread == 0)
		event_loop_stop(d.worker.loop);
	return true;
}

static uint64_t never(void *user)
{
	(void)user;
	return UINT64_MAX;
}

static bool sleep_on(void *user)
{
	(void)user;
	return true;
}

static void awake(void *user)
{
	(void)user;
}

static void start(void)
{
	static const struct event_loop_hooks hooks = {read_events, never, sleep_on, awake, NULL};
	uint32_t pos = 0;
	int pair[2];

	log_set_level(LOG_LEVEL_ERR);
	config_default(&d.cfg);
	d.cfg.limits.memory = MEMORY;
	d.cfg.limits.events = 65536;
	worker_init(&d.worker, &d, 4);
	cr_assert_eq(acct_new(&d.cfg.limits, &d.acct), 0);
	cr_assert_eq(event_loop_new(&hooks, &d.worker, 0, &d.worker.loop), 0);
	idtab_init(&d.clients, 4);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	cr_assert_eq(attach_client(&d.worker, pair[0]), 0);
	client_end = pair[1];
	c = idtab_next(&d.clients, &pos);
}

TestSuite(outq, .init = start, .timeout = 30);

/* Says hello. Returns the op of the reply. */
static uint32_t greet(void)
{
	const struct msg_hello hello = {.hdr = {MSG_HELLO, 1}, .major = IPC_VERSION_MAJOR};
	int fds[MSG_MAX_FDS];
	unsigned n = 0;

	record_handle(c, &hello, sizeof(hello), fds, 0);
	cr_assert(read_one(client_end, fds, &n));
	event_end = n > 0 ? fds[0] : -1;
	return ((const struct msg_hdr *)rec)->op;
}

static void queue(unsigned n)
{
	struct msg_event ev = {.type = MSG_EV_ESTABLISHED};

	for (unsigned i = 0; i < n && !list_linked(&c->faulty); i++) {
		client_event(c, &ev);
		unread++;
	}
}

static uint64_t used(void)
{
	return acct_used(d.acct, c->uid, ACCT_MEMORY);
}

Test(outq, a_client_that_may_leave_many_unread_is_not_charged_for_them_in_advance)
{
	cr_assert_eq(greet(), MSG_HELLO);
	cr_expect_leq(used(), MEMORY / 8);
}

Test(outq, unread_events_are_charged_until_they_are_read)
{
	uint64_t before;

	cr_assert_eq(greet(), MSG_HELLO);
	before = used();
	queue(MANY);
	cr_assert_not(list_linked(&c->faulty));
	cr_expect_geq(used(), before + (MANY - 100) * sizeof(struct msg_event));
	cr_assert_eq(event_loop_run(d.worker.loop), 0);
	cr_expect_eq(unread, 0);
	cr_expect_eq(used(), before);
}

Test(outq, a_client_without_memory_for_an_event_ends)
{
	cr_assert_eq(greet(), MSG_HELLO);
	queue(65536);
	cr_assert(list_linked(&c->faulty));
	cr_expect_neq(strstr(c->fault, "it does not read: "), NULL, "%s", c->fault);
	cr_expect_neq(strstr(c->fault, "(limits.memory)"), NULL, "%s", c->fault);
	cr_expect_leq(used(), MEMORY);
	attach_free(c);
	cr_expect_null(acct_free(d.acct));
}
