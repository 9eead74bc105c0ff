/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/common/tool.h"

#include <ddp/ddp.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

#include "tools/common/clock.h"

enum { SECOND_NS = 1000000000 };

static const char *tool = "";
static atomic_bool stopped; /* a lock-free one: signal handlers set it, all threads read it */

/* A second signal within a second is a repetition, as of timeout(1); a later one kills. */
static void on_stop_signal(int sig)
{
	static uint64_t first;
	int before = errno; /* of the code that is interrupted */
	uint64_t now = clock_now_ns();

	if (stopped && now - first > SECOND_NS) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	if (!stopped)
		first = now;
	stopped = true;
	errno = before;
}

void tool_start(const char *name)
{
	struct sigaction sa = {.sa_handler = on_stop_signal};

	tool = name;
	sigemptyset(&sa.sa_mask);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

const char *tool_name(void)
{
	return tool;
}

bool tool_stopped(void)
{
	return stopped;
}

void tool_version(uint32_t library)
{
	bool development = (library & 0xff) == DDP_VERSION_DEVELOPMENT;
	const char *kind = development ? " development" : "";

	printf("%s " PACKAGE_VERSION "%s (libddpclient %u.%u.%u)\n", tool, kind, library >> 16,
	       library >> 8 & 0xff, library & 0xff);
}
