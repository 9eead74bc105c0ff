/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddpcp/ddpcp_tally.h"

#include <stdio.h>
#include <string.h>

static void add_count(char buf[DDPCP_TALLY_MAX], uint64_t n, const char *word)
{
	size_t len = strlen(buf);

	if (n)
		snprintf(buf + len, DDPCP_TALLY_MAX - len, ", %llu %s", (unsigned long long)n,
			 word);
}

void ddpcp_tally_line(char buf[DDPCP_TALLY_MAX], const struct ddpcp_tally *t, double seconds)
{
	double mb = (double)t->bytes / 1e6;

	snprintf(buf, DDPCP_TALLY_MAX, "%llu file%s, %.1f MB in %.3f s, %.1f MB/s",
		 (unsigned long long)t->files, t->files == 1 ? "" : "s", mb, seconds,
		 seconds > 0 ? mb / seconds : 0);
	add_count(buf, t->links, t->links == 1 ? "link" : "links");
	add_count(buf, t->unchanged, "unchanged");
	add_count(buf, t->skipped, "skipped");
	add_count(buf, t->failed, "failed");
}
