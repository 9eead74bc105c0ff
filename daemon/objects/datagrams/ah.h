/* SPDX-License-Identifier: BSD-2-Clause */
/* An address handle: where the datagrams of a client go, and from which address. */
#ifndef DAEMON_OBJECTS_AH_H
#define DAEMON_OBJECTS_AH_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/base/reply.h"
#include "ipc/msg.h"

struct client;
struct pd;

/* A client may have 65535, so addresses are as short as in records. */
struct ah {
	struct client *client;
	struct pd *pd;
	uint32_t handle;
	struct msg_addr remote, local; /* without ports; local may be none if it is not here */
	bool here;                     /* remote is this daemon */
	struct acct_charge memory;
};

/* 0 or a refusal: the address is not one that this daemon reaches. */
int ah_create(struct client *c, const struct msg_create_ah *req, struct msg_handle *ret,
	      struct reply *rep);

/* Frees it. NULL is fine; returns NULL. */
struct ah *ah_free(struct ah *ah);

#endif
