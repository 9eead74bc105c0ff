/* SPDX-License-Identifier: BSD-2-Clause */
/* Who has a UDP port, for the message that it is in use. */
#ifndef LLP_UDP_HOLDER_H
#define LLP_UDP_HOLDER_H

#include <stdint.h>
#include <sys/socket.h>

enum { UDP_HOLDER_MAX = 80 };

/* The end of a sentence: " by process 812 (socat) of uid 1000". Processes of others may be hidden:
 * " by a process of uid 1000". "": unknown. Reads /proc. Returns ret. */
const char *udp_holder_text(const struct sockaddr_storage *addr, uint16_t port,
			    char ret[UDP_HOLDER_MAX]);

#endif
