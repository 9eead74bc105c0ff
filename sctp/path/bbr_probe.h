/* SPDX-License-Identifier: BSD-2-Clause */
/* BBR: "ProbeBW". */
#ifndef SCTP_BBR_PROBE_H
#define SCTP_BBR_PROBE_H

#include "sctp/path/bbr.h"

/* StartProbeBW_DOWN(), and with it a cycle. */
void sctp_bbr_start_down(struct sctp_bbr *b, uint64_t now_us);
/* The next probe follows within a second. Call it after sctp_bbr_start_down(). */
void sctp_bbr_probe_soon(struct sctp_bbr *b);
/* StartProbeBW_REFILL(). */
void sctp_bbr_start_refill(struct sctp_bbr *b);
/* IsInflightTooHigh(). */
bool sctp_bbr_inflight_too_high(const struct sctp_cc *c, const struct sctp_sample *s);
/* HandleInflightTooHigh(). */
void sctp_bbr_lower_inflight(struct sctp_cc *c, const struct sctp_sample *s, uint64_t now_us);
/* UpdateProbeBWCyclePhase(). */
void sctp_bbr_cycle(struct sctp_cc *c, const struct sctp_bbr_ack *k);

#endif
