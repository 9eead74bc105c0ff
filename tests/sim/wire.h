/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of the messages on the wire, written from the RFCs and not from the code. wire.c:
 * sessions and numbers; segment.c: DDP messages.
 */
#ifndef TESTS_SIM_WIRE_H
#define TESTS_SIM_WIRE_H

#include "tests/sim/world.h"

#define BAD(f, ...) wire_bad(__LINE__, f, __VA_ARGS__)

__attribute__((format(printf, 3, 4), noreturn)) void wire_bad(int line, const struct flow *f,
							      const char *fmt, ...);

static inline struct world *wire_world(const struct flow *f)
{
	return f->sess->ep[0]->w;
}

static inline struct ep *wire_sender(const struct flow *f)
{
	return f->sess->ep[f->side];
}

/* The stream's other direction. */
struct flow *wire_opposite(const struct assoc_end *p, uint16_t sid);

/* A message with PPID 16 was sent. */
void wire_segment(struct assoc_end *p, struct flow *f, const uint8_t *m, uint32_t len);

/* The answer to the oldest atomic that has none is offered to the transport. */
void wire_atomic_offered(struct assoc_end *p, struct flow *f, uint64_t old);

#endif
