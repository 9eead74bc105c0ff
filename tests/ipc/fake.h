/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A daemon that implements only the local protocol, in a thread of the test. Its replies are valid
 * unless a script changes them. The test operates the rings and bells.
 */
#ifndef TESTS_IPC_FAKE_H
#define TESTS_IPC_FAKE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/agent.h"
#include "ipc/ctl.h"
#include "ipc/memfd.h"
#include "ipc/msg.h"
#include "ipc/ring.h"
#include "ipc/wqe.h"

enum { FAKE_OBJECTS = 8, FAKE_RECORDS = 256 };

struct fake_cq {
	struct ring ring;
	int bell; /* the ringing end */
};

struct fake_qp {
	struct ring sq, rq;
	uint32_t slot;
};

/* The reply that is about to be sent: a member for each operation (ipc/local_protocol.h). */
struct fake_reply {
	union {
		struct msg_hdr hdr;
		struct msg_error error;
#define X(op, name, object, request, reply, ...) MSG_REPLY_##reply name;
		MSG_OPS(X)
#undef X
		uint8_t bytes[MSG_MAX];
	};
	size_t len;
	int fds[MSG_MAX_FDS];
	unsigned nfds;
	bool silent; /* send nothing, and end */
};

/* A request as received: a member for each operation. */
union fake_record {
	struct msg_hdr hdr;
#define X(op, name, object, request, ...) MSG_REQUEST_##request name;
	MSG_OPS(X)
#undef X
	uint8_t bytes[MSG_MAX];
};

struct fake {
	char dir[32], path[64];
	int listen_fd, fd, event_fd;
	bool closed;
	pthread_t thread;
	void (*script)(struct fake *f, struct fake_reply *r); /* NULL, or changes replies */

	struct bell_page *page;
	int bell; /* the waiting end */
	struct fake_cq cq[FAKE_OBJECTS];
	struct fake_qp qp[FAKE_OBJECTS];
	struct ring srq;          /* the last one created */
	struct memfd_map mr;      /* the last one registered, as it is now; or its shadow */
	struct agent_area *agent; /* its bell is not rung: the test does */
	int agent_bell;
	unsigned ncq, nqp;
	int async_bell;         /* the ringing end; -1: not asked for */
	struct msg_async async; /* the event to be taken */

	struct msg_hello hello;
	union fake_record rec[FAKE_RECORDS]; /* all requests after it, in order */
	unsigned nrec;
};

/* Listens, and points $DDP_SOCKET there. */
void fake_start(struct fake *f);

/* Ends like a daemon that was killed. */
void fake_die(struct fake *f);

/* Another one at the same socket, with no memory of the first; the script is set from the
 * beginning.
 */
void fake_restart(struct fake *f, void (*script)(struct fake *f, struct fake_reply *r));

/* Removes the socket, and ends the daemon if it still runs. */
void fake_stop(struct fake *f);

/* The last request; checks that it is this one. */
const union fake_record *fake_last(const struct fake *f, uint32_t op);

/* For scripts: turns the reply into a refusal. */
void fake_refuse(struct fake_reply *r, int err, const char *reason);

/* Writes a completion like the daemon, and rings if the reader sleeps. */
void fake_complete(struct fake_cq *cq, const struct wqe_cqe *e, bool solicited);

/* Sends an event; hdr is filled in. */
void fake_event(struct fake *f, struct msg_event ev);

#endif
