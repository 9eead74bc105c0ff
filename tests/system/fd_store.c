/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plays the service manager for a daemon: receives its notices, keeps the descriptors that it
 * stores (sd_notify(3), FDSTORE=1) and passes them to the next one (sd_listen_fds(3)). Beside it a
 * thief binds to the daemon's port as soon as that is free.
 *
 *   fd_store ADDRESS PORT DAEMON WORD...
 *
 *   start FILE     starts the daemon with this configuration; it says that it is ready
 *   thief UID      a process of this uid tries to bind to the port from now on
 *   restarts N     kills the daemon, at any moment, and starts it again; the thief has no luck
 *   kill, term     ends the daemon by a signal
 *   list           prints the names of what is stored
 *   stop           closes what is stored, as the manager does for a service that it stops
 *   stolen         the thief has the port, after a while
 *   wait           for SIGUSR1
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STORE_MAX = 64, NAME_MAX_LEN = 128, FIRST = 3, READY_MS = 60000, STOLEN_MS = 20000 };

static struct {
	const char *address, *program, *file;
	uint16_t port;
	int notices; /* a socket */
	char notify[128];
	pid_t pid;
	bool ready;
	int loot;      /* readable: the thief has the port */
	pid_t thief;   /* 0: none */
	unsigned tick; /* of the moments of SIGKILL */
} daemon_;

static struct {
	int fd;
	char name[NAME_MAX_LEN];
} store[STORE_MAX];
static unsigned nstored;

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	if (daemon_.pid > 0)
		kill(daemon_.pid, SIGKILL);
	exit(1);
}

/* ---- the store ---- */

static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_ino == y.st_ino;
}

static void keep(int fd, const char *name)
{
	for (unsigned i = 0; i < nstored; i++)
		if (same_file(store[i].fd, fd)) {
			close(fd);
			return;
		}
	if (nstored == STORE_MAX)
		fail("the store is full");
	store[nstored].fd = fd;
	snprintf(store[nstored++].name, NAME_MAX_LEN, "%s", name);
}

static void forget(const char *name)
{
	for (unsigned i = nstored; i-- > 0;)
		if (!name || strcmp(store[i].name, name) == 0) {
			close(store[i].fd);
			store[i] = store[--nstored];
		}
}

/* Of the notice; "" if it has none. */
static void field(const char *text, const char *name, char ret[NAME_MAX_LEN])
{
	const char *p = strstr(text, name);

	ret[0] = '\0';
	if (p && (p == text || p[-1] == '\n'))
		snprintf(ret, NAME_MAX_LEN, "%.*s", (int)strcspn(p, "\n") - (int)strlen(name),
			 p + strlen(name));
}

static void notice(const char *text, int fd)
{
	char name[NAME_MAX_LEN], value[NAME_MAX_LEN];

	field(text, "FDNAME=", name);
	field(text, "READY=", value);
	daemon_.ready |= *value != '\0';
	field(text, "FDSTOREREMOVE=", value);
	if (*value)
		forget(name);
	field(text, "FDSTORE=", value);
	if (!*value)
		return;
	field(text, "FDPOLL=", value);
	if (strcmp(value, "0") != 0)
		fail("an error of the socket %s would remove it", name);
	if (fd < 0 || !*name || strchr(name, ':'))
		fail("descriptor %d is to be stored as '%s'", fd, name);
	keep(fd, name);
}

/* False: none within the time. */
static bool take_notice(int timeout_ms)
{
	struct pollfd p = {daemon_.notices, POLLIN, 0};
	char text[1024], control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = {text, sizeof(text) - 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;
	ssize_t n;
	int fd = -1;

	m.msg_control = control;
	m.msg_controllen = sizeof(control);
	if (poll(&p, 1, timeout_ms) <= 0)
		return false;
	n = recvmsg(daemon_.notices, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return false;
	text[n] = '\0';
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	notice(text, fd);
	return true;
}

static void open_notices(void)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(sun);

	daemon_.notices = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (bind(daemon_.notices, (struct sockaddr *)&sun, sizeof(sa_family_t)) ||
	    getsockname(daemon_.notices, (struct sockaddr *)&sun, &len))
		fail("the socket for notices: %s", strerror(errno));
	snprintf(daemon_.notify, sizeof(daemon_.notify), "@%.*s",
		 (int)(len - offsetof(struct sockaddr_un, sun_path) - 1), sun.sun_path + 1);
}

/* ---- the thief ---- */

static struct sockaddr_storage address(socklen_t *ret_len)
{
	struct sockaddr_storage a = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&a;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&a;

	*ret_len = sizeof(*in);
	if (inet_pton(AF_INET, daemon_.address, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(daemon_.port);
	} else if (inet_pton(AF_INET6, daemon_.address, &in6->sin6_addr) == 1) {
		*ret_len = sizeof(*in6);
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(daemon_.port);
	} else {
		fail("no address: %s", daemon_.address);
	}
	return a;
}

/* It has no right to be first, so it lets others run. */
static void steal(uid_t uid, int report)
{
	socklen_t len;
	struct sockaddr_storage a = address(&len);
	int fd = socket(a.ss_family, SOCK_DGRAM, 0);

	forget(NULL);
	(void)!setuid(
		uid); /* without root it stays who it is, which makes no difference to the kernel */
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of the uid clears it */
	while (bind(fd, (struct sockaddr *)&a, len))
		sched_yield();
	(void)!write(report, "!", 1);
	for (;;)
		pause();
}

static void start_thief(uid_t uid)
{
	int p[2];

	if (pipe(p))
		fail("pipe: %s", strerror(errno));
	daemon_.loot = p[0];
	daemon_.thief = fork();
	if (daemon_.thief == 0)
		steal(uid, p[1]);
	close(p[1]);
}

static bool is_stolen(int timeout_ms)
{
	struct pollfd p = {daemon_.loot, POLLIN, 0};

	return daemon_.thief && poll(&p, 1, timeout_ms) > 0;
}

/* ---- the daemon ---- */

static void put_environment(void)
{
	char text[32], names[STORE_MAX * NAME_MAX_LEN] = "";
	size_t at = 0;

	setenv("NOTIFY_SOCKET", daemon_.notify, 1);
	for (unsigned i = 0; i < nstored; i++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", i ? ":" : "",
				       store[i].name);
	if (nstored == 0)
		return;
	snprintf(text, sizeof(text), "%d", (int)getpid());
	setenv("LISTEN_PID", text, 1);
	snprintf(text, sizeof(text), "%u", nstored);
	setenv("LISTEN_FDS", text, 1);
	setenv("LISTEN_FDNAMES", names, 1);
}

/* The descriptors are made copies of first, because their numbers may be among the new ones. */
static void run(void)
{
	int high[STORE_MAX];

	put_environment();
	for (unsigned i = 0; i < nstored; i++)
		high[i] = fcntl(store[i].fd, F_DUPFD_CLOEXEC, FIRST + STORE_MAX);
	for (unsigned i = 0; i < nstored; i++)
		dup2(high[i], FIRST + (int)i);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execl(daemon_.program, daemon_.program, "--foreground", "--config", daemon_.file,
	      (char *)NULL);
	_exit(127);
}

static void launch(void)
{
	daemon_.ready = false;
	daemon_.pid = fork();
	if (daemon_.pid == 0)
		run();
}

static void start(void)
{
	int status;

	launch();
	for (int ms = 0; !daemon_.ready && ms < READY_MS; ms += 10) {
		take_notice(10);
		if (waitpid(daemon_.pid, &status, WNOHANG) == daemon_.pid)
			fail("the daemon does not start: status %#x%s", (unsigned)status,
			     is_stolen(0) ? ", the port is stolen" : "");
	}
	if (!daemon_.ready)
		fail("the daemon is not ready in time");
}

static void end(int signo)
{
	kill(daemon_.pid, signo);
	while (waitpid(daemon_.pid, NULL, 0) < 0 && errno == EINTR)
		;
	daemon_.pid = 0;
	while (take_notice(0))
		;
}

/* A few of them are killed while they start. */
static void restart(void)
{
	struct timespec t = {0, 0};

	end(SIGKILL);
	if (daemon_.tick++ % 4 == 0) {
		t.tv_nsec = (long)(daemon_.tick * 7919 % 4000) * 1000;
		launch();
		nanosleep(&t, NULL);
		end(SIGKILL);
	}
	start();
}

static void restarts(int n)
{
	for (int i = 0; i < n; i++) {
		restart();
		if (is_stolen(0))
			fail("stolen after %d restarts", i + 1);
	}
	printf("%d restarts\n", n);
}

/* ---- words ---- */

static void list(void)
{
	for (unsigned i = 0; i < nstored; i++)
		printf("stored %s\n", store[i].name);
	printf("%u stored\n", nstored);
}

/* Returns how many words were taken after the first. */
static int obey(const char *word, const char *next)
{
	sigset_t usr1;
	int signo;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	if (strcmp(word, "kill") == 0 || strcmp(word, "term") == 0)
		end(*word == 'k' ? SIGKILL : SIGTERM);
	else if (strcmp(word, "list") == 0)
		list();
	else if (strcmp(word, "stop") == 0)
		forget(NULL);
	else if (strcmp(word, "wait") == 0)
		sigwait(&usr1, &signo);
	else if (strcmp(word, "stolen") == 0 && !is_stolen(STOLEN_MS))
		fail("the port is not free");
	if (!next)
		return 0;
	if (strcmp(word, "start") == 0) {
		daemon_.file = next;
		start();
	} else if (strcmp(word, "thief") == 0) {
		start_thief((uid_t)atoi(next));
	} else if (strcmp(word, "restarts") == 0) {
		restarts(atoi(next));
	} else {
		return 0;
	}
	return 1;
}

/* Until it is waited for. */
static void block_usr1(void)
{
	sigset_t usr1;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	daemon_.address = argv[1];
	daemon_.port = (uint16_t)atoi(argv[2]);
	daemon_.program = argv[3];
	open_notices();
	block_usr1();
	for (int i = 4; i < argc; i++) {
		const char *word = argv[i];

		i += obey(word, argv[i + 1]);
		printf("%s done\n", word);
		fflush(stdout);
	}
	if (daemon_.pid > 0)
		end(SIGTERM);
	return 0;
}
