/* SPDX-License-Identifier: BSD-2-Clause */
/* The states of an association run: fsm.h. */
#ifndef SCTP_STATES_H
#define SCTP_STATES_H

#include "sctp/base/assoc.h"

/* Runs the state machine. */
void sctp_assoc_step(struct sctp_assoc *a, enum sctp_fsm_event ev);

#endif
