/* SPDX-License-Identifier: BSD-2-Clause */
/* The only file that knows libevent, and the clock of all others. */
#include "daemon/base/event_loop.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "daemon/base/log.h"
#include "util/cleanup.h"
#include "util/list.h"
#include "util/spin.h"
#include "util/yield.h"

enum {
	/* How long descriptors may wait while the loop does not block. Looking at them costs a
	 * system call. */
	BUSY_SERVE_US = 1000,  /* while turns find work */
	POLL_SERVE_TURNS = 16, /* while they do not */
	/* A signal that arrives just before a pause does not end it. */
	PAUSE_SERVE_US = 10000,
	REARM_US = 10000, /* between attempts to watch a descriptor */
};

struct event_loop {
	struct event_base *base;
	struct event timer;
	int timerfd;
	uint64_t armed_us; /* when the timer fires; UINT64_MAX: never */
	int impatient;     /* an epoll set of the descriptors that end a pause */
	const struct event_loop_hooks *hooks;
	void *user;
	struct spin spin;
	uint32_t window_us; /* how long this gap is polled */
	bool stop;
	bool asleep;             /* the clients know it, awake() is due */
	bool blocking;           /* within the wait: descriptors only wake */
	bool due;                /* one of them has a callback, which runs after the next turn */
	bool called;             /* a callback ran */
	bool news;               /* since the last turn a descriptor was ready that is no bell */
	bool idle;               /* the last turn found no work */
	bool quiet;              /* nor any that cannot wait, and ... */
	uint64_t quiet_since_us; /* ... this was the first such turn */
	uint64_t now_us;
	uint64_t served_us;  /* when descriptors were last checked ... */
	unsigned idle_turns; /* turns without work since then */
	unsigned watches;
	struct list unarmed; /* watches that the kernel lacked memory for */
	struct list rung;    /* bells that ended the wait, to be read after the next turn */
	struct list signals;
	struct histogram turns;
};

struct event_loop_watch {
	struct list link; /* in unarmed or rung, or in none */
	struct event ev;
	struct event_loop *loop;
	int fd;
	unsigned what;
	event_loop_watch_fn *cb;
	void *user;
};

struct event_loop_sig {
	struct list link;
	struct event ev;
	struct event_loop *loop;
	event_loop_signal_fn *cb;
	void *user;
};

uint64_t event_loop_clock_us(const struct event_loop *l)
{
	struct timespec ts;

	if (l->hooks->clock_us)
		return l->hooks->clock_us(l->user);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void read_clock(struct event_loop *l)
{
	l->now_us = event_loop_clock_us(l);
}

/* The end of a sleep: before the first signal's callback, or after the wait. */
static void wake(struct event_loop *l)
{
	if (!l->asleep)
		return;
	l->asleep = false;
	read_clock(l);
	l->hooks->awake(l->user);
}

/* ---- making and freeing ---- */

static void on_libevent_log(int severity, const char *msg)
{
	static const enum log_level levels[] = {
		[EVENT_LOG_DEBUG] = LOG_LEVEL_DEBUG,
		[EVENT_LOG_MSG] = LOG_LEVEL_INFO,
		[EVENT_LOG_WARN] = LOG_LEVEL_WARN,
		[EVENT_LOG_ERR] = LOG_LEVEL_ERR,
	};

	log_at(levels[severity & 3], "libevent: %s", msg);
}

static struct event_base *new_base(void)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base = NULL;

	if (!cfg)
		return NULL;
	event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV);
	base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	return base;
}

/* An expiry is reported once (EV_ET), so the timer is not read. If the timer was set again since
 * this one fired, the loop wakes up without need. */
static void on_timer(evutil_socket_t fd, short what, void *user)
{
	struct event_loop *l = user;

	(void)fd;
	(void)what;
	wake(l);
	l->armed_us = UINT64_MAX;
}

/*
 * A timer of our own instead of libevent's, which sets a timer again for each look at the
 * descriptors, or else has the precision of the coarse clock.
 */
static int make_timer(struct event_loop *l)
{
	l->armed_us = UINT64_MAX;
	l->timerfd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (l->timerfd < 0)
		return -errno;
	event_assign(&l->timer, l->base, l->timerfd, EV_READ | EV_PERSIST | EV_ET, on_timer, l);
	return event_add(&l->timer, NULL) < 0 ? -ENOMEM : 0;
}

static int open_descriptors(struct event_loop *l)
{
	int r;

	l->impatient = epoll_create1(EPOLL_CLOEXEC);
	if (l->impatient < 0)
		return -errno;
	r = make_timer(l);
	if (r)
		close(l->impatient);
	return r;
}

int event_loop_new(const struct event_loop_hooks *hooks, void *user, uint32_t poll_us,
		   struct event_loop **ret)
{
	autofree struct event_loop *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	event_set_log_callback(on_libevent_log);
	l->base = new_base();
	if (!l->base)
		return -ENOMEM;
	r = open_descriptors(l);
	if (r) {
		event_base_free(l->base);
		return r;
	}
	l->hooks = hooks;
	l->user = user;
	event_loop_set_poll_us(l, poll_us);
	list_init(&l->unarmed);
	list_init(&l->rung);
	list_init(&l->signals);
	read_clock(l);
	*ret = take_ptr(l);
	return 0;
}

struct event_loop *event_loop_free(struct event_loop *l)
{
	if (!l)
		return NULL;
	assert(l->watches == 0);
	list_foreach_safe (it, &l->signals) {
		struct event_loop_sig *s = list_entry(it, struct event_loop_sig, link);

		event_del(&s->ev);
		free(s);
	}
	event_del(&l->timer);
	close(l->timerfd);
	close(l->impatient);
	event_base_free(l->base);
	free(l);
	return NULL;
}

/* ---- running ---- */

/* A gap begins with the first turn without work that cannot wait, and ends with the first turn or
 * callback that finds some. */
static void end_gap(struct event_loop *l)
{
	if (l->quiet)
		spin_gap(&l->spin, l->now_us - l->quiet_since_us);
	l->quiet = false;
}

/*
 * Calls the callbacks of ready events. Waits for events unless flags say EVLOOP_NONBLOCK.
 * EVLOOP_ONCE with either: without it libevent would continue while a descriptor is readable.
 */
static int serve_events(struct event_loop *l, int flags)
{
	int r;

	l->called = false;
	l->due = false;
	l->blocking = !(flags & EVLOOP_NONBLOCK);
	r = event_base_loop(l->base, flags | EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY);
	l->blocking = false;
	wake(l);
	if (r < 0)
		return -EIO;
	if (l->called) {
		l->idle = false;
		end_gap(l);
	}
	l->served_us = l->now_us;
	l->idle_turns = 0;
	return 0;
}

/*
 * A timer that fires too early stays: expiries mostly move on, while data flows with each batch,
 * and one wake-up too many is cheaper than a system call for each of them.
 */
static void set_timer(struct event_loop *l, uint64_t expiry_us)
{
	uint64_t us = expiry_us - l->now_us;
	struct itimerspec t = {.it_value = {.tv_sec = (time_t)(us / 1000000),
					    .tv_nsec = (long)(us % 1000000) * 1000}};

	if (expiry_us >= l->armed_us)
		return;
	timerfd_settime(l->timerfd, 0, &t, NULL);
	l->armed_us = expiry_us;
}

/*
 * Waits for descriptors that are not patient, and without libevent: to take the others out of its
 * set and to set a timer costs five system calls for each pause.
 */
static int pause_until(struct event_loop *l, uint64_t expiry_us)
{
	struct pollfd set = {.fd = l->impatient, .events = POLLIN};
	uint64_t us = expiry_us - l->now_us;
	struct timespec t = {.tv_sec = (time_t)(us / 1000000),
			     .tv_nsec = (long)(us % 1000000) * 1000};
	int r = ppoll(&set, 1, &t, NULL);

	wake(l);
	l->news = true; /* nobody looked */
	l->due = r != 0 || l->now_us - l->served_us >= PAUSE_SERVE_US;
	return r < 0 && errno != EINTR ? -EIO : 0;
}

static bool arm_again(struct event_loop *l);

/* Not without end while descriptors cannot wake it. */
static uint64_t end_of_wait(struct event_loop *l)
{
	uint64_t expiry_us = l->hooks->expiry_us(l->user);

	read_clock(l); /* the turn has taken a part of the time until then */
	if (!arm_again(l) && expiry_us > l->now_us + REARM_US)
		expiry_us = l->now_us + REARM_US;
	return expiry_us;
}

static int block(struct event_loop *l)
{
	bool sleeps, pauses;
	uint64_t expiry_us;

	l->asleep = true;
	sleeps = l->hooks->sleep(l->user) && !l->stop;
	pauses = sleeps && l->hooks->pauses && l->hooks->pauses(l->user);
	expiry_us = sleeps ? end_of_wait(l) : 0;
	if (expiry_us <= l->now_us) {
		wake(l);
		return serve_events(l, EVLOOP_NONBLOCK);
	}
	if (pauses)
		return pause_until(l, expiry_us);
	if (expiry_us != UINT64_MAX)
		set_timer(l, expiry_us);
	return serve_events(l, 0);
}

static void note_turn(struct event_loop *l, bool did)
{
	bool quiet = !did || (l->hooks->patient && l->hooks->patient(l->user));

	if (!quiet)
		end_gap(l);
	if (quiet && !l->quiet) {
		l->quiet = true;
		l->quiet_since_us = l->now_us;
		l->window_us = spin_window(&l->spin, l->now_us);
	}
	l->news = false;
	l->idle = !did;
	l->idle_turns += l->idle;
}

/* Lets other processes run. Our clients return the CPU soon. */
static void yield(struct event_loop *l)
{
	uint64_t before_us = l->now_us;

	yield_cpu(false);
	read_clock(l);
	if (l->now_us - before_us >= SPIN_LOST_US) {
		spin_lost(&l->spin, l->now_us);
		l->window_us = 0;
	}
}

static bool must_serve(const struct event_loop *l)
{
	return l->idle ? l->idle_turns >= POLL_SERVE_TURNS
		       : l->now_us - l->served_us >= BUSY_SERVE_US;
}

/* The clock was last read when the turn before began, or when a sleep ended before its callbacks.
 */
static void begin_turn(struct event_loop *l)
{
	uint64_t before_us = l->now_us;

	read_clock(l);
	if (!l->idle)
		histogram_add(&l->turns, l->now_us - before_us);
}

/* The wait that they ended says that they are readable. */
static void read_bells(struct event_loop *l)
{
	struct list *it;

	while ((it = list_pop(&l->rung))) {
		struct event_loop_watch *w = list_entry(it, struct event_loop_watch, link);

		w->cb(w->user, EVENT_LOOP_READ);
	}
}

static int run_turn(struct event_loop *l)
{
	int r = 0;

	begin_turn(l);
	note_turn(l, l->hooks->turn(l->user, l->now_us / 1000));
	read_bells(l);
	if (l->stop)
		return 0;
	if (l->due)
		return serve_events(l, EVLOOP_NONBLOCK);
	/* After work that can wait there may be more; then sleep() refuses, or a descriptor is
	 * ready. */
	if (l->quiet && l->now_us - l->quiet_since_us >= l->window_us)
		return block(l);
	if (must_serve(l))
		r = serve_events(l, EVLOOP_NONBLOCK);
	if (l->idle)
		yield(l);
	return r;
}

int event_loop_run(struct event_loop *l)
{
	int r = 0;

	read_clock(l);
	l->idle = l->quiet = false;
	while (r == 0 && !l->stop)
		r = run_turn(l);
	l->stop = false;
	return r;
}

void event_loop_stop(struct event_loop *l)
{
	l->stop = true;
}

uint64_t event_loop_now_ms(const struct event_loop *l)
{
	return l->now_us / 1000;
}

uint64_t event_loop_now_us(const struct event_loop *l)
{
	return l->now_us;
}

void event_loop_set_poll_us(struct event_loop *l, uint32_t poll_us)
{
	/* On one CPU the producers of our work cannot run while we poll. */
	spin_init(&l->spin, yield_has_one_cpu() ? 0 : poll_us);
}

const struct histogram *event_loop_turns(const struct event_loop *l)
{
	return &l->turns;
}

bool event_loop_has_no_news(const struct event_loop *l)
{
	return l->idle && !l->news;
}

uint32_t event_loop_poll_us(const struct event_loop *l)
{
	return l->spin.max_us;
}

/* ---- descriptors ---- */

/*
 * After a wait the turn runs first, so that a callback never finds its owner in the time before the
 * sleep; the level is still there then. Bells and early ones need no time. A callback may end its
 * own watch, so the watch is not used after it.
 */
static void on_fd(evutil_socket_t fd, short what, void *user)
{
	struct event_loop_watch *w = user;
	struct event_loop *l = w->loop;
	bool bell = w->what & EVENT_LOOP_BELL;

	(void)fd;
	wake(l);
	l->news |= !bell;
	if (!w->cb)
		return;
	if (l->blocking && bell) {
		list_add_tail(&l->rung, &w->link);
		w->cb(w->user, EVENT_LOOP_BELL);
	} else if (l->blocking && !(w->what & EVENT_LOOP_EARLY)) {
		l->due = true;
	} else {
		l->called |= !l->blocking; /* an early one is the work of the turn */
		w->cb(w->user, (what & EV_READ ? EVENT_LOOP_READ : 0) |
				       (what & EV_WRITE ? EVENT_LOOP_WRITE : 0));
	}
}

static int add_impatient(const struct event_loop_watch *w)
{
	struct epoll_event e = {.events = (w->what & EVENT_LOOP_READ ? EPOLLIN : 0) |
					  (w->what & EVENT_LOOP_WRITE ? EPOLLOUT : 0)};

	int r = epoll_ctl(w->loop->impatient, EPOLL_CTL_ADD, w->fd, &e);

	return r < 0 && errno == EEXIST ? epoll_ctl(w->loop->impatient, EPOLL_CTL_MOD, w->fd, &e)
					: r;
}

static int arm_watch(struct event_loop_watch *w)
{
	short what = EV_PERSIST;

	if (w->what & EVENT_LOOP_READ)
		what |= EV_READ;
	if (w->what & EVENT_LOOP_WRITE)
		what |= EV_WRITE;
	if (event_assign(&w->ev, w->loop->base, w->fd, what, on_fd, w) < 0)
		return -EINVAL;
	if (what == EV_PERSIST)
		return 0;
	if (event_add(&w->ev, NULL) < 0)
		return errno == ENOMEM ? -ENOMEM : -EINVAL;
	if (w->what & EVENT_LOOP_PATIENT || add_impatient(w) == 0)
		return 0;
	event_del(&w->ev);
	return -ENOMEM;
}

static void disarm_watch(struct event_loop_watch *w)
{
	event_del(&w->ev);
	if (w->what && !(w->what & EVENT_LOOP_PATIENT))
		(void)epoll_ctl(w->loop->impatient, EPOLL_CTL_DEL, w->fd, NULL);
	list_del(&w->link);
}

/* False: some are left. */
static bool arm_again(struct event_loop *l)
{
	list_foreach_safe (it, &l->unarmed) {
		struct event_loop_watch *w = list_entry(it, struct event_loop_watch, link);

		if (arm_watch(w) == 0)
			list_del(&w->link);
	}
	return list_empty(&l->unarmed);
}

int event_loop_watch(struct event_loop *l, int fd, unsigned what, event_loop_watch_fn *cb,
		     void *user, struct event_loop_watch **ret)
{
	autofree struct event_loop_watch *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	list_init(&w->link);
	w->loop = l;
	w->fd = fd;
	w->what = what;
	w->cb = cb;
	w->user = user;
	r = arm_watch(w);
	if (r != 0)
		return r;
	l->watches++;
	*ret = take_ptr(w);
	return 0;
}

void event_loop_watch_set(struct event_loop_watch *w, unsigned what)
{
	if (w->what == what)
		return;
	disarm_watch(w);
	w->what = what;
	if (arm_watch(w))
		list_add_tail(&w->loop->unarmed, &w->link);
}

struct event_loop_watch *event_loop_unwatch(struct event_loop_watch *w)
{
	if (!w)
		return NULL;
	disarm_watch(w);
	w->loop->watches--;
	free(w);
	return NULL;
}

/* ---- signals ---- */

static void call_signal(evutil_socket_t signo, short what, void *user)
{
	struct event_loop_sig *s = user;

	(void)what;
	wake(s->loop);
	s->loop->called = true;
	s->cb(s->user, signo);
}

int event_loop_signal(struct event_loop *l, int signo, event_loop_signal_fn *cb, void *user)
{
	autofree struct event_loop_sig *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->loop = l;
	s->cb = cb;
	s->user = user;
	if (evsignal_assign(&s->ev, l->base, signo, call_signal, s) < 0)
		return -EINVAL;
	if (evsignal_add(&s->ev, NULL) < 0)
		return errno == ENOMEM ? -ENOMEM : -EINVAL;
	list_add_tail(&l->signals, &s->link);
	take_ptr(s);
	return 0;
}
