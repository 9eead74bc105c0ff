/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/disallow.h"

#include <errno.h>

#include "daemon/net/association.h"
#include "daemon/net/peer_access.h"

/* In the direction in which the association was not opened. */
static bool refuses_sessions(const struct association *assoc, char ret_reason[PEER_ACCESS_REASON])
{
	enum peer_direction other = assoc->opener ? PEER_ACCEPT : PEER_CONNECT;

	if (assoc->state != ASSOCIATION_UP ||
	    !peer_access_refuses(assoc->worker, assoc->conn, other, ret_reason))
		return false;
	if (assoc->opener)
		return assoc_peer_sessions(assoc->ddp) > 0 || assoc_pending(assoc->ddp) > 0;
	return assoc_sessions(assoc->ddp) > assoc_peer_sessions(assoc->ddp) ||
	       !list_empty(&assoc->waiting);
}

void disallow_run(struct worker *w)
{
	char reason[PEER_ACCESS_REASON];
	struct association *assoc;
	uint32_t pos = 0;

	while ((assoc = idtab_next(&w->assocs, &pos))) {
		if (assoc->state == ASSOCIATION_DOWN || assoc->conn->llp != w->net)
			continue;
		if (peer_access_refuses_association(assoc, reason) ||
		    refuses_sessions(assoc, reason))
			association_abort(assoc, EACCES, reason);
	}
}
