/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/moderation.h"

enum { NEAR_US = 1000000 /* so long more packets from near are expected */ };

void moderation_note(struct moderation *m, bool any, uint32_t patience_us, uint64_t now_us)
{
	m->patience_us = patience_us;
	if (!any) {
		if (now_us >= m->until_us)
			m->until_us = 0;
		return;
	}
	if (!patience_us) {
		m->near_us = now_us;
		return;
	}
	/* If some have arrived in a pause, the next one pays, too. */
	m->close = m->until_us > m->far_us || now_us - m->far_us < patience_us;
	m->far_us = now_us;
}

void moderation_skip(struct moderation *m)
{
	m->patience_us = 0;
}

bool moderation_begin(struct moderation *m)
{
	if (!m->patience_us || !m->close || m->far_us - m->near_us < NEAR_US)
		return false;
	m->until_us = m->far_us + m->patience_us;
	m->paused = true;
	return true;
}

bool moderation_end(struct moderation *m)
{
	bool paused = m->paused;

	m->paused = false;
	return paused;
}

uint64_t moderation_expiry_us(const struct moderation *m)
{
	return m->paused ? m->until_us : UINT64_MAX;
}
