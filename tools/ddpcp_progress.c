/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddpcp_progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/common.h"

enum {
	BAR = 24,
	STEP_NS = 100000000,
};

void ddpcp_progress_line(char *buf, size_t len, const struct ddpcp_progress *p, uint64_t done,
			 double seconds)
{
	double part = p->size ? (double)done / (double)p->size : 1;
	double rate = seconds > 0 ? (double)done / seconds : 0;
	double left = rate > 0 ? (double)(p->size - done) / rate : 0;
	char bar[BAR + 1], name[32];

	for (int i = 0; i < BAR; i++)
		bar[i] = i < (int)(part * BAR) ? '#' : '.';
	bar[BAR] = '\0';
	common_clean(name, sizeof(name), p->name, strlen(p->name));
	snprintf(buf, len, "%-24s %3d%% [%s] %8.1f MB/s %5.0f s left", name, (int)(part * 100), bar,
		 rate / 1e6, left);
}

void ddpcp_progress_start(struct ddpcp_progress *p, const char *name, uint64_t size, bool quiet)
{
	*p = (struct ddpcp_progress){.name = name, .size = size, .began = common_now_ns()};
	p->on = !quiet && isatty(STDERR_FILENO);
}

void ddpcp_progress_step(void *arg, uint64_t done)
{
	struct ddpcp_progress *p = arg;
	uint64_t now = common_now_ns();
	char line[160];

	if (!p->on || (done < p->size && now - p->shown < STEP_NS))
		return;
	p->shown = now;
	ddpcp_progress_line(line, sizeof(line), p, done, (double)(now - p->began) / 1e9);
	fprintf(stderr, "\r%s", line);
}

void ddpcp_progress_end(struct ddpcp_progress *p)
{
	if (p->on && p->shown)
		fprintf(stderr, "\r\033[K");
	p->on = false;
}
