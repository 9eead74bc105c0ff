/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connections of clients, which evhttp of libevent 2.1 neither counts nor ends in time: it
 * restarts the timeout with each byte. So the descriptors of this process are examined: those that
 * were not open at the start are connections. One that should end is shut down, and evhttp frees
 * it.
 */
#ifndef CTL_HTTP_CONNS_H
#define CTL_HTTP_CONNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	HTTP_CONNS_MAX = 32,  /* at a time */
	HTTP_CONNS_FDS = 64,  /* descriptors of this process; more cannot be opened */
	HTTP_CONNS_MS = 3000, /* that a connection may take */
};

struct http_conns {
	struct {
		bool ours; /* open at the start */
		bool ended;
		ino_t ino; /* of the connection that has this descriptor, 0: none */
		uint64_t since_ms;
	} fd[HTTP_CONNS_FDS];
};

/* To be called when all descriptors but those of connections are open. Limits the descriptors of
 * the process. Returns 0 or -errno. */
int http_conns_init(struct http_conns *c);

/* To be called for each new connection. If there are more than HTTP_CONNS_MAX, the oldest one ends,
 * so that slow clients cannot keep others from being served. */
void http_conns_came(struct http_conns *c, uint64_t now_ms);

/* Ends those whose time is over. Returns how many there are. */
unsigned http_conns_check(struct http_conns *c, uint64_t now_ms);

#endif
