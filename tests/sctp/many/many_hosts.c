/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Figures of one host among many, for docs/scale.md.
 *
 *   many_hosts HOSTS RANKS all|log own|key one|each MESSAGES IDLE-SECONDS
 *
 * one: only the associations of the first host are made, so that it takes less time and memory.
 * Exit status: 0 if all associations came up and all messages came.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sctp/many/many.h"

int main(int argc, char **argv)
{
	struct many_config c = {0};
	struct many_figures f;
	bool ok;

	if (argc != 8) {
		fprintf(stderr, "usage: many_hosts HOSTS RANKS all|log own|key one|each MESSAGES "
				"IDLE-SECONDS\n");
		return 2;
	}
	c.hosts = (unsigned)atoi(argv[1]);
	c.ranks = (unsigned)atoi(argv[2]);
	c.all = strcmp(argv[3], "all") == 0;
	c.own = strcmp(argv[4], "own") == 0;
	c.one = strcmp(argv[5], "one") == 0;
	c.messages = (unsigned)atoi(argv[6]);
	c.idle_s = (unsigned)atoi(argv[7]);
	ok = many_run(&c, &f);
	printf("%u hosts of %u ranks, %s, %s: a host has %" PRIu64 " sessions, %" PRIu64
	       " associations\n",
	       c.hosts, c.ranks, argv[3], argv[4], f.sessions, f.associations);
	printf("set-up: %.3f s, %" PRIu64 " packets; memory %.0f KiB\n", (double)f.up_us / 1e6,
	       f.set_up, (double)f.idle_bytes / 1024);
	printf("traffic: %" PRIu64 " messages received, %" PRIu64
	       " packets; memory after it %.0f KiB, at most %.0f KiB, then %.0f KiB\n",
	       f.messages, f.traffic, (double)f.traffic_bytes / 1024, (double)f.peak_bytes / 1024,
	       (double)f.end_bytes / 1024);
	printf("idle: %.1f packets a second; %" PRIu64 " associations ended, %" PRIu64
	       " retransmissions\n",
	       c.idle_s ? (double)f.idle / c.idle_s : 0, f.lost, f.retransmits);
	return !ok;
}
