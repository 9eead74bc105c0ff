/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/assoc/paths.h"

#include <string.h>

#include "sctp/assoc/max_message.h"
#include "sctp/assoc/path_model.h"
#include "sctp/assoc/path_state.h"
#include "sctp/base/alloc.h"
#include "sctp/base/lookup.h"

bool sctp_assoc_reserve(struct sctp_assoc *a, unsigned n)
{
	struct sctp *s = a->s;
	struct sctp_path *path;

	if (n > SCTP_MAX_PATHS)
		n = SCTP_MAX_PATHS;
	if (n <= a->paths.allocated)
		return true;
	path = sctp_alloc(s, n * sizeof(*path));
	if (!path)
		return false;
	for (unsigned i = 0; i < a->paths.n; i++) {
		bool hashed = a->paths.at[i].hashed;

		sctp_lookup_del(&a->paths.at[i]);
		path[i] = a->paths.at[i];
		if (hashed)
			sctp_lookup_add(&path[i]);
	}
	sctp_release(s, a->paths.at, a->paths.allocated * sizeof(*path));
	a->paths.at = path;
	a->paths.allocated = n;
	return true;
}

static bool same_family(const struct sctp_assoc *a, uint8_t local, const struct sctp_addr *peer)
{
	return sctp_addr_is_v4(&a->s->cfg.local[local]) == sctp_addr_is_v4(peer);
}

/* Leading bits that two addresses share. */
static unsigned common_bits(const struct sctp_addr *x, const struct sctp_addr *y)
{
	for (unsigned i = 0; i < 128; i++)
		if ((x->ip[i / 8] ^ y->ip[i / 8]) & 0x80 >> i % 8)
			return i;
	return 128;
}

static unsigned users(const struct sctp_assoc *a, uint8_t local)
{
	unsigned n = 0;

	for (unsigned i = 0; i < a->paths.n; i++)
		n += a->paths.at[i].flow.local == local;
	return n;
}

/* Our address for a path to the peer's: the first path takes the first one of the family. The
 * others take the nearest one, and among equals one that no other path uses: paths shall have
 * little in common (6.4.1). */
static bool nearest_local(const struct sctp_assoc *a, const struct sctp_addr *peer, uint8_t *ret)
{
	unsigned most = 0;

	for (unsigned i = 0; i < a->local.n; i++) {
		uint8_t local = a->local.addr[i];
		unsigned worth = 1;

		if (!same_family(a, local, peer))
			continue;
		if (a->paths.n)
			worth += common_bits(&a->s->cfg.local[local], peer) * SCTP_MAX_PATHS +
				 SCTP_MAX_PATHS - users(a, local);
		if (worth > most) {
			most = worth;
			*ret = local;
		}
	}
	return most != 0;
}

struct sctp_path *sctp_assoc_add_path(struct sctp_assoc *a, const struct sctp_flow *flow,
				      uint32_t packet)
{
	struct sctp_path *p;
	struct sctp_flow f = *flow;

	if (a->paths.n == a->paths.allocated || !nearest_local(a, &f.peer, &f.local))
		return NULL;
	if (a->paths.n == 0 && sctp_assoc_has_local(a, flow->local) &&
	    same_family(a, flow->local, &f.peer))
		f.local = flow->local;
	p = &a->paths.at[a->paths.n];
	p->assoc = a;
	p->index = (uint8_t)a->paths.n++;
	p->flow = f;
	sctp_path_init(p, packet);
	sctp_lookup_add(p);
	sctp_assoc_measure(a);
	return p;
}

static bool is_listed(const struct sctp_path *p, const struct sctp_addr *peer, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (sctp_addr_equal(&p->flow.peer, &peer[i]))
			return true;
	return false;
}

void sctp_assoc_keep_paths(struct sctp_assoc *a, const struct sctp_addr *peer, unsigned n)
{
	unsigned kept = 0, primary = 0;

	for (unsigned i = 0; i < a->paths.n; i++)
		sctp_lookup_del(&a->paths.at[i]);
	for (unsigned i = 0; i < a->paths.n; i++) {
		if (!is_listed(&a->paths.at[i], peer, n)) {
			sctp_path_free_model(&a->paths.at[i]);
			continue;
		}
		if (i == a->paths.primary)
			primary = kept;
		a->paths.at[kept] = a->paths.at[i];
		a->paths.at[kept].index = (uint8_t)kept;
		kept++;
	}
	for (unsigned i = 0; i < kept; i++)
		sctp_lookup_add(&a->paths.at[i]);
	memset(a->paths.at + kept, 0, (a->paths.n - kept) * sizeof(a->paths.at[0]));
	a->paths.n = kept;
	a->paths.primary = (uint8_t)primary;
}

unsigned sctp_assoc_confirmed(const struct sctp_assoc *a)
{
	unsigned n = 0;

	for (unsigned i = 0; i < a->paths.n; i++)
		n += a->paths.at[i].state != SCTP_PATH_UNCONFIRMED;
	return n ? n : 1;
}

struct sctp_path *sctp_assoc_nth_path(struct sctp_assoc *a, unsigned n)
{
	n %= sctp_assoc_confirmed(a);
	for (unsigned i = 0; i < a->paths.n; i++) {
		struct sctp_path *p = &a->paths.at[(a->paths.primary + i) % a->paths.n];

		if (p->state != SCTP_PATH_UNCONFIRMED && n-- == 0)
			return p;
	}
	return sctp_primary(a);
}
