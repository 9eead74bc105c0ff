/* SPDX-License-Identifier: BSD-2-Clause */
/* Socket addresses, IPv4 and IPv6. */
#ifndef VERBS_ADDR_H
#define VERBS_ADDR_H

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* IPv4 or IPv6. */
bool addr_is_ip(const struct sockaddr *a);

/* Bytes of the address of its family. */
socklen_t addr_len(const struct sockaddr *a);

/* A wildcard, or AF_UNSPEC. */
bool addr_is_any(const struct sockaddr_storage *a);

/* 127.0.0.0/8 or ::1. */
bool addr_is_loopback(const struct sockaddr_storage *a);

/* Of many hosts: multicast, or 255.255.255.255. */
bool addr_is_group(const struct sockaddr_storage *a);

/* A link-local IPv6 address without its link. */
bool addr_needs_scope(const struct sockaddr_storage *a);

/* 127.0.0.1 or ::1. */
void addr_set_loopback(struct sockaddr_storage *a, sa_family_t family);

/* Ports are in host byte order. */
uint16_t addr_port(const struct sockaddr_storage *a);
void addr_set_port(struct sockaddr_storage *a, uint16_t port);

/* Copies the bytes of its family; the rest of ret is 0. */
void addr_copy(struct sockaddr_storage *ret, const struct sockaddr *from);

/* The same family and address, whatever the ports; of the same link, if both name one. */
bool addr_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

/* The GID of an address, as RoCE v2 has it: ::ffff:a.b.c.d, or the IPv6 address. */
void addr_gid(const struct sockaddr_storage *a, union ibv_gid *ret);

/* The address of a GID, and whether it is one of IPv4. */
void addr_of_gid(const union ibv_gid *gid, uint16_t port, struct sockaddr_storage *ret);
bool addr_gid_is_ipv4(const union ibv_gid *gid);

#endif
