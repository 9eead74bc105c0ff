/* SPDX-License-Identifier: BSD-2-Clause */
/* Private daemons, which reach each other: each is a device of the command. */
#ifndef VERBS_RUN_DAEMONS_H
#define VERBS_RUN_DAEMONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { DAEMONS_MAX = 64 };

struct daemon_process {
	pid_t pid; /* 0: it has ended */
	int line;  /* the pipe that keeps it alive; -1: none */
	int status;
	uint32_t addr; /* in host byte order */
	unsigned port;
	char address[16], socket[108];
};

struct daemons {
	unsigned n;
	struct daemon_process each[DAEMONS_MAX]; /* in the order of their addresses */
	int log;                                 /* warnings and errors of all */
	int config;
};

/* Starts n of them. 0; -1 after a message, and then daemons_end() ends those that run. */
int daemons_start(struct daemons *d, unsigned n, const char *program);

/* Ends all, and removes the folders of killed ones. */
void daemons_end(struct daemons *d);

/* Notes which have ended of themselves. */
void daemons_check(struct daemons *d);

/* Callbacks of descendants.h. */
void daemons_ended(void *daemons, pid_t pid, int status);
bool daemons_has(void *daemons, pid_t pid);

#endif
