/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddperf/ddperf_plot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/common/message.h"
#include "tools/common/samples.h"

extern char **environ;

/* Whether PATH has the program. */
static bool is_in_path(const char *program)
{
	const char *dir = getenv("PATH");
	char path[4096];

	while (dir && *dir) {
		int len = (int)strcspn(dir, ":");

		snprintf(path, sizeof(path), "%.*s/%s", len, dir, program);
		if (access(path, X_OK) == 0)
			return true;
		dir += len + (dir[len] == ':');
	}
	return false;
}

int ddperf_plot_begin(struct ddperf_plot *p, const struct ddperf_opts *o)
{
	int r;

	*p = (struct ddperf_plot){.name = o->plot, .out = -1};
	r = o->compare ? ddperf_earlier_read(&p->earlier, o->compare, o->metric) : 0;
	if (r < 0)
		return r;
	if (!is_in_path("gnuplot")) {
		message_error("--plot needs the program gnuplot, which is not installed; --csv has "
			      "the same "
			      "figures");
		return -ENOENT;
	}
	p->script = tmpfile();
	if (!p->script)
		return message_fail("--plot", -errno, NULL);
	p->out = open(p->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	return p->out < 0 ? message_fail(p->name, -errno, NULL) : 0;
}

/* An operation's data is a block of its own. */
int ddperf_plot_add(struct ddperf_plot *p, const struct ddperf_run *run,
		    const struct samples_summary *runs)
{
	const struct ddperf_opts *o = run->o;

	memcpy(p->transport, run->caps.transport, sizeof(p->transport));
	if (!p->used[o->op]) {
		if (p->used[p->op])
			fputs("end\n", p->script);
		fprintf(p->script, "$op%d << end\n", o->op);
		p->used[o->op] = true;
		p->op = o->op;
	}
	fprintf(p->script, "%u %.3f %.3f %.3f\n", o->size, runs->median, runs->min, runs->max);
	return ferror(p->script) ? -ENOMEM : 0;
}

/* A string of gnuplot, which cannot end it: names of hosts may have any byte. */
static void write_quoted(FILE *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '\'')
			putc('\'', out);
		putc(c < 0x20 || c >= 0x7f || c == '`' || c == '\\' ? '?' : c, out);
	}
}

/* Each operation of the earlier run as a block of its own. */
static void write_earlier(struct ddperf_plot *p)
{
	for (unsigned op = 0; op < DDPERF_OPS; op++) {
		fprintf(p->script, "$earlier%u << end\n", op);
		for (unsigned i = 0; i < p->earlier.n; i++) {
			const struct ddperf_point *at = &p->earlier.points[i];

			if (at->op == op)
				fprintf(p->script, "%u %.3f %.3f %.3f\n", at->size, at->median,
					at->min, at->max);
		}
		fputs("end\n", p->script);
	}
}

/* The test, host, transport and date, and the earlier run if there is one. */
static void write_title(struct ddperf_plot *p, const struct ddperf_opts *o)
{
	time_t now = time(NULL);
	struct tm tm;
	char date[32];

	strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", gmtime_r(&now, &tm));
	fprintf(p->script, "set title \"\".'ddperf %s, depth %u, %u queue pair%s%s'.\"\\n\".'",
		ddperf_metric_str(o->metric), o->depth, o->qps, o->qps > 1 ? "s" : "",
		o->both ? ", both directions" : "");
	write_quoted(p->script, o->host);
	fprintf(p->script, " by transport %.*s, %s, ddperf " PACKAGE_VERSION "'",
		(int)sizeof(p->transport), p->transport, date);
	if (p->earlier.n) {
		fputs(".\"\\n\".'dashed: ", p->script);
		write_quoted(p->script, p->earlier.about);
		fputs("'", p->script);
	}
	fputs(" noenhanced\n", p->script);
}

static bool has_earlier(const struct ddperf_plot *p, unsigned op)
{
	for (unsigned i = 0; i < p->earlier.n; i++)
		if (p->earlier.points[i].op == op)
			return true;
	return false;
}

/* A line for each operation, and a dashed one of the same color for its earlier run. */
static void write_lines(struct ddperf_plot *p)
{
	const char *gap = "plot ";

	for (unsigned i = 0; i < DDPERF_OPS; i++) {
		if (p->used[i])
			fprintf(p->script,
				"%s$op%u using 1:2:3:4 with yerrorlines linetype %u title '%s'",
				gap, i, i + 1, ddperf_op_str(i));
		if (p->used[i])
			gap = ", ";
		if (!has_earlier(p, i))
			continue;
		fprintf(p->script,
			"%s$earlier%u using 1:2:3:4 with yerrorlines linetype %u dashtype 2 title "
			"'%s, earlier'",
			gap, i, i + 1, ddperf_op_str(i));
		gap = ", ";
	}
	fputs("\n", p->script);
}

static void write_plot(struct ddperf_plot *p, const struct ddperf_opts *o, const char *unit)
{
	fputs("end\n", p->script);
	write_earlier(p);
	fputs("set terminal svg size 900,540 dynamic background rgb 'white'\n", p->script);
	write_title(p, o);
	fprintf(p->script,
		"set logscale x 2\nset format x '%%.0b%%B'\nset xlabel 'bytes of a message'\n"
		"%s\nset ylabel '%s'\nset grid\nset key left top\n",
		o->log ? "set logscale y 10" : "set yrange [0:*]", unit);
	write_lines(p);
}

/* Runs gnuplot from the script to the file. */
static int run_gnuplot(struct ddperf_plot *p)
{
	char *const argv[] = {"gnuplot", NULL};
	posix_spawn_file_actions_t files;
	int r, status = 0;
	pid_t pid;

	if (fflush(p->script) != 0 || lseek(fileno(p->script), 0, SEEK_SET) < 0)
		return message_fail("--plot", -errno, NULL);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, fileno(p->script), STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&files, p->out, STDOUT_FILENO);
	r = posix_spawnp(&pid, argv[0], &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	if (r)
		return message_fail("start gnuplot", -r, NULL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	message_error("gnuplot could not draw %s", p->name);
	return -EIO;
}

int ddperf_plot_end(struct ddperf_plot *p, const struct ddperf_opts *o, const char *unit,
		    bool complete)
{
	bool any = false;
	int r = 0;

	for (unsigned i = 0; i < DDPERF_OPS; i++)
		any |= p->used[i];
	if (complete && any) {
		write_plot(p, o, unit);
		r = run_gnuplot(p);
	} else if (p->out >= 0) {
		unlink(p->name);
	}
	if (p->out >= 0)
		close(p->out);
	if (p->script)
		fclose(p->script);
	return r;
}
