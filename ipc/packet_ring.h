/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets on their way from the daemon to `ddpctl capture`: a ring of bytes in a memfd, one writer
 * and one reader. Putting a packet never waits, allocates or calls the system. A packet that finds
 * no room is left out and counted. Neither side trusts the other: a reader that writes a wrong
 * position gets wrong bytes or none, and a reader notices a wrong record.
 */
#ifndef IPC_PACKET_RING_H
#define IPC_PACKET_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ipc/msg.h"
#include "util/span.h"

enum {
	PACKET_RING_MAX = 65536, /* bytes that are kept of a packet, at most */
	PACKET_RING_HEAD = 4096, /* bytes of the memfd before the packets */
};

/* The beginning of the memfd. Positions count bytes and never go back. */
struct packet_ring_page {
	_Atomic uint64_t head; /* the writer has written until here */
	_Atomic uint64_t lost; /* packets left out so far */
	uint8_t pad[48];
	_Atomic uint64_t tail; /* the reader has read until here */
};

/* Before the bytes of each packet. All records have a multiple of 8 bytes. */
struct packet_head {
	uint32_t kept;    /* bytes of the packet that follow */
	uint32_t len;     /* bytes that it had */
	uint64_t time_ns; /* since 1970 */
	uint64_t lost;    /* packets left out before it, since the beginning */
	uint32_t out;     /* 1: it was sent; 0: received */
	uint32_t pad;
	struct msg_addr local, remote; /* with UDP ports */
};

/* One end of a ring. */
struct packet_ring {
	struct packet_ring_page *page; /* NULL: none */
	uint8_t *data;
	uint64_t size; /* bytes for packets, a power of two */
	uint64_t at;   /* own position */
	uint64_t lost; /* left out so far: the writer's; the reader's, before its last packet */
};

/* Bytes of a memfd for so many bytes of packets. */
uint64_t packet_ring_bytes(uint64_t size);

/* One end of the ring in that memory, which has packet_ring_bytes(size) bytes and is zero. */
void packet_ring_init(struct packet_ring *r, void *memory, uint64_t size);

/* Adds a packet: at most `snap` bytes of the spans. kept, len and lost of *h are set here. False:
 * no room, it is left out. */
bool packet_ring_put(struct packet_ring *r, const struct packet_head *h, const struct span *part,
		     unsigned n, uint32_t snap);

/* Results of packet_ring_take(). */
enum { PACKET_RING_E_OK, PACKET_RING_E_EMPTY, PACKET_RING_E_WRONG };

/* The next packet, with its bytes in ret_data. WRONG: the writer broke the rules, and there are no
 * further packets. */
int packet_ring_take(struct packet_ring *r, struct packet_head *ret,
		     uint8_t ret_data[PACKET_RING_MAX]);

/* Packets left out so far, never fewer than a packet said. */
uint64_t packet_ring_lost(const struct packet_ring *r);

#endif
