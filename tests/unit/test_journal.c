/* SPDX-License-Identifier: BSD-2-Clause */
/* What happened: lines with fields, budgets, what is kept, and those who watch. */
#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/base/journal.h"
#include "daemon/base/journald.h"

static struct timers timers;
static struct journal j;
static int out = -1, stderr_copy = -1;
static char text[65536];

static void setup(void)
{
	out = memfd_create("log", 0);
	stderr_copy = dup(STDERR_FILENO);
	cr_assert(out >= 0 && stderr_copy >= 0);
	cr_assert_geq(dup2(out, STDERR_FILENO), 0);
	journal_init(&j, &timers);
}

static void teardown(void)
{
	journal_deinit(&j);
	dup2(stderr_copy, STDERR_FILENO);
	close(stderr_copy);
	close(out);
}

TestSuite(journal, .init = setup, .fini = teardown);

static const char *logged(void)
{
	ssize_t n = pread(out, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static unsigned lines(void)
{
	unsigned n = 0;

	for (const char *p = logged(); *p; p++)
		n += *p == '\n';
	return n;
}

static struct ctl_event session(uint32_t qp, uint32_t assoc)
{
	struct ctl_event ev = {.qp_num = qp, .assoc = assoc, .client = 4, .pid = 4711, .uid = 1000};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(5043)};

	inet_pton(AF_INET, "192.0.2.1", &in.sin_addr);
	memcpy(&ev.remote, &in, sizeof(in));
	strcpy(ev.comm, "rping");
	return ev;
}

Test(journal, a_line_names_peer_program_user_reason_bytes_and_duration)
{
	struct ctl_event ev = session(7, 3);

	ev.stream = 2;
	ev.duration_ms = 12345;
	ev.tx_bytes = 4096;
	ev.rx_bytes = 17;
	strcpy(ev.reason, "ended by the peer");
	journal_add(&j, 1, CTL_EVENT_SESSION_END, &ev);
	cr_expect(strstr(logged(),
			 " ddpsctpd: info: qp 7: session with 192.0.2.1:5043 ended on assoc 3 "
			 "stream 2 after 12.345 s, 4096 bytes sent, 17 received (rping, pid "
			 "4711, uid 1000): ended by the peer\n"),
		  "%s", text);
}

/* ---- journald ---- */

static char dir[] = "/tmp/ddp-journal.XXXXXX";
static char path[64];

/* A journald that reads when it is asked to. */
static int fake_journald(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	cr_assert(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/socket", dir);
	strcpy(at.sun_path, path);
	cr_assert(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
	journald_open(path);
	return fd;
}

static void remove_fake(int fd)
{
	close(fd);
	unlink(path);
	rmdir(dir);
}

static const char *field(const char *name)
{
	static char value[512];
	const char *p = text;
	size_t n = strlen(name);

	for (; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
		if (!strncmp(p, name, n) && p[n] == '=') {
			snprintf(value, sizeof(value), "%.*s", (int)strcspn(p + n + 1, "\n"),
				 p + n + 1);
			return value;
		}
	return "";
}

static void take(int fd)
{
	ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

	cr_assert_gt(n, 0);
	text[n] = '\0';
}

Test(journal, journald_gets_the_fields)
{
	struct ctl_event ev = session(7, 3);
	int fd = fake_journald();

	ev.err = ETIMEDOUT;
	strcpy(ev.reason, "no answer\nMESSAGE=forged");
	journal_add(&j, 1, CTL_EVENT_SESSION_END, &ev);
	take(fd);
	cr_expect_eq(strlen(field("MESSAGE_ID")), 32);
	cr_expect_str_eq(field("DDP_EVENT"), "session-end");
	cr_expect_str_eq(field("PRIORITY"), "6");
	cr_expect_str_eq(field("SYSLOG_IDENTIFIER"), "ddpsctpd");
	cr_expect(strstr(field("MESSAGE"), "qp 7: session with 192.0.2.1:5043 ended"));
	cr_expect_str_eq(field("DDP_QP"), "7");
	cr_expect_str_eq(field("DDP_ASSOC"), "3");
	cr_expect_str_eq(field("DDP_STREAM"), "0");
	cr_expect_str_eq(field("DDP_PID"), "4711");
	cr_expect_str_eq(field("DDP_UID"), "1000");
	cr_expect_str_eq(field("DDP_PROGRAM"), "rping");
	cr_expect_str_eq(field("DDP_PEER"), "192.0.2.1:5043");
	cr_expect_str_eq(field("DDP_DURATION_MS"), "0");
	cr_expect_str_eq(field("DDP_REASON"), "no answer?MESSAGE=forged");
	cr_expect_eq(atoi(field("ERRNO")), ETIMEDOUT);
	cr_expect_eq(lines(), 0, "%s", text);
	remove_fake(fd);
}

Test(journal, a_journald_that_does_not_read_blocks_nothing, .timeout = 20)
{
	enum { MANY = 2000 };
	struct ctl_event ev = session(7, 3);
	int fd = fake_journald();
	unsigned got = 0;

	for (uint64_t i = 0; i < MANY; i++) /* each in an interval of its own */
		journal_add(&j, i * 2 * LOG_INTERVAL_MS, CTL_EVENT_SESSION_BEGIN, &ev);
	while (recv(fd, text, sizeof(text), 0) > 0)
		got++;
	cr_expect(got > 0 && got < MANY, "%u", got);
	journal_add(&j, UINT64_C(1) << 40, CTL_EVENT_SESSION_BEGIN, &ev);
	cr_expect(strstr(logged(), "lines lost: the reader is too slow\n"), "%s", text);
	cr_expect_eq(j.count, MANY + 1);
	remove_fake(fd);
}

Test(journal, without_journald_lines_go_to_standard_error)
{
	struct ctl_event ev = session(7, 3);
	int fd = fake_journald();

	remove_fake(fd);
	journal_add(&j, 1, CTL_EVENT_SESSION_BEGIN, &ev);
	cr_expect_eq(lines(), 1);
}

/* ---- budgets ---- */

Test(journal, each_kind_has_a_budget_and_the_rest_is_counted)
{
	enum { MANY = 10000 };
	struct ctl_event ev = session(0, 1);
	unsigned n;

	for (unsigned i = 0; i < MANY; i++)
		journal_add(&j, 500, CTL_EVENT_SESSION_REFUSE, &ev);
	n = lines();
	cr_expect(n > 0 && n <= 100, "%u", n);
	journal_add(&j, 500, CTL_EVENT_SESSION_END, &ev);
	cr_expect_eq(lines(), n + 1, "another kind is not left out");
	timer_run(&timers, 500 + LOG_INTERVAL_MS);
	cr_expect(strstr(logged(), " more lines about refused sessions were left out\n"));
}

/* ---- what is kept ---- */

Test(journal, the_last_entries_are_kept)
{
	struct ctl_event ev = session(1, 1);

	cr_expect_null(journal_get(&j, 1));
	for (uint32_t i = 1; i <= JOURNAL_KEEP + 5; i++) {
		ev.qp_num = i;
		journal_add(&j, 1, CTL_EVENT_SESSION_BEGIN, &ev);
	}
	cr_expect_null(journal_get(&j, 5));
	cr_expect_eq(journal_oldest(&j), 6);
	for (uint32_t i = 6; i <= JOURNAL_KEEP + 5; i++) {
		const struct ctl_event *old = journal_get(&j, i);

		cr_assert(old && old->qp_num == i);
	}
	cr_expect_null(journal_get(&j, JOURNAL_KEEP + 6));
}

Test(journal, errors_are_kept_longer_and_found_by_association)
{
	struct ctl_event good = session(1, 1), bad = session(2, 2);

	cr_expect_null(journal_error(&j, NULL, 0));
	bad.err = ETIMEDOUT;
	journal_add(&j, 1, CTL_EVENT_SESSION_FAIL, &bad);
	bad.assoc = 3;
	journal_add(&j, 1, CTL_EVENT_SESSION_FAIL, &bad);
	for (unsigned i = 0; i < 2 * JOURNAL_KEEP; i++)
		journal_add(&j, 1, CTL_EVENT_SESSION_BEGIN, &good);
	cr_assert(journal_error(&j, NULL, 2));
	cr_expect_eq(journal_error(&j, NULL, 2)->number, 1);
	cr_expect_eq(journal_error(&j, NULL, 0)->number, 2);
	cr_expect_null(journal_error(&j, NULL, 1));
	cr_expect_eq(journal_error(&j, &(uid_t){1000}, 0)->number, 2);
	cr_expect_null(journal_error(&j, &(uid_t){1001}, 0), "an error of another user");
}

/* ---- those who watch ---- */

static unsigned seen;

static void see(struct journal_watcher *watcher, const struct ctl_event *ev)
{
	(void)watcher;
	cr_expect_eq(ev->number, ++seen);
}

Test(journal, those_who_watch_get_what_the_log_leaves_out)
{
	struct journal_watcher watcher = {.fn = see};
	struct ctl_event ev = session(1, 1);

	list_init(&watcher.link);
	list_add_tail(&j.watchers, &watcher.link);
	for (unsigned i = 0; i < 500; i++)
		journal_add(&j, 1, CTL_EVENT_SESSION_BEGIN, &ev);
	cr_expect_eq(seen, 500);
	list_del(&watcher.link);
	journal_add(&j, 1, CTL_EVENT_SESSION_BEGIN, &ev);
	cr_expect_eq(seen, 500);
}
