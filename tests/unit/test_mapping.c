/* SPDX-License-Identifier: BSD-2-Clause */
/* Regions share mappings of a memfd only where both need the same of it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/base/event_loop.h"
#include "daemon/base/log.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/memory/mapping.h"
#include "daemon/objects/memory/unmapping.h"

enum {
	PAGE = 4096,
	UID = 1000,
	WITNESS = 1, /* maps for each memfd of a client */
};

static struct config_limits limits;
static struct daemon d;
static struct worker w;
static struct client one = {.daemon = &d, .worker = &w, .uid = UID};
static struct client other = {.daemon = &d, .worker = &w, .uid = UID};
static struct reply rep;

static void start(void)
{
	cr_assert_eq(acct_new(&limits, &d.acct), 0);
	log_limit_init(&w.client_log, &w.timers, "clients");
	list_init(&w.unmappings);
}

/* Every mapping must have been dropped. */
static void stop(void)
{
	unmapping_finish(&w);
	cr_expect_eq(acct_used(d.acct, UID, ACCT_MAPS), 0);
	cr_expect_null(one.regions.mappings);
	cr_expect_null(other.regions.mappings);
	acct_free(d.acct);
}

TestSuite(mapping, .init = start, .fini = stop);

static int memfd(uint64_t size)
{
	int fd = memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC);

	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, (off_t)size), 0);
	return fd;
}

static int read_only(int fd)
{
	char path[40];
	int ro;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ro = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert_geq(ro, 0);
	return ro;
}

static struct mapping *get(struct client *c, int fd, uint64_t offset, uint64_t len, bool write)
{
	struct mapping *m = NULL;

	cr_assert_eq(mapping_get(c, fd, offset, len, write, &m, &rep), 0);
	return m;
}

static uint64_t maps(void)
{
	return acct_used(d.acct, UID, ACCT_MAPS);
}

Test(mapping, ranges_of_a_memfd_share_one)
{
	int fd = memfd(10 * PAGE), copy = dup(fd);
	struct mapping *a = get(&one, fd, 1, 3, true), *b = get(&one, copy, 5 * PAGE, PAGE, true);

	cr_expect_eq(a, b);
	cr_expect_eq(maps(), 1 + WITNESS);
	mapping_at(b, 5 * PAGE)[0] = 'x';
	cr_expect_eq(pread(fd, mapping_at(a, 1), 1, 5 * PAGE), 1);
	cr_expect_eq(*mapping_at(b, 1), 'x');
	close(fd);
	close(copy);
	mapping_put(a);
	cr_expect_eq(maps(), 1 + WITNESS);
	cr_expect_eq(*mapping_at(b, 5 * PAGE), 'x');
	mapping_put(b);
	mapping_put(NULL);
}

Test(mapping, a_memfd_that_cannot_grow_needs_one)
{
	int fd = memfd(PAGE + 1), large = memfd(2 * (uint64_t)MAPPING_WINDOW);
	struct mapping *a, *b, *c, *d2;

	cr_assert_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
	cr_assert_eq(fcntl(large, F_ADD_SEALS, F_SEAL_GROW), 0);
	a = get(&one, fd, 0, 1, false);
	cr_expect_eq(maps(), 1);
	cr_expect_eq(mapping_share(a, true, &b, &rep), 0);
	cr_expect_eq(maps(), 2);
	*mapping_at(b, PAGE) = 'x';
	cr_expect_eq(*mapping_at(a, PAGE), 'x');
	c = get(&one, large, 0, PAGE, true);
	cr_expect_eq(maps(), 3 + WITNESS, "its end is not that of the memfd");
	d2 = get(&one, large, MAPPING_WINDOW, PAGE, true);
	cr_expect_eq(maps(), 4 + WITNESS);
	mapping_put(a);
	mapping_put(b);
	mapping_put(c);
	mapping_put(d2);
	close(fd);
	close(large);
}

Test(mapping, memfds_clients_windows_and_rights_have_their_own)
{
	const uint64_t window = MAPPING_WINDOW;
	int fd = memfd(3 * window), fd2 = memfd(PAGE), ro = read_only(fd);
	struct mapping *m[] = {
		get(&one, fd, 0, PAGE, true),       get(&one, fd, 0, PAGE, false),
		get(&one, ro, 0, PAGE, false),      get(&one, fd, window, PAGE, true),
		get(&one, fd, window - 1, 2, true), get(&one, fd2, 0, PAGE, true),
		get(&other, fd, 0, PAGE, true),
	};
	const unsigned n = sizeof(m) / sizeof(m[0]);

	cr_expect_eq(maps(), n + 3 * WITNESS);
	cr_expect_eq(m[0]->map.map_len, window);
	cr_expect_eq(m[3]->map.map_len, window);
	cr_expect_eq(m[4]->map.map_len, 2 * window);
	cr_expect_eq(m[5]->map.map_len, PAGE);
	for (unsigned i = 0; i < n; i++)
		mapping_put(m[i]);
	close(fd);
	close(fd2);
	close(ro);
}

Test(mapping, a_memfd_that_grew_is_mapped_again)
{
	int fd = memfd(PAGE);
	struct mapping *a = get(&one, fd, 0, PAGE, true), *b;

	cr_assert_eq(ftruncate(fd, 2 * PAGE), 0);
	b = get(&one, fd, PAGE, PAGE, true);
	cr_expect_neq(a, b);
	*mapping_at(b, 2 * PAGE - 1) = 'x';
	mapping_put(a);
	cr_expect_eq(*mapping_at(b, 2 * PAGE - 1), 'x');
	mapping_put(b);
	close(fd);
}

Test(mapping, a_range_beyond_the_end_is_refused_whatever_is_mapped)
{
	int fd = memfd(PAGE);
	struct mapping *a = get(&one, fd, 0, PAGE, true), *b;

	cr_expect_eq(mapping_get(&one, fd, PAGE - 1, 2, true, &b, &rep), -EINVAL);
	cr_expect_eq(maps(), 1 + WITNESS);
	mapping_put(a);
	close(fd);
}

Test(mapping, new_rights_need_a_mapping_for_writing)
{
	int fd = memfd(PAGE);
	struct mapping *a = get(&one, fd, 0, PAGE, false), *same, *b, *c;

	cr_assert_eq(mapping_share(a, false, &same, &rep), 0);
	cr_expect_eq(same, a);
	cr_assert_eq(mapping_share(a, true, &b, &rep), 0);
	cr_expect_neq(a, b);
	*mapping_at(b, 7) = 'x';
	cr_expect_eq(*mapping_at(a, 7), 'x');
	c = get(&one, fd, 0, PAGE, true);
	cr_expect_eq(b, c);
	cr_expect_eq(maps(), 2 + WITNESS);
	mapping_put(a);
	mapping_put(same);
	mapping_put(b);
	mapping_put(c);
	close(fd);
}

/* rows: 5041-8.3-04 */
Test(mapping, a_read_only_descriptor_gains_nothing_by_another_mapping)
{
	int fd = memfd(PAGE), ro = read_only(fd);
	struct mapping *a = get(&one, fd, 0, PAGE, true), *b = get(&one, ro, 0, PAGE, false), *c;

	cr_expect_eq(mapping_get(&one, ro, 0, PAGE, true, &c, &rep), -EPERM);
	cr_expect_eq(mapping_share(b, true, &c, &rep), -EACCES);
	cr_expect_eq(maps(), 2 + WITNESS);
	mapping_put(a);
	mapping_put(b);
	close(fd);
	close(ro);
}

Test(mapping, a_refused_charge_leaves_nothing)
{
	int fd = memfd(PAGE);
	struct mapping *a;

	acct_set_total(d.acct, ACCT_MAPS, 0);
	cr_expect_eq(mapping_get(&one, fd, 0, PAGE, true, &a, &rep), -EDQUOT);
	cr_expect_null(one.regions.mappings);
	close(fd);
}

/* ---- the end of large ones ---- */

static uint64_t passed_us;

/* Each piece takes 100 us. */
static uint64_t slow_clock(void *user)
{
	(void)user;
	return passed_us += 100;
}

/* To unmap what was touched takes long: nobody waits for all of it. */
Test(mapping, large_ones_are_unmapped_in_pieces_and_charged_until_then)
{
	static const struct event_loop_hooks hooks = {.clock_us = slow_clock};
	uint64_t least = UINT64_MAX;
	int fd = memfd(MAPPING_WINDOW);
	struct mapping *m = get(&one, fd, 0, MAPPING_WINDOW, true);

	cr_assert_eq(event_loop_new(&hooks, NULL, 0, &w.loop), 0);
	mapping_put(m);
	cr_expect_geq(w.unmapping_bytes, MAPPING_WINDOW);
	cr_expect_gt(acct_used(d.acct, UID, ACCT_MAPS), 0);
	while (unmapping_run(&w)) {
		cr_assert_lt(w.unmapping_bytes, least);
		cr_expect_geq(w.unmapping_bytes + MAPPING_WINDOW / 8,
			      least == UINT64_MAX ? 0 : least);
		least = w.unmapping_bytes;
	}
	cr_expect_eq(w.unmapping_bytes, 0);
	cr_expect_eq(acct_used(d.acct, UID, ACCT_MAPS), 0);
	w.loop = event_loop_free(w.loop);
	close(fd);
}

/* A program that registers and deregisters all day does not use up the addresses. */
Test(mapping, few_addresses_wait)
{
	const uint64_t large = (uint64_t)40 << 30;
	int fd = memfd(large);

	for (unsigned i = 0; i < 5; i++) {
		mapping_put(get(&one, fd, 0, large, true));
		cr_expect_leq(w.unmapping_bytes, (uint64_t)64 << 30);
	}
	cr_expect_gt(w.unmapping_bytes, 0);
	close(fd);
}
