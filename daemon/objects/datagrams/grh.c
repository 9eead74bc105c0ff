/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/datagrams/grh.h"

#include <string.h>
#include <sys/socket.h>

#include "ipc/msg.h"

enum {
	VERSION = 0x60,
	NEXT_HEADER = 0x1b, /* the transport of InfiniBand */
	HOP_LIMIT = 255,
	AT_LENGTH = 4,
	AT_NEXT = 6,
	AT_HOPS = 7,
	AT_SOURCE = 8,
	AT_DESTINATION = 24,
	MAPPED = 12, /* bytes before a mapped address */
};

static void put_gid(uint8_t *at, const struct msg_addr *a)
{
	if (a->family == AF_INET6) {
		memcpy(at, a->bytes, sizeof(a->bytes));
		return;
	}
	at[MAPPED - 2] = at[MAPPED - 1] = 0xff;
	memcpy(at + MAPPED, a->bytes, sizeof(a->bytes) - MAPPED);
}

void grh_put(uint8_t ret[WQE_GRH], const struct msg_addr *from, const struct msg_addr *to,
	     uint32_t len)
{
	memset(ret, 0, WQE_GRH);
	ret[0] = VERSION;
	ret[AT_LENGTH] = (uint8_t)(len >> 8);
	ret[AT_LENGTH + 1] = (uint8_t)len;
	ret[AT_NEXT] = NEXT_HEADER;
	ret[AT_HOPS] = HOP_LIMIT;
	put_gid(ret + AT_SOURCE, from);
	put_gid(ret + AT_DESTINATION, to);
}
