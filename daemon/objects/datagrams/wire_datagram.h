/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A datagram as a message between daemons. In network byte order:
 *
 *   0  version, 1
 *   1  flags: 1 solicited, 2 immediate data; others are 0
 *   2  bytes of the datagram
 *   4  number of the queue pair that sent it
 *   8  number of the one that gets it
 *  12  Q_Key
 *  16  immediate data, or 0
 *  24  the datagram
 */
#ifndef DAEMON_OBJECTS_WIRE_DATAGRAM_H
#define DAEMON_OBJECTS_WIRE_DATAGRAM_H

#include <stdbool.h>
#include <stdint.h>

struct flight;

enum { WIRE_DATAGRAM_HEAD = 24 };

/* The header alone. */
void wire_datagram_put(uint8_t ret[WIRE_DATAGRAM_HEAD], const struct flight *f);

/* Bytes of the whole message that wire_datagram_put() has begun. */
uint32_t wire_datagram_len(const uint8_t head[WIRE_DATAGRAM_HEAD]);

/* All but the addresses; its bytes stay where they are. False: it is none. */
bool wire_datagram_get(uint8_t *p, uint32_t len, struct flight *ret);

#endif
