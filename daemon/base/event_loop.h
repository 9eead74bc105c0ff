/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event loop and the clock: the only file that knows libevent, and the only one that
 * reads the clock, except for the notifications to systemd. One thread.
 *
 * A turn does all that can be done without blocking. While turns find work they follow each
 * other, and descriptors are checked once a millisecond. Without work the loop polls as long as
 * the history of such gaps says that it pays (util/spin.h), and at most poll_us. Work that can
 * wait counts as none there: else packets from far away, which a pacer spreads, would keep the loop
 * polling without end. Then the clients
 * are asked to ring, and the loop blocks until a descriptor, a signal or the expiry.
 * After the wake-up a turn runs before the callbacks of descriptors, so that they find the current
 * time, except those of EVENT_LOOP_EARLY. Bells tell at once that they were rung, so that this turn
 * serves the client; they are read after it. While the loop polls it yields the CPU between turns:
 * the client that is about to post work may be waiting for this CPU.
 */
#ifndef DAEMON_BASE_EVENT_LOOP_H
#define DAEMON_BASE_EVENT_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "util/histogram.h"

struct event_loop;
struct event_loop_watch;

struct event_loop_hooks {
	/* Does all work that does not block. True if it did anything; a timer that
	 * merely ran does not count, or a quiet association would keep the loop polling. */
	bool (*turn)(void *user, uint64_t now_ms);
	/* When the next turn is needed at the latest, in microseconds of the clock of now_ms;
	 * UINT64_MAX: never. */
	uint64_t (*expiry_us)(void *user);
	/* About to block: tells the clients, then looks again. False if there is work after all. */
	bool (*sleep)(void *user);
	/* Follows each sleep(), whatever it returned, before anything else is called. */
	void (*awake)(void *user);
	/* Follows sleep(), if that returned true. True: EVENT_LOOP_PATIENT descriptors do not end
	 * this sleep, which is short. NULL: they do. */
	bool (*pauses)(void *user);
	/* The clock, monotonic, in microseconds. NULL: the system's. */
	uint64_t (*clock_us)(void *user);
	/* Follows each turn that did something. True if that may as well wait for a wake-up: it is
	 * no reason to poll. NULL: never. */
	bool (*patient)(void *user);
};

enum {
	EVENT_LOOP_READ = 1,
	EVENT_LOOP_WRITE = 2,
	EVENT_LOOP_PATIENT = 4, /* it does not end a pause; of a descriptor all watches but one */
	EVENT_LOOP_BELL = 8,    /* with EVENT_LOOP_READ: see event_loop_watch() */
	EVENT_LOOP_EARLY = 16,  /* cb only takes note, so it is called before the turn */
};

/* what: EVENT_LOOP_READ, EVENT_LOOP_WRITE or both. A hang-up counts as both. Or EVENT_LOOP_BELL
 * alone. */
typedef void event_loop_watch_fn(void *user, unsigned what);
typedef void event_loop_signal_fn(void *user, int signo);

/*
 * A loop. hooks is kept, not copied. poll_us: how long to poll before blocking, at most; 0, and
 * always where this process has one CPU: not at all. Returns 0, -ENOMEM or -EMFILE, -ENFILE.
 */
int event_loop_new(const struct event_loop_hooks *hooks, void *user, uint32_t poll_us,
		   struct event_loop **ret);

/* Frees the loop with its signals. Every watch must be gone. NULL is fine. */
struct event_loop *event_loop_free(struct event_loop *l);

/* Runs until event_loop_stop(). Returns 0, or -EIO if waiting for events failed. */
int event_loop_run(struct event_loop *l);

/* Ends event_loop_run() after the hook or callback that calls this and the callbacks that are due
 * together with it; or ends the next event_loop_run() before its first turn. */
void event_loop_stop(struct event_loop *l);

/* Monotonic milliseconds, as of the beginning of this turn, or of the end of a sleep. */
uint64_t event_loop_now_ms(const struct event_loop *l);

/* The same in microseconds. */
uint64_t event_loop_now_us(const struct event_loop *l);

/* Within a turn: the turn before found no work, and since then no descriptor was ready but bells.
 * So a turn that begins with the work of a bell need not look at other descriptors first. Turns
 * with work that follow it have to. */
bool event_loop_has_no_news(const struct event_loop *l);

/* Looks at the clock: how far the turn is. */
uint64_t event_loop_clock_us(const struct event_loop *l);

/* Another budget for polling from now on; as for event_loop_new(). */
void event_loop_set_poll_us(struct event_loop *l, uint32_t poll_us);

/* Durations, in microseconds, of the turns that did work, each with the callbacks that followed it.
 * A long turn delays everything else. */
const struct histogram *event_loop_turns(const struct event_loop *l);

/* The budget: poll_us, or 0 where this process has one CPU. */
uint32_t event_loop_poll_us(const struct event_loop *l);

/*
 * Calls cb(user) whenever the descriptor is ready, level-triggered, not from within this call. cb
 * NULL: the descriptor only ends a sleep; the turn is expected to drain it. what may be 0 for
 * now. EVENT_LOOP_BELL: if it ends a sleep, cb is called twice: with EVENT_LOOP_BELL before the
 * next turn, in the time before the sleep, when it may neither read nor end the watch; and with
 * EVENT_LOOP_READ after that turn. Returns 0, -ENOMEM, or -EINVAL if the descriptor cannot be
 * watched.
 */
int event_loop_watch(struct event_loop *l, int fd, unsigned what, event_loop_watch_fn *cb,
		     void *user, struct event_loop_watch **ret);

/* Changes the events that are waited for; 0 pauses the watch. Where the kernel lacks memory the
 * descriptor is watched as soon as it has some. */
void event_loop_watch_set(struct event_loop_watch *w, unsigned what);

/*
 * Ends the watch, from anywhere, its own callback included; cb is not called again. Call it before
 * the descriptor is closed. Returns NULL; NULL is fine.
 */
struct event_loop_watch *event_loop_unwatch(struct event_loop_watch *w);

/*
 * Calls cb for a signal, from the loop; the call may precede the first turn after a sleep. At most
 * once for each signo. Returns 0, -ENOMEM or -EINVAL.
 */
int event_loop_signal(struct event_loop *l, int signo, event_loop_signal_fn *cb, void *user);

#endif
