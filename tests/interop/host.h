/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program around one SCTP stack, for interop.py: it takes packets, time and commands from a
 * SOCK_SEQPACKET socket, its standard input, and gives packets and events back.
 *
 *   from interop.py                          to interop.py
 *     p N PACKET   the peer's UDP port N       p PACKET   of the stack
 *     w MS         time passes, no longer      e TEXT     an event: up, down, data LEN
 *                  than until a packet comes   d MS       all is done; the time that has passed
 *     c TEXT       what the user asks for
 *
 * The first byte is the letter; N is a byte, MS and TEXT are text. The user asks for: connect; send
 * NUMBER LENGTH; shutdown; abort.
 */
#ifndef TESTS_INTEROP_HOST_H
#define TESTS_INTEROP_HOST_H

#include <stddef.h>
#include <stdint.h>

enum {
	HOST_PORT = 5043,     /* SCTP port of the stack */
	HOST_PEER = 5555,     /* of the peer */
	HOST_UDP = 9899,      /* UDP port of the stack */
	HOST_PEER_UDP = 9898, /* of the peer for N = 0 */
	HOST_MOVED = 4000,    /* of the peer for N = 1 */
};

struct host_ops {
	void (*packet)(unsigned port, uint8_t *p, size_t n);
	/* Lets ms pass, or less if the stack sends something; returns how much. */
	unsigned (*wait)(unsigned ms);
	void (*connect)(void);
	void (*send)(unsigned n, unsigned len);
	void (*shutdown)(void);
	void (*abort)(void);
};

/* Serves until the socket is closed; the exit status of the program. */
int host_run(const struct host_ops *ops);

/* A packet of the stack. */
void host_put(const void *p, size_t n);
/* How many there were so far. */
unsigned host_packets(void);
/* len: of "data", 0 otherwise. */
void host_event(const char *what, size_t len);
/* Ends the program after a message. */
_Noreturn void host_die(const char *what);

#endif
