/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/moderation.h"

enum { NEAR_US = 1000000 /* so long more packets from near are expected */ };

void moderation_note(struct moderation *m, bool any, uint32_t patience_us, uint64_t now_us)
{
	uint64_t gap_us = now_us - m->far_us;

	if (!any) {
		if (now_us >= m->until_us)
			m->until_us = 0;
		return;
	}
	m->patience_us = patience_us;
	if (!patience_us) {
		m->near_us = now_us;
		return;
	}
	/* If some have arrived in a pause, the next one pays, too. The peer's loop also pauses, so
	 * that its packets are at least that far apart. */
	m->close = m->until_us > m->far_us || gap_us < 2 * (uint64_t)patience_us;
	m->far_us = now_us;
}

void moderation_skip(struct moderation *m)
{
	m->patience_us = 0;
}

bool moderation_begin(struct moderation *m, uint64_t next_us, uint64_t now_us)
{
	uint64_t until_us = m->far_us + m->patience_us;

	if (!m->patience_us || !m->close || m->far_us - m->near_us < NEAR_US)
		return false;
	if (next_us > until_us && next_us - until_us <= m->patience_us)
		until_us = next_us;
	m->paused = until_us > now_us;
	if (m->paused)
		m->until_us = until_us;
	return m->paused;
}

void moderation_end(struct moderation *m)
{
	m->paused = false;
}

uint64_t moderation_expiry_us(const struct moderation *m)
{
	return m->paused ? m->until_us : UINT64_MAX;
}
