/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/base/alloc.h"

#include <string.h>

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
