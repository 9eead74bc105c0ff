/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/base/admission.h"

#include "util/network.h"

bool sctp_may_work(struct sctp *s, enum sctp_work work, const struct sctp_addr *from)
{
	switch (sctp_budget_take(&s->budget, work, from, s->now)) {
	case SCTP_BUDGET_OK:
		s->st.admitted++;
		return true;
	case SCTP_BUDGET_ALL:
		s->st.over_budget++;
		break;
	case SCTP_BUDGET_SHARE:
		s->st.over_share++;
		break;
	}
	return false;
}

bool sctp_may_accept(const struct sctp *s, const struct sctp_addr *peer)
{
	return s->nassocs < s->cfg.max_assocs &&
	       (!s->cfg.networks || network_table_may(s->cfg.networks, peer->ip, NETWORK_ASSOCS));
}
