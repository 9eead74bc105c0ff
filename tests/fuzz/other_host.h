/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The other host of the transport over udp_fake.c, as hostile as the input says: it sends packets
 * of any chunks, with or without an association, which either side may have begun.
 */
#ifndef TESTS_FUZZ_OTHER_HOST_H
#define TESTS_FUZZ_OTHER_HOST_H

#include <sys/socket.h>

#include "tests/fuzz/fuzz.h"

/* Begins with a new input. addr: the first of its own addresses; all are consecutive. turn: some
 * time passes, and what has arrived is read. */
void other_host_begin(struct input *in, const struct sockaddr_storage *addr,
		      void (*turn)(uint64_t ms));

/* Packets to and from the port of that address are records of dtls_fake.c. */
void other_host_cover(void);

/* Each reads its parameters from the input. */
void other_host_begin_at(uint16_t port); /* an association to this port of ours */
void other_host_begin_there(void);       /* to 5043 */
void other_host_answer(void);            /* to the last INIT of ours */
void other_host_packet(void);            /* of up to four chunks */
void other_host_bytes(void);             /* no packet of SCTP */
void other_host_icmp(void);              /* about a packet of ours */
void other_host_message(void);           /* a message of DDP, with the numbers that are due */
void other_host_ack(void);               /* of all that was received */
void other_host_network(void); /* another address of it, packets together, and our sockets */

#endif
