/* SPDX-License-Identifier: BSD-2-Clause */
/* A line on stderr that shows the progress of a copy, if stderr is a terminal. */
#ifndef TOOLS_DDPCP_PROGRESS_H
#define TOOLS_DDPCP_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DDPCP_PROGRESS_MAX = 160 };

struct ddpcp_progress {
	const char *name;
	uint64_t size;         /* DDPCP_STREAM: unknown */
	uint64_t from;         /* where this copy continues an earlier one */
	uint64_t began, shown; /* ns */
	bool quiet;            /* of the caller */
	bool on;
};

/* A copy of size bytes begins. name must stay. */
void ddpcp_progress_start(struct ddpcp_progress *p, const char *name, uint64_t size);

/* The first bytes were copied earlier: they do not count for the rate. */
void ddpcp_progress_from(struct ddpcp_progress *p, uint64_t from);

/* Draws at most ten times a second, and at the end. */
void ddpcp_progress_step(struct ddpcp_progress *p, uint64_t done);

/* The same for a tree: so many files of `bytes` were copied since `began`. */
void ddpcp_progress_tree(struct ddpcp_progress *p, const char *name, uint64_t files, uint64_t bytes,
			 uint64_t began);

/* Clears the line. */
void ddpcp_progress_end(struct ddpcp_progress *p);

/* The line without its carriage return, for `done` bytes after that many seconds. It is shorter
 * than the columns of the terminal, so that it never wraps: the bar becomes narrower, then the
 * name. */
void ddpcp_progress_line(char buf[DDPCP_PROGRESS_MAX], const struct ddpcp_progress *p,
			 uint64_t done, double seconds, unsigned columns);

#endif
