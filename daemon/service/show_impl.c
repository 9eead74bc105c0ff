/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/service/show_impl.h"

#include <stdio.h>
#include <string.h>

#include "daemon/objects/client/client.h"

enum { BATCH = CLIENT_REPLIES_MAX / 2 /* records that wait before the next one is made */ };

void show_string(char *ret, size_t len, const char *s)
{
	snprintf(ret, len, "%s", s);
}

void show_send(struct show *s)
{
	outq_send(&s->to->io.replies, &s->rec, CTL_HEAD + s->rec.len, NULL, 0);
	s->end.records++;
	memset(&s->rec.status, 0, s->rec.len);
}

bool show_full(const struct show *s)
{
	return s->to->io.replies.count >= BATCH;
}

uint32_t show_number(uint32_t handle)
{
	return handle & 0xffff;
}

bool show_may_see(const struct show *s, const struct client *owner)
{
	return s->to_admin || s->to->uid == owner->uid;
}
