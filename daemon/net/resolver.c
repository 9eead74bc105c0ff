/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/resolver.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/addr.h"

_Static_assert(sizeof(struct resolver_answer) <= PIPE_BUF, "answers are written whole");

struct resolver {
	int in, out; /* of the pipe */
};

/* The memory of a thread. */
struct job {
	int out; /* a descriptor of its own */
	char name[LISTEN_WORD_MAX];
};

static void take_addrs(const struct addrinfo *list, struct resolver_answer *ret)
{
	for (const struct addrinfo *i = list; i && ret->n < RESOLVER_ADDRS; i = i->ai_next) {
		struct sockaddr_storage *a = &ret->a[ret->n];

		if (addr_copy(a, i->ai_addr) == 0 && addr_one_host(a))
			ret->n++;
	}
}

static void *run_job(void *arg)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
	struct addrinfo *list = NULL;
	struct resolver_answer answer = {0};
	struct job *j = arg;
	ssize_t n;

	memcpy(answer.name, j->name, sizeof(answer.name));
	answer.err = getaddrinfo(j->name, NULL, &hints, &list);
	if (answer.err == 0)
		take_addrs(list, &answer);
	if (list)
		freeaddrinfo(list);
	n = write(j->out, &answer, sizeof(answer));
	(void)n; /* it does not fit, or has no reader: the name is asked for again */
	close(j->out);
	free(j);
	return NULL;
}

struct resolver *resolver_new(void)
{
	struct resolver *r = calloc(1, sizeof(*r));
	int fd[2];

	if (!r || pipe2(fd, O_CLOEXEC | O_NONBLOCK) < 0) {
		free(r);
		return NULL;
	}
	r->in = fd[0];
	r->out = fd[1];
	return r;
}

struct resolver *resolver_free(struct resolver *r)
{
	if (!r)
		return NULL;
	close(r->in);
	close(r->out);
	free(r);
	return NULL;
}

int resolver_fd(const struct resolver *r)
{
	return r->in;
}

/* Signals are for the daemon's own thread. */
static int spawn_lookup(struct job *j)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t t;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&t, &attr, run_job, j);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}

int resolver_ask(struct resolver *r, const char *name)
{
	struct job *j = calloc(1, sizeof(*j));
	int err;

	if (!j)
		return -ENOMEM;
	strncpy(j->name, name, sizeof(j->name) - 1);
	j->out = fcntl(r->out, F_DUPFD_CLOEXEC, 0);
	err = j->out < 0 ? -errno : spawn_lookup(j);
	if (err) {
		if (j->out >= 0)
			close(j->out);
		free(j);
	}
	return err;
}

bool resolver_next(struct resolver *r, int timeout_ms, struct resolver_answer *ret)
{
	struct pollfd p = {.fd = r->in, .events = POLLIN};

	if (timeout_ms)
		(void)poll(&p, 1, timeout_ms);
	return read(r->in, ret, sizeof(*ret)) == (ssize_t)sizeof(*ret);
}
