/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/assoc/pace.h"

bool sctp_path_distant(const struct sctp_path *p)
{
	return p->rto.srtt_us && p->rto.min_rtt_us >= SCTP_PACER_LEAST_RTT_US;
}

void sctp_path_pace(struct sctp_path *p)
{
	bool paced = sctp_path_distant(p);

	sctp_pacer_set_rate(&p->pacer, paced ? sctp_cc_pacing_rate(&p->cc, p->rto.srtt_us) : 0);
}

void sctp_path_burst(struct sctp_path *p)
{
	sctp_cc_burst(&p->cc, p->flight.bytes, p->pacer.rate ? 0 : SCTP_BURST);
}
