/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/common/common.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "util/limit_text.h"

enum { SECOND_NS = 1000000000, LINE_MAX_LEN = 1024 };

static const char *tool = "";
static atomic_bool stopped; /* a lock-free one: signal handlers set it, all threads read it */
static char last_error[LINE_MAX_LEN];
static pthread_mutex_t last_error_lock = PTHREAD_MUTEX_INITIALIZER;

/* A second signal within a second is a repetition, as of timeout(1); a later one kills. */
static void on_signal(int sig)
{
	static uint64_t first;
	int before = errno; /* of the code that is interrupted */
	uint64_t now = common_now_ns();

	if (stopped && now - first > SECOND_NS) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	if (!stopped)
		first = now;
	stopped = true;
	errno = before;
}

void common_start(const char *name)
{
	struct sigaction sa = {.sa_handler = on_signal};

	tool = name;
	sigemptyset(&sa.sa_mask);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

const char *common_tool(void)
{
	return tool;
}

bool common_stopped(void)
{
	return stopped;
}

static void format_line(char line[LINE_MAX_LEN], const char *fmt, va_list ap)
{
	char raw[LINE_MAX_LEN];

	vsnprintf(raw, sizeof(raw), fmt, ap);
	common_clean(line, LINE_MAX_LEN, raw, strlen(raw));
}

void common_note(const char *fmt, ...)
{
	char line[LINE_MAX_LEN];
	va_list ap;

	va_start(ap, fmt);
	format_line(line, fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s: %s\n", tool, line);
}

/* One write for the whole line, so that lines of threads do not mix. */
static void complain(const char *fmt, va_list ap, const char *hint)
{
	char line[LINE_MAX_LEN];

	format_line(line, fmt, ap);
	pthread_mutex_lock(&last_error_lock);
	snprintf(last_error, sizeof(last_error), "%s", line);
	pthread_mutex_unlock(&last_error_lock);
	fprintf(stderr, "%s: %s\n%s%s%s", tool, line, hint ? "Try '" : "", hint ? tool : "",
		hint ? hint : "");
}

const char *common_last_error(void)
{
	return last_error;
}

void common_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(fmt, ap, NULL);
	va_end(ap);
}

int common_usage(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(fmt, ap, " --help'.\n");
	va_end(ap);
	return COMMON_USAGE;
}

int common_usage_hint(void)
{
	fprintf(stderr, "Try '%s --help'.\n", tool);
	return COMMON_USAGE;
}

void common_version(uint32_t library)
{
	printf("%s " PACKAGE_VERSION " (libddpclient %u.%u.%u)\n", tool, library >> 16,
	       library >> 8 & 0xff, library & 0xff);
}

const char *common_strerror(int err)
{
	static _Thread_local char buf[128];
	const char *text = strerror_r(err < 0 ? -err : err, buf, sizeof(buf));

	if (text != buf)
		snprintf(buf, sizeof(buf), "%s", text);
	/* "Connection refused" becomes lower case, "I/O error" does not. */
	if (buf[0] && islower((unsigned char)buf[1]))
		buf[0] = (char)tolower((unsigned char)buf[0]);
	return buf;
}

/* A reason of the library without "ddp_connect: ", which says nothing to the user of a tool. */
static const char *without_call(const char *reason)
{
	size_t n = strspn(reason, "abcdefghijklmnopqrstuvwxyz_");

	return !strncmp(reason, "ddp_", 4) && !strncmp(reason + n, ": ", 2) ? reason + n + 2
									    : reason;
}

int common_fail(const char *what, int err, const char *reason)
{
	const char *text = common_strerror(err), *why = without_call(reason ? reason : "");
	const bool limit = err == -EMFILE || err == -ENFILE; /* of this process: no reason */
	char words[LIMIT_TEXT_MAX];

	if (!*why)
		common_error("%s: %s", what, limit ? limit_text(-err, words, sizeof(words)) : text);
	else if (strcasestr(why, text))
		common_error("%s: %s", what, why);
	else
		common_error("%s: %s (%s)", what, why, text);
	return err;
}

void common_clean(char *out, size_t size, const void *text, size_t len)
{
	const unsigned char *in = text;
	size_t n = 0;

	while (n + 1 < size && n < len && in[n]) {
		out[n] = in[n] >= 0x20 && in[n] < 0x7f ? (char)in[n] : '?';
		n++;
	}
	out[n] = '\0';
}

uint64_t common_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void common_cpu(double *ret_user, double *ret_system)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	*ret_user = (double)ru.ru_utime.tv_sec + (double)ru.ru_utime.tv_usec / 1e6;
	*ret_system = (double)ru.ru_stime.tv_sec + (double)ru.ru_stime.tv_usec / 1e6;
}

int common_samples_add(struct common_samples *s, double v)
{
	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 1024;
		double *bigger = reallocarray(s->v, room, sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		s->v = bigger;
		s->room = room;
	}
	s->v[s->n++] = v;
	return 0;
}

void common_samples_free(struct common_samples *s)
{
	free(s->v);
	*s = (struct common_samples){0};
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void common_samples_stats(struct common_samples *s, struct common_stats *ret)
{
	double sum = 0;

	*ret = (struct common_stats){.n = s->n};
	if (!s->n)
		return;
	qsort(s->v, s->n, sizeof(*s->v), by_value);
	for (size_t i = 0; i < s->n; i++)
		sum += s->v[i];
	ret->min = s->v[0];
	ret->max = s->v[s->n - 1];
	ret->mean = sum / (double)s->n;
	ret->median = (s->v[(s->n - 1) / 2] + s->v[s->n / 2]) / 2;
	ret->p99 = s->v[s->n - 1 - s->n / 100];
}
