/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/own_memory/own_memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client-lib/base/reason.h"
#include "client-lib/own_memory/adopt.h"
#include "client-lib/own_memory/adopted_ranges.h"
#include "client-lib/own_memory/fork_copy.h"
#include "client-lib/own_memory/mapped_areas.h"
#include "client-lib/own_memory/memfd_table.h"
#include "client-lib/own_memory/threads.h"
#include "ipc/rung.h"
#include "util/checked.h"

enum {
	GAP_PAGES = 16,
};

/* Of the process. */
static struct {
	pthread_mutex_t lock; /* guards the rest */
	struct sparse file;   /* fd -1: no page was adopted yet */
	struct adopted_ranges ranges;
	unsigned epoch; /* number of forks that led to this process */
	struct fork_copy copy;
} own = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = {.fd = -1}};

/* ---- fork ---- */

static void before_fork(void)
{
	pthread_mutex_lock(&own.lock);
	fork_copy_make(&own.file, &own.copy);
}

static void in_parent(void)
{
	fork_copy_free(&own.copy);
	pthread_mutex_unlock(&own.lock);
}

static void in_child(void)
{
	fork_copy_use(&own.file, &own.copy);
	adopted_ranges_deinit(&own.ranges);
	if (own.file.fd >= 0)
		sparse_close(&own.file);
	own.epoch++;
	pthread_mutex_unlock(&own.lock);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}

/* ---- checks of the range ---- */

/* A request, and the areas of its range. */
struct request {
	const char *call;
	uintptr_t start, end; /* whole pages */
	size_t head;          /* bytes of them before the range */
	bool write;
	bool alone;       /* no other thread accesses the pages */
	bool gaps, agent; /* see struct own_memory_how */
	struct mapped_areas mapped;
};

static int refuse_area(const struct request *q, const struct maps_area *area, int err,
		       const char *why)
{
	return reason_fail(err, "%s: the memory at 0x%lx %s", q->call, (unsigned long)area->start,
			   why);
}

static int check_areas(const struct request *q)
{
	if (q->mapped.hole < q->end)
		return reason_fail(-EFAULT, "%s: nothing is mapped at 0x%lx", q->call,
				   (unsigned long)q->mapped.hole);
	for (size_t i = 0; i < q->mapped.range.count; i++) {
		const struct maps_area *area = &q->mapped.range.at[i];

		if (area->kind == MAPS_KERNEL)
			return refuse_area(q, area, -EFAULT, "belongs to the kernel");
		if (!(area->prot & PROT_READ))
			return refuse_area(q, area, -EFAULT, "is not readable");
		if (q->write && !(area->prot & PROT_WRITE))
			return refuse_area(q, area, -EACCES, "is not writable");
	}
	return 0;
}

/* Whether the areas are consecutive parts of one file. */
static bool is_one_file(const struct area_list *range)
{
	const struct maps_area *a = range->at;

	for (size_t i = 0; i < range->count; i++)
		if (a[i].kind != MAPS_SHARED || a[i].ino != a->ino || a[i].dev != a->dev ||
		    a[i].offset - a->offset != a[i].start - a->start)
			return false;
	return true;
}

/* Why the area cannot be adopted, RUNG_REASON_. */
static int obstacle_of(const struct maps_area *area)
{
	switch (area->kind) {
	case MAPS_SYSV:
		return RUNG_REASON_SYSV;
	case MAPS_HUGE:
		return RUNG_REASON_HUGE;
	case MAPS_FILE:
		return RUNG_REASON_FILE;
	default:
		return RUNG_REASON_OTHERS;
	}
}

/* 0, RUNG_REASON_ why the memory cannot be adopted, or a negative failure. */
static int check_adoptable(const struct request *q)
{
	int obstacle = 0;

	for (size_t i = 0; i < q->mapped.range.count; i++) {
		const struct maps_area *area = &q->mapped.range.at[i];

		if (area->kind == MAPS_DEVICE)
			return refuse_area(q, area, -EOPNOTSUPP,
					   "belongs to a device, or to a ring of the kernel");
		if (area->kind == MAPS_ANON || mapped_area_is_ours(&own.file, area) ||
		    (area->kind == MAPS_FILE && q->alone) || obstacle)
			continue;
		obstacle = obstacle_of(area);
	}
	return obstacle;
}

/* ---- gaps ---- */

/* Whether the regions that stand alone, of which each takes two memory maps, have half of those
 * that the process may have. More would make other calls of the program fail. */
static bool is_crowded(void)
{
	static unsigned long most;

	if (most == 0)
		most = maps_max();
	return most && own.ranges.refs.count / 2 >= most / 4;
}

/* Widens the range to adopted pages on both sides that are at most `most` bytes away. */
static void reach(const struct area_list *ours, uintptr_t most, uintptr_t *start, uintptr_t *end)
{
	uintptr_t from = *start, to = *end;

	for (size_t i = 0; i < ours->count; i++) {
		const struct maps_area *a = &ours->at[i];

		if (a->end <= from && from - a->end <= most)
			*start = a->end;
		if (a->start >= to && a->start - to <= most && *end == to)
			*end = a->start;
	}
}

/* Whether all of it is adopted, or memory that may be. */
static bool is_plain(const struct request *q)
{
	for (size_t i = 0; i < q->mapped.range.count; i++) {
		const struct maps_area *area = &q->mapped.range.at[i];

		if (!mapped_area_is_ours(&own.file, area) &&
		    (area->kind != MAPS_ANON || area->prot != (PROT_READ | PROT_WRITE)))
			return false;
	}
	return q->mapped.hole == q->end && !threads_block_in(q->start, q->end);
}

/* Every second page of a large area would take two memory maps; with the pages between them it is
 * one map. They belong to the region, and become private again with it. */
static void fill_gaps(struct request *q, uintptr_t page)
{
	struct request wide = *q;

	reach(&q->mapped.ours, GAP_PAGES * page, &wide.start, &wide.end);
	if (wide.start == q->start && wide.end == q->end)
		return;
	wide.head += q->start - wide.start;
	if (mapped_areas_near(&own.file, wide.start, wide.end, 0, &wide.mapped) == 0 &&
	    is_plain(&wide)) {
		struct mapped_areas narrow = q->mapped;

		*q = wide;
		wide.mapped = narrow;
	}
	mapped_areas_free(&wide.mapped);
}

/* ---- adoption ---- */

/* Sets the reason. Each region whose neighbors are no region adds up to two memory maps. */
static int adopt_failed(const struct request *q, const struct maps_area *area, int r)
{
	char what[64];

	snprintf(what, sizeof(what), "the memory at 0x%lx cannot be adopted",
		 (unsigned long)area->start);
	/* Of the thread that moves the stack of this one. */
	return r == -EAGAIN ? reason_thread(r, q->call, what) : reason_errno(r, q->call, what);
}

/* 0, RUNG_REASON_THREADS, or a negative failure. */
static int adopt_missing(const struct request *q, uint64_t shift)
{
	struct adopt adopt;
	int r = adopt_begin(&own.file, true, q->alone, &adopt);

	if (r)
		return RUNG_REASON_THREADS;
	for (size_t i = 0; i < q->mapped.range.count && r == 0; i++) {
		const struct maps_area *a = &q->mapped.range.at[i];

		if (mapped_area_is_ours(&own.file, a))
			continue;
		/* A mapping of this range that was unmapped may have left pages. */
		sparse_punch(&own.file, a->start + shift, a->end + shift);
		r = adopt_area(&adopt, a, a->start + shift);
		if (r)
			adopt_failed(q, a, r);
	}
	adopt_end(&adopt);
	return r;
}

/* 0, RUNG_REASON_PARTS, or a negative failure. */
static int choose_shift(struct request *q, uint64_t *ret_shift)
{
	int r = adopted_ranges_choose(&own.ranges, &own.file, q->start, q->end, &q->mapped,
				      ret_shift);

	if (r == -EOPNOTSUPP)
		return RUNG_REASON_PARTS;
	return r ? reason_errno(r, q->call, "/proc/self/maps") : 0;
}

static int count_pages(const struct request *q, uint64_t shift, struct own_memory *m)
{
	int r = page_refs_add(&own.ranges.refs, q->start + shift, q->end + shift);

	if (r)
		return reason_fail(r, "%s: out of memory", q->call);
	m->fd = own.file.fd;
	m->start = q->start + shift;
	m->end = q->end + shift;
	m->offset = m->start + q->head;
	m->epoch = own.epoch;
	return 0;
}

static void give_back(uint64_t start, uint64_t end);

/* 0, RUNG_REASON_ why the memory cannot be adopted, or a negative failure. */
static int adopt(struct request *q, struct own_memory *m)
{
	uint64_t shift;
	int r;

	if (threads_block_in(q->start, q->end))
		return RUNG_REASON_BLOCK;
	r = own.file.fd < 0 ? sparse_open(&own.file) : 0;
	if (r)
		return reason_errno(r, q->call, "a memfd to move it to");
	r = choose_shift(q, &shift);
	if (r == 0)
		r = count_pages(q, shift, m);
	if (r)
		return r;
	m->rung = RUNG_ADOPT;
	m->reason = RUNG_REASON_PRIVATE;
	r = adopt_missing(q, shift);
	if (r) {
		page_refs_drop(&own.ranges.refs, m->start, m->end);
		give_back(m->start, m->end);
		*m = (struct own_memory){0};
	}
	return r;
}

/* The rung "shared": the range lies in a memfd already. 1 if it does not. */
static int share(const struct request *q, struct own_memory *m)
{
	const struct maps_area *first = q->mapped.range.at;

	if (!is_one_file(&q->mapped.range))
		return 1;
	m->rung = RUNG_SHARED;
	m->reason = RUNG_REASON_ADOPTED;
	if (mapped_area_is_ours(&own.file, first))
		return count_pages(q, first->offset - first->start, m);
	m->memfd = memfd_table_find(first->dev, first->ino);
	if (!m->memfd)
		return 1;
	m->reason = RUNG_REASON_KNOWN;
	m->fd = memfd_table_fd(m->memfd);
	m->offset = first->offset + q->head;
	return 0;
}

/* The rung "agent": the memory is left as it is. */
static int leave(const struct request *q, int obstacle, struct own_memory *m)
{
	if (!q->agent)
		return reason_fail(-EOPNOTSUPP, "%s: the memory cannot be adopted: %s", q->call,
				   rung_reason((uint32_t)obstacle));
	*m = (struct own_memory){
		.fd = -1,
		.rung = RUNG_AGENT,
		.reason = (uint32_t)obstacle,
	};
	return 0;
}

static int find_rung(struct request *q, uintptr_t page, struct own_memory *m)
{
	int r;

	q->gaps = q->gaps || is_crowded();
	r = mapped_areas_near(&own.file, q->start, q->end, q->gaps ? GAP_PAGES * page : 0,
			      &q->mapped);
	if (r)
		return reason_errno(r, q->call, "/proc/self/maps");
	r = check_areas(q);
	if (r == 0)
		r = share(q, m);
	if (r <= 0)
		return r;
	if (q->gaps)
		fill_gaps(q, page);
	r = check_adoptable(q);
	if (r == 0)
		r = adopt(q, m);
	return r > 0 ? leave(q, r, m) : r;
}

int own_memory_get(const char *call, const void *addr, size_t len, const struct own_memory_how *how,
		   struct own_memory *ret)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)addr;
	struct request q = {
		.call = call,
		.head = at % page,
		.write = how->write,
		.alone = how->quiet || threads_alone(),
		.gaps = how->gaps,
		.agent = how->agent,
	};
	struct own_memory m = {0};
	int r;

	if (len == 0)
		return reason_fail(-EINVAL, "%s: the length is 0", call);
	if (len > (1ULL << ADOPTED_RANGES_SHIFT) || at > (1ULL << ADOPTED_RANGES_SHIFT) - len)
		return reason_fail(-EFAULT, "%s: %zu bytes at %p are beyond the address space",
				   call, len, addr);
	q.start = (uintptr_t)(at - q.head);
	q.end = (uintptr_t)checked_round_up(at + len, page);
	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&own.lock);
	r = find_rung(&q, (uintptr_t)page, &m);
	mapped_areas_free(&q.mapped);
	pthread_mutex_unlock(&own.lock);
	if (r == 0)
		*ret = m;
	return r;
}

/* ---- giving back ---- */

/* Frees the pages of [start, end) that areas from index i on do not map. */
static void punch_unmapped(const struct area_list *ours, size_t i, uint64_t start, uint64_t end)
{
	for (; i < ours->count && start < end; i++) {
		uint64_t from = ours->at[i].offset;
		uint64_t to = from + (ours->at[i].end - ours->at[i].start);

		if (to <= start || from >= end)
			continue;
		if (from > start)
			punch_unmapped(ours, i + 1, start, from);
		start = to;
	}
	if (start < end)
		sparse_punch(&own.file, start, end);
}

/* The part of the area that maps [start, end) of the file; an empty one if there is none. */
static struct maps_area part_of(struct maps_area a, uint64_t start, uint64_t end)
{
	uint64_t a_end = a.offset + (a.end - a.start);

	if (a_end <= start || a.offset >= end)
		return (struct maps_area){0};
	if (a_end > end)
		a.end -= (uintptr_t)(a_end - end);
	if (a.offset < start) {
		a.start += (uintptr_t)(start - a.offset);
		a.offset = start;
	}
	return a;
}

static void return_area(const struct adopt *adopt, const struct maps_area *area)
{
	if (adopt_return(adopt, area))
		adopted_ranges_keep(&own.ranges, area->offset,
				    area->offset + (area->end - area->start));
}

/* Gives back pages that no region uses, wherever they are mapped. */
static void give_back_run(const struct adopt *adopt, const struct area_list *ours, uint64_t start,
			  uint64_t end)
{
	punch_unmapped(ours, 0, start, end);
	for (size_t i = 0; i < ours->count; i++) {
		struct maps_area part = part_of(ours->at[i], start, end);

		if (part.start < part.end)
			return_area(adopt, &part);
	}
}

/* The same if all of them are mapped at the address that their offset stands for, else false. */
static bool give_back_in_place(const struct adopt *adopt, uint64_t start, uint64_t end)
{
	const uint64_t shift = start >> ADOPTED_RANGES_SHIFT << ADOPTED_RANGES_SHIFT;
	const uintptr_t from = (uintptr_t)(start - shift), to = (uintptr_t)(end - shift);
	struct mapped_areas mapped;
	bool all = mapped_areas_near(&own.file, from, to, 0, &mapped) == 0 && mapped.hole == to;

	for (size_t i = 0; i < mapped.range.count && all; i++)
		all = mapped_area_is_ours(&own.file, &mapped.range.at[i]) &&
		      mapped.range.at[i].offset == mapped.range.at[i].start + shift;
	for (size_t i = 0; i < mapped.range.count && all; i++)
		return_area(adopt, &mapped.range.at[i]);
	mapped_areas_free(&mapped);
	return all;
}

/* The same after reading the whole memory map. */
static void give_back_anywhere(const struct adopt *adopt, uint64_t start, uint64_t end)
{
	struct mapped_areas mapped;

	if (mapped_areas_read(&own.file, 0, 0, &mapped) == 0) {
		adopted_ranges_learn(&own.ranges, &mapped.ours);
		give_back_run(adopt, &mapped.ours, start, end);
	} else {
		adopted_ranges_keep(&own.ranges, start, end);
	}
	mapped_areas_free(&mapped);
}

static void give_back(uint64_t start, uint64_t end)
{
	struct adopt adopt;
	uint64_t from, to;

	if (!page_refs_unused(&own.ranges.refs, start, end, &from, &to))
		return;
	if (adopt_begin(&own.file, false, threads_alone(), &adopt)) {
		adopted_ranges_keep(&own.ranges, start, end);
		return;
	}
	for (; page_refs_unused(&own.ranges.refs, start, end, &from, &to); start = to)
		if (!give_back_in_place(&adopt, from, to))
			give_back_anywhere(&adopt, from, to);
	adopt_end(&adopt);
}

void own_memory_put(struct own_memory *m, bool keep)
{
	pthread_mutex_lock(&own.lock);
	if (m->end && m->epoch == own.epoch) {
		page_refs_drop(&own.ranges.refs, m->start, m->end);
		if (keep)
			adopted_ranges_keep(&own.ranges, m->start, m->end);
		else
			give_back(m->start, m->end);
	}
	pthread_mutex_unlock(&own.lock);
	memfd_table_put(m->memfd);
	*m = (struct own_memory){0};
}
