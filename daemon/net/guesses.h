/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guesses of STags: errors of peers that name memory which they may not use. A peer that looks for
 * an STag needs a new session for each guess (RFC 5042 5.2, 6.4), so new sessions of a network
 * that guesses have to wait. A guess is forgotten after a second; beyond GUESSES_FREE of them the
 * network gets a new session each second. Sessions that exist go on. A network is the first 24 bits
 * of an IPv4 address, the first 64 of an IPv6 address. Knows numbers only.
 */
#ifndef DAEMON_NET_GUESSES_H
#define DAEMON_NET_GUESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

enum {
	GUESSES_FREE = 100,        /* a program with an error makes some, too */
	GUESSES_NETWORKS = 1024,   /* that are known at a time */
	GUESSES_WAY = 4,           /* places for a network among them */
	GUESSES_WAIT_MAX = 5000,   /* milliseconds; a session that had to wait longer is refused */
	GUESSES_NEVER = UINT32_MAX /* refused */
};

struct guesses_network {
	uint64_t prefix;      /* 0: free */
	uint64_t forgiven_ms; /* when all its guesses are forgotten */
	uint64_t session_ms;  /* when the next session may begin */
	uint64_t report_ms;   /* when it is reported again */
};

struct guesses {
	uint64_t key; /* random: peers cannot choose networks that share places */
	struct guesses_network network[GUESSES_NETWORKS];
	uint64_t counted; /* guesses so far */
	uint64_t slowed;  /* sessions that had to wait, or were refused */
};

/* No network has made any. */
void guesses_init(struct guesses *g, uint64_t key);

/* One with a key of getrandom() or the like. 0 or -errno. Undo it with guesses_free(), which takes
 * NULL. */
int guesses_new(ssize_t (*random)(void *, size_t, unsigned), struct guesses **ret);
void guesses_free(struct guesses *g);

/* Whether the error (enum perr) is a guess. */
bool guesses_is_one(unsigned perr);

/* The peer has made one; g may be NULL. True if its sessions are slow, which was not reported
 * lately. */
bool guesses_count(struct guesses *g, const struct sockaddr_storage *peer, uint64_t now_ms);

/* The peer asks for a new session; g may be NULL. Milliseconds that it has to wait, usually 0, or
 * GUESSES_NEVER.
 */
uint32_t guesses_wait(struct guesses *g, const struct sockaddr_storage *peer, uint64_t now_ms);

#endif
