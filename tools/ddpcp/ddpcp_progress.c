/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddpcp/ddpcp_progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/common/clock.h"
#include "tools/common/message.h"
#include "tools/ddpcp/ddpcp_proto.h"
#include "util/minmax.h"

enum {
	NAME = 24,
	BAR = 24,
	BAR_MIN = 4,
	BAR_FRAME = 3, /* " []" */
	STEP_NS = 100000000,
};

/* The bar, " [####....]", gets the room beside the name if that is enough for one. */
static void name_and_bar(char buf[DDPCP_PROGRESS_MAX], const char *path, double part, unsigned room)
{
	unsigned name = min_u32(room, NAME), bar = room - name;
	char clean[NAME + 1], fill[BAR + 1];

	message_sanitize(clean, sizeof(clean), path, strlen(path));
	bar = bar < BAR_MIN + BAR_FRAME ? 0 : min_u32(bar - BAR_FRAME, BAR);
	for (unsigned i = 0; i < bar; i++)
		fill[i] = i < (unsigned)(part * bar) ? '#' : '.';
	fill[bar] = '\0';
	snprintf(buf, DDPCP_PROGRESS_MAX, "%-*.*s%s%s%s", (int)name, (int)name, clean,
		 bar ? " [" : "", fill, bar ? "]" : "");
}

/* " 25% 2000.0 MB/s 2 s left", or, if the size is unknown, the bytes so far. */
static int figures(char buf[64], const struct ddpcp_progress *p, uint64_t done, double rate)
{
	double left = rate > 0 ? (double)(p->size - done) / rate : 0;
	int percent = p->size ? (int)((double)done / (double)p->size * 100) : 100;

	if (p->size == DDPCP_STREAM)
		return snprintf(buf, 64, " %10.1f MB %8.1f MB/s", (double)done / 1e6, rate / 1e6);
	if (left < 6000)
		return snprintf(buf, 64, " %3d%% %8.1f MB/s %5.0f s left", percent, rate / 1e6,
				left);
	return snprintf(buf, 64, " %3d%% %8.1f MB/s %5.1f h left", percent, rate / 1e6,
			left / 3600);
}

void ddpcp_progress_line(char buf[DDPCP_PROGRESS_MAX], const struct ddpcp_progress *p,
			 uint64_t done, double seconds, unsigned columns)
{
	double part = p->size ? (double)done / (double)p->size : 1;
	double rate = seconds > 0 && done > p->from ? (double)(done - p->from) / seconds : 0;
	unsigned room = columns > 0 ? min_u32(columns, DDPCP_PROGRESS_MAX) - 1 : 0;
	char numbers[64], front[DDPCP_PROGRESS_MAX];
	int n = figures(numbers, p, done, rate);

	name_and_bar(front, p->name, part, room > (unsigned)n ? room - (unsigned)n : 0);
	if (snprintf(buf, room + 1, "%s%s", front, numbers) > (int)room)
		buf[room] = '\0'; /* narrower than the figures: their end is missing */
}

/* Of the terminal on stderr; its user may change it. */
static unsigned columns(void)
{
	struct winsize size = {0};

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

void ddpcp_progress_start(struct ddpcp_progress *p, const char *name, uint64_t size)
{
	*p = (struct ddpcp_progress){
		.name = name,
		.size = size,
		.began = clock_now_ns(),
		.quiet = p->quiet,
		.on = !p->quiet && isatty(STDERR_FILENO),
	};
}

void ddpcp_progress_from(struct ddpcp_progress *p, uint64_t from)
{
	p->from = from;
	p->began = clock_now_ns();
}

void ddpcp_progress_step(struct ddpcp_progress *p, uint64_t done)
{
	uint64_t now = clock_now_ns();
	char line[DDPCP_PROGRESS_MAX];

	if (done > p->size)
		done = p->size;
	if (!p->on || (done < p->size && now - p->shown < STEP_NS))
		return;
	p->shown = now;
	ddpcp_progress_line(line, p, done, (double)(now - p->began) / 1e9, columns());
	fprintf(stderr, "\r%s\033[K", line);
}

void ddpcp_progress_tree(struct ddpcp_progress *p, const char *name, uint64_t files, uint64_t bytes,
			 uint64_t began)
{
	uint64_t now = clock_now_ns();
	char numbers[64], front[DDPCP_PROGRESS_MAX];
	unsigned room = min_u32(columns(), DDPCP_PROGRESS_MAX) - 1;
	int n;

	p->on = !p->quiet && isatty(STDERR_FILENO);
	if (!p->on || now - p->shown < STEP_NS)
		return;
	p->shown = now;
	n = snprintf(numbers, sizeof(numbers), " %10llu files %10.1f MB %8.1f MB/s",
		     (unsigned long long)files, (double)bytes / 1e6,
		     (double)bytes / 1e6 / ((double)(now - began) / 1e9));
	name_and_bar(front, name, 0, min_u32(room > (unsigned)n ? room - (unsigned)n : 0, NAME));
	fprintf(stderr, "\r%.*s\033[K", (int)room, strcat(front, numbers));
}

void ddpcp_progress_end(struct ddpcp_progress *p)
{
	if (p->on && p->shown)
		fprintf(stderr, "\r\033[K");
	p->on = false;
}
