/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/base/error.h"

#include <ddp/ddp.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verbs/base/fork.h"

enum { MAX_SENTENCES = 128, MAX_ATTEMPTS = 8, MAX_REASONS = 64 };

static pthread_mutex_t lock = FORK_LOCK;

__attribute__((constructor)) static void hold_printed_lock(void)
{
	fork_hold(FORK_ERRORS, &lock);
}

static bool debug(void)
{
	const char *text = getenv("DDPVERBS_DEBUG");

	return text && *text && strcmp(text, "0") != 0;
}

/* True for the first time of a sentence. Sentences are literals, so their addresses serve. */
static bool is_new(const char *call, const char *why)
{
	static const char *said[MAX_SENTENCES][2];
	static unsigned n;
	bool ret = true;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; ret && i < n; i++)
		ret = said[i][0] != call || said[i][1] != why;
	if (ret && n < MAX_SENTENCES) {
		said[n][0] = call;
		said[n++][1] = why;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

/* ---- for ddpverbs --private ---- */

static uint32_t hash_text(uint32_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619u;
	return hash;
}

/* True for the first of equal reasons, and at most MAX_REASONS times. */
static bool is_new_reason(uint32_t hash)
{
	static uint32_t noted[MAX_REASONS];
	static unsigned n;
	bool ret;

	pthread_mutex_lock(&lock);
	ret = n < MAX_REASONS;
	for (unsigned i = 0; ret && i < n; i++)
		ret = noted[i] != hash;
	if (ret)
		noted[n++] = hash;
	pthread_mutex_unlock(&lock);
	return ret;
}

/* It is printed when the command has ended: verbs/run/report.c. */
static void note_reason(const char *what, const char *reason)
{
	const char *folder = getenv("DDPVERBS_FOLDER");
	char path[128];
	int fd, n;

	if (!folder || !is_new_reason(hash_text(hash_text(2166136261u, what), reason)))
		return;
	snprintf(path, sizeof(path), "%s/reasons", folder);
	fd = openat(AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	n = dprintf(fd, "%s: %s\n", what, reason);
	(void)n;
	close(fd);
}

/* ---- sentences ---- */

void error_once(const char *call, const char *why)
{
	if (is_new(call, why))
		fprintf(stderr, "ddpverbs: %s: %s\n", call, why);
}

void error_no_device(const char *reason)
{
	static unsigned attempts;
	bool print;

	pthread_mutex_lock(&lock);
	print = attempts < MAX_ATTEMPTS || debug();
	attempts++;
	pthread_mutex_unlock(&lock);
	if (print)
		fprintf(stderr, "ddpverbs: no device: %s\n", reason);
}

void error_event(const char *event, const char *reason)
{
	if (!*reason)
		return;
	if (debug())
		fprintf(stderr, "ddpverbs: %s: %s\n", event, reason);
	else if (strcmp(reason, "ended by the peer") != 0) /* as it should */
		note_reason(event, reason);
}

int error_unsupported(const char *call, const char *why, int err)
{
	error_once(call, why);
	errno = err;
	return err;
}

int error_probed(const char *call, const char *why, int err)
{
	if (debug())
		error_once(call, why);
	errno = err;
	return err;
}

/* Nobody probes the limits of a user, and programs that retry for ever would not tell. The
 * sentences differ in numbers: one of each call is enough. */
static void error_limit(const char *call, const char *reason)
{
	if (is_new(call, "limit"))
		fprintf(stderr, "ddpverbs: %s: %s\n", call, reason);
}

int error_of_call(const char *call, int ret)
{
	if (ret == -ECHILD)
		error_once(call, ERROR_PARENTS_OBJECT);
	else if (debug())
		fprintf(stderr, "ddpverbs: %s: %s\n", call, ddp_last_reason());
	else if (ret == -EDQUOT)
		error_limit(call, ddp_last_reason());
	else if (ret != -EAGAIN)
		note_reason(call, ddp_last_reason());
	errno = -ret;
	return -ret;
}
