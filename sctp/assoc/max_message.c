/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/assoc/max_message.h"

#include "sctp/assoc/notify.h"
#include "sctp/base/path.h"

void sctp_assoc_measure(struct sctp_assoc *a)
{
	uint32_t least = a->paths.at[a->paths.primary].pmtu.size, before = a->paths.max_message;

	for (unsigned i = 0; i < a->paths.n; i++) {
		const struct sctp_path *p = &a->paths.at[i];

		if (p->state == SCTP_PATH_ACTIVE && sctp_pmtu_known(&p->pmtu) &&
		    p->pmtu.size < least)
			least = p->pmtu.size;
	}
	a->paths.max_message = (least & ~3u) - SCTP_HEAD - SCTP_DATA_HEAD;
	if (a->paths.max_message != before && a->up && a->state != SCTP_CLOSED)
		sctp_assoc_note(a, SCTP_RESIZED);
}
