/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The serving side of the tools: a listener whose sessions each have a thread. The calling thread
 * alone reads connection events.
 */
#ifndef TOOLS_SERVER_H
#define TOOLS_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/common/session.h"

/* Private data of an acceptance or a rejection. */
struct server_answer {
	uint8_t data[SESSION_PRIVATE];
	size_t len;
};

/* Positive result of server_conf.request. */
enum { SERVER_REJECT = 1 };

struct server_conf {
	const char *socket; /* of the daemon, NULL for the usual one */
	uint16_t port;
	const char *bind;      /* addresses of the daemon, with commas; NULL: all of them */
	unsigned max_sessions; /* further requests are rejected with a message */
	unsigned listen_flags; /* set of DDP_LISTEN_ */
	bool once;             /* end after the first session */
	bool one_client;       /* several sessions of one client; with once: end after the last */
	bool quiet;            /* print neither the port nor path events */
	bool own_memory;       /* becomes session.own_memory */
	void *user;            /* becomes session.user */
	size_t state_size;     /* bytes of session.state, zero at first, freed with the session */

	/*
	 * A request with its private data. The session has a protection domain and an id; to
	 * accept, make its queue pair and memory, post receives, and return 0. SERVER_REJECT and
	 * all failures reject with the answer. Called by the calling thread.
	 */
	int (*request)(struct session *s, const void *hello, size_t len, struct server_answer *a);

	/* The session's thread: from established until it returns an exit status. It must end when
	 * session_wait() fails. */
	int (*run)(struct session *s);
};

/* Serves until the program is asked to stop, also when the daemon is restarted. Returns an exit
 * status; with once, the session's. */
int server_run(const struct server_conf *conf);

/* A rejection with a sentence. Returns SERVER_REJECT. */
int server_refuse(struct server_answer *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
