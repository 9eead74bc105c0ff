/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hostile programs against a daemon, some at a time, killed and stopped at any point, for so many
 * seconds. Prints what they did. Root lets three of four be another user.
 *
 *   chaos SECONDS SEED SOCKET ADDRESS ADDRESS2      the IPv4 addresses of both daemons
 *
 * Exit status 0 if every request was made, and, in a minute or more, succeeded at least once.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/system/chaos.h"

enum { CHILDREN = 6, STEPS = 3000, NOBODY = 65534, LIFE_S = 20, PAUSE_US = 20000, LONG_S = 60 };

static struct chaos_shared *shared;
static struct msg_addr address[2];
static struct chaos me; /* for numbers only */

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(2);
}

static uint64_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec;
}

/* ---- hostile programs ---- */

static _Noreturn void be_hostile(const char *socket, uint64_t seed)
{
	static struct chaos c;

	c = (struct chaos){.shared = shared, .path = socket, .daemon = address, .random = seed};
	signal(SIGPIPE, SIG_IGN);
	alarm(LIFE_S);
	setpgid(0, 0);
	c.admin = geteuid() != 0 || chaos_once_in(&c, 4);
	if (!c.admin && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
		die("setuid");
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* setuid() clears it */
	chaos_run(&c, 1 + chaos_below(&c, STEPS));
	_exit(0);
}

static pid_t begin(const char *socket)
{
	uint64_t seed =
		((uint64_t)chaos_below(&me, UINT32_MAX) << 32) + chaos_below(&me, UINT32_MAX) + 1;
	pid_t pid = fork();

	if (pid == 0)
		be_hostile(socket, seed);
	if (pid < 0)
		die("fork");
	setpgid(pid, pid);
	return pid;
}

/* With all that it has forked. */
static void end(pid_t *pid)
{
	if (*pid <= 0)
		return;
	kill(-*pid, SIGKILL);
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
	*pid = 0;
}

/* Something happens to one of them. */
static void disturb(pid_t *pid)
{
	switch (chaos_below(&me, 4)) {
	case 0:
		end(pid);
		break;
	case 1:
		if (*pid > 0)
			kill(*pid, SIGSTOP);
		break;
	default:
		if (*pid > 0)
			kill(*pid, SIGCONT);
	}
}

static unsigned run(const char *socket, uint64_t until)
{
	pid_t child[CHILDREN] = {0};
	unsigned begun = 0;

	while (now_s() < until) {
		for (unsigned i = 0; i < CHILDREN; i++) {
			if (child[i] > 0 && waitpid(child[i], NULL, WNOHANG) == child[i])
				end(&child[i]); /* what it has forked */
			if (child[i] <= 0) {
				child[i] = begin(socket);
				begun++;
			}
		}
		usleep(chaos_below(&me, PAUSE_US));
		disturb(&child[chaos_below(&me, CHILDREN)]);
	}
	for (unsigned i = 0; i < CHILDREN; i++)
		end(&child[i]);
	return begun;
}

/* ---- what they did ---- */

/* In a short run, rare requests may never succeed. */
static bool report(unsigned begun, bool short_run)
{
	static const char *const names[] = {"",
#define X(op, ...) #op,
					    MSG_OPS(X)
#undef X
	};
	uint64_t sent = 0, done = 0;
	bool all = true;

	for (unsigned op = 1; op < MSG_OP_COUNT; op++) {
		sent += shared->sent[op];
		done += shared->done[op];
		printf("# %s: %llu, %llu succeeded\n", names[op],
		       (unsigned long long)shared->sent[op], (unsigned long long)shared->done[op]);
		all &= short_run ? shared->sent[op] > 0 : shared->done[op] > 0;
	}
	printf("%u programs, %llu requests, %llu succeeded, %llu posts, %llu events\n", begun,
	       (unsigned long long)sent, (unsigned long long)done,
	       (unsigned long long)shared->posts, (unsigned long long)shared->events);
	return all;
}

int main(int argc, char **argv)
{
	uint64_t seconds;
	unsigned begun;

	if (argc != 6) {
		fprintf(stderr, "usage: chaos SECONDS SEED SOCKET ADDRESS ADDRESS2\n");
		return 2;
	}
	for (unsigned i = 0; i < 2; i++) {
		address[i].family = AF_INET;
		if (inet_pton(AF_INET, argv[4 + i], address[i].bytes) != 1)
			die(argv[4 + i]);
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		die("mmap");
	seconds = strtoull(argv[1], NULL, 10);
	me.random = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15 + 1;
	begun = run(argv[3], now_s() + seconds);
	return report(begun, seconds < LONG_S) ? 0 : 1;
}
