/* SPDX-License-Identifier: BSD-2-Clause */
/* IPv4 and IPv6 socket addresses: comparing and copying them, and as text. */
#ifndef UTIL_ADDR_H
#define UTIL_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { ADDR_TEXT_MAX = 80 };

/* True if family, address and scope are equal; the port is ignored. */
bool addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

/* Equal for addresses that addr_same_host() finds equal. */
uint32_t addr_hash_host(const struct sockaddr_storage *a);

/* True for no address, 0.0.0.0 and ::. */
bool addr_any(const struct sockaddr_storage *a);

/* False for 0.0.0.0 and ::, multicast and the broadcast address 255.255.255.255. */
bool addr_one_host(const struct sockaddr_storage *a);

/* True for 127.0.0.0/8 and ::1. */
bool addr_loopback(const struct sockaddr_storage *a);

/* The port in host byte order. AF_UNSPEC: as AF_INET. */
uint16_t addr_port(const struct sockaddr_storage *a);
void addr_set_port(struct sockaddr_storage *a, uint16_t port);

/* Size of the address for system calls. */
socklen_t addr_len(const struct sockaddr_storage *a);

/* Copies an address and zeroes the rest of *ret. Returns 0 or -EAFNOSUPPORT. */
int addr_copy(struct sockaddr_storage *ret, const struct sockaddr *a);

/* "192.0.2.1", "2001:db8::1", "fe80::1%2"; "any" for no address. Returns ret. */
const char *addr_host_text(const struct sockaddr_storage *a, char ret[ADDR_TEXT_MAX]);

/* "192.0.2.1:5043", "[2001:db8::1]:5043"; without a port if that is 0. Returns ret. */
const char *addr_text(const struct sockaddr_storage *a, char ret[ADDR_TEXT_MAX]);

#endif
