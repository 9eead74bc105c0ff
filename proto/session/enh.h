/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Enhanced session establishment (RFC 6581 9): how two endpoints negotiate the depths of inbound
 * and outbound Reads (including atomics) and a ready-to-receive message. Pure functions of the
 * enhanced parameters in wire.h.
 *
 * Two depths are negotiated independently: the initiator's ORD with the responder's IRD, and the
 * initiator's IRD with the responder's ORD. WIRE_ENH_UNCHANGED in one of the initiator's fields
 * excludes its pair: the mirrored field of the answer is WIRE_ENH_UNCHANGED as well, and both ends
 * keep their depths. No result exceeds the limits of the endpoint, whatever the peer sends.
 */
#ifndef PROTO_ENH_H
#define PROTO_ENH_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/ddp/perr.h"
#include "proto/ddp/wire.h"

/* The terms of a session at one end. */
struct enh_terms {
	uint16_t ird;     /* outstanding Reads of the peer */
	uint16_t ord;     /* our outstanding Reads */
	uint8_t rtr;      /* initiator: the WIRE_RTR_ message to send first, or 0 */
	bool wait;        /* responder: do not send before the peer's first message */
	uint8_t wait_rtr; /* responder: the WIRE_RTR_ that it offered */
};

/*
 * The responder's side: computes the parameters of the answer to init, and our terms. have: the
 * limits of the endpoint; only ird and ord are read. want: ird and ord that the ULP wants, or
 * WIRE_ENH_UNCHANGED for the limits of the endpoint; the other fields are not read.
 *
 * The ORD of the answer never exceeds init->ird. It offers the ready-to-receive messages that init
 * names, without Read if our IRD is 0; if none is left, all that we support. Its IRD is at least 1
 * if it offers a Read.
 */
void enh_answer(const struct wire_enh *init, const struct enh_terms *have,
		const struct wire_enh *want, struct wire_enh *ret_reply,
		struct enh_terms *ret_terms);

/*
 * The parameters of a Reject by the ULP: the depths that it wants, which may exceed those of init,
 * and all ready-to-receive messages if init asks for one. A depth that init does not negotiate, or
 * that the ULP does not choose, is WIRE_ENH_UNCHANGED.
 */
void enh_reject(const struct wire_enh *init, const struct wire_enh *want,
		struct wire_enh *ret_reply);

/*
 * The initiator's side, after the Accept. init: the parameters that we sent. have: as above.
 * PERR_NONE with our terms: ORD is the one that we offered, at most the responder's IRD; IRD is the
 * one that we offered, at least the responder's ORD; both are the limits of the endpoint if we
 * offered WIRE_ENH_UNCHANGED. rtr is the first of Write, Read and Send that both sides named; a
 * Read only if the responder's IRD and our ORD allow one, and then ORD is at least 1.
 *
 * PERR_ENH_LOCAL if the responder chose another model (peer-to-peer or not) than we asked for;
 * PERR_ENH_IRD if its ORD exceeds our IRD limit; PERR_ENH_RTR if both sides name no common
 * ready-to-receive message. They are tested in this order.
 */
enum perr enh_settle(const struct wire_enh *init, const struct enh_terms *have,
		     const struct wire_enh *reply, struct enh_terms *ret_terms);

#endif
