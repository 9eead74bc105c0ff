/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guesses of STags: errors of peers that name memory which they may not use. A peer that looks for
 * an STag needs a new session for each guess (RFC 5042 5.2, 6.4), so new sessions of a network
 * that guesses have to wait. A guess is forgotten after a second; beyond GUESSES_FREE of them the
 * network gets a new session each second. Sessions that exist go on. The table of networks
 * (util/network.h) keeps those of each. Knows numbers only.
 */
#ifndef DAEMON_NET_GUESSES_H
#define DAEMON_NET_GUESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "util/network.h"

enum {
	GUESSES_FREE = 100,        /* a program with an error makes some, too */
	GUESSES_WAIT_MAX = 5000,   /* milliseconds; a session that had to wait longer is refused */
	GUESSES_NEVER = UINT32_MAX /* refused */
};

/* Of all networks. */
struct guesses {
	uint64_t counted; /* guesses so far */
	uint64_t slowed;  /* sessions that had to wait, or were refused */
};

/* Whether the error (enum perr) is a guess. */
bool guesses_is_one(unsigned perr);

/* The network has made one; NULL: not counted. True if its sessions are slow, which was not
 * reported lately. */
bool guesses_count(struct guesses *g, struct network *n, uint64_t now_ms);

/* The network asks for a new session. Milliseconds that it has to wait, usually 0, or
 * GUESSES_NEVER. */
uint32_t guesses_wait(struct guesses *g, struct network *n, uint64_t now_ms);

/* Whether the network may have another session now; else it asks again. */
bool guesses_may_ask(struct guesses *g, struct network *n, uint64_t now_ms);

#endif
