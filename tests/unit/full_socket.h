/* SPDX-License-Identifier: BSD-2-Clause */
/* A socket whose send buffer is full on command, and a network that loses packets: replaces
 * sendmsg() and sendmmsg() of the program. */
#ifndef TESTS_UNIT_FULL_SOCKET_H
#define TESTS_UNIT_FULL_SOCKET_H

#include <sys/socket.h>

extern int full_socket_fd;           /* the socket that is limited; -1: none */
extern unsigned full_socket_room;    /* messages that it takes before it is full */
extern unsigned full_socket_refused; /* calls that found it full */

extern const struct sockaddr_storage *full_socket_lost; /* packets to it vanish; NULL: none do */
extern unsigned full_socket_lose_each; /* one call in so many is in vain; 0: none is */
extern unsigned
	full_socket_longest; /* longer packets vanish, unless IP may fragment; 0: all pass */

#endif
