/* SPDX-License-Identifier: BSD-2-Clause */
/* Events wait in reserved places, which are charged. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/base/state.h"
#include "daemon/objects/client/client.h"
#include "daemon/service/attach.h"
#include "daemon/service/record.h"
#include "ipc/conn.h"
#include "ipc/local_protocol.h"

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
	static const struct event_loop_hooks hooks = {
		.turn = read_events, .expiry_us = never, .sleep = sleep_on, .awake = awake};
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

static uint64_t used(void)
{
	return acct_used(d.acct, c->uid, ACCT_MEMORY);
}

Test(outq, a_client_that_may_leave_many_unread_is_not_charged_for_them_in_advance)
{
	cr_assert_eq(greet(), MSG_HELLO);
	cr_expect_leq(used(), MEMORY / 8);
}

/* Has an event wait in each of them. */
static void fill(struct outq_place *place, unsigned n)
{
	struct msg_event ev = {.type = MSG_EV_ESTABLISHED};

	for (unsigned i = 0; i < n; i++) {
		ev.request = i;
		client_event(c, &place[i], &ev);
		unread++;
	}
}

static struct outq_place place[MANY];

static void greet_and_reserve(void)
{
	struct reply rep = {.nfds = 0};

	cr_assert_eq(greet(), MSG_HELLO);
	cr_assert_eq(client_reserve_events(c, MANY, &rep), 0);
}

Test(outq, places_are_charged_while_they_are_reserved)
{
	struct reply rep = {.nfds = 0};
	uint64_t before;

	cr_assert_eq(greet(), MSG_HELLO);
	before = used();
	cr_assert_eq(client_reserve_events(c, MANY, &rep), 0);
	cr_expect_eq(used(), before + (MANY - 64) * OUTQ_PLACE_BYTES);
	fill(place, MANY);
	cr_expect_eq(used(), before + (MANY - 64) * OUTQ_PLACE_BYTES);
	cr_assert_eq(event_loop_run(d.worker.loop), 0);
	client_release_events(c, place, MANY, MANY);
	cr_expect_eq(used(), before);
}

Test(outq, an_event_that_waits_is_replaced_in_its_place)
{
	struct msg_event ev = {.type = MSG_EV_DISCONNECTED};
	unsigned waiting;

	greet_and_reserve();
	fill(place, MANY);
	waiting = c->io.events.count;
	client_event(c, &place[MANY - 1], &ev);
	cr_expect_eq(c->io.events.count, waiting);
	cr_assert_eq(event_loop_run(d.worker.loop), 0);
	cr_expect_eq(((const struct msg_event *)(const void *)rec)->type, MSG_EV_DISCONNECTED);
}

Test(outq, an_event_can_be_taken_back_until_it_was_sent)
{
	unsigned waiting;

	greet_and_reserve();
	fill(place, MANY);
	waiting = c->io.events.count;
	cr_expect_not(client_event_take_back(c, &place[0]), "it is in the socket");
	cr_expect(client_event_take_back(c, &place[MANY - 1]));
	cr_expect_not(client_event_take_back(c, &place[MANY - 1]));
	cr_expect_eq(c->io.events.count, waiting - 1);
}

Test(outq, an_event_whose_object_ended_is_charged_until_it_is_read)
{
	uint64_t before;

	cr_assert_eq(greet(), MSG_HELLO);
	before = used();
	c->io.events_max = 2 * MANY;
	cr_assert_eq(client_reserve_events(c, MANY, &(struct reply){.nfds = 0}), 0);
	fill(place, MANY);
	client_release_events(c, place, MANY, MANY);
	cr_expect_gt(used(), before);
	cr_expect_eq(c->io.events.places, 0);
	cr_assert_eq(event_loop_run(d.worker.loop), 0);
	cr_expect_eq(unread, 0);
	cr_expect_eq(used(), before);
}

Test(outq, places_that_the_uid_has_no_memory_for_are_refused)
{
	struct reply rep = {.nfds = 0};

	cr_assert_eq(greet(), MSG_HELLO);
	cr_expect_eq(client_reserve_events(c, 65536, &rep), -EDQUOT);
	cr_expect(strstr(rep.reason, "(limits.memory)"), "%s", rep.reason);
	cr_expect_not(list_linked(&c->fault.link));
	attach_free(c);
	cr_expect_null(acct_free(d.acct));
}

/* Replies that wait keep their descriptors. */
Test(outq, a_reply_with_a_descriptor_waits_for_room)
{
	int fds[MSG_MAX_FDS], replies = 0;
	unsigned n = 0, found = 0;
	struct outq q;
	int pair[2];

	cr_assert_eq(greet(), MSG_HELLO);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	outq_init(&q, d.worker.loop, pair[0], 100000, client_queue_failed, c);
	while (q.count == 0) {
		outq_send(&q, rec, sizeof(struct msg_event), NULL, 0);
		replies++;
	}
	outq_send(&q, rec, sizeof(struct msg_hdr), &pair[0], 1);
	cr_assert_eq(q.count, 2);
	event_end = pair[1];
	unread = (unsigned)replies;
	cr_assert_eq(event_loop_run(d.worker.loop), 0);
	while (!found && read_one(pair[1], fds, &n))
		found = n;
	cr_expect_eq(found, 1);
	cr_expect_not(list_linked(&c->fault.link));
	outq_deinit(&q);
}
