/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The numbers of queue pairs of datagrams. Peers name a queue pair by its number alone, so all
 * programs of the daemon share them: 24 bits, given out in a circle from a random one on, so that a
 * number is not used again soon. They are apart from those of other queue pairs, and from those
 * that verbs make of dynamic ports, which begin with 49152 << 8.
 */
#ifndef DAEMON_OBJECTS_NUMBERS_H
#define DAEMON_OBJECTS_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "util/list.h"

struct daemon;
struct datagram;
struct worker;

enum {
	NUMBERS_FIRST = 0x100000,
	NUMBERS_LAST = 0x7fffff,
	NUMBERS_ABOVE = 0x1000000, /* no number of 24 bits from here on */
};

/* A number in use. */
struct number {
	struct list link;
	uint32_t value;
	struct datagram *to; /* NULL: it leads nowhere, and is not given out again */
};

/* A number that is not in use; there are more of them than queue pairs. */
uint32_t numbers_next(struct worker *w);

/* The next number of a queue pair with sessions: for people and completions, unique in the daemon.
 */
uint32_t numbers_of_session(struct daemon *d);

/* Adds and removes a queue pair, whose number is set. */
void numbers_add(struct worker *w, struct datagram *d);
void numbers_del(struct datagram *d);

/* Datagrams to the number of one reach the other from now on. Its own number stays that of its
 * completions. False: the other one has given its number away, and it may be that of a third one.
 */
bool numbers_take(struct worker *w, struct datagram *d, struct datagram *from);

/* The number of datagrams that reach it, 0: none do any more. */
uint32_t numbers_reach(const struct datagram *d);

/* The one with this number, or NULL. */
struct datagram *numbers_find(const struct worker *w, uint32_t number);

#endif
