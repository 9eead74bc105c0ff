/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: each event of the daemon is one sentence with its object, peer and program. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "ipc/ctl_event.h"

static const struct ctl_event full = {
	.assoc = 3,
	.qp_num = 7,
	.stream = 2,
	.client = 9,
	.pid = 4711,
	.uid = 1000,
	.comm = "rping",
	.duration_ms = 61999,
	.tx_bytes = 123456789012,
	.rx_bytes = 5,
};

#define PROGRAM " (rping, pid 4711, uid 1000)"

static const struct {
	const char *event, *line;
} rows[] = {
	{"session-begin", "qp 7: session with 192.0.2.1:5043 began on assoc 3 stream 2" PROGRAM},
	{"session-end",
	 "qp 7: session with 192.0.2.1:5043 ended on assoc 3 stream 2 after 61.999 s, "
	 "123456789012 bytes sent, 5 received" PROGRAM},
	{"session-error", "qp 7: session with 192.0.2.1:5043 failed on assoc 3 stream 2" PROGRAM},
	{"session-fail", "qp 7: no session with 192.0.2.1:5043 on assoc 3 stream 2" PROGRAM},
	{"session-refuse",
	 "qp 7: session request of 192.0.2.1:5043 refused on assoc 3 stream 2" PROGRAM},
	{"client-end", "client 9" PROGRAM ": ended"},
	{"client-refuse", "client 9" PROGRAM ": refused"},
};

static const char *line_of(const struct ctl_event *from, const char *event, const char *reason)
{
	static char line[CTL_EVENT_LINE];
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(5043)};
	struct ctl_event ev = *from;

	inet_pton(AF_INET, "192.0.2.1", &in.sin_addr);
	memcpy(&ev.remote, &in, sizeof(in));
	strcpy(ev.event, event);
	strcpy(ev.reason, reason);
	ctl_event_line(&ev, line);
	return line;
}

Test(ctl_event, each_kind_has_its_sentence)
{
	char with[CTL_EVENT_LINE + 8];

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_str_eq(line_of(&full, rows[i].event, ""), rows[i].line);
		snprintf(with, sizeof(with), "%s: why", rows[i].line);
		cr_assert_str_eq(line_of(&full, rows[i].event, "why"), with);
	}
}

Test(ctl_event, what_there_is_not_is_left_out)
{
	const struct ctl_event assoc = {.assoc = 3, .stream = 2};

	cr_assert_str_eq(line_of(&assoc, "session-refuse", "full"),
			 "assoc 3 stream 2: session request of 192.0.2.1:5043 refused: full");
	cr_assert_str_eq(line_of(&assoc, "assoc-up", ""), "assoc 3: up, 192.0.2.1:5043");
	cr_assert_str_eq(line_of(&assoc, "assoc-down", "closed"),
			 "assoc 3: down, 192.0.2.1:5043: closed");
	cr_assert_str_eq(line_of(&assoc, "path", "192.0.2.2 is active"),
			 "assoc 3: 192.0.2.2 is active");
	cr_assert_str_eq(line_of(&assoc, "peer-limit", "192.0.2.0/24"),
			 "network of peers at its limit: 192.0.2.0/24");
	cr_assert_str_eq(line_of(&assoc, "assoc-refuse", "rule"),
			 "association of 192.0.2.1:5043 refused: rule");
}

Test(ctl_event, an_event_of_a_newer_daemon_is_its_name_and_reason)
{
	cr_assert_str_eq(line_of(&full, "session-pause", "why"), "session-pause: why");
}
