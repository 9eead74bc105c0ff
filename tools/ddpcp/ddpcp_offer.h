/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers the offers of a source of level 1. */
#ifndef TOOLS_DDPCP_OFFER_H
#define TOOLS_DDPCP_OFFER_H

#include "tools/ddpcp/ddpcp_sink.h"

/*
 * Executes an OFFER or DATA and answers it; other records are for ddpcp_sink_take(), which
 * describes the result. *x describes the received file of DATA, too, which has its name when
 * DDPCP_FLUSH was answered.
 */
int ddpcp_offer_take(struct ddpcp_sink *s, const struct ddpcp_rec *req, struct ddpcp_xfer *x);

#endif
