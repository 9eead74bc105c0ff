/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/service/watch.h"

#include "daemon/base/journal.h"
#include "daemon/objects/client/client.h"

enum { WATCH_MAX = CLIENT_REPLIES_MAX - 2 /* records that wait: a reply has room besides them */ };

static void seen(struct journal_watcher *watcher, const struct ctl_event *ev)
{
	struct client *c = list_entry(&watcher->link, struct client, watching.watcher.link);
	struct ctl_record rec = {
		.hdr = {MSG_CTL_RECORD, c->watching.seq},
		.object = CTL_EVENT,
		.len = sizeof(rec.event),
	};

	if (!journal_may_see(ev, client_is_admin(c) ? NULL : &c->uid))
		return;
	if (c->io.replies.count >= WATCH_MAX) {
		c->watching.lost++;
		return;
	}
	rec.event = *ev;
	rec.event.lost = c->watching.lost;
	c->watching.lost = 0;
	outq_send(&c->io.replies, &rec, CTL_HEAD + rec.len, NULL, 0);
}

void watch_begin(struct client *c, uint32_t seq)
{
	c->watching.seq = seq;
	c->watching.watcher.fn = seen;
	if (!list_linked(&c->watching.watcher.link))
		list_add_tail(&c->worker->journal.watchers, &c->watching.watcher.link);
}
