/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/run/descendants.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A daemon that ends by SIGTERM removes its folder last: another SIGTERM could hit it before that.
 */
enum { STEP_MS = 5, AGAIN_MS = 500 };

static sigset_t old_mask;

/* ---- signals ---- */

static void waited_signals(sigset_t *ret)
{
	static const int all[] = {SIGCHLD, SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
				  SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};

	sigemptyset(ret);
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		sigaddset(ret, all[i]);
}

bool descendants_adopt(pid_t parent)
{
	sigset_t set, old;

	waited_signals(&set);
	sigprocmask(SIG_BLOCK, &set, &old);
	if (!parent)
		old_mask = old;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (parent)
		prctl(PR_SET_PDEATHSIG, SIGTERM);
	return !parent || getppid() == parent;
}

void descendants_unblock(void)
{
	sigprocmask(SIG_SETMASK, &old_mask, NULL);
}

/* ---- waiting ---- */

/* The terminal sends its signals to the child as well. */
static void pass_on(pid_t child, pid_t parent, const siginfo_t *info)
{
	if (parent && getppid() != parent)
		kill(child, SIGKILL);
	else if (info->si_signo != SIGCHLD && info->si_code <= 0)
		kill(child, info->si_signo);
}

int descendants_wait(pid_t child, pid_t parent, void (*ended)(void *user, pid_t pid, int status),
		     void *user)
{
	siginfo_t info;
	sigset_t set;
	int status;
	pid_t pid;

	waited_signals(&set);
	for (;;) {
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			if (pid == child)
				return status;
			if (ended)
				ended(user, pid, status);
		}
		if (sigwaitinfo(&set, &info) >= 0)
			pass_on(child, parent, &info);
	}
}

/* ---- ending ---- */

/* The parent of a process, as /proc/PID/stat has it after the name, which may contain anything. */
static pid_t parent_of(const char *pid)
{
	char path[300], text[512], *after;
	FILE *f;
	int parent = 0;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	after = strrchr(text, ')');
	if (!after || sscanf(after, ") %*c %d", &parent) != 1)
		return 0;
	return parent;
}

static void signal_children(int signo, bool (*keep)(void *user, pid_t pid), void *user)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;

	while (proc && (e = readdir(proc))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

		if (pid > 0 && parent_of(e->d_name) == getpid() && !(keep && keep(user, pid)))
			kill(pid, signo);
	}
	if (proc)
		closedir(proc);
}

/* Takes those that have ended. True if others than those to keep are left. */
static bool any_left(bool (*keep)(void *user, pid_t pid), void *user)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	bool any = false;

	while (proc && !any && (e = readdir(proc))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

		if (pid > 0 && parent_of(e->d_name) == getpid() && !(keep && keep(user, pid)))
			any = waitpid(pid, NULL, WNOHANG) == 0;
	}
	if (proc)
		closedir(proc);
	return any;
}

void descendants_end(unsigned grace_ms, bool (*keep)(void *user, pid_t pid), void *user)
{
	int signo = SIGTERM;

	for (unsigned ms = 0; any_left(keep, user); ms += STEP_MS) {
		if (ms >= grace_ms)
			signo = SIGKILL;
		if (signo == SIGKILL || ms % AGAIN_MS == 0)
			signal_children(signo, keep, user);
		poll(NULL, 0, STEP_MS);
	}
}

void descendants_exit_as(int status)
{
	const struct rlimit none = {0, 0};

	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	setrlimit(RLIMIT_CORE, &none); /* the child has left its own */
	signal(WTERMSIG(status), SIG_DFL);
	descendants_unblock();
	raise(WTERMSIG(status));
	_exit(128 + WTERMSIG(status));
}
