/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The global routing header that precedes a datagram in the memory of its receive (IBTA 8.3): an
 * IPv6 header whose addresses are those of both ends; IPv4 addresses are mapped, ::ffff:a.b.c.d.
 */
#ifndef DAEMON_OBJECTS_GRH_H
#define DAEMON_OBJECTS_GRH_H

#include <stdint.h>

#include "ipc/wqe.h"

struct msg_addr;

/* len: bytes of the datagram. */
void grh_put(uint8_t ret[WQE_GRH], const struct msg_addr *from, const struct msg_addr *to,
	     uint32_t len);

#endif
