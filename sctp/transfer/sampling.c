/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/transfer/sampling.h"

#include "sctp/assoc/path_model.h"
#include "sctp/base/path_select.h"
#include "sctp/path/cc_bbr.h"

void sctp_sampling_begin(struct sctp_path *p)
{
	sctp_path_model(p);
	sctp_cc_bbr_resume(&p->cc, p->assoc->s->now);
}

void sctp_sampling_sent(struct sctp_path *p, uint32_t before)
{
	struct sctp_delivery *d = sctp_cc_bbr_delivery(&p->cc);

	if (d)
		sctp_delivery_sent(d, before, p->flight.bytes, p->assoc->s->now);
}

void sctp_sampling_check(struct sctp_assoc *a)
{
	const struct sctp_path *p;
	struct sctp_delivery *d;

	if (sctp_flight_waits(&a->flight, &a->tx) || a->write.more)
		return;
	p = sctp_path_choose(a);
	d = sctp_cc_bbr_delivery(&p->cc);
	if (d && p->flight.bytes < p->cc.cwnd && sctp_pacer_ready(&p->pacer, a->s->now))
		sctp_delivery_limit(d, p->flight.bytes);
}

void sctp_sampling_lost(struct sctp_path *p, const struct sctp_tx *t, uint32_t tsn)
{
	const struct sctp_bbr_loss l = {
		.tsn = tsn, .bytes = sctp_tx_wire(t), .sent_us = t->sent_us};

	sctp_cc_bbr_lost(&p->cc, &l, p->assoc->s->now);
}

void sctp_sampling_acked(struct sctp_path *p, const struct sctp_sampling_acked *k)
{
	const struct sctp_bbr_delivered d = {
		.bytes = k->bytes,
		.flight = p->flight.bytes,
		.sent_us = k->sent_us,
		.rtt_us = k->rtt_us,
		.srtt_us = p->rto.srtt_us,
		.limited = k->limited,
	};

	sctp_cc_bbr_delivered(&p->cc, &d, p->assoc->s->now);
	if (p->flight.bytes == 0)
		sctp_path_rest_model(p);
}
