/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/service/show_impl.h"

#include <stdio.h>
#include <string.h>

#include "daemon/objects/client/client.h"
#include "daemon/service/show.h"

enum {
	BATCH = CLIENT_REPLIES_MAX / 2, /* records that wait before the next one is made */
	BUDGET = 256,                   /* objects of a turn, ... */
	RECORD = 8,                     /* ... of which one that is sent counts for so many */
};

void show_string(char *ret, size_t len, const char *s)
{
	snprintf(ret, len, "%s", s);
}

void show_send(struct show *s)
{
	outq_send(&s->to->io.replies, &s->rec, CTL_HEAD + s->rec.len, NULL, 0);
	s->end.records++;
	s->cost += RECORD;
	memset(&s->rec.status, 0, s->rec.len);
}

bool show_full(struct show *s)
{
	return s->to->io.replies.count >= BATCH || s->cost++ >= BUDGET;
}

bool show_is_due(const struct client *c)
{
	return c->show && c->io.replies.count < BATCH;
}

uint32_t show_number(uint32_t handle)
{
	return handle & 0xffff;
}

bool show_may_see(const struct show *s, const struct client *owner)
{
	return s->to_admin || s->to->uid == owner->uid;
}
