/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of hosts, looked up by a thread of their own, because that may take seconds. The thread
 * shares no memory with the daemon: it gets a copy of the name and writes its answer to a pipe.
 */
#ifndef DAEMON_NET_RESOLVER_H
#define DAEMON_NET_RESOLVER_H

#include <sys/socket.h>

#include "daemon/base/listen_word.h"

enum { RESOLVER_ADDRS = 8 };

struct resolver;

struct resolver_answer {
	int err; /* EAI_ value; 0: it has addresses */
	char name[LISTEN_WORD_MAX];
	unsigned n;
	struct sockaddr_storage a[RESOLVER_ADDRS]; /* ports are 0 */
};

/* NULL: no descriptors or no memory. */
struct resolver *resolver_new(void);

/* Answers that follow are lost. NULL is fine. */
struct resolver *resolver_free(struct resolver *r);

/* Readable when there is an answer. */
int resolver_fd(const struct resolver *r);

/* Begins to look up a name. 0 or -errno. */
int resolver_ask(struct resolver *r, const char *name);

/* Waits so many milliseconds for an answer; 0: not at all. False: there is none. */
bool resolver_next(struct resolver *r, int timeout_ms, struct resolver_answer *ret);

#endif
