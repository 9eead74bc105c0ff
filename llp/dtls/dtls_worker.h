/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One thread for work that is too long for a turn of the daemon: the signatures and the key
 * agreement of handshakes, about a millisecond for each. Its queue is bounded.
 */
#ifndef LLP_DTLS_WORKER_H
#define LLP_DTLS_WORKER_H

#include <stdbool.h>

#include "util/list.h"

struct dtls_worker;

/* A part of the object that the job is about, which belongs to the thread until the job is taken
 * back. */
struct dtls_job {
	struct list all;
	void (*run)(struct dtls_job *j);
};

/* max: jobs that were added and not taken. -errno. */
int dtls_worker_new(unsigned max, struct dtls_worker **ret);

/* Waits for the job that runs. Others are left undone, and are to be taken like those that ran. */
void dtls_worker_end(struct dtls_worker *w);

/* After dtls_worker_end(). NULL is fine. */
void dtls_worker_free(struct dtls_worker *w);

/* False: there are max already. */
bool dtls_worker_add(struct dtls_worker *w, struct dtls_job *j);

/* The next job that was run, or NULL. */
struct dtls_job *dtls_worker_take(struct dtls_worker *w);

/* Jobs were added and not taken. For the thread that adds and takes them. */
bool dtls_worker_busy(const struct dtls_worker *w);

/* To poll: readable if a job was run since the last dtls_worker_take() that returned NULL. */
int dtls_worker_fd(const struct dtls_worker *w);

#endif
