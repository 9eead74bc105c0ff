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
#include <usrsctp.h>

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
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

	while (!rc->stopped && llp_recv(rc->c, &m) == LLP_E_OK) {
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
	return rc->stopped;
}

static void on_writable(void *user)
{
	((struct rig_conn *)user)->writable++;
}

static void on_acked(void *user)
{
	((struct rig_conn *)user)->acked++;
}

static const struct llp_events events = {on_incoming, on_up,    on_down, on_readable,
					 on_writable, on_acked, NULL};

/* ---- the transport ---- */

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
	return t;
}

void rig_turn(struct llp *t)
{
	struct pollfd p[LLP_MAX_FDS];
	int fds[LLP_MAX_FDS];
	unsigned n = llp_fds(t, fds);
	uint64_t next = llp_expiry(t), now = now_ms();
	int wait = next <= now ? 0 : next - now > 50 ? 50 : (int)(next - now);

	for (unsigned i = 0; i < n; i++)
		p[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	(void)poll(p, n, wait);
	llp_input(t, 256);
	llp_tick(t, now_ms());
	llp_flush(t);
}

void rig_until(struct llp *t, const unsigned *counter, unsigned want)
{
	uint64_t end = now_ms() + RIG_WAIT_MS;

	while (*counter < want) {
		cr_assert_lt(now_ms(), end, "timeout");
		rig_turn(t);
	}
}

void rig_connect(struct llp *t, const char *to, struct rig_conn *rc)
{
	uint64_t end = now_ms() + RIG_WAIT_MS;
	struct sockaddr_storage a;
	int r;

	rig_turn(t);
	rig_address(to, RIG_SCTP_PORT, &a);
	r = llp_connect(t, (struct sockaddr *)&a, rc, &rc->c);
	cr_assert_eq(r, 0, "connect: %d", r);
	while (!rc->up && !rc->down) {
		cr_assert_lt(now_ms(), end, "neither up nor down");
		rig_turn(t);
	}
}

static void fill(uint8_t *p, uint32_t n, uint8_t seed)
{
	for (uint32_t i = 0; i < n; i++)
		p[i] = (uint8_t)(seed + i * 31 + (i >> 8));
}

void rig_send(struct llp *t, struct rig_conn *rc, uint16_t sid, uint32_t n, uint8_t seed)
{
	static uint8_t buf[1 << 17];
	uint32_t head = n < 16 ? n : 16;
	struct llp_msg m = {.sid = sid, .ppid = 16, .len = n, .n = n > head ? 2 : 1};
	uint64_t end = now_ms() + RIG_WAIT_MS;
	int r;

	fill(buf, n, seed);
	m.part[0] = (struct span){buf, head};
	m.part[1] = (struct span){buf + head, n - head};
	while ((r = llp_send(rc->c, &m)) == LLP_E_AGAIN) {
		cr_assert_lt(now_ms(), end, "timeout without room");
		rig_turn(t);
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

	if (llp_user_open(&cfg, &events, &t, rc.reason, sizeof(rc.reason)) ||
	    llp_listen(t, NULL, RIG_SCTP_PORT, &rc, &l))
		_exit(98);
	ready(fd);
	while (!rc.down)
		rig_turn(t);
	llp_conn_free(rc.c);
	llp_close(t);
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

static int raw_fd;

static int raw_output(void *addr, void *buffer, size_t len, uint8_t tos, uint8_t df)
{
	(void)addr;
	(void)tos;
	(void)df;
	(void)send(raw_fd, buffer, len, 0);
	return 0;
}

static struct socket *raw_socket(const struct rig_raw *raw)
{
	struct socket *so = usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	struct sockaddr_conn a = {.sconn_family = AF_CONN, .sconn_addr = &raw_fd};
	struct sctp_setadaptation ad = {.ssb_adaptation_ind = (uint32_t)raw->adaptation};
	struct sctp_event e = {.se_type = SCTP_ASSOC_CHANGE, .se_on = 1};
	struct sctp_rtoinfo rto = {.srto_initial = 50, .srto_min = 50, .srto_max = 1000};
	int big = 1 << 20;

	usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_RTOINFO, &rto, sizeof(rto));
	usrsctp_set_non_blocking(so, 1);
	usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_EVENT, &e, sizeof(e));
	usrsctp_setsockopt(so, SOL_SOCKET, SO_SNDBUF, &big, sizeof(big));
	if (raw->adaptation >= 0)
		usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_ADAPTATION_LAYER, &ad, sizeof(ad));
	a.sconn_port = htons(raw->connects ? RIG_SCTP_PORT + 1 : RIG_SCTP_PORT);
	if (usrsctp_bind(so, (struct sockaddr *)&a, sizeof(a)))
		_exit(97);
	a.sconn_port = htons(RIG_SCTP_PORT);
	if (!raw->connects && usrsctp_listen(so, 1))
		_exit(96);
	if (raw->connects && usrsctp_connect(so, (struct sockaddr *)&a, sizeof(a)) &&
	    errno != EINPROGRESS)
		_exit(95);
	return so;
}

static void raw_send(struct socket *so, uint32_t n)
{
	static uint8_t buf[1 << 20];
	struct sctp_sndinfo info = {
		.snd_sid = 1, .snd_flags = SCTP_UNORDERED, .snd_ppid = htonl(16)};

	fill(buf, n, 7);
	if (usrsctp_sendv(so, buf, n, NULL, 0, &info, sizeof(info), SCTP_SENDV_SNDINFO, 0) < 0)
		_exit(94);
}

/* Exits when the association has ended. */
static void raw_events(const struct rig_raw *raw, struct socket *so)
{
	static uint8_t buf[1 << 17];
	struct sctp_rcvinfo info;
	socklen_t len = sizeof(info);
	unsigned type;
	int flags = 0;
	const struct sctp_assoc_change *a = (void *)buf;
	ssize_t n = usrsctp_recvv(so, buf, sizeof(buf), NULL, NULL, &info, &len, &type, &flags);

	if (n <= 0 || !(flags & MSG_NOTIFICATION))
		return;
	if (a->sac_state == SCTP_COMM_UP && raw->send_len)
		raw_send(so, raw->send_len);
	if (a->sac_state == SCTP_COMM_LOST || a->sac_state == SCTP_CANT_STR_ASSOC)
		_exit(raw->wants_abort ? 0 : 1);
	if (a->sac_state == SCTP_SHUTDOWN_COMP)
		_exit(raw->wants_abort ? 1 : 0);
}

static void raw_peer(void *arg, int fd)
{
	static uint8_t buf[1 << 16];
	struct rig_raw *raw = arg;
	struct sockaddr_storage to;
	struct socket *so, *conn = NULL;

	rig_address(raw->remote, raw->udp_port, &to);
	/* A connecting peer may use any port, a listening one needs the given port. */
	raw_fd = bind_udp(raw->local, raw->connects ? 0 : raw->udp_port);
	if (raw_fd < 0 || connect(raw_fd, (struct sockaddr *)&to, length(&to)))
		_exit(93);
	usrsctp_init_nothreads(0, raw_output, NULL);
	usrsctp_register_address(&raw_fd);
	so = raw_socket(raw);
	if (raw->connects)
		conn = so;
	ready(fd);
	for (;;) {
		struct pollfd p = {.fd = raw_fd, .events = POLLIN};
		ssize_t n = 0;

		if (poll(&p, 1, 10) > 0)
			n = recv(raw_fd, buf, sizeof(buf), 0);
		if (n > 0)
			usrsctp_conninput(&raw_fd, buf, (size_t)n, 0);
		else
			usrsctp_handle_timers(10);
		if (!conn)
			conn = usrsctp_accept(so, NULL, NULL);
		if (conn)
			raw_events(raw, conn);
	}
}

struct rig_child rig_raw_peer(struct rig_raw *raw)
{
	return rig_fork(raw_peer, raw);
}
