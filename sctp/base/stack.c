/* SPDX-License-Identifier: BSD-2-Clause */
/* What the stack lends to its parts: memory, chance, ports, and what peers may ask for. */
#include "sctp/base/assoc.h"

enum { FEW = 16 }; /* of max_assocs: what a network may have when more than half are in use */

void *sctp_alloc(struct sctp *s, size_t len)
{
	void *p = s->cfg.mem.alloc(s->cfg.mem.user, len);

	if (p) {
		memset(p, 0, len);
		s->held += len;
	}
	return p;
}

void sctp_release(struct sctp *s, void *p, size_t len)
{
	if (!p)
		return;
	s->held -= len;
	s->cfg.mem.free(s->cfg.mem.user, p, len);
}

uint32_t sctp_random32(struct sctp *s)
{
	uint32_t v;

	s->cfg.random(s->cfg.random_user, &v, sizeof(v));
	return v;
}

/* ---- what peers may ask for ---- */

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

/* ---- ports ---- */

void sctp_assoc_use_port(struct sctp_assoc *a, uint16_t port)
{
	a->id.own_port = port;
	if (port >= SCTP_FIRST_PORT)
		a->s->port_uses[port - SCTP_FIRST_PORT]++;
}

void sctp_assoc_leave_port(struct sctp_assoc *a)
{
	if (a->id.own_port >= SCTP_FIRST_PORT)
		a->s->port_uses[a->id.own_port - SCTP_FIRST_PORT]--;
	a->id.own_port = 0;
}
