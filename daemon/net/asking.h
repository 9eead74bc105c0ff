/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Session requests on one association that the peer has not answered. Only so many are sent at
 * once, because a listener has room for a part of its backlog from one peer. A refusal does not say
 * whether room is missing or a listener. If other requests are unanswered then, it may be room: the
 * request waits until the peer's program has answered one of them, and fails if they are refused,
 * too.
 */
#ifndef DAEMON_NET_ASKING_H
#define DAEMON_NET_ASKING_H

#include <stdbool.h>
#include <stdint.h>

#include "util/list.h"

enum {
	ASKING_MOST = 128 /* two associations fit into the share of a peer of the default backlog */
};

struct asking {
	uint32_t unanswered;
	uint32_t most;       /* 1 .. ASKING_MOST: as many as the peer had room for */
	struct list refused; /* links of those that will be tried again */
};

/* None was sent. */
void asking_init(struct asking *a);

/* True if another request may be sent now. */
bool asking_has_room(const struct asking *a);

/* A request is sent. asking_end() or asking_refused() follows. */
void asking_begin(struct asking *a);

/* The peer's program answered a request: the refused ones come first in `waiting`. asking_end()
 * follows. */
void asking_answered(struct asking *a, struct list *waiting);

/* A request was answered, or given up. */
void asking_end(struct asking *a, struct list *waiting);

/* The peer refused a request. True: its link is in `refused`. False: it is final, for those in
 * `refused`, too. */
bool asking_refused(struct asking *a, struct list *waiter);

#endif
