/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ddpverbs-private DAEMON LIBRARY HOSTS COMMAND...: runs a command with daemons of its own. See
 * ddpverbs(1); ddpverbs checks the arguments. The first process waits for a second one, which
 * starts the daemons and the command: if either is killed, the other one ends the rest.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs/run/daemons.h"
#include "verbs/run/descendants.h"
#include "verbs/run/report.h"

enum { CANNOT_START = 125, CANNOT_RUN = 126, NOT_FOUND = 127 };
enum { GRACE_MS = 1000, DAEMONS_GRACE_MS = 10000 };

/* ---- the command ---- */

static void set_library(const char *library)
{
	const char *others = getenv("LD_PRELOAD");
	char *all;

	if (!others || !*others)
		setenv("LD_PRELOAD", library, 1);
	else if (asprintf(&all, "%s:%s", library, others) >= 0)
		setenv("LD_PRELOAD", all, 1);
}

static void set_devices(const struct daemons *d)
{
	char sockets[DAEMONS_MAX * sizeof(d->each[0].socket)] = "", folder[108];
	char addresses[DAEMONS_MAX * sizeof(d->each[0].address)] = "";
	size_t s = 0, a = 0;

	for (unsigned i = 0; i < d->n; i++) {
		s += (size_t)snprintf(sockets + s, sizeof(sockets) - s, "%s%s", i ? ":" : "",
				      d->each[i].socket);
		a += (size_t)snprintf(addresses + a, sizeof(addresses) - a, "%s%s", i ? " " : "",
				      d->each[i].address);
	}
	memcpy(folder, d->each[0].socket, sizeof(folder));
	*strrchr(folder, '/') = '\0';
	setenv("DDP_SOCKET", d->each[0].socket, 1);
	setenv("DDPVERBS_SOCKETS", sockets, 1);
	setenv("DDPVERBS_ADDRESSES", addresses, 1);
	setenv("DDPVERBS_FOLDER", folder, 1);
}

static void run_command(const struct daemons *d, const char *library, char **command)
{
	set_devices(d);
	set_library(library);
	descendants_unblock();
	execvp(command[0], command);
	fprintf(stderr, "ddpverbs: %s: %s\n", command[0], strerror(errno));
	_exit(errno == ENOENT ? NOT_FOUND : CANNOT_RUN);
}

static pid_t start_command(const struct daemons *d, const char *library, char **command)
{
	pid_t self = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == self)
		run_command(d, library, command);
	_exit(CANNOT_START);
}

/* ---- the two processes ---- */

static int run_all(struct daemons *d, pid_t parent, char **argv)
{
	pid_t command;
	int status;

	if (daemons_start(d, (unsigned)strtoul(argv[3], NULL, 10), argv[1]))
		return CANNOT_START << 8;
	command = start_command(d, argv[2], argv + 4);
	if (command < 0)
		return CANNOT_START << 8;
	status = descendants_wait(command, parent, daemons_ended, d);
	descendants_end(getppid() == parent ? GRACE_MS : 0, daemons_has, d);
	daemons_check(d);
	report_failures(d);
	return status;
}

static void second_process(pid_t parent, char **argv)
{
	static struct daemons d;
	int status;

	if (!descendants_adopt(parent))
		_exit(CANNOT_START);
	status = run_all(&d, parent, argv);
	daemons_end(&d);
	descendants_exit_as(status);
}

int main(int argc, char **argv)
{
	pid_t self = getpid(), second;
	int status;

	if (argc < 5)
		return CANNOT_START;
	descendants_adopt(0);
	second = fork();
	if (second == 0)
		second_process(self, argv);
	if (second < 0) {
		fprintf(stderr, "ddpverbs: %s\n", strerror(errno));
		return CANNOT_START;
	}
	status = descendants_wait(second, 0, NULL, NULL);
	descendants_end(DAEMONS_GRACE_MS, NULL, NULL); /* daemons are among them */
	descendants_exit_as(status);
}
