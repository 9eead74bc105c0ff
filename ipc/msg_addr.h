/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts addresses of records to and from those of sockets. Records are not trusted. */
#ifndef IPC_MSG_ADDR_H
#define IPC_MSG_ADDR_H

#include <sys/socket.h>

#include "ipc/msg.h"

/* Returns 0, or -EAFNOSUPPORT if the address is neither IPv4 nor IPv6. */
int msg_addr_put(struct msg_addr *ret, const struct sockaddr_storage *a);

/* The rest of *ret becomes 0. Returns 0; -EAFNOSUPPORT; or -EINVAL: bytes that an IPv4 address does
 * not use are not 0. */
int msg_addr_get(const struct msg_addr *m, struct sockaddr_storage *ret);

#endif
