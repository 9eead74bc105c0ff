/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/base/admission.h"

enum { FEW = 16 }; /* 1/FEW of max_assocs is a network's limit while more than half are in use */

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

static uint16_t network(const struct sctp *s, const struct sctp_addr *peer)
{
	return (uint16_t)(sctp_budget_network(s->hash_key, peer, 0) % SCTP_NETWORKS);
}

bool sctp_may_accept(const struct sctp *s, const struct sctp_addr *peer)
{
	uint32_t all = s->cfg.max_assocs;

	return s->nassocs < all &&
	       (s->nassocs < (all + 1) / 2 || s->accepted[network(s, peer)] < all / FEW);
}

void sctp_count_accepted(struct sctp_assoc *a, const struct sctp_addr *peer)
{
	a->origin.accepted = true;
	a->origin.network = network(a->s, peer);
	a->s->accepted[a->origin.network]++;
}

void sctp_forget_accepted(struct sctp_assoc *a)
{
	if (a->origin.accepted)
		a->s->accepted[a->origin.network]--;
	a->origin.accepted = false;
}
