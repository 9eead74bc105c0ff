/* SPDX-License-Identifier: BSD-2-Clause */
/* What the stack lends to its parts: memory, chance, and a budget for unknown peers. */
#include "sctp/assoc.h"

enum { TOKEN = 1000000 }; /* a handshake costs this; handshakes_per_s come per microsecond */

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

uint32_t sctp_random32(struct sctp *s)
{
	uint32_t v;

	s->cfg.random(s->cfg.random_user, &v, sizeof(v));
	return v;
}

bool sctp_take_token(struct sctp *s)
{
	uint64_t most = (uint64_t)s->cfg.handshakes_per_s * SCTP_SAVE_US, have;

	have = (s->now - s->tokens_us) * s->cfg.handshakes_per_s + s->tokens;
	if (s->now - s->tokens_us > SCTP_SAVE_US || have > most)
		have = most;
	s->tokens_us = s->now;
	if (have < TOKEN) {
		s->tokens = (uint32_t)have;
		s->st.dropped_handshakes++;
		return false;
	}
	have -= TOKEN;
	s->tokens = have > UINT32_MAX ? UINT32_MAX : (uint32_t)have;
	return true;
}
