/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/base/path_select.h"

/* How well a path serves: by its state, then fewer errors (RFC 7829 4.2), then the primary one. */
static unsigned worth(const struct sctp_path *p)
{
	static const unsigned char of_state[] = {
		[SCTP_PATH_UNCONFIRMED] = 0,
		[SCTP_PATH_INACTIVE] = 1,
		[SCTP_PATH_FAILING] = 2,
		[SCTP_PATH_ACTIVE] = 3,
	};
	unsigned errors = p->errors < 255 ? p->errors : 255;

	return (unsigned)of_state[p->state] << 16 | (255 - errors) << 1 |
	       (p->index == p->assoc->paths.primary);
}

struct sctp_path *sctp_path_choose(struct sctp_assoc *a)
{
	struct sctp_path *found = sctp_primary(a);

	for (unsigned i = 0; i < a->paths.n && found->state != SCTP_PATH_ACTIVE; i++)
		if (worth(&a->paths.at[i]) > worth(found))
			found = &a->paths.at[i];
	return found;
}

struct sctp_path *sctp_assoc_find_path(struct sctp_assoc *a, const struct sctp_addr *peer)
{
	for (unsigned i = 0; i < a->paths.n; i++)
		if (sctp_addr_equal(&a->paths.at[i].flow.peer, peer))
			return &a->paths.at[i];
	return NULL;
}
