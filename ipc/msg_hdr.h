/* SPDX-License-Identifier: BSD-2-Clause */
/* With which each record begins (msg.h), and addresses in records. */
#ifndef IPC_MSG_HDR_H
#define IPC_MSG_HDR_H

#include <stdint.h>

struct msg_hdr {
	uint32_t op;
	uint32_t seq; /* chosen by the client, returned in the reply */
};

/* An IPv4 or IPv6 address and a port: msg_addr.h. All zero: none. */
struct msg_addr {
	uint16_t family;   /* AF_INET, AF_INET6 */
	uint16_t port;     /* host byte order */
	uint32_t scope;    /* IPv6: interface of an address that needs one */
	uint8_t bytes[16]; /* IPv4: the first 4, the others are 0 */
};

#endif
