/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The port and the private data of carriers of datagrams (sessions/carrier.h). A daemon believes a
 * carrier which queue pair sent a datagram, so no program may begin one, or wait for those of
 * others.
 */
#ifndef DAEMON_OBJECTS_RESERVED_H
#define DAEMON_OBJECTS_RESERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/base/reply.h"

struct daemon;

/* Private data of the Initiate of a carrier: its mark, and the version. */
enum { RESERVED_MARK = 7, RESERVED_HELLO = 8 };
extern const uint8_t reserved_hello[RESERVED_HELLO];

/* The port of all daemons for datagrams. */
bool reserved_port(const struct daemon *d, uint16_t port);

/* A connect of a program: not to that port; and not as a carrier to any other one, because the
 * administrator of the other host may have chosen it. 0 or a refusal. */
int reserved_check_connect(const struct daemon *d, const struct msg_connect *req,
			   struct reply *rep);

/* A program listens. 0 or a refusal. */
int reserved_check_listen(const struct daemon *d, const struct msg_listen *req, struct reply *rep);

#endif
