/* SPDX-License-Identifier: BSD-2-Clause */
/* BBR: "ProbeRTT". */
#ifndef SCTP_BBR_PROBE_RTT_H
#define SCTP_BBR_PROBE_RTT_H

#include "sctp/path/bbr.h"

/* CheckProbeRTT(). */
void sctp_bbr_check_probe_rtt(struct sctp_cc *c, const struct sctp_bbr_ack *k);
/* CheckProbeRTTDone(). */
void sctp_bbr_probe_rtt_done(struct sctp_cc *c, uint64_t now_us);

#endif
