/* SPDX-License-Identifier: BSD-2-Clause */
/* Networks of peers. */
#include <stdio.h>

#include "daemon/base/state.h"
#include "daemon/net/peers.h"
#include "daemon/service/show_impl.h"
#include "util/addr.h"

static void put_peer(struct ctl_peer *r, const uint64_t used[NETWORK_KINDS],
		     const uint64_t max[NETWORK_KINDS], const uint64_t refused[NETWORK_KINDS])
{
	r->associations = used[NETWORK_ASSOCS];
	r->sessions = used[NETWORK_SESSIONS];
	r->requests = used[NETWORK_REQUESTS];
	r->early_bytes = used[NETWORK_EARLY];
	r->memory = used[NETWORK_MEMORY];
	r->max_associations = max[NETWORK_ASSOCS];
	r->max_sessions = max[NETWORK_SESSIONS];
	r->max_requests = max[NETWORK_REQUESTS];
	r->max_early_bytes = max[NETWORK_EARLY];
	r->max_memory = max[NETWORK_MEMORY];
	r->requests_per_s = max[NETWORK_RATE];
	r->refused_associations = refused[NETWORK_ASSOCS];
	r->refused_sessions = refused[NETWORK_SESSIONS];
	r->refused_requests = refused[NETWORK_REQUESTS];
	r->refused_rate = refused[NETWORK_RATE];
	r->refused_early = refused[NETWORK_EARLY];
	r->refused_memory = refused[NETWORK_MEMORY];
}

static void show_all_networks(struct show *s, const struct network_table *t)
{
	struct ctl_peer *r = &s->rec.peer;
	struct llp_stats st;

	llp_stats(s->d->worker.net, &st);
	r->kernel_dropped = st.kernel_dropped;
	show_string(r->network, sizeof(r->network), "all");
	put_peer(r, t->used, t->limits.all, t->refused);
	r->lost_datagrams = t->lost_datagrams;
	r->requests_per_s = 0;
	show_send(s);
}

static void show_network(struct show *s, const struct network *n)
{
	struct ctl_peer *r = &s->rec.peer;
	uint64_t max[NETWORK_KINDS];
	struct sockaddr_storage a;
	char addr[ADDR_TEXT_MAX];
	unsigned bits;

	for (unsigned kind = 0; kind < NETWORK_KINDS; kind++)
		max[kind] = network_limit(n, kind);
	peers_addr(n, &a, &bits);
	snprintf(r->network, sizeof(r->network), "%.50s/%u", addr_host_text(&a, addr), bits);
	put_peer(r, n->used, max, n->refused);
	r->lost_datagrams = n->lost_datagrams;
	show_send(s);
}

bool show_peers(struct show *s)
{
	const struct peers *p = s->d->worker.peers;
	const struct network *n;

	if (!p || !s->to_admin)
		return true;
	if (s->next == 0)
		show_all_networks(s, &p->table);
	s->next = 1;
	while (!show_full(s)) {
		n = network_table_next(&p->table, &s->outer);
		if (!n)
			return true;
		show_network(s, n);
	}
	return false;
}
