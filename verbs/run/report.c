/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/run/report.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_LINES = 20, MOST_BYTES = 1 << 20 };

static bool printed(char *const *lines, unsigned n, const char *line)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(lines[i], line) == 0)
			return true;
	return false;
}

static void print_lines(char *text)
{
	char *lines[MOST_LINES], *rest = NULL;
	unsigned n = 0, more = 0;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (printed(lines, n, line))
			continue;
		if (n == MOST_LINES) {
			more++;
			continue;
		}
		fprintf(stderr, "  %s\n", line);
		lines[n++] = line;
	}
	if (more)
		fprintf(stderr, "  and %u more lines\n", more);
}

void report_lines(int fd)
{
	char *text = malloc(MOST_BYTES + 1);
	ssize_t n = text ? pread(fd, text, MOST_BYTES, 0) : -1;

	if (n >= 0) {
		text[n] = '\0';
		print_lines(text);
	}
	free(text);
}

/* libddpverbs writes there: verbs/base/error.c. */
static void report_calls(const char *socket)
{
	int fd, len = (int)(strrchr(socket, '/') - socket);
	char path[160];

	snprintf(path, sizeof(path), "%.*s/reasons", len, socket);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	fputs("ddpverbs: calls that failed:\n", stderr);
	report_lines(fd);
	close(fd);
}

static void report_end(unsigned i, int status)
{
	if (WIFSIGNALED(status))
		fprintf(stderr, "ddpverbs: the daemon of ddpsctp%u was ended by signal %d\n", i,
			WTERMSIG(status));
	else
		fprintf(stderr, "ddpverbs: the daemon of ddpsctp%u ended with status %d\n", i,
			WEXITSTATUS(status));
}

void report_failures(const struct daemons *d)
{
	struct stat st;

	report_calls(d->each[0].socket);
	for (unsigned i = 0; i < d->n; i++)
		if (d->each[i].pid == 0)
			report_end(i, d->each[i].status);
	if (fstat(d->log, &st) || st.st_size == 0)
		return;
	fputs("ddpverbs: the daemons say:\n", stderr);
	report_lines(d->log);
}
