/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The raw peer one layer lower: its own SCTP over a UDP socket, for things that the project's
 * transport cannot do or show. It inspects every packet of the daemon, can withhold packets from
 * its SCTP so that nothing is acknowledged, and sends any adaptation indication or none. A case
 * uses either this or link.h, because a process has one SCTP.
 */
#ifndef TESTS_RAW_PACKET_H
#define TESTS_RAW_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/raw/raw.h"

/* Counters of the daemon's packets. */
struct packet_seen {
	unsigned packets, bad_crc;
	unsigned inits;  /* INIT and INIT ACK */
	uint32_t window; /* that they announce */
	uint16_t outbound, inbound;
	unsigned indications; /* parameters of type 0xc006 and length 8 in them */
	uint32_t indication;
	unsigned addresses; /* parameters that list one */
	unsigned unwanted;  /* parameters for unreliable, chunked or checksum-less data */
	unsigned elsewhere; /* indications in other chunks */
	unsigned data;      /* DATA chunks ... */
	unsigned fragments; /* ... without B and E, */
	unsigned ordered;   /* ... without U, */
	unsigned foreign;   /* ... with another PPID than 16 and 17 */
	unsigned aborts;
};
extern struct packet_seen packet_seen;

/* Opens the UDP socket; everything goes to that daemon. */
void packet_open(const char *daemon);

/* Begins an association, or waits for one, at the case's port. adaptation < 0: no indication. */
void packet_connect(int adaptation);
void packet_listen(int adaptation);

/* True while there is an association; true if there was one. */
bool packet_up(void);
bool packet_was_up(void);

/* Forgets the association and the counters. */
void packet_reset(void);

/* From now on packets are only inspected and kept; or passed on, kept ones first. */
void packet_hold(bool hold);

/* Sends as the next DDP-SSN of the stream. n more zero bytes follow, and it may be ordered. */
void packet_send(uint16_t sid, struct raw_msg m, uint32_t n, bool ordered);

/* True if a DATA chunk with this control code has been seen on the stream. */
bool packet_code_seen(uint16_t sid, uint16_t code);

/* The stream of the last Initiate that was seen; -1: none. */
int packet_initiate_seen(void);

/* One turn, also waiting for fd. */
void packet_turn(int fd);

#endif
