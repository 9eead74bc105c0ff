/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/base/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { MAX_LOCKS = 24 };

struct held {
	enum fork_order order;
	pthread_mutex_t *lock;
	bool taken; /* false: the thread that forks has it already */
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct held locks[MAX_LOCKS]; /* in their order */
static unsigned num_locks;
static pthread_mutex_t *renewed; /* there is one */
static unsigned generation;      /* changes only where there is one thread: in a new child */

void fork_init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

static void before(void)
{
	pthread_mutex_lock(&list_lock);
	for (unsigned i = 0; i < num_locks; i++)
		locks[i].taken = pthread_mutex_lock(locks[i].lock) == 0;
}

static void in_parent(void)
{
	for (unsigned i = num_locks; i > 0; i--)
		if (locks[i - 1].taken)
			pthread_mutex_unlock(locks[i - 1].lock);
	pthread_mutex_unlock(&list_lock);
}

/* A thread of the parent owns the locks, so the child initializes them again. */
static void in_child(void)
{
	generation++;
	if (renewed)
		pthread_mutex_init(renewed, NULL);
	for (unsigned i = 0; i < num_locks; i++)
		fork_init_lock(locks[i].lock);
	pthread_mutex_unlock(&list_lock);
}

static void watch_forks_once(void)
{
	static bool watches;

	if (!watches)
		watches = pthread_atfork(before, in_parent, in_child) == 0;
}

void fork_hold(enum fork_order order, pthread_mutex_t *lock)
{
	unsigned i;

#ifndef PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP
	fork_init_lock(lock);
#endif
	pthread_mutex_lock(&list_lock);
	watch_forks_once();
	if (num_locks < MAX_LOCKS) {
		for (i = num_locks++; i > 0 && locks[i - 1].order > order; i--)
			locks[i] = locks[i - 1];
		locks[i] = (struct held){.order = order, .lock = lock};
	}
	pthread_mutex_unlock(&list_lock);
}

void fork_renew(pthread_mutex_t *lock)
{
	pthread_mutex_lock(&list_lock);
	watch_forks_once();
	renewed = lock;
	pthread_mutex_unlock(&list_lock);
}

unsigned fork_generation(void)
{
	return generation;
}

int fork_replace(int fd, int fresh)
{
	int r;

	if (fresh < 0)
		return errno;
	fcntl(fresh, F_SETFL, fcntl(fd, F_GETFL));
	r = dup3(fresh, fd, O_CLOEXEC) < 0 ? errno : 0;
	close(fresh);
	return r;
}
