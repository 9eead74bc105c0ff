/* SPDX-License-Identifier: BSD-2-Clause */
/* Socket addresses: comparing them, and as text. */
#ifndef DAEMON_ADDR_H
#define DAEMON_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { ADDR_TEXT_MAX = 80 };

/* Same family and address, whatever the port. */
bool addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

/* ... and the same port. */
bool addr_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

/* True for no address, 0.0.0.0 and ::. */
bool addr_any(const struct sockaddr_storage *a);

/* Host byte order. AF_UNSPEC: where AF_INET has it. */
uint16_t addr_port(const struct sockaddr_storage *a);

/* "192.0.2.1:5043", "[2001:db8::1]:5043"; without a port if that is 0. Returns ret. */
const char *addr_text(const struct sockaddr_storage *a, char ret[ADDR_TEXT_MAX]);

#endif
