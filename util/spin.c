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
	*s = (struct spin){.max_us = max_us};
	for (unsigned i = 0; i < SPIN_PLACES; i++)
		s->gap_us[i] = max_us;
}

uint32_t spin_window(struct spin *s, uint64_t now_us)
{
	uint32_t window = s->max_us, gap = s->gap_us[s->place];

	if (now_us < s->off_until_us)
		return 0;
	if (gap > s->max_us) {
		if (++s->unpolled < PROBE)
			return 0;
		s->unpolled = 0;
		return window;
	}
	if (gap < window / MARGIN)
		window = gap * MARGIN;
	if (window < s->max_us / MARGIN)
		window = s->max_us / MARGIN;
	return window;
}

/* Short gaps count more: a poll in vain costs at most the budget, a wake-up costs the peer, too. */
void spin_gap(struct spin *s, uint64_t gap_us)
{
	uint32_t cap = 2 * s->max_us, *average = &s->gap_us[s->place];

	if (gap_us > s->max_us) {
		*average += (cap - *average + DECAY - 1) / DECAY;
		s->place = 0;
		return;
	}
	*average = (*average + (uint32_t)gap_us) / 2;
	s->place += s->place < SPIN_PLACES - 1;
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
