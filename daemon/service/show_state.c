/* SPDX-License-Identifier: BSD-2-Clause */
/* Events that the journal keeps. */
#include "daemon/base/state.h"
#include "daemon/objects/client/client.h"
#include "daemon/service/show_impl.h"

bool show_events(struct show *s)
{
	const struct journal *j = &s->d->worker.journal;

	if (s->next < journal_oldest(j))
		s->next = journal_oldest(j);
	for (; s->next <= j->count; s->next++) {
		const struct ctl_event *ev = journal_get(j, s->next);

		if (show_full(s))
			return false;
		if (!ev)
			continue;
		if (!journal_may_see(ev, s->to_admin ? NULL : &s->to->uid)) {
			s->end.hidden++;
			continue;
		}
		s->rec.event = *ev;
		show_send(s);
	}
	return true;
}
