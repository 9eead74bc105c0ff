/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/assoc/assoc_new.h"

#include <string.h>

#include "sctp/assoc/paths.h"
#include "sctp/assoc/shutdown.h"
#include "sctp/base/alloc.h"

uint32_t sctp_new_tag(struct sctp *s)
{
	uint32_t tag = sctp_random32(s);

	return tag ? tag : 1;
}

/* The network of the peer pays for data. False without memory. */
static bool open_account(struct sctp_assoc *a, const struct sctp_addr *peer)
{
	struct sctp *s = a->s;

	a->origin.account.pool = &s->pool;
	if (!s->cfg.networks)
		return true;
	a->origin.account.network = network_hold(s->cfg.networks, peer->ip);
	return a->origin.account.network != NULL;
}

struct sctp_assoc *sctp_assoc_new(struct sctp *s, const struct sctp_addr *peer, unsigned npaths)
{
	struct sctp_assoc *a;

	if (s->nassocs >= s->cfg.max_assocs || !(a = sctp_alloc(s, sizeof(*a))))
		return NULL;
	a->s = s;
	if (!open_account(a, peer) || !sctp_assoc_reserve(a, npaths ? npaths : 1)) {
		network_drop(a->origin.account.network);
		sctp_release(s, a, sizeof(*a));
		return NULL;
	}
	list_add_tail(&s->assocs, &a->all);
	list_init(&a->pending);
	sctp_events_init(&a->events);
	timer_init(&a->deadline.timer, s->expire);
	a->deadline.armed_us = SCTP_NEVER;
	sctp_shutdown_init(a);
	sctp_acks_init(&a->acks);
	a->write.retry_us = a->moved.us = a->stall.us = SCTP_NEVER;
	a->id.tie_own = sctp_new_tag(s);
	a->id.tie_peer = sctp_new_tag(s);
	sctp_tsn_map_init(&a->map, &a->origin.account, 0);
	sctp_rwnd_init(&a->acks.rwnd, &s->windows, a->origin.account.network);
	sctp_recv_init(&a->recv, &a->origin.account, a->acks.rwnd.size, 1);
	s->nassocs++;
	return a;
}

void sctp_assoc_own_addrs(struct sctp_assoc *a, const uint8_t *local, unsigned n)
{
	a->local.n = n < SCTP_MAX_LOCAL ? n : SCTP_MAX_LOCAL;
	memcpy(a->local.addr, local, a->local.n);
}

void sctp_assoc_start(struct sctp_assoc *a, uint32_t peer_tsn, uint32_t peer_rwnd)
{
	sctp_window_init(&a->window, peer_rwnd);
	sctp_rwnd_release(&a->acks.rwnd, &a->s->windows);
	sctp_acks_start(&a->acks, a->acks.rwnd.size);
	sctp_tsn_map_deinit(&a->map);
	sctp_recv_deinit(&a->recv);
	sctp_tsn_map_init(&a->map, &a->origin.account, peer_tsn);
	sctp_recv_init(&a->recv, &a->origin.account, a->acks.rwnd.size, a->agreed.in_streams);
}
