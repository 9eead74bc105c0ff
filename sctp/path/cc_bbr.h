/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BBR (draft-ietf-ccwg-bbr) behind the table of cc.h, and the events that it needs besides those of
 * cc.h: it models the path by the bytes that are delivered, so it has to hear of each batch, and of
 * each chunk that is lost. They have no effect with another algorithm.
 *
 * Differences to the draft:
 * - A record is of a batch, or of several (delivery.h).
 * - A round whose losses stay below LossThresh lowers no bound. 1 % of random loss would cost an
 *   eighth of the rate: each such round takes the loss, and the margin of pacing, from it.
 * - Five packets or a tenth of the flight, whichever is less, are never too much. One lost packet
 * is more than 2 % of a flight below 50, and would end each probe of a path that is found to be
 *   faster than it was thought.
 * - ProbeBW_UP ends after two rounds without growth and not three, if 1.25 BDP are in flight: the
 *   third one doubles the queue, which is then nearly a BDP. ProbeBW_DOWN ends after ten rounds.
 * - A round trip as short as the shortest one, but for a 64th, renews it. A flow that is alone sees
 * one after each probe, and has no need of ProbeRTT, which would take a fiftieth of its rate; one
 * that shares a queue sees none.
 * - Two flows that fill a queue share it as they found it: inflight_longterm of each is as large as
 * its flight was. So ProbeBW_UP raises it by a 32nd or 64 packets in the first round, and not by
 * one; and the probe after ProbeRTT, where the queue is empty, follows within a second. A second,
 * late flow has its share in half a minute instead of minutes.
 * - A bound because of losses admits a batch more. A batch leaves at once, so the flight exceeds
 * the BDP by one.
 * - State to be restored is saved when a recovery begins and not with each round that has losses: a
 *   recovery of several rounds would restore the state after its first one.
 */
#ifndef SCTP_CC_BBR_H
#define SCTP_CC_BBR_H

#include "sctp/path/bbr.h"

/* BBR was chosen, and has no model yet. */
bool sctp_cc_bbr_wanted(const struct sctp_cc *c);

/* Data is sent for the first time. b: memory for the model, of the caller; NULL: there is none, and
 * the path uses CUBIC. random: any number, others for other paths. */
void sctp_cc_bbr_begin(struct sctp_cc *c, struct sctp_bbr *b, uint32_t random, uint64_t now_us);

/* For sctp_delivery_give(), _take(), _sent() and _limit(); NULL: BBR does not run. */
static inline struct sctp_delivery *sctp_cc_bbr_delivery(const struct sctp_cc *c)
{
	return c->bbr ? &c->bbr->delivery : NULL;
}

/* Sending begins with an empty flight. Call it before sctp_cc_pacing_rate(). */
void sctp_cc_bbr_resume(struct sctp_cc *c, uint64_t now_us);

struct sctp_bbr_loss {
	uint32_t tsn, bytes;
	uint64_t sent_us; /* when it was sent last */
};
/* A chunk counts as lost. Call it after sctp_cc_lost() or sctp_cc_timed_out(). */
void sctp_cc_bbr_lost(struct sctp_cc *c, const struct sctp_bbr_loss *l, uint64_t now_us);

/* A SACK acknowledged chunks. */
struct sctp_bbr_delivered {
	uint32_t bytes;   /* newly acknowledged */
	uint32_t flight;  /* after the SACK, and after the losses that it showed */
	uint64_t sent_us; /* the last time at which one of these chunks was sent */
	uint32_t rtt_us;  /* of the newest one that was sent once, 0: none */
	uint32_t srtt_us; /* 0: unknown */
	bool limited;     /* as in struct sctp_cc_ack */
};
/* Call it last, after the losses of the same SACK. */
void sctp_cc_bbr_delivered(struct sctp_cc *c, const struct sctp_bbr_delivered *d, uint64_t now_us);

/* Recovery is over: all that was sent before it began is acknowledged. */
void sctp_cc_bbr_recovered(struct sctp_cc *c);

#endif
