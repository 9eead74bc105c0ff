/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a daemon, and the next one. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "tests/system/easy_rig.h"

void easy_is_orphan(void)
{
	struct ddp_easy *listener = listen_with(0, 0), *a = open_at(socket_a, 0, 0), *b;
	char byte;

	pair(listener, a, &b);
	ok("waits");
	refused(a, "ddp_easy_recv without the daemon", ddp_easy_recv(a, &byte, 1, -1), EPIPE);
	refused(a, "ddp_easy_send then", ddp_easy_send(a, "x", 1, -1), EPIPE);
	refused(a, "ddp_easy_arm then", ddp_easy_arm(a, &(uint64_t){0}), EPIPE);
	EASY(NULL, ddp_easy_close(a, -1));
	EASY(NULL, ddp_easy_close(listener, 0));
	ddp_easy_close(b, 0); /* it may not know yet */
}

enum { OFFERED = 100000 };

/* Reads what the listener offers. A failure is that of a daemon which is restarted. */
static void visit(struct ddp_easy *e)
{
	uint8_t *seen;

	EASY(e, ddp_easy_alloc(e, OFFERED, (void **)&seen));
	if (ddp_easy_connect(e, address_b, port, RIG_WAIT_MS) ||
	    ddp_easy_read(e, 0, seen, OFFERED, -1))
		return;
	for (int i = 0; i < OFFERED; i++)
		if (seen[i] != (uint8_t)(i * 7))
			fail("byte %d is %u", i, seen[i]);
	ddp_easy_send(e, "seen", 4, -1);
}

static void *visit_often(void *arg)
{
	for (;; ddp_easy_close(arg, 1000))
		visit(arg = open_at(socket_a, 1, 8));
	return arg;
}

/* Survives restarts of the daemon, with its memory. Each second time it waits as event loops do. */
void easy_survives(void)
{
	struct ddp_easy *listener = listen_with(1, 8), *b;
	pthread_t visitor;
	uint8_t *offer;
	char text[8];

	EASY(listener, ddp_easy_alloc(listener, OFFERED, (void **)&offer));
	for (int i = 0; i < OFFERED; i++)
		offer[i] = (uint8_t)(i * 7);
	EASY(listener, ddp_easy_offer(listener, offer, OFFERED, DDP_ACCESS_REMOTE_READ));
	start(&visitor, visit_often, NULL);
	for (int wait = 0;; wait = -1 - wait) {
		int r = ddp_easy_accept(listener, &b, wait);

		if (wait == 0 && r == -ETIMEDOUT) {
			sleep_until(listener);
			continue;
		}
		EASY(listener, r);
		if (ddp_easy_recv(b, text, 8, -1) == 4)
			ok("visited");
		ddp_easy_close(b, 1000);
	}
}
