/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Has the only connection that refused.sh allows, and tries to get more: with the library and with
 * the code of ddpctl. In the first round the daemon has closed the new connection before the hello
 * is sent, in the second one after it, with the hello unread.
 *
 *   refused SOCKET PID-OF-THE-DAEMON
 */
#include <ddp/ddp.h>

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "ctl/field/query.h"
#include "ipc/local_protocol.h"
#include "ipc/msg.h"
#include "tests/lib/patience.h"

enum { RESERVE = 8 };

static enum { ANY_TIME, BEFORE_HELLO, AFTER_HELLO } closed; /* when the daemon closes */
static pid_t daemon_pid;

static void fail(const char *what)
{
	fprintf(stderr, "refused: %s\n", what);
	kill(daemon_pid, SIGCONT);
	exit(1);
}

static void await_close(int fd)
{
	struct pollfd p = {.fd = fd};

	if (poll(&p, 1, PATIENCE_MS) != 1 || !(p.revents & POLLHUP))
		fail("the daemon does not close the connection");
}

/* Replaces the functions of the C library, for the library and for ddpctl's files. */
#pragma GCC visibility push(default)

int connect(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len)
{
	int r = (int)syscall(SYS_connect, fd, addr.__sockaddr__, len);

	if (r == 0 && closed == BEFORE_HELLO)
		await_close(fd);
	return r;
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	ssize_t n = syscall(SYS_sendmsg, fd, m, flags);

	if (n >= 0 && closed == AFTER_HELLO) {
		kill(daemon_pid, SIGCONT);
		await_close(fd);
	}
	return n;
}

#pragma GCC visibility pop

static bool is_stopped(void)
{
	char path[64], line[256], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)daemon_pid);
	f = fopen(path, "r");
	if (!f || !fgets(line, sizeof(line), f) || !strrchr(line, ')'))
		fail("the daemon has no state");
	state = strrchr(line, ')')[2];
	fclose(f);
	return state == 'T';
}

/* The daemon accepts nothing until it is continued, so the hello arrives before. */
static void stop_daemon(void)
{
	time_t end = time(NULL) + PATIENCE_MS / 1000;

	kill(daemon_pid, SIGSTOP);
	while (!is_stopped()) {
		if (time(NULL) > end)
			fail("the daemon does not stop");
		sched_yield();
	}
}

static void open_is_refused(const char *socket)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);
	struct ddp_ctx *ctx;
	int r;

	attr.socket = socket;
	if (closed == AFTER_HELLO)
		stop_daemon();
	r = ddp_open(&attr, &ctx);
	printf("ddp_open: %s\n", ddp_last_reason());
	if (r != -EDQUOT)
		fail("ddp_open() is not refused with EDQUOT");
}

/* query_show() prints the reason. */
static void show_is_refused(const char *socket)
{
	struct query_reply a;

	if (closed == AFTER_HELLO)
		stop_daemon();
	if (query_show(socket, PATIENCE_MS, CTL_STATUS, &a) != CTL_EXIT_FAILED)
		fail("query_show() does not fail");
}

/* Beyond the limit there are some connections for ddpctl. */
static void show_is_answered(const char *socket)
{
	struct query_reply a;

	if (query_show(socket, PATIENCE_MS, CTL_STATUS, &a) != CTL_EXIT_OK)
		fail("ddpctl does not get in");
	free(a.recs);
}

/* Silent connections would make room for later ones. */
static void say_hello(int fd)
{
	const struct msg_hello hello = {
		.hdr = {MSG_HELLO, 1},
		.major = IPC_VERSION_MAJOR,
		.minor = IPC_VERSION_MINOR,
		.comm = "ddpctl",
	};
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) < 0)
		return; /* it is closed: the reserve is full */
	if (poll(&p, 1, PATIENCE_MS) != 1)
		fail("a hello is not answered");
}

/* Connections that stay. */
static void connect_as_ddpctl(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};

	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	for (int i = 0; i < RESERVE; i++) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		if (fd < 0 || connect(fd, (struct sockaddr *)&sun, sizeof(sun)) < 0)
			fail("a connection of the reserve");
		say_hello(fd);
	}
}

/* The daemon may not have noticed the end of earlier connections when the first ones come; when it
 * answers a request, it has. */
static void use_up_reserve(struct ddp_ctx *ctx, const char *path)
{
	struct ddp_caps caps = DDP_INIT(ddp_caps);

	for (int i = 0; i < 3; i++) {
		connect_as_ddpctl(path);
		if (ddp_query(ctx, &caps) < 0)
			fail("ddp_query()");
	}
}

int main(int argc, char **argv)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);
	time_t end = time(NULL) + PATIENCE_MS / 1000;
	struct ddp_ctx *ctx;

	if (argc != 3)
		return 2;
	daemon_pid = (pid_t)atoi(argv[2]);
	attr.socket = argv[1];
	while (ddp_open(&attr, &ctx) < 0) {
		if (time(NULL) > end)
			fail("the first connection is refused");
		sched_yield(); /* the daemon may not have noticed the end of ddpctl yet */
	}
	open_is_refused(argv[1]);
	show_is_answered(argv[1]);
	use_up_reserve(ctx, argv[1]);
	for (closed = BEFORE_HELLO; closed <= AFTER_HELLO; closed++) {
		open_is_refused(argv[1]);
		show_is_refused(argv[1]);
	}
	closed = ANY_TIME;
	ddp_close(ctx);
	return 0;
}
