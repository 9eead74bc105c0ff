/* SPDX-License-Identifier: BSD-2-Clause */
/* A socket whose send buffer is full on command: replaces sendmsg() and sendmmsg() of the program.
 */
#ifndef TESTS_UNIT_FULL_SOCKET_H
#define TESTS_UNIT_FULL_SOCKET_H

extern int full_socket_fd;           /* the socket that is limited; -1: none */
extern unsigned full_socket_room;    /* messages that it takes before it is full */
extern unsigned full_socket_refused; /* calls that found it full */

#endif
