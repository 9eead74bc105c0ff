/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses in records, to and from those of sockets. Nothing of a record is believed. */
#ifndef IPC_MSG_ADDR_H
#define IPC_MSG_ADDR_H

#include <sys/socket.h>

#include "ipc/msg.h"

/* Returns 0, or -EAFNOSUPPORT for what is neither IPv4 nor IPv6. */
int msg_addr_put(struct msg_addr *ret, const struct sockaddr_storage *a);

/* Bytes behind the address become 0. Returns 0; -EAFNOSUPPORT; or -EINVAL: bytes that an IPv4
 * address has no use for are not 0. */
int msg_addr_get(const struct msg_addr *m, struct sockaddr_storage *ret);

#endif
