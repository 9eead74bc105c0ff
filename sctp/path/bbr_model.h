/* SPDX-License-Identifier: BSD-2-Clause */
/* BBR: "Updating Network Path Model Parameters". */
#ifndef SCTP_BBR_MODEL_H
#define SCTP_BBR_MODEL_H

#include "sctp/path/bbr.h"

/* ResetCongestionSignals(): those of the latest round. */
void sctp_bbr_reset_signals(struct sctp_bbr *b);
/* ResetShortTermModel(): no bounds because of losses. */
void sctp_bbr_reset_shortterm(struct sctp_bbr *b);
/* ResetFullBW(): looks for a plateau again, from this rate. */
void sctp_bbr_reset_full_bw(struct sctp_bbr *b, uint64_t full_bw);
/* BBR.max_bw; 0: there was no sample. */
uint64_t sctp_bbr_max_bw(const struct sctp_bbr *b);
/* The cycle is over. Without a sample in it the window stays. */
void sctp_bbr_next_cycle(struct sctp_bbr *b);
/* StartRound(): the round ends when a chunk is acknowledged that is sent from here on. */
void sctp_bbr_start_round(struct sctp_bbr *b);
/* More than LossThresh of the bytes sent are lost, and not just a few packets. */
bool sctp_bbr_exceeds_loss(const struct sctp_cc *c, uint64_t lost, uint64_t sent);
/* NoteLoss(): a chunk is lost. The first one begins a round with losses. */
void sctp_bbr_note_loss(struct sctp_bbr *b, uint32_t bytes);
/* The parts of UpdateModelAndState() before and after the states. */
void sctp_bbr_learn(struct sctp_cc *c, const struct sctp_bbr_ack *k);
void sctp_bbr_learn_rtt(struct sctp_bbr *b, const struct sctp_bbr_ack *k);
void sctp_bbr_conclude(struct sctp_bbr *b, const struct sctp_bbr_ack *k);

#endif
