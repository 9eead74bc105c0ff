/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/dtls/dtls_worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct dtls_worker {
	pthread_t thread;
	pthread_mutex_t lock; /* of everything below */
	pthread_cond_t added;
	struct list waiting, run;
	unsigned jobs, max; /* jobs: that were added and not taken */
	int fd;
	bool ends;
};

static struct dtls_job *take_first(struct list *l)
{
	struct dtls_job *j;

	if (list_empty(l))
		return NULL;
	j = list_entry(l->next, struct dtls_job, all);
	list_del(&j->all);
	return j;
}

/* NULL: the thread has to end. The lock is held. */
static struct dtls_job *wait_for_job(struct dtls_worker *w)
{
	while (!w->ends && list_empty(&w->waiting))
		pthread_cond_wait(&w->added, &w->lock);
	return w->ends ? NULL : take_first(&w->waiting);
}

static void ring(int fd)
{
	const uint64_t one = 1;
	/* It fails only when the counter is full, and then the fd is readable. */
	ssize_t n = write(fd, &one, sizeof(one));

	(void)n;
}

static void *run_jobs(void *arg)
{
	struct dtls_worker *w = arg;
	struct dtls_job *j;

	pthread_mutex_lock(&w->lock);
	while ((j = wait_for_job(w))) {
		pthread_mutex_unlock(&w->lock);
		j->run(j);
		pthread_mutex_lock(&w->lock);
		list_add_tail(&w->run, &j->all);
		ring(w->fd);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* Signals are for the thread of the daemon. */
static int start_worker(struct dtls_worker *w)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&w->thread, NULL, run_jobs, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int dtls_worker_new(unsigned max, struct dtls_worker **ret)
{
	struct dtls_worker *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->max = max;
	list_init(&w->waiting);
	list_init(&w->run);
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = w->fd < 0 ? -errno : 0;
	if (r == 0) {
		pthread_mutex_init(&w->lock, NULL);
		pthread_cond_init(&w->added, NULL);
		r = start_worker(w);
	}
	if (r < 0) {
		if (w->fd >= 0)
			close(w->fd);
		free(w);
		return r;
	}
	*ret = w;
	return 0;
}

void dtls_worker_end(struct dtls_worker *w)
{
	struct dtls_job *j;

	pthread_mutex_lock(&w->lock);
	w->ends = true;
	pthread_cond_signal(&w->added);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	while ((j = take_first(&w->waiting)))
		list_add_tail(&w->run, &j->all);
}

void dtls_worker_free(struct dtls_worker *w)
{
	if (!w)
		return;
	pthread_cond_destroy(&w->added);
	pthread_mutex_destroy(&w->lock);
	close(w->fd);
	free(w);
}

bool dtls_worker_add(struct dtls_worker *w, struct dtls_job *j)
{
	bool has_room;

	pthread_mutex_lock(&w->lock);
	has_room = w->jobs < w->max;
	if (has_room) {
		w->jobs++;
		list_add_tail(&w->waiting, &j->all);
		pthread_cond_signal(&w->added);
	}
	pthread_mutex_unlock(&w->lock);
	return has_room;
}

struct dtls_job *dtls_worker_take(struct dtls_worker *w)
{
	struct dtls_job *j;

	pthread_mutex_lock(&w->lock);
	j = take_first(&w->run);
	if (j) {
		w->jobs--;
	} else {
		uint64_t n;
		ssize_t r = read(w->fd, &n, sizeof(n)); /* EAGAIN: it is not readable */

		(void)r;
	}
	pthread_mutex_unlock(&w->lock);
	return j;
}

int dtls_worker_fd(const struct dtls_worker *w)
{
	return w->fd;
}

/* The other thread only reads the number. */
bool dtls_worker_busy(const struct dtls_worker *w)
{
	return w->jobs > 0;
}
