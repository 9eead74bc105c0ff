/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that are made at once: answers to packets of unknown peers, and control packets of
 * associations. They wait in a ring until the next output. */
#ifndef SCTP_REPLY_H
#define SCTP_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/base/path.h"
#include "sctp/wire/chunk.h"

/* A packet that is sent with the next output, before all DATA: begin, put chunks, end. Without room
 * it is dropped, as if the network had lost it. */
struct sctp_writer sctp_reply_begin(struct sctp *s, const struct sctp_flow *to,
				    const struct sctp_head *head);
void sctp_reply_end(struct sctp *s, struct sctp_writer *w);
/* The same to a peer without association: these packets may fill half of the room. */
struct sctp_writer sctp_reply_to_unknown(struct sctp *s, const struct sctp_flow *to,
					 const struct sctp_head *head);
/* The oldest one, copied into the batch. */
bool sctp_reply_next(struct sctp *s, struct sctp_batch *ret);
/* A packet of an association to one of its paths, or to another one if that is not confirmed.
 * While a packet is processed, all of this goes into one packet, as far as it fits (12.4). */
struct sctp_writer sctp_reply_to(struct sctp_path *p);
/* The same, but to exactly this path, confirmed or not. */
struct sctp_writer sctp_reply_exactly_to(struct sctp_path *p);
/* Takes the answer to the present packet back, as far as it still can grow. */
void sctp_reply_withdraw(struct sctp *s);
/* A packet of its own: it replaces the answers to the present packet. */
struct sctp_writer sctp_reply_alone(struct sctp_path *p);
/* ABORT with one cause to the sender of a packet: its tag reflected, or the one given. */
void sctp_reply_abort(struct sctp *s, const struct sctp_flow *to, const struct sctp_head *got,
		      uint32_t tag, bool reflected, uint16_t cause, const void *value,
		      uint32_t len);

#endif
