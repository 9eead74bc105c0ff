/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/system/easy_rig.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

const char *socket_a, *socket_b, *address_b;
uint16_t port;

long easy_must(const struct ddp_easy *e, const char *what, long r)
{
	if (r < 0)
		fail("%s: %s: %s", what, strerror((int)-r), ddp_easy_error(e));
	return r;
}

/* One that must fail with this error, and a sentence. */
void refused(const struct ddp_easy *e, const char *what, long came, int err)
{
	if (came != -err)
		fail("%s: %s was expected, %ld came: %s", what, strerror(err), came,
		     ddp_easy_error(e));
	if (!*ddp_easy_error(e))
		fail("%s: no sentence", what);
	ok("%s: %s", what, ddp_easy_error(e));
}

struct ddp_easy *open_at(const char *socket, uint32_t messages, uint32_t bytes)
{
	struct ddp_easy_attr attr = DDP_INIT(ddp_easy_attr);
	struct ddp_easy *e;

	attr.socket = socket;
	attr.messages = messages;
	attr.message_bytes = bytes;
	EASY(NULL, ddp_easy_open(&attr, &e));
	return e;
}

struct ddp_easy *listen_with(uint32_t messages, uint32_t bytes)
{
	struct ddp_easy *e = open_at(socket_b, messages, bytes);

	port = (uint16_t)EASY(e, ddp_easy_listen(e, NULL, 0));
	return e;
}

/* Connects without a second thread: time-out 0 only starts it. */
void pair(struct ddp_easy *listener, struct ddp_easy *a, struct ddp_easy **b)
{
	refused(a, "ddp_easy_connect with time-out 0", ddp_easy_connect(a, address_b, port, 0),
		EINPROGRESS);
	EASY(listener, ddp_easy_accept(listener, b, -1));
	EASY(a, ddp_easy_wait(a, -1));
}

void close_all(struct ddp_easy *a, struct ddp_easy *b, struct ddp_easy *listener)
{
	EASY(NULL, ddp_easy_close(a, -1));
	EASY(NULL, ddp_easy_close(b, -1));
	EASY(NULL, ddp_easy_close(listener, -1));
}

void sleep_until(struct ddp_easy *e)
{
	struct pollfd p = {.fd = ddp_easy_fd(e), .events = POLLIN};

	if (poll(&p, 1, RIG_WAIT_MS) != 1)
		fail("the descriptor is not readable");
}

void start(pthread_t *thread, void *(*run_it)(void *), void *arg)
{
	if (pthread_create(thread, NULL, run_it, arg) != 0)
		fail("pthread_create");
}
