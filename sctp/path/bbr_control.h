/* SPDX-License-Identifier: BSD-2-Clause */
/* BBR: "Updating Control Parameters". */
#ifndef SCTP_BBR_CONTROL_H
#define SCTP_BBR_CONTROL_H

#include "sctp/path/bbr.h"

/* BDPMultiple(), Inflight() of bw; the gain in percent. */
uint32_t sctp_bbr_bdp(const struct sctp_bbr *b, uint64_t bw, unsigned gain);
uint32_t sctp_bbr_inflight(const struct sctp_cc *c, uint64_t bw, unsigned gain);
uint32_t sctp_bbr_headroom(const struct sctp_cc *c);       /* InflightWithHeadroom() */
uint32_t sctp_bbr_probe_rtt_cwnd(const struct sctp_cc *c); /* ProbeRTTCwnd() */
void sctp_bbr_set_pacing(struct sctp_bbr *b, unsigned gain);
void sctp_bbr_save_cwnd(struct sctp_cc *c);
void sctp_bbr_restore_cwnd(struct sctp_cc *c);
/* UpdateControlParameters(). */
void sctp_bbr_control(struct sctp_cc *c, uint32_t acked);

#endif
