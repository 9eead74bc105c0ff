/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/spin.h"

enum {
	PROBE = 16, /* one of so many gaps is polled although history advises against it */
	MARGIN = 4, /* a gap longer than this many averages is not a usual one */
	DECAY = 8,  /* weight of one long gap: 1 / DECAY; of a short one: 1 / 2 */
	OFF_MIN_US = 10000,
	OFF_MAX_US = 1000000,
};

void spin_init(struct spin *s, uint32_t max_us)
{
	*s = (struct spin){.max_us = max_us, .gap_us = max_us};
}

uint32_t spin_window(struct spin *s, uint64_t now_us)
{
	uint32_t window = s->max_us;

	if (now_us < s->off_until_us)
		return 0;
	if (s->gap_us > s->max_us) {
		if (++s->unpolled < PROBE)
			return 0;
	} else {
		if (s->gap_us < window / MARGIN)
			window = s->gap_us * MARGIN;
		if (window < s->max_us / MARGIN)
			window = s->max_us / MARGIN;
	}
	s->unpolled = 0;
	return window;
}

/* Short gaps count more: a poll in vain costs at most the budget, a wake-up costs the peer, too. */
void spin_gap(struct spin *s, uint64_t gap_us)
{
	uint32_t cap = 2 * s->max_us;

	if (gap_us <= s->max_us)
		s->gap_us = (s->gap_us + (uint32_t)gap_us) / 2;
	else
		s->gap_us += (cap - s->gap_us + DECAY - 1) / DECAY;
}

void spin_lost(struct spin *s, uint64_t now_us)
{
	if (now_us >= s->off_until_us + s->off_us)
		s->off_us = OFF_MIN_US;
	else if (s->off_us < OFF_MAX_US / 2)
		s->off_us *= 2;
	else
		s->off_us = OFF_MAX_US;
	s->off_until_us = now_us + s->off_us;
}
