/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The context that a listener and its connections share, and its events. A thread that waits for
 * an event takes those of the others, too, and hands them over under the lock.
 */
#ifndef DDP_EASY_HUB_H
#define DDP_EASY_HUB_H

#include <ddp/ddp.h>
#include <pthread.h>
#include <stdbool.h>

#include "client-lib/easy/easy_error.h"
#include "client-lib/easy/easy_hello.h"

struct easy_region;

struct easy_hub {
	struct ddp_ctx *ctx;
	struct ddp_pd *pd;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool reading; /* a thread is in ddp_get_cm_event() */
	unsigned users;
	struct easy_region *regions; /* of easy_memory.c */
};

/* A session request that waits for ddp_easy_accept(). */
struct easy_request {
	struct easy_request *next;
	struct ddp_id *id;
	size_t len;
	uint8_t data[EASY_HELLO_SIZE];
};

/* The state of an id, as events reported it. The hub's lock guards it. */
struct easy_end {
	struct ddp_id *id;
	bool established, over;
	int err; /* over: why */
	char reason[256];
	size_t len; /* established: private data of the peer */
	uint8_t data[EASY_HELLO_SIZE];
	struct easy_request *requests; /* of a listener, the oldest first */
	int bell;                      /* an eventfd that is rung after an event; -1: none */
};

/* Opens a context; the caller is its first user. Errors are those of the thread, as
 * easy_error_set(NULL, ...) sets them. */
int easy_hub_open(const char *socket, struct easy_hub **ret);
struct easy_hub *easy_hub_use(struct easy_hub *hub);

/* Ends a use. Returns true for the last one: the caller removes the memory, then destroys the hub.
 */
bool easy_hub_leave(struct easy_hub *hub);
void easy_hub_destroy(struct easy_hub *hub);

/* After the end of the daemon: goes on with the next one, by ddp_reopen(), when there is one before
 * the deadline. Requests of the listener end, if it is one, are dropped. Returns 0, also if the
 * daemon has not ended; or the error of ddp_reopen(), with its reason. */
int easy_hub_reopen(struct easy_hub *hub, struct easy_end *end, uint64_t deadline);

/* Waits until holds(end), which is called under the lock. Returns 0, -ETIMEDOUT, or the error of
 * the context; none of them sets a sentence. */
int easy_hub_wait(struct easy_hub *hub, const struct easy_end *end,
		  bool (*holds)(const struct easy_end *end), uint64_t deadline);

/* Takes the oldest request of a listener, whose id then belongs to the end `to`. False if there is
 * no request. */
bool easy_hub_take_request(struct easy_hub *hub, struct easy_end *listener, struct easy_end *to,
			   struct easy_request *ret);

/* Destroys the id of an end, whose queue pair is destroyed, and its requests. */
void easy_hub_drop(struct easy_hub *hub, struct easy_end *end);

#endif
