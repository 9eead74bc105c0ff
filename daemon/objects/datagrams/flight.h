/* SPDX-License-Identifier: BSD-2-Clause */
/* A datagram on its way: its bytes are still in the memory of its sender, or as they arrived. */
#ifndef DAEMON_OBJECTS_FLIGHT_H
#define DAEMON_OBJECTS_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/rdmap/sgl.h"

struct msg_addr;

struct flight {
	const struct msg_addr *from,
		*to; /* from: its family may be 0 when it goes to another daemon */
	uint32_t from_number, number;
	uint32_t qkey;
	bool solicited, immediate;
	uint64_t imm;
	struct span bytes[SGL_MAX];
	unsigned nbytes;
	uint32_t len;
};

#endif
