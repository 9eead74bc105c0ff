/* SPDX-License-Identifier: BSD-2-Clause */
/* ddp_easy.h: a listener and a client in one thread. */
#include <ddp/ddp_easy.h>
#include <errno.h>
#include <string.h>

#include "tests/faults/program.h"

static int undo_easy(void *e)
{
	int r = ddp_easy_close(e, 100);

	(void)r; /* it frees the object in any case */
	return 0;
}

static long easy(const struct ddp_easy *e, const char *call, long r)
{
	if (r < 0 && !*ddp_easy_error(e))
		complain("%s: %s, and no sentence", call, strerror((int)-r));
	if (r < 0)
		give_up("%s: %s", call, ddp_easy_error(e));
	return r;
}
#define EASY(e, call) easy(e, #call, call)

static struct ddp_easy *open_easy(const char *socket)
{
	struct ddp_easy_attr attr = DDP_INIT(ddp_easy_attr);
	struct ddp_easy *e;

	attr.socket = socket;
	EASY(NULL, ddp_easy_open(&attr, &e));
	later(undo_easy, e);
	return e;
}

static struct ddp_easy *take(struct ddp_easy *listener, struct ddp_easy *client)
{
	struct ddp_easy *e;

	for (int ms = 0; ms < WAIT_MS; ms += 20) {
		long r = ddp_easy_accept(listener, &e, 20);

		if (r != -ETIMEDOUT) {
			EASY(listener, r);
			later(undo_easy, e);
			return e;
		}
		r = ddp_easy_wait(client, 0);
		if (r != -ETIMEDOUT && r != -EINPROGRESS)
			EASY(client, r);
	}
	complain("no connection to accept");
}

void part_easy(struct program *p)
{
	struct ddp_easy *listener = open_easy(p->socket[1]), *a = open_easy(p->socket[0]), *b;
	void *mem, *theirs;
	char byte[16];
	long port, r;

	EASY(listener, ddp_easy_alloc(listener, 10000, &theirs));
	EASY(listener, ddp_easy_offer(listener, theirs, 10000,
				      DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ));
	port = EASY(listener, ddp_easy_listen(listener, NULL, 0));
	EASY(a, ddp_easy_alloc(a, 10000, &mem));
	r = ddp_easy_connect(a, p->address, (uint16_t)port, 0);
	EASY(a, r == -EINPROGRESS ? 0 : r);
	b = take(listener, a);
	EASY(a, ddp_easy_wait(a, WAIT_MS));
	EASY(a, ddp_easy_send(a, "hello", 5, WAIT_MS));
	EASY(b, ddp_easy_recv(b, byte, sizeof(byte), WAIT_MS));
	EASY(a, ddp_easy_write(a, 0, mem, 10000, WAIT_MS));
	EASY(a, ddp_easy_read(a, 0, mem, 10000, WAIT_MS));
}
