/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: where an allocation of the transport `user` fails, the call is refused or the
 * association ends with a reason. Other associations go on, and no byte is lost or leaked. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/lib/llp_one.h"
#include "user_rig.h"

/* ---- malloc() and mmap() of the transport and its core (the linker's --wrap) ---- */

void *__real_malloc(size_t len);
void *__real_calloc(size_t n, size_t len);
void __real_free(void *p);
void *__real_mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *p, size_t len);
void *__wrap_malloc(size_t len);
void *__wrap_calloc(size_t n, size_t len);
void __wrap_free(void *p);
void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *p, size_t len);

static unsigned calls, fail_at, fail_every; /* since fail(); 0: none fails */
static bool failed;
static int live; /* blocks that are not freed */

static bool fails(void)
{
	calls++;
	if (calls != fail_at && (fail_every == 0 || calls % fail_every))
		return false;
	failed = true;
	return true;
}

static void *taken(void *p)
{
	live += p != NULL;
	return p;
}

void *__wrap_malloc(size_t len)
{
	return fails() ? NULL : taken(__real_malloc(len));
}

void *__wrap_calloc(size_t n, size_t len)
{
	return fails() ? NULL : taken(__real_calloc(n, len));
}

void __wrap_free(void *p)
{
	live -= p != NULL;
	__real_free(p);
}

void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (fails()) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return taken(__real_mmap(at, len, prot, flags, fd, offset));
}

int __wrap_munmap(void *p, size_t len)
{
	live--;
	return __real_munmap(p, len);
}

static void fail(unsigned at, unsigned every)
{
	calls = 0;
	fail_at = at;
	fail_every = every;
	failed = false;
}

/* ---- opening ---- */

/* True if an allocation has failed. */
static bool open_fails(const struct llp_config *cfg, unsigned at)
{
	static const struct llp_events none;
	struct llp *opened = NULL;
	char reason[64] = "";
	int before = live, r;

	fail(at, 0);
	r = llp_user_open(cfg, &none, &opened, reason, sizeof(reason));
	cr_assert_eq(r, failed ? -ENOMEM : 0);
	fail(0, 0);
	if (r) {
		cr_assert_str_eq(reason, "no memory");
		cr_assert_null(opened);
	} else {
		llp_close(opened);
	}
	cr_assert_eq(live, before, "allocation %u", at);
	return r != 0;
}

Test(user_memory, opening_is_refused)
{
	struct sockaddr_storage addr;
	struct llp_config cfg = rig_config("127.0.0.1", rig_free_port(), &addr);
	unsigned n = 1;

	while (open_fails(&cfg, n))
		n++;
	cr_assert_gt(n, 4, "only %u allocations", n - 1);
}

/* ---- associations ---- */

enum { OTHER_PORT = RIG_SCTP_PORT + 1, SENDS = 24 };

static struct sockaddr_storage addr[2], to;
static struct rig_conn first, first_peer, second, second_peer;
static struct llp *t, *server;

static void listen_at(uint16_t port, struct rig_conn *rc)
{
	struct llp_listener *l;

	cr_assert_eq(llp_listen(server, NULL, port, rc, &l), 0);
}

static void open_both(void)
{
	uint16_t port = rig_free_port();
	struct llp_config cfg[2] = {rig_config("127.0.0.1", port, &addr[0]),
				    rig_config("127.0.0.2", port, &addr[1])};

	t = rig_open(&cfg[0]);
	server = rig_open(&cfg[1]);
	memset(&first, 0, sizeof(first));
	memset(&first_peer, 0, sizeof(first_peer));
	listen_at(RIG_SCTP_PORT, &first_peer);
	listen_at(OTHER_PORT, &second_peer);
	rig_address("127.0.0.2", OTHER_PORT, &to);
	rig_connect(t, "127.0.0.2", &first);
	rig_until(&first_peer.incoming, 1);
}

static void close_both(void)
{
	t = rig_close(t);
	server = rig_close(server);
	cr_assert_eq(live, 0);
}

/* False: the association is down. */
static bool send_one(uint32_t len)
{
	static uint8_t bytes[60000];
	struct llp_msg m = {.ppid = 16, .len = len, .n = 1, .part = {{bytes, len}}};
	int r;

	while (!second.down && (r = llp_send(second.c, &m)) != LLP_E_OK) {
		cr_assert(r == LLP_E_AGAIN || r == LLP_E_TOO_LONG || r == LLP_E_DOWN, "%d", r);
		rig_turn();
	}
	return !second.down;
}

/* What was accepted arrives, or the association has ended. */
static void send_all(void)
{
	static const uint32_t len[] = {1, 1400, 60000};
	unsigned sent = 0;

	while (sent < SENDS && send_one(len[sent % 3]))
		sent++;
	while (!second.down && second_peer.msgs < sent)
		rig_turn();
}

static void use_second(void)
{
	int r = llp_connect(t, (struct sockaddr *)&to, &second, &second.c);

	if (r) {
		cr_assert_eq(r, -ENOMEM);
		return;
	}
	while (!second.up && !second.down)
		rig_turn();
	send_all();
	if (!second.down)
		llp_shutdown(second.c);
	rig_until(&second.down, 1);
	cr_assert(second.err == 0 || *second.reason, "an end without a reason");
}

/* The other association lost no byte. */
static void use_first(void)
{
	unsigned before = first_peer.msgs;

	rig_send(&first, 0, 1000, 1);
	rig_until(&first_peer.msgs, before + 1);
	cr_assert(rig_last_is(&first_peer, 1000, 1));
	cr_assert_eq(first.down + first_peer.down, 0);
}

/* True if an allocation has failed. */
static bool fails_in_use(unsigned at, unsigned every)
{
	bool ret;

	memset(&second, 0, sizeof(second));
	memset(&second_peer, 0, sizeof(second_peer));
	open_both();
	fail(at, every);
	use_second();
	ret = failed;
	fail(0, 0);
	use_first();
	while (second_peer.c && !second_peer.down)
		rig_turn();
	llp_conn_free(second.c);
	llp_conn_free(second_peer.c);
	close_both();
	return ret;
}

Test(user_memory, one_failure_ends_at_most_one_association)
{
	unsigned n = 1;

	while (fails_in_use(n, 0))
		n++;
	cr_assert_eq(second.err, 0, "%s", second.reason);
	cr_assert_eq(second_peer.msgs, SENDS);
	cr_log_info("%u allocations", n - 1);
	cr_assert_gt(n, 8, "only %u allocations", n - 1);
}

Test(user_memory, failures_again_and_again_end_at_most_one_association)
{
	for (unsigned every = 12; every >= 2; every--)
		(void)fails_in_use(0, every);
	cr_assert_not(fails_in_use(0, 0));
	cr_assert_eq(second_peer.msgs, SENDS);
}
