/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A user who has all the descriptors that the daemon gives to one hears so, goes on,
 * and refused ones leave no trace.
 *
 *   descriptors SOCKET
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ipc/msg.h"
#include "tests/system/rig.h"

enum { MOST = 128, BYTES = 1 << 16 };

static const char words[] = "descriptors of the daemon, its share";

static void names_the_limit(const char *what, int r)
{
	if (r != -EDQUOT || !strstr(ddp_last_reason(), words) ||
	    !strstr(ddp_last_reason(), "(RLIMIT_NOFILE)"))
		fail("%s: %d: \"%s\" does not have \"%s\"", what, r, ddp_last_reason(), words);
	ok("%s is refused: %s", what, ddp_last_reason());
}

/* Takes the user's descriptors, one after the other. */
static unsigned fill(struct ddp_ctx *ctx, struct ddp_cq *cq[MOST])
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);
	unsigned n = 0;
	int r = 0;

	attr.entries = 1;
	while (n < MOST && !(r = ddp_create_cq(ctx, &attr, &cq[n])))
		n++;
	names_the_limit("a completion queue", r);
	return n;
}

/* Takes the rest, one by one, with connections that say nothing, until one is turned away. */
static void fill_all(struct pollfd held[MOST], const char *socket_path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	struct msg_error e;

	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", socket_path);
	for (unsigned i = 0; i < MOST; i++) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		if (fd < 0 || connect(fd, (struct sockaddr *)&sun, sizeof(sun)))
			fail("connection %u: %s", i, strerror(errno));
		held[i] = (struct pollfd){.fd = fd, .events = POLLIN};
	}
	if (poll(held, MOST, RIG_WAIT_MS) <= 0)
		fail("no connection is turned away");
	for (unsigned i = 0; i < MOST; i++)
		if (held[i].revents & POLLIN) {
			is("a record", (uint64_t)recv(held[i].fd, &e, sizeof(e), 0), sizeof(e));
			is("its error", (uint64_t)e.err, EDQUOT);
			return;
		}
}

int main(int argc, char **argv)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);
	struct ddp_ctx *ctx, *other;
	struct ddp_cq *cq[MOST];
	struct pollfd held[MOST];
	struct ddp_mr *mr;
	struct ddp_pd *pd;
	unsigned n;

	if (argc != 2)
		return 2;
	attr.socket = argv[1];
	MUST(ddp_open(&attr, &ctx));
	MUST(ddp_alloc_pd(ctx, &pd));
	n = fill(ctx, cq);
	fill_all(held, argv[1]);
	MUST(ddp_alloc_mr(pd, BYTES, DDP_ACCESS_LOCAL_WRITE, &mr));
	MUST(ddp_dereg_mr(mr));
	ok("a region, whose descriptor the daemon does not keep, is registered");
	names_the_limit("a program", ddp_open(&attr, &other));
	for (unsigned i = 0; i < MOST; i++)
		close(held[i].fd);
	while (n > 0)
		MUST(ddp_destroy_cq(cq[--n]));
	MUST(ddp_alloc_mr(pd, BYTES, DDP_ACCESS_LOCAL_WRITE, &mr));
	MUST(ddp_dereg_mr(mr));
	MUST(ddp_open(&attr, &other));
	MUST(ddp_close(other));
	ok("with descriptors again, all goes on");
	MUST(ddp_dealloc_pd(pd));
	MUST(ddp_close(ctx));
	return 0;
}
