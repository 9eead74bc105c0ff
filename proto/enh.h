/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Enhanced session establishment (RFC 6581 9): what two endpoints agree on when one of them
 * offers a depth of inbound and outbound Reads (atomics included), or asks for a
 * ready-to-receive message. Pure arithmetic on the words of wire.h.
 *
 * Two depths are negotiated independently: the initiator's ORD with the responder's IRD, and the
 * initiator's IRD with the responder's ORD. WIRE_ENH_UNCHANGED in one of the initiator's fields
 * takes its pair out: the mirrored field of the answer is WIRE_ENH_UNCHANGED as well and both ends
 * keep what they have. No result of this file is more than the endpoint was made for, whatever the
 * peer says.
 */
#ifndef PROTO_ENH_H
#define PROTO_ENH_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/perr.h"
#include "proto/wire.h"

/* What a session begins with at one end. */
struct enh_terms {
	uint16_t ird;     /* Reads of the peer that we hold */
	uint16_t ord;     /* Reads of ours outstanding */
	uint8_t rtr;      /* initiator: the WIRE_RTR_ message to send first, or 0 */
	bool wait;        /* responder: hold everything until the peer's first message has come */
	uint8_t wait_rtr; /* responder: set of WIRE_RTR_ that it offered */
};

/*
 * The responder's side: the words of the answer to init, and our terms. have: depths that the
 * endpoint was made for; its other fields are not looked at. want: ird and ord are wishes of the
 * ULP, or WIRE_ENH_UNCHANGED for "as much as there is"; its other fields are not looked at.
 *
 * The answer's ORD never passes init->ird. It offers the ready-to-receive messages that init
 * names, less a Read if we can hold none; if none is left, all that we can. Its IRD is at least 1
 * if it offers a Read.
 */
void enh_answer(const struct wire_enh *init, const struct enh_terms *have,
		const struct wire_enh *want, struct wire_enh *ret_reply,
		struct enh_terms *ret_terms);

/*
 * The words of a Reject that the ULP ordered: the depths that it would have wanted, which may pass
 * what init offers, and all ready-to-receive messages if init asks for one. A depth that init does
 * not negotiate, or for which the ULP has no wish, is WIRE_ENH_UNCHANGED.
 */
void enh_reject(const struct wire_enh *init, const struct wire_enh *want,
		struct wire_enh *ret_reply);

/*
 * The initiator's side, when the Accept has come. init: the words that we sent. have: as above.
 * PERR_NONE with our terms: ORD is what we offered, at most the responder's IRD; IRD is what
 * we offered, at least the responder's ORD; in both, what we have if we offered
 * WIRE_ENH_UNCHANGED. rtr is the first of Write, Read and Send that both sides named; a Read only
 * if the responder holds one and we were made to send one, and then ORD is at least 1.
 *
 * PERR_ENH_LOCAL if it answered another model than the one asked for; PERR_ENH_IRD if it
 * will have more Reads outstanding than we can hold; PERR_ENH_RTR if there is no ready-to-receive
 * message as above. They are tested in this order.
 */
enum perr enh_settle(const struct wire_enh *init, const struct enh_terms *have,
		     const struct wire_enh *reply, struct enh_terms *ret_terms);

#endif
