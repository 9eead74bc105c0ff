/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/llp_one.h"
#include "user_rig.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "llp/user/user.h"
#include "util/addr.h"
#include "util/minmax.h"

/* ---- the clock ---- */

static uint64_t held_us;    /* 0: it runs */
static uint64_t shifted_us; /* ahead of the machine's by so much; wraps */

static uint64_t now_us(void)
{
	struct timespec t;

	if (held_us)
		return held_us;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000 + shifted_us;
}

static uint64_t now_ms(void)
{
	return now_us() / 1000;
}

/* In place of the transport's own. */
void llp_user_read_clock(struct user *t)
{
	t->now_us = now_us() + t->skew_us;
}

void rig_hold_clock(void)
{
	held_us = now_us();
}

void rig_release_clock(uint64_t passed_us)
{
	uint64_t now = held_us + passed_us;

	held_us = 0;
	shifted_us += now - now_us();
}

/* ---- addresses ---- */

void rig_address(const char *text, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *a4 = (void *)ret;
	struct sockaddr_in6 *a6 = (void *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &a4->sin_addr) == 1) {
		a4->sin_family = AF_INET;
		a4->sin_port = htons(port);
	} else {
		inet_pton(AF_INET6, text, &a6->sin6_addr);
		a6->sin6_family = AF_INET6;
		a6->sin6_port = htons(port);
	}
}

static socklen_t length(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

static int bind_udp(const char *text, uint16_t port)
{
	struct sockaddr_storage a;
	int fd;

	rig_address(text, port, &a);
	fd = socket(a.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&a, length(&a))) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool is_free(uint16_t port)
{
	static const char *const where[] = {"127.0.0.2", "127.0.0.3", "::1"};

	for (unsigned i = 0; i < 3; i++) {
		int fd = bind_udp(where[i], port);

		if (fd < 0)
			return false;
		close(fd);
	}
	return true;
}

uint16_t rig_free_port(void)
{
	for (int tries = 0; tries < 100; tries++) {
		struct sockaddr_in a;
		socklen_t len = sizeof(a);
		int fd = bind_udp("127.0.0.1", 0);

		if (fd < 0)
			break;
		getsockname(fd, (struct sockaddr *)&a, &len);
		close(fd);
		if (is_free(ntohs(a.sin_port)))
			return ntohs(a.sin_port);
	}
	cr_skip_test("no free UDP port on loopback");
	return 0;
}

/* ---- upcalls ---- */

static void *on_incoming(void *user, struct llp_conn *c)
{
	struct rig_conn *rc = user;

	rc->incoming++;
	if (rc->refuse)
		return NULL;
	rc->c = c;
	return rc;
}

static void on_up(void *user)
{
	((struct rig_conn *)user)->up++;
}

static void on_down(void *user, int err, const char *reason)
{
	struct rig_conn *rc = user;

	rc->down++;
	rc->err = err;
	snprintf(rc->reason, sizeof(rc->reason), "%s", reason);
}

static bool on_readable(void *user)
{
	struct rig_conn *rc = user;
	struct llp_msg m;

	while (llp_recv(rc->c, &m) == LLP_E_OK) {
		uint32_t off = 0;

		rc->last = m;
		for (unsigned i = 0; i < m.n && off + m.part[i].len <= sizeof(rc->data); i++) {
			memcpy(rc->data + off, m.part[i].p, m.part[i].len);
			off += (uint32_t)m.part[i].len;
		}
		rc->msgs++;
		rc->bytes += m.len;
		/* An echo without room is dropped: the tests stay below that. */
		if (rc->echo && llp_send(rc->c, &m) != LLP_E_OK)
			abort();
	}
	return false;
}

static void on_writable(void *user)
{
	((struct rig_conn *)user)->writable++;
}

static void on_acked(void *user)
{
	struct rig_conn *rc = user;
	struct llp_info info;

	llp_info(rc->c, &info);
	cr_assert_eq(info.unacked, 0, "acked() with %u messages unacknowledged", info.unacked);
	rc->acked++;
}

static void on_path(void *user, const struct llp_path *p, const char *what)
{
	struct rig_conn *rc = user;
	char text[ADDR_TEXT_MAX];

	if (rc->npaths == RIG_PATH_EVENTS)
		return;
	snprintf(rc->path[rc->npaths++], sizeof(rc->path[0]), "%s %s",
		 addr_host_text(&p->remote, text), what);
}

static void on_resized(void *user)
{
	((struct rig_conn *)user)->resized++;
}

static const struct llp_events events = {on_incoming, on_up,   on_down,    on_readable, on_writable,
					 on_acked,    on_path, on_resized, NULL};

/* ---- the transports ---- */

static struct llp *transports[RIG_TRANSPORTS];
static unsigned ntransports;

struct llp_config rig_config(const char *text, uint16_t udp_port, struct sockaddr_storage *a)
{
	rig_address(text, 0, a);
	return (struct llp_config){
		.addrs = a,
		.naddrs = 1,
		.udp_port = udp_port,
		.streams = 8,
		.adaptation = 1,
		.buffer = 1 << 20,
		.gso = LLP_GSO_AUTO,
		.sack_packets = 4,
		.sack_ms = 20,
		.rto_min_ms = 50,
		.rto_max_ms = 500,
		.path_max_retrans = 4,
		.init_ms = 10000,
	};
}

struct llp *rig_open(const struct llp_config *cfg)
{
	char reason[256] = "";
	struct llp *t = NULL;
	int r = llp_user_open(cfg, &events, &t, reason, sizeof(reason));

	cr_assert_eq(r, 0, "open: %d: %s", r, reason);
	cr_assert_lt(ntransports, RIG_TRANSPORTS);
	transports[ntransports++] = t;
	return t;
}

void rig_pause(const struct llp *t)
{
	unsigned i = 0;

	while (i < ntransports && transports[i] != t)
		i++;
	cr_assert_lt(i, ntransports);
	transports[i] = transports[--ntransports];
}

void rig_resume(struct llp *t)
{
	cr_assert_lt(ntransports, RIG_TRANSPORTS);
	transports[ntransports++] = t;
}

struct llp *rig_close(struct llp *t)
{
	rig_pause(t);
	return llp_close(t);
}

/* Polls until one of them has something to do. */
static void sleep_all(void)
{
	struct pollfd p[RIG_TRANSPORTS * LLP_MAX_FDS];
	uint64_t next = UINT64_MAX, now = now_us();
	unsigned n = 0;
	int wait;

	for (unsigned i = 0; i < ntransports; i++) {
		int fds[LLP_MAX_FDS];
		unsigned nfds = llp_fds(transports[i], fds);

		for (unsigned k = 0; k < nfds; k++)
			p[n++] = (struct pollfd){.fd = fds[k], .events = POLLIN};
		next = min_u64(next, llp_expiry_us(transports[i]));
	}
	wait = next <= now ? 0 : (int)min_u64((next - now + 999) / 1000, 50);
	(void)poll(p, n, wait);
}

void rig_turn(void)
{
	/* What the test asked for since the last turn. */
	for (unsigned i = 0; i < ntransports; i++) {
		llp_tick(transports[i], now_ms());
		llp_flush(transports[i]);
	}
	sleep_all();
	for (unsigned i = 0; i < ntransports; i++) {
		llp_input(transports[i], 256);
		llp_tick(transports[i], now_ms());
		llp_flush(transports[i]);
	}
}

void rig_turn_of(struct llp *t)
{
	llp_tick(t, now_ms());
	llp_input(t, 256);
	llp_flush(t);
}

void rig_until_sent(struct llp *t, uint64_t want)
{
	struct llp_stats st;
	uint64_t retransmits;

	llp_stats(t, &st);
	retransmits = st.retransmits;
	rig_hold_clock();
	while (llp_stats(t, &st), st.tx_packets < want) {
		cr_assert_eq(st.retransmits, retransmits);
		held_us += 100;
		llp_tick(t, now_ms());
		llp_flush(t);
	}
	rig_release_clock(0);
	cr_assert_eq(st.retransmits, retransmits);
}

void rig_until(const unsigned *counter, unsigned want)
{
	uint64_t end = now_ms() + RIG_WAIT_MS;

	while (*counter < want) {
		cr_assert_lt(now_ms(), end, "timeout");
		rig_turn();
	}
}

static void await(const struct rig_conn *rc)
{
	uint64_t end = now_ms() + RIG_WAIT_MS;

	while (!rc->up && !rc->down) {
		cr_assert_lt(now_ms(), end, "neither up nor down");
		rig_turn();
	}
}

void rig_connect(struct llp *t, const char *to, struct rig_conn *rc)
{
	struct sockaddr_storage a;
	int r;

	rig_address(to, RIG_SCTP_PORT, &a);
	r = llp_connect(t, (struct sockaddr *)&a, rc, &rc->c);
	cr_assert_eq(r, 0, "connect: %d", r);
	await(rc);
}

void rig_connect_at(struct llp *t, const struct llp_addrs *to, const struct llp_addrs *from,
		    struct rig_conn *rc)
{
	int r;

	r = llp_connect_at(t, to, RIG_SCTP_PORT, from, 0, rc, &rc->c);
	cr_assert_eq(r, 0, "connect: %d", r);
	await(rc);
}

void rig_until_max(struct rig_conn *rc, uint32_t n)
{
	uint64_t end = now_ms() + RIG_WAIT_MS;
	struct llp_info info;

	while (llp_info(rc->c, &info), info.max_message != n) {
		cr_assert_lt(now_ms(), end, "max_message is %u, not %u", info.max_message, n);
		rig_turn();
	}
}

static void fill(uint8_t *p, uint32_t n, uint8_t seed)
{
	for (uint32_t i = 0; i < n; i++)
		p[i] = (uint8_t)(seed + i * 31 + (i >> 8));
}

void rig_send(struct rig_conn *rc, uint16_t sid, uint32_t n, uint8_t seed)
{
	static uint8_t buf[1 << 17];
	uint32_t head = n < 16 ? n : 16;
	struct llp_msg m = {.sid = sid, .ppid = 16, .len = n, .n = n > head ? 2 : 1};
	uint64_t end = now_ms() + RIG_WAIT_MS;
	int r;

	fill(buf, n, seed);
	m.part[0] = (struct span){buf, head};
	m.part[1] = (struct span){buf + head, n - head};
	/* At first the path MTU is unknown, and long messages are refused. */
	while ((r = llp_send(rc->c, &m)) == LLP_E_AGAIN || r == LLP_E_TOO_LONG) {
		cr_assert_lt(now_ms(), end, "timeout: %d", r);
		rig_turn();
	}
	cr_assert_eq(r, LLP_E_OK, "send of %u bytes: %d", n, r);
}

bool rig_last_is(const struct rig_conn *rc, uint32_t n, uint8_t seed)
{
	static uint8_t want[1 << 17];

	fill(want, n, seed);
	return rc->last.len == n && memcmp(rc->data, want, n) == 0;
}

/* ---- a child ---- */

struct rig_child rig_fork(void (*fn)(void *arg, int fd), void *arg)
{
	struct rig_child ch;
	int fds[2];
	char byte;

	cr_assert_eq(pipe(fds), 0);
	ch.pid = fork();
	cr_assert_geq(ch.pid, 0);
	if (ch.pid == 0) {
		close(fds[0]);
		alarm(RIG_WAIT_MS / 1000 + 10); /* limits its life after a failed test */
		fn(arg, fds[1]);
		_exit(0);
	}
	close(fds[1]);
	ch.fd = fds[0];
	cr_assert_eq(read(ch.fd, &byte, 1), 1, "the child did not start");
	return ch;
}

int rig_wait(struct rig_child *ch)
{
	int status = -1;

	waitpid(ch->pid, &status, 0);
	close(ch->fd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

bool rig_running(const struct rig_child *ch)
{
	siginfo_t info = {0};

	cr_assert_eq(waitid(P_PID, (id_t)ch->pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
	return info.si_pid == 0;
}

void rig_kill(struct rig_child *ch)
{
	kill(ch->pid, SIGKILL);
	rig_wait(ch);
}

static void ready(int fd)
{
	if (write(fd, "r", 1) != 1)
		_exit(99);
}

static void echo_server(void *arg, int fd)
{
	static struct rig_conn rc = {.echo = true};
	struct sockaddr_storage a;
	struct llp_config cfg = rig_config("127.0.0.2", *(uint16_t *)arg, &a);
	struct llp_listener *l;
	struct llp *t;

	ntransports = 0;
	t = rig_open(&cfg);
	if (llp_listen(t, NULL, RIG_SCTP_PORT, &rc, &l))
		_exit(98);
	ready(fd);
	while (!rc.down)
		rig_turn();
	llp_conn_free(rc.c);
	rig_close(t);
	_exit(rc.err ? 1 : 0);
}

struct rig_child rig_echo_server(uint16_t udp_port)
{
	return rig_fork(echo_server, &udp_port);
}

static void restarted_server(void *arg, int fd)
{
	struct rig_child first;
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	first = rig_fork(echo_server, arg);
	ready(fd);
	sigwait(&set, &sig);
	rig_kill(&first);
	echo_server(arg, fd);
}

struct rig_child rig_restartable_server(uint16_t udp_port)
{
	return rig_fork(restarted_server, &udp_port);
}

void rig_restart(struct rig_child *ch)
{
	char byte;

	kill(ch->pid, SIGUSR1);
	cr_assert_eq(read(ch->fd, &byte, 1), 1, "the second server did not start");
}

/* ---- a raw peer ---- */

static void raw_peer(void *arg, int fd)
{
	const struct rig_raw *raw = arg;
	const char *top = getenv("top_builddir");
	char path[512], number[6][16];
	const int value[6] = {fd,
			      raw->udp_port,
			      RIG_SCTP_PORT,
			      raw->adaptation,
			      raw->connects,
			      (int)raw->send_len};

	snprintf(path, sizeof(path), "%s/tests/unit/usrsctp_peer", top ? top : ".");
	for (int i = 0; i < 6; i++)
		snprintf(number[i], sizeof(number[i]), "%d", value[i]);
	execl(path, path, number[0], number[1], raw->local, raw->remote, number[2], number[3],
	      number[4], number[5], raw->wants_abort ? "1" : "0", (char *)NULL);
	_exit(92);
}

struct rig_child rig_raw_peer(struct rig_raw *raw)
{
	return rig_fork(raw_peer, raw);
}
