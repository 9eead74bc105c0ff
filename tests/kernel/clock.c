/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into user-mode Linux: a virtual clock, for measurements that do not depend on what else
 * the host does. While the guest is idle, the clock jumps to its next timer. While it is busy, the
 * clock advances only by a little each time it is read, as if processors had no limit. Boot runs in
 * real time, because the guest measures its processor then; its first idle moment ends that.
 *
 * A program that computes for long without a system call needs the timer all the same: then the
 * timer expires in real time, later.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum {
	READ_NS = 1000, /* that a reading takes */
	SLOW = 4,       /* the real timer is that much later */
	GRACE_NS = 20000000,
};

static bool virtual;
static int64_t now_ns;         /* CLOCK_MONOTONIC */
static int64_t since_epoch_ns; /* of CLOCK_REALTIME at its 0 */
static int64_t expiry_ns;      /* of the timer, 0 = disarmed */
static int64_t period_ns;      /* 0: it expires once */
static int64_t real_expiry_ns; /* when it has been waited for too long */
static timer_t timer;

static void *real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static int64_t to_ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static struct timespec from_ns(int64_t ns)
{
	return (struct timespec){ns / 1000000000, ns % 1000000000};
}

static int64_t real_ns(clockid_t id)
{
	static int (*next)(clockid_t, struct timespec *);
	struct timespec t;

	if (!next)
		next = (int (*)(clockid_t, struct timespec *))real("clock_gettime");
	next(id, &t);
	return to_ns(&t);
}

static int set_real(int64_t value, int64_t period)
{
	static int (*next)(timer_t, int, const struct itimerspec *, struct itimerspec *);
	const struct itimerspec its = {from_ns(period), from_ns(value)};

	if (!next)
		next = (int (*)(timer_t, int, const struct itimerspec *, struct itimerspec *))real(
			"timer_settime");
	return next(timer, 0, &its, NULL);
}

static void arm(int64_t value)
{
	int64_t late = value * SLOW + GRACE_NS;

	expiry_ns = value ? now_ns + value : 0;
	real_expiry_ns = real_ns(CLOCK_MONOTONIC) + late;
	set_real(value ? late : 0, 0);
}

static void expire(void)
{
	if (now_ns < expiry_ns)
		now_ns = expiry_ns;
	if (period_ns)
		arm(period_ns);
	else
		expiry_ns = 0;
	kill(getpid(), SIGALRM);
}

int timer_create(clockid_t id, struct sigevent *event, timer_t *ret)
{
	int (*next)(clockid_t, struct sigevent *, timer_t *) =
		(int (*)(clockid_t, struct sigevent *, timer_t *))real("timer_create");
	int r = next(id, event, ret);

	timer = *ret;
	return r;
}

int timer_settime(timer_t id, int flags, const struct itimerspec *set, struct itimerspec *old)
{
	int64_t value = to_ns(&set->it_value);

	(void)id;
	(void)flags;
	(void)old;
	period_ns = to_ns(&set->it_interval);
	if (virtual) {
		arm(value);
		return 0;
	}
	expiry_ns = value ? real_ns(CLOCK_MONOTONIC) + value : 0;
	return set_real(value, period_ns);
}

int timer_gettime(timer_t id, struct itimerspec *ret)
{
	int64_t left = expiry_ns - (virtual ? now_ns : real_ns(CLOCK_MONOTONIC));

	(void)id;
	*ret = (struct itimerspec){from_ns(period_ns), {0, 0}};
	if (expiry_ns)
		ret->it_value = from_ns(left > 0 ? left : 1);
	return 0;
}

int clock_gettime(clockid_t id, struct timespec *ret)
{
	if (!virtual) {
		*ret = from_ns(real_ns(id));
		return 0;
	}
	now_ns += READ_NS;
	if (expiry_ns && (now_ns >= expiry_ns || real_ns(CLOCK_MONOTONIC) >= real_expiry_ns))
		expire();
	*ret = from_ns(id == CLOCK_REALTIME ? now_ns + since_epoch_ns : now_ns);
	return 0;
}

/* The guest is idle, and has blocked SIGALRM until this returns. */
int sigsuspend(const sigset_t *mask)
{
	static int (*next)(const sigset_t *);

	if (!next)
		next = (int (*)(const sigset_t *))real("sigsuspend");
	if (!virtual) {
		now_ns = real_ns(CLOCK_MONOTONIC);
		since_epoch_ns = real_ns(CLOCK_REALTIME) - now_ns;
		virtual = true;
	}
	if (expiry_ns)
		expire();
	return next(mask);
}
