/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/run/daemons.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs/run/descendants.h"
#include "verbs/run/report.h"

enum { CONFIG_FD = 3, END_MS = 2000, STEP_MS = 1 };

/* ---- start ---- */

/* Only warnings and errors are of interest here. */
static int make_files(struct daemons *d)
{
	static const char text[] = "log: {level: warning}\n";

	d->log = memfd_create("ddpverbs-log", MFD_CLOEXEC);
	d->config = memfd_create("ddpverbs-config", MFD_CLOEXEC);
	if (d->log < 0 || d->config < 0 ||
	    write(d->config, text, sizeof(text) - 1) != sizeof(text) - 1)
		return -1;
	return fcntl(d->log, F_SETFL, O_APPEND);
}

static void execute(const struct daemons *d, const char *program, unsigned port, int out)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char text[16];

	snprintf(text, sizeof(text), "%u", port);
	setsid(); /* the terminal's signals are for the command */
	descendants_unblock();
	dup2(nothing, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(d->log, STDERR_FILENO);
	dup2(d->config, CONFIG_FD);
	execl(program, "ddpsctpd", "--private", "--config", "/proc/self/fd/3",
	      port ? "--join" : NULL, text, NULL);
	fprintf(stderr, "%s: %s\n", program, strerror(errno));
	_exit(127);
}

/* The descriptors of a child are above CONFIG_FD before they are duplicated. */
static int above(int fd)
{
	int ret = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, CONFIG_FD + 1);

	if (fd >= 0)
		close(fd);
	return ret;
}

static int start_one(struct daemons *d, const char *program, unsigned port)
{
	struct daemon_process *p = &d->each[d->n];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	ends[1] = above(ends[1]);
	p->line = ends[0];
	p->pid = fork();
	if (p->pid == 0)
		execute(d, program, port, ends[1]);
	close(ends[1]);
	if (p->pid < 0) {
		close(p->line);
		return -1;
	}
	d->n++;
	return 0;
}

/* DDP_SOCKET=... DDP_ADDRESS=... DDP_PORT=... */
static int parse_line(struct daemon_process *p, char *line)
{
	static const char socket[] = "DDP_SOCKET=", address[] = " DDP_ADDRESS=";
	char *at = strstr(line, address);

	if (!at || strncmp(line, socket, sizeof(socket) - 1) != 0)
		return -1;
	*at = '\0';
	if ((size_t)(at - line) >= sizeof(socket) - 1 + sizeof(p->socket))
		return -1;
	strcpy(p->socket, line + sizeof(socket) - 1);
	if (sscanf(at + sizeof(address) - 1, "%15s DDP_PORT=%u", p->address, &p->port) != 2)
		return -1;
	p->addr = ntohl(inet_addr(p->address));
	return 0;
}

static int read_line(struct daemon_process *p)
{
	char line[256];
	size_t n = 0;

	while (n < sizeof(line) - 1 && read(p->line, line + n, 1) == 1 && line[n] != '\n')
		n++;
	line[n] = '\0';
	return parse_line(p, line);
}

static int by_address(const void *a, const void *b)
{
	const struct daemon_process *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static int fail(const struct daemons *d)
{
	fputs("ddpverbs: a daemon does not start:\n", stderr);
	report_lines(d->log);
	return -1;
}

int daemons_start(struct daemons *d, unsigned n, const char *program)
{
	memset(d, 0, sizeof(*d));
	if (make_files(d) || start_one(d, program, 0)) {
		fprintf(stderr, "ddpverbs: %s\n", strerror(errno));
		return -1;
	}
	if (read_line(&d->each[0]))
		return fail(d);
	while (d->n < n)
		if (start_one(d, program, d->each[0].port)) {
			fprintf(stderr, "ddpverbs: daemon %u: %s\n", d->n, strerror(errno));
			return -1;
		}
	for (unsigned i = 1; i < n; i++)
		if (read_line(&d->each[i]))
			return fail(d);
	qsort(d->each, n, sizeof(d->each[0]), by_address);
	return 0;
}

/* ---- end ---- */

static int remove_leftover(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	(void)remove(path);
	return 0;
}

static void end_one(struct daemon_process *p)
{
	char *slash;

	for (unsigned ms = 0; p->pid && waitpid(p->pid, NULL, WNOHANG) == 0; ms += STEP_MS) {
		if (ms >= END_MS)
			kill(p->pid, SIGKILL);
		poll(NULL, 0, STEP_MS);
	}
	slash = strrchr(p->socket, '/');
	if (!slash)
		return;
	*slash = '\0';
	nftw(p->socket, remove_leftover, 8, FTW_DEPTH | FTW_PHYS);
}

void daemons_end(struct daemons *d)
{
	for (unsigned i = 0; i < d->n; i++)
		close(d->each[i].line);
	for (unsigned i = 0; i < d->n; i++)
		end_one(&d->each[i]);
}

void daemons_check(struct daemons *d)
{
	for (unsigned i = 0; i < d->n; i++)
		if (d->each[i].pid && waitpid(d->each[i].pid, &d->each[i].status, WNOHANG) > 0)
			d->each[i].pid = 0;
}

void daemons_ended(void *daemons, pid_t pid, int status)
{
	struct daemons *d = daemons;

	for (unsigned i = 0; i < d->n; i++)
		if (d->each[i].pid == pid) {
			d->each[i].pid = 0;
			d->each[i].status = status;
		}
}

bool daemons_has(void *daemons, pid_t pid)
{
	const struct daemons *d = daemons;

	for (unsigned i = 0; i < d->n; i++)
		if (d->each[i].pid == pid)
			return true;
	return false;
}
