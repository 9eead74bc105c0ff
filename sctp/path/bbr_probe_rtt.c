/* SPDX-License-Identifier: BSD-2-Clause */
/* BBR: "ProbeRTT": a short flight every few seconds shows the round-trip time without a queue. */
#include "sctp/path/bbr_probe_rtt.h"

#include "sctp/path/bbr_control.h"
#include "sctp/path/bbr_model.h"
#include "sctp/path/bbr_probe.h"

enum { DURATION_US = 200000 };

/* ExitProbeRTT(). */
static void leave_state(struct sctp_bbr *b, uint64_t now_us)
{
	sctp_bbr_reset_shortterm(b);
	b->state = SCTP_BBR_STARTUP;
	if (!b->full_bw_reached)
		return;
	sctp_bbr_start_down(b, now_us);
	sctp_bbr_probe_soon(b);
	b->state = SCTP_BBR_CRUISE; /* the queue is empty */
}

void sctp_bbr_probe_rtt_done(struct sctp_cc *c, uint64_t now_us)
{
	struct sctp_bbr *b = c->bbr;

	if (!b->probe_rtt_done_us || now_us <= b->probe_rtt_done_us)
		return;
	b->probe_rtt_at_us = now_us;
	sctp_bbr_restore_cwnd(c);
	leave_state(b, now_us);
}

static void enter_state(struct sctp_cc *c)
{
	struct sctp_bbr *b = c->bbr;

	sctp_bbr_save_cwnd(c);
	b->state = SCTP_BBR_PROBE_RTT;
	b->probe_rtt_done_us = 0;
	b->acks = SCTP_BBR_ACKS_STOPPING;
	sctp_bbr_start_round(b);
}

/* HandleProbeRTT(). */
static void hold(struct sctp_cc *c, const struct sctp_bbr_ack *k)
{
	struct sctp_bbr *b = c->bbr;

	sctp_delivery_limit(&b->delivery, k->flight);
	if (b->probe_rtt_done_us) {
		b->probe_rtt_round_done |= b->round_start;
		if (b->probe_rtt_round_done)
			sctp_bbr_probe_rtt_done(c, k->now_us);
	} else if (k->flight <= sctp_bbr_probe_rtt_cwnd(c)) {
		b->probe_rtt_done_us = k->now_us + DURATION_US;
		b->probe_rtt_round_done = false;
		sctp_bbr_start_round(b);
	}
}

void sctp_bbr_check_probe_rtt(struct sctp_cc *c, const struct sctp_bbr_ack *k)
{
	struct sctp_bbr *b = c->bbr;

	if (b->state != SCTP_BBR_PROBE_RTT && b->probe_rtt_expired && !b->idle_restart)
		enter_state(c);
	if (b->state == SCTP_BBR_PROBE_RTT)
		hold(c, k);
	if (k->s.delivered)
		b->idle_restart = false;
}
