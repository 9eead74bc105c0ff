/* SPDX-License-Identifier: BSD-2-Clause */
/* A deadline of an association passes. */
#ifndef SCTP_EXPIRY_H
#define SCTP_EXPIRY_H

#include "util/timer.h"

/* The timer of an association fires; set in struct sctp, because associations are made below. */
void sctp_assoc_expire(struct timer *t);

#endif
