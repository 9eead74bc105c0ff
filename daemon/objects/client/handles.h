/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects of a client by their handles, which records carry. A client finds only its own
 * objects, and one that names an unknown handle is ended here: no correct library does that.
 */
#ifndef DAEMON_OBJECTS_HANDLES_H
#define DAEMON_OBJECTS_HANDLES_H

#include <stdint.h>

#include "daemon/base/reply.h"
#include "util/idtab.h"
#include "util/list.h"

struct client;

/* Type, table of struct handles, words. The type is the column `object` of MSG_OPS. */
/* clang-format off */
#define HANDLES(X) \
	X(pd, pds, "protection domain") \
	X(mr, mrs, "memory region") \
	X(mw, mws, "memory window") \
	X(cq, cqs, "completion queue") \
	X(srq, srqs, "shared receive queue") \
	X(qp, qps, "queue pair") \
	X(ah, ahs, "address handle") \
	X(listener, listeners, "listener")
/* clang-format on */

/* The tables of a client. */
struct handles {
	struct idtab pds, mrs, mws, cqs, qps, srqs, ahs, listeners, requests;
	struct list scopes; /* of queue pairs */
};

enum handles_kind {
	HANDLES_client, /* no handle: the client itself */
#define X(type, table, words) HANDLES_##type,
	HANDLES(X)
#undef X
};

/* The client's object with this handle, or NULL with the violation in the reply. */
void *handles_find(const struct client *c, enum handles_kind kind, uint32_t handle,
		   struct reply *rep);

/* The same for each type: handles_pd() and so on. */
#define X(type, table, words)                                                                      \
	static inline struct type *handles_##type(const struct client *c, uint32_t handle,         \
						  struct reply *rep)                               \
	{                                                                                          \
		return handles_find(c, HANDLES_##type, handle, rep);                               \
	}
HANDLES(X)
#undef X

#endif
