/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The raw peer's side of associations with a daemon. It keeps a DDP-SSN counter for each stream and
 * direction, and can send with any number. It keeps received messages in order of DDP-SSN until a
 * case takes them, so that a gap or a repeated number is always detected.
 */
#ifndef TESTS_RAW_LINK_H
#define TESTS_RAW_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/raw/raw.h"

enum { LINK_STREAMS = 256 };

struct link;

/* An association with a port of a daemon. Waits until it is up, or fails the case. */
struct link *link_to(const char *addr, uint16_t port);

/* Takes associations at a port of ours; link_from() waits for the next one. */
void link_listen(uint16_t port);
struct link *link_from(void);

/* A message under the next DDP-SSN of the stream, or under a given one, which the counter does
 * not follow; or bytes as they are. */
void link_send(struct link *l, uint16_t sid, const struct raw_msg *m);
void link_send_as(struct link *l, uint16_t sid, uint16_t ssn, const struct raw_msg *m);
void link_send_bytes(struct link *l, uint16_t sid, uint32_t ppid, const void *p, uint32_t n);

/* The DDP-SSN of the next message, and a jump. */
uint16_t link_next(const struct link *l, uint16_t sid);
void link_skip(struct link *l, uint16_t sid, uint16_t n);

/* Waits for the next message of the stream and returns it. After a Terminate there must be no
 * segment. */
struct raw_msg link_take(struct link *l, uint16_t sid);

/* Waits for the next message and compares it, byte by byte, DDP-SSN included. */
void link_expect(struct link *l, uint16_t sid, const struct raw_msg *want, const char *what);

/* The stream of the first message that was not taken yet. Waits for one. */
uint16_t link_new_stream(struct link *l);

/* Number of messages of the stream that were not taken. */
unsigned link_waiting(const struct link *l, uint16_t sid);

/* A session begins on the stream: numbers start at 0 again. Nothing may be left of the last one;
 * if the daemon begins it, its Initiate is there already. */
void link_begin(struct link *l, uint16_t sid, bool by_peer);

/* Stops reading, so that the daemon cannot continue to send, or reads again. */
void link_pause(struct link *l, bool paused);

/* The daemon has acknowledged all that was sent so far. */
void link_wait_acked(struct link *l);

/* No stream has a message left. */
void link_nothing_left(const struct link *l);

/* Ends the association, in order or not. */
void link_shutdown(struct link *l);
void link_abort(struct link *l);

/* True if the association is gone. */
bool link_down(const struct link *l);
void link_close_all(void);

/* One turn of the transport. */
void link_turn(int fd);

/* What is left, for a case that fails. */
void link_dump(void);

#endif
