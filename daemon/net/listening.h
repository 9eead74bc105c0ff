/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The addresses that the daemon listens at: those that the keys `listen` and `loopback` mean on
 * this host now. Missing ones are waited for.
 */
#ifndef DAEMON_NET_LISTENING_H
#define DAEMON_NET_LISTENING_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/base/worker.h"

/* Gives the open transports their addresses and watches the sockets. 0, or -1 after one line of
 * log: an address of the host cannot be used. */
int listening_open(struct worker *w);

/* Stops following. A worker that does not listen is fine. */
void listening_close(struct worker *w);

/* Interfaces or addresses may have changed. */
void listening_update(struct worker *w);

/* The system does not report changes: looks for them every two seconds. */
void listening_poll(struct worker *w);

/* Those that `listen` means; `any` is a wildcard. Loopback is not among them unless it is named. */
void listening_named(const struct worker *w, struct own_addrs *ret);

/* Whether the address, without its port, is one of them. */
bool listening_has(const struct own_addrs *own, const struct sockaddr_storage *a);

/* The addresses as text: "192.0.2.1, 127.0.0.1, ::1". */
void listening_text(const struct worker *w, char *ret, size_t len);

/* The items that wait, and why: "eth9 (no such interface, and no host of this name)". "": none. */
const char *listening_waits(const struct worker *w);

#endif
