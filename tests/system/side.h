/* SPDX-License-Identifier: BSD-2-Clause */
/* Two programs with a queue pair of datagrams each, for tests/system/datagrams.c. */
#ifndef TESTS_SYSTEM_SIDE_H
#define TESTS_SYSTEM_SIDE_H

#include <netinet/in.h>

#include "tests/system/rig.h"

enum { SIDE_QKEY = 0x11223344, SIDE_SLOT = 8192, SIDE_AT = RIG_HALF, SIDE_SENDS = 64 };

/* One end, with a queue pair of datagrams. */
struct side {
	struct end e;
	struct sockaddr_in at;
	struct ddp_id *id; /* NULL: it has none */
	struct ddp_qp *qp;
	uint32_t num;
	struct ddp_ah *to; /* the daemon of the other side */
};

extern struct side a, b;

/* Attributes of a queue pair of datagrams. */
struct ddp_qp_init side_init(const struct side *s);

/* A client of the daemon at that socket, which has the address. */
void side_open(struct side *s, const char *name, const char *socket, const char *address);
void side_close(struct side *s);

/* An address handle for the other side. */
struct ddp_ah *side_handle(const struct side *s, const struct side *to);

void side_recv(struct side *s, size_t offset, uint32_t len);

/* A datagram to the number, at the daemon of the other side. */
struct ddp_send_wr side_to(const struct side *s, uint32_t num);

/* Sends bytes from the beginning of its memory, and takes the completion. */
void side_send(struct side *s, struct ddp_send_wr wr, uint32_t len);

/* The next completion, which is that of a datagram with these bytes. */
struct ddp_wc side_arrived(struct side *s, const struct side *from, uint32_t len);

/* ---- tests/system/datagrams_far.c ---- */

/* Promise: programs have no session with the port of datagrams, nor one as daemons have it with
 * any other, and do not listen there. */
void far_reserved(const char *port);

/* Waits for datagrams to the queue pair of side b, or with its number to another one. Prints both
 * numbers, and how many came. */
int far_hold(const char *socket, const char *address, bool take);

/* A queue pair leaves room for others: SOCKET ADDRESS ADDRESS-B NUMBER. Prints how many datagrams
 * wait. */
int far_share(char **argv);

/* Sends to a number: no Send fails, whatever happens to the other daemon. */
int far_send(char **argv);

#endif
