/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/own_memory/adopted_ranges.h"

#include <errno.h>

enum { GENERATIONS = 65535 /* that a file has room for */ };

void adopted_ranges_deinit(struct adopted_ranges *p)
{
	page_refs_deinit(&p->refs);
	page_refs_deinit(&p->kept);
	p->unsure = false;
}

void adopted_ranges_keep(struct adopted_ranges *p, uint64_t start, uint64_t end)
{
	uint64_t from, to;

	/* A region that is registered again and again is counted once. */
	if (page_refs_unused(&p->kept, start, end, &from, &to) &&
	    page_refs_add(&p->kept, start, end))
		p->unsure = true;
}

void adopted_ranges_learn(struct adopted_ranges *p, const struct area_list *ours)
{
	page_refs_deinit(&p->kept);
	p->unsure = false;
	for (size_t i = 0; i < ours->count; i++) {
		const struct maps_area *a = &ours->at[i];
		uint64_t start = a->offset, end = start + (a->end - a->start), from, to;

		for (; page_refs_unused(&p->refs, start, end, &from, &to); start = to)
			adopted_ranges_keep(p, from, to);
	}
}

/* ---- without the whole memory map ---- */

/* Whether the last pages before `at` that may be adopted are still where they were. If the program
 * has moved them, they may have grown at their new address, and cover the offsets after theirs. */
static bool rests_before(const struct adopted_ranges *p, const struct sparse *file, uint64_t at)
{
	uint64_t before = page_refs_before(&p->refs, at), kept = page_refs_before(&p->kept, at);
	struct mapped_areas m;
	bool rests;

	if (kept > before)
		before = kept;
	if (before == 0)
		return true;
	rests = mapped_areas_near(file, (uintptr_t)before - 1, (uintptr_t)before, 0, &m) == 0 &&
		m.ours.count == 1 && m.ours.at->offset == m.ours.at->start;
	mapped_areas_free(&m);
	return rests;
}

/* Whether the pages of the range have, or may get, a shift of 0 for certain. */
static bool is_simple(const struct adopted_ranges *p, const struct sparse *file,
		      const struct mapped_areas *m)
{
	if (p->unsure)
		return false;
	for (size_t i = 0; i < m->range.count; i++) {
		const struct maps_area *a = &m->range.at[i];

		if (mapped_area_is_ours(file, a)) {
			if (a->offset != a->start)
				return false;
			continue;
		}
		if (page_refs_any(&p->refs, a->start, a->end) ||
		    page_refs_any(&p->kept, a->start, a->end) || !rests_before(p, file, a->start))
			return false;
	}
	return true;
}

/* ---- with the whole memory map ---- */

/* Whether [start, end) of the file is unused: no region uses it, and no area maps it. */
static bool is_free(const struct adopted_ranges *p, const struct area_list *ours, uint64_t start,
		    uint64_t end)
{
	if (page_refs_any(&p->refs, start, end))
		return false;
	for (size_t i = 0; i < ours->count; i++) {
		const struct maps_area *a = &ours->at[i];

		if (a->offset < end && a->offset + (a->end - a->start) > start)
			return false;
	}
	return true;
}

/* Whether the pages that are not adopted yet may get this shift. */
static bool shift_fits(const struct adopted_ranges *p, const struct sparse *file,
		       const struct mapped_areas *m, uint64_t shift)
{
	for (size_t i = 0; i < m->range.count; i++) {
		const struct maps_area *a = &m->range.at[i];

		if (!mapped_area_is_ours(file, a) &&
		    !is_free(p, &m->ours, a->start + shift, a->end + shift))
			return false;
	}
	return true;
}

static int choose_free_shift(const struct adopted_ranges *p, const struct sparse *file,
			     const struct mapped_areas *m, uint64_t *ret_shift)
{
	bool found = false;
	uint64_t shift = 0;

	for (size_t i = 0; i < m->range.count; i++) {
		const struct maps_area *a = &m->range.at[i];

		if (!mapped_area_is_ours(file, a))
			continue;
		if (found && a->offset - a->start != shift)
			return -EOPNOTSUPP;
		found = true;
		shift = a->offset - a->start;
	}
	for (uint64_t g = 0; g < GENERATIONS && !found; g++) {
		shift = g << ADOPTED_RANGES_SHIFT;
		found = shift_fits(p, file, m, shift);
	}
	if (!found || !shift_fits(p, file, m, shift))
		return -EOPNOTSUPP;
	*ret_shift = shift;
	return 0;
}

int adopted_ranges_choose(struct adopted_ranges *p, const struct sparse *file, uintptr_t start,
			  uintptr_t end, struct mapped_areas *m, uint64_t *ret_shift)
{
	int r;

	if (!m->all && is_simple(p, file, m)) {
		*ret_shift = 0;
		return 0;
	}
	if (!m->all) {
		mapped_areas_free(m);
		r = mapped_areas_read(file, start, end, m);
		if (r == 0 && m->hole < end)
			r = -EFAULT; /* unmapped meanwhile */
		if (r)
			return r;
		adopted_ranges_learn(p, &m->ours);
	}
	return choose_free_shift(p, file, m, ret_shift);
}
