/* SPDX-License-Identifier: BSD-2-Clause */
/* Which congestion control a path gets: that of the longest prefix that holds the peer's address.
 */
#ifndef SCTP_CC_RULE_H
#define SCTP_CC_RULE_H

#include "sctp/sctp.h"

/* The algorithm of the rules for this address, or cfg->cc if no prefix holds it. Of two rules with
 * the same prefix the first one counts. */
enum sctp_cc_algo sctp_cc_rule_find(const struct sctp_config *cfg, const struct sctp_addr *peer);

#endif
