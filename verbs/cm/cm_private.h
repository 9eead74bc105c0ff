/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Private data of requests and replies. By 12 bytes after those of the program two ends that use
 * ddpverbs recognize each other; the programs do not see them. A peer without ddpverbs sees them in
 * a request; replies to it do not have them.
 */
#ifndef VERBS_CM_PRIVATE_H
#define VERBS_CM_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CM_PRIVATE_MAX = 255, /* of a program: the length has 8 bits */
	CM_PRIVATE_OWN = 8,   /* that this library may add to them */
	CM_PRIVATE_TAIL = 12,
};

/* Requests and replies have different values, so that a peer that returns the bytes of the request
 * is not mistaken for ddpverbs. */
enum cm_private {
	CM_PRIVATE_REQUEST = 1,
	CM_PRIVATE_REPLY = 2,
	CM_PRIVATE_DATAGRAM_REQUEST = 3, /* see cm_datagram.h */
	CM_PRIVATE_DATAGRAM_REPLY = 4,
};

struct cm_private_data {
	uint8_t bytes[CM_PRIVATE_MAX + CM_PRIVATE_OWN + CM_PRIVATE_TAIL];
	uint16_t len;
};

/* Copies len bytes, at most CM_PRIVATE_MAX and CM_PRIVATE_OWN, and adds the tail. */
void cm_private_make(struct cm_private_data *ret, enum cm_private what, const void *data,
		     size_t len);

/* Returns true if the received data ends with this tail, and subtracts the tail from *len. */
bool cm_private_take(enum cm_private what, const void *data, size_t *len);

#endif
