/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The environment of a case: addresses of the daemons, turns of the loop, failure of a case. One
 * process runs one case, so that a failed case has no effect on the next one.
 */
#ifndef TESTS_RAW_STAGE_H
#define TESTS_RAW_STAGE_H

#include <stdbool.h>
#include <stdint.h>

enum { STAGE_WAIT_MS = 60000 }; /* a case that waits longer has failed */

enum { STAGE_DAEMON, STAGE_OFF, STAGE_HASTY, STAGE_DAEMONS };

struct stage_daemon {
	const char *socket, *addr;
};

/* Of this process. */
struct stage {
	const char *name;   /* of the case */
	const char *detail; /* the current step, or NULL */
	uint16_t port;      /* SCTP port that no other case uses */
	const char *addr;   /* of the raw peer */
	/* Under test; with all options switched off; with a short session.answer_ms. */
	struct stage_daemon daemon[STAGE_DAEMONS];
};
extern struct stage stage;

/* Prints what was expected and what came, and ends the process. */
_Noreturn void stage_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A condition that must be true, and what to print if it is not. */
#define EXPECT(cond, ...)                                                                          \
	do {                                                                                       \
		if (!(cond))                                                                       \
			stage_fail(__VA_ARGS__);                                                   \
	} while (0)

/* A call of the library that must not fail. */
#define MUST_FAIL stage_fail
#include "tests/lib/must.h"

/* Monotonic milliseconds. */
uint64_t stage_now_ms(void);

/* The function for a turn: link_turn() by default. */
void stage_use(void (*turn)(int fd));

/* One turn of the transport; sleeps until there is something to do, also on fd if it is not
 * negative. After `end` the case fails because it has waited too long for `what`. */
void stage_turn(int fd, uint64_t end, const char *what);

/* Turns until the condition holds. */
#define UNTIL(cond, fd, what)                                                                      \
	for (uint64_t until_ = stage_now_ms() + STAGE_WAIT_MS; !(cond);)                           \
	stage_turn(fd, until_, what)

/* Prints bytes as hex. */
void stage_hex(const char *title, const void *p, uint32_t n);

#endif
