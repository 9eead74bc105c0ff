/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/base/log.h"

static int out = -1, stderr_copy = -1;
static char text[8192];

static void setup(void)
{
	out = memfd_create("log", 0);
	stderr_copy = dup(STDERR_FILENO);
	cr_assert(out >= 0 && stderr_copy >= 0);
	cr_assert_geq(dup2(out, STDERR_FILENO), 0);
}

static void teardown(void)
{
	dup2(stderr_copy, STDERR_FILENO);
	close(stderr_copy);
	close(out);
}

TestSuite(log, .init = setup, .fini = teardown);

enum { TIME_LEN = 25 }; /* "2026-11-23T00:05:13.123Z " */

static bool is_time(const char *s)
{
	static const char form[] = "0000-00-00T00:00:00.000Z ";

	for (unsigned i = 0; i < TIME_LEN; i++)
		if (form[i] == '0' ? s[i] < '0' || s[i] > '9' : s[i] != form[i])
			return false;
	return true;
}

/* Removes the time at the beginning of each line. */
static void drop_times(char *s)
{
	for (char *line = s; *line; line++) {
		if (is_time(line))
			memmove(line, line + TIME_LEN, strlen(line + TIME_LEN) + 1);
		line += strcspn(line, "\n");
		if (!*line)
			return;
	}
}

/* All that was logged until now, without the times. */
static const char *logged(void)
{
	ssize_t n = pread(out, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	drop_times(text);
	return text;
}

static unsigned lines(void)
{
	unsigned n = 0;

	for (const char *p = logged(); *p; p++)
		n += *p == '\n';
	return n;
}

Test(log, a_plain_line_says_program_level_and_message)
{
	log_open(LOG_TARGET_STDERR);
	log_warn("peer %s: %d", "::1", 7);
	cr_expect_str_eq(logged(), "ddpsctpd: warning: peer ::1: 7\n");
}

Test(log, a_plain_line_begins_with_the_time)
{
	ssize_t n;

	log_open(LOG_TARGET_STDERR);
	log_info("x");
	n = pread(out, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	cr_expect(is_time(text), "%s", text);
	cr_expect_str_eq(text + TIME_LEN, "ddpsctpd: info: x\n");
}

Test(log, the_journal_gets_priorities)
{
	log_open(LOG_TARGET_JOURNAL);
	log_set_level(LOG_LEVEL_DEBUG);
	log_err("a");
	log_warn("b");
	log_info("c");
	log_debug("d");
	cr_expect_str_eq(logged(), "<3>a\n<4>b\n<6>c\n<7>d\n");
}

Test(log, the_journal_is_chosen_when_it_holds_standard_error)
{
	char stream[64];
	struct stat st;

	cr_assert_eq(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_open(LOG_TARGET_AUTO);
	log_info("x");
	cr_expect_str_eq(logged(), "<6>x\n");
}

Test(log, another_stream_an_invalid_or_no_value_means_plain)
{
	static const char *const streams[] = {"1:1", "", "journal", "8:99999999999999999999999x"};

	for (unsigned i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
		setenv("JOURNAL_STREAM", streams[i], 1);
		log_open(LOG_TARGET_AUTO);
		log_info("x");
	}
	unsetenv("JOURNAL_STREAM");
	log_open(LOG_TARGET_AUTO);
	log_info("x");
	cr_expect_null(strchr(logged(), '<'));
	cr_expect_eq(lines(), 5);
}

Test(log, only_the_level_and_higher_severities_are_shown)
{
	for (int level = 0; level < LOG_LEVELS; level++) {
		unsigned before = lines();

		log_set_level((enum log_level)level);
		log_err("e");
		log_warn("w");
		log_info("i");
		log_debug("d");
		cr_expect_eq(lines() - before, (unsigned)level + 1);
	}
}

Test(log, a_message_cannot_begin_a_line_or_contain_control_characters)
{
	log_info("client \"%s\"", "a\nddpsctpd: error: forged\x1b[2J\x7f");
	cr_expect_str_eq(logged(), "ddpsctpd: info: client \"a?ddpsctpd: error: forged?[2J?\"\n");
}

Test(log, a_long_message_is_cut_with_a_mark)
{
	char *longest = malloc(5001);

	cr_assert(longest);
	memset(longest, 'x', 5000);
	longest[5000] = '\0';
	log_info("%s", longest);
	free(longest);
	cr_expect_eq(strlen(logged()), strlen("ddpsctpd: info: ") + 1000 + 1);
	cr_expect_str_eq(text + strlen(text) - 5, "x...\n");
}

Test(log, errno_is_kept)
{
	errno = EBADMSG;
	close(STDERR_FILENO);
	log_err("not shown");
	cr_expect_eq(errno, EBADMSG);
}

/* ---- slow readers ---- */

enum { FLOOD = 5000 };

/* Empties a descriptor that does not block, and returns the last bytes that it had. */
static const char *drain(int fd)
{
	ssize_t n, last = 0;

	while ((n = read(fd, text, sizeof(text) - 1)) > 0)
		last = n;
	text[last] = '\0';
	drop_times(text);
	return text;
}

static void flood_and_drain(int writer, int reader)
{
	unsigned long lost = 0;
	const char *last;

	fcntl(reader, F_SETFL, O_NONBLOCK);
	cr_assert_geq(dup2(writer, STDERR_FILENO), 0);
	log_open(LOG_TARGET_AUTO);
	for (int i = 0; i < FLOOD; i++)
		log_info("line %d %0100d", i, 0);
	drain(reader);
	log_info("next");
	last = drain(reader);
	cr_expect_eq(
		sscanf(last, "ddpsctpd: warning: %lu lines lost: the reader is too slow\n", &lost),
		1, "%s", last);
	cr_expect(lost > 0 && lost < FLOOD, "%lu", lost);
	cr_expect(strstr(last, "ddpsctpd: info: next\n"));
	log_info("later");
	cr_expect_str_eq(drain(reader), "ddpsctpd: info: later\n", "reported once");
}

Test(log, an_unread_pipe_does_not_block, .timeout = 20)
{
	int fds[2];

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	flood_and_drain(fds[1], fds[0]);
	cr_expect_eq(fcntl(fds[1], F_GETFL) & O_NONBLOCK, 0, "others that share it may block");
}

Test(log, an_unread_socket_does_not_block, .timeout = 20)
{
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	flood_and_drain(fds[1], fds[0]);
	cr_expect_eq(fcntl(fds[1], F_GETFL) & O_NONBLOCK, 0, "others that share it may block");
}

/* ---- budgets ---- */

static struct timers timers;
static struct log_limit limit;

static void make_limit(void)
{
	setup();
	log_limit_init(&limit, &timers, "packets");
}

static void free_limit(void)
{
	log_limit_deinit(&limit);
	teardown();
}

TestSuite(budget, .init = make_limit, .fini = free_limit);

Test(budget, a_burst_is_limited_and_the_rest_counted)
{
	uint64_t t = 500;

	for (int i = 0; i < LOG_BURST + 5; i++)
		log_limited(&limit, t, LOG_LEVEL_WARN, "bad packet %d", i);
	cr_expect_eq(lines(), LOG_BURST);
	cr_expect_null(strstr(text, "more"));

	log_limited(&limit, t + LOG_INTERVAL_MS - 1, LOG_LEVEL_WARN, "too early");
	cr_expect_eq(lines(), LOG_BURST);

	log_limited(&limit, t + LOG_INTERVAL_MS, LOG_LEVEL_WARN, "again");
	cr_expect(strstr(logged(), "ddpsctpd: warning: again (and 6 more)\n"));
	log_limited(&limit, t + LOG_INTERVAL_MS, LOG_LEVEL_WARN, "next");
	cr_expect(strstr(logged(), "ddpsctpd: warning: next\n"), "the count is logged once");
}

Test(budget, hidden_lines_use_no_budget)
{

	for (int i = 0; i < 2 * LOG_BURST; i++)
		log_limited(&limit, 1, LOG_LEVEL_DEBUG, "hidden");
	log_limited(&limit, 1, LOG_LEVEL_INFO, "shown");
	cr_expect_str_eq(logged(), "ddpsctpd: info: shown\n");
}

Test(budget, suppressed_lines_are_reported_without_another_line)
{
	uint64_t t = 500;

	for (int i = 0; i < LOG_BURST + 5; i++)
		log_limited(&limit, t, LOG_LEVEL_WARN, "bad packet %d", i);
	cr_expect_eq(timer_expiry(&timers), t + LOG_INTERVAL_MS);
	timer_run(&timers, t + LOG_INTERVAL_MS);
	cr_expect(strstr(logged(), "ddpsctpd: info: 5 more lines about packets were left out\n"));
	cr_expect_eq(timer_expiry(&timers), UINT64_MAX);
	log_limited(&limit, t + LOG_INTERVAL_MS, LOG_LEVEL_WARN, "next");
	cr_expect(strstr(logged(), "ddpsctpd: warning: next\n"), "reported once");
}

Test(budget, suppressed_lines_are_reported_at_the_end)
{
	for (int i = 0; i < LOG_BURST + 1; i++)
		log_limited(&limit, 1, LOG_LEVEL_WARN, "bad packet %d", i);
	log_limit_deinit(&limit);
	cr_expect(strstr(logged(), "1 more lines about packets were left out\n"));
	cr_expect_eq(timer_expiry(&timers), UINT64_MAX);
}
