/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moderation of wake-ups, as network devices moderate interrupts. A pacer spreads packets, so that
 * each would wake the loop: while packets from far away follow each other closely, the loop sleeps
 * for a small part of their round trip without looking at the network's sockets, and then reads
 * what has arrived. A pause lasts until the transport's next timer, if that is not much later: a
 * batch leaves then, and the turn that sends it reads. Clients still wake it. There are no pauses
 * within a second after a packet from near. Knows numbers only.
 */
#ifndef DAEMON_BASE_MODERATION_H
#define DAEMON_BASE_MODERATION_H

#include <stdbool.h>
#include <stdint.h>

/* All zero at first. */
struct moderation {
	uint32_t patience_us; /* after the last packets; 0: it may not pause */
	uint64_t far_us;      /* when packets from far away were read last ... */
	uint64_t near_us;     /* ... and others */
	uint64_t until_us;    /* end of the last pause; 0: no packet arrived in it */
	bool close;           /* packets from far away follow each other closely */
	bool paused;
};

/* A turn has read packets (any), after which others may wait so long; 0: not at all. */
void moderation_note(struct moderation *m, bool any, uint32_t patience_us, uint64_t now_us);
/* The turn had other work: the loop looks at everything. */
void moderation_skip(struct moderation *m);

/* The loop is about to block; next_us: when the transport's next timer is due. True if a pause
 * begins: the caller does not look at the sockets. */
bool moderation_begin(struct moderation *m, uint64_t next_us, uint64_t now_us);
/* The loop runs again. */
void moderation_end(struct moderation *m);

/* When the pause ends, or UINT64_MAX. */
uint64_t moderation_expiry_us(const struct moderation *m);

#endif
