/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Private data of requests and replies. What two ends that are ddpverbs tell each other follows the
 * program's bytes, and the program never sees it. A peer that is not ddpverbs finds 12 bytes more
 * at the end of a request; replies to it have none.
 */
#ifndef VERBS_CM_PRIVATE_H
#define VERBS_CM_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CM_PRIVATE_MAX = 255, /* of a program: the length has 8 bits */
	CM_PRIVATE_TAIL = 12,
};

/* A reply has its own value, so that a peer which returns what it got announces nothing. */
enum cm_private { CM_PRIVATE_REQUEST = 1, CM_PRIVATE_REPLY = 2 };

struct cm_private_data {
	uint8_t bytes[CM_PRIVATE_MAX + CM_PRIVATE_TAIL];
	uint16_t len;
};

/* Copies len bytes of a program, at most CM_PRIVATE_MAX, and adds the tail. */
void cm_private_make(struct cm_private_data *ret, enum cm_private what, const void *data,
		     size_t len);

/* True if the data that came end with this tail; *len is without it then, else unchanged. */
bool cm_private_take(enum cm_private what, const void *data, size_t *len);

#endif
