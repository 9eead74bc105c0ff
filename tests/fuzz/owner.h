/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The owner of a transport: up to four associations. Upcalls come in order, and each message lies
 * in memory that can be read.
 */
#ifndef TESTS_FUZZ_OWNER_H
#define TESTS_FUZZ_OWNER_H

#include "llp/common/llp.h"
#include "tests/fuzz/fuzz.h"

enum { OWNERS = 4 };

/* An association as its owner sees it. */
extern struct owner {
	struct llp_conn *c;
	bool up, over;
} owner[OWNERS];

/* It takes no message, which is against the rules of llp.h. */
extern bool owner_is_deaf;

/* Listeners have `owner` as their user pointer. */
extern const struct llp_events owner_events;

/* A free place, or NULL. */
struct owner *owner_new(void);

/* Sends a message; the input has its stream and its length. */
void owner_send(struct owner *o, struct input *in);

void owner_shut_down(const struct owner *o);
void owner_let_go(struct owner *o);

#endif
