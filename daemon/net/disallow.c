/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/disallow.h"

#include <errno.h>

#include "daemon/net/association.h"
#include "daemon/net/peer_access.h"

/* Of an association that is up, a direction of its sessions. */
struct judged {
	bool theirs, refused;
	char reason[PEER_ACCESS_REASON];
};

static void judge_direction(const struct association *assoc, bool theirs, struct judged *ret)
{
	ret->theirs = theirs;
	ret->refused = peer_access_refuses(assoc->worker, assoc->conn,
					   theirs ? PEER_ACCEPT : PEER_CONNECT, ret->reason);
}

/* Or requests for them. */
static bool has_sessions(const struct association *assoc, bool theirs)
{
	uint16_t of_peer = assoc_peer_sessions(assoc->ddp);

	if (theirs)
		return of_peer > 0 || !list_empty(&assoc->unclaimed);
	return assoc_sessions(assoc->ddp) > of_peer || !list_empty(&assoc->waiting) ||
	       !list_empty(&assoc->asking.refused);
}

/* It goes on for sessions of the other direction than that in which it was opened. */
static void disallow_sessions(struct association *assoc)
{
	struct judged opened, other;

	judge_direction(assoc, !assoc->opener, &opened);
	judge_direction(assoc, assoc->opener, &other);
	if (opened.refused && (other.refused || !has_sessions(assoc, other.theirs))) {
		association_abort(assoc, EACCES, opened.reason);
		return;
	}
	if (opened.refused)
		association_disallow(assoc, opened.theirs, opened.reason);
	if (other.refused && has_sessions(assoc, other.theirs))
		association_disallow(assoc, other.theirs, other.reason);
}

void disallow_run(struct worker *w)
{
	char reason[PEER_ACCESS_REASON];
	struct association *assoc;
	uint32_t pos = 0;

	while ((assoc = idtab_next(&w->assocs, &pos))) {
		if (assoc->state == ASSOCIATION_DOWN || assoc->conn->llp != w->net)
			continue;
		if (assoc->state == ASSOCIATION_UP)
			disallow_sessions(assoc);
		else if (peer_access_refuses_association(assoc, reason))
			association_abort(assoc, EACCES, reason);
	}
}
