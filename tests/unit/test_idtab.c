/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include "util/idtab.h"

static struct idtab tab;
static int objs[70000];

static void teardown(void)
{
	idtab_deinit(&tab);
}

TestSuite(idtab, .fini = teardown);

static uint32_t add(int *obj)
{
	uint32_t id = 0;

	cr_assert_eq(idtab_add(&tab, obj, &id), 0);
	cr_assert_neq(id, 0, "id 0 is never given out");
	return id;
}

Test(idtab, empty_table_has_nothing)
{
	uint32_t pos = 0;

	idtab_init(&tab, 10);
	cr_expect_null(idtab_get(&tab, 0));
	cr_expect_null(idtab_get(&tab, 1));
	cr_expect_null(idtab_get(&tab, UINT32_MAX));
	cr_expect_null(idtab_del(&tab, 1));
	cr_expect_null(idtab_next(&tab, &pos));
	cr_expect_eq(tab.used, 0);
}

Test(idtab, objects_are_found_by_their_ids_across_growth)
{
	static uint32_t id[1000];

	idtab_init(&tab, 1000);
	for (unsigned i = 0; i < 1000; i++)
		id[i] = add(&objs[i]);
	cr_expect_eq(tab.used, 1000);
	for (unsigned i = 0; i < 1000; i++)
		cr_expect_eq(idtab_get(&tab, id[i]), &objs[i]);
}

Test(idtab, more_may_be_allowed_later_and_fewer_may_not)
{
	uint32_t id = 0;

	idtab_init(&tab, 2);
	add(&objs[0]);
	add(&objs[1]);
	cr_expect_eq(idtab_add(&tab, &objs[2], &id), IDTAB_E_FULL);
	idtab_allow(&tab, 1);
	cr_expect_eq(tab.max, 2);
	idtab_allow(&tab, 3);
	add(&objs[2]);
	cr_expect_eq(idtab_add(&tab, &objs[3], &id), IDTAB_E_FULL);
	idtab_allow(&tab, UINT32_MAX);
	cr_expect_eq(tab.max, 65535, "what ids have room for");
}

Test(idtab, table_takes_max_objects_and_not_one_more)
{
	static const uint32_t sizes[] = {0, 1, 15, 16, 17, 33};

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t id = 77;

		idtab_init(&tab, sizes[i]);
		for (uint32_t n = 0; n < sizes[i]; n++)
			add(&objs[n]);
		cr_expect_eq(idtab_add(&tab, &objs[0], &id), IDTAB_E_FULL);
		cr_expect_eq(id, 77, "a refused call leaves the output alone");
		idtab_deinit(&tab);
	}
}

Test(idtab, largest_table_has_65535_objects_whatever_is_asked_for)
{
	uint32_t id;

	idtab_init(&tab, UINT32_MAX);
	cr_expect_eq(tab.max, 65535);
	for (unsigned i = 0; i < 65535; i++)
		cr_assert_eq(idtab_get(&tab, add(&objs[i])), &objs[i]);
	cr_expect_eq(idtab_add(&tab, &objs[0], &id), IDTAB_E_FULL);
}

Test(idtab, deleted_object_is_handed_back_once)
{
	uint32_t id;

	idtab_init(&tab, 4);
	id = add(&objs[1]);
	cr_expect_eq(idtab_del(&tab, id), &objs[1]);
	cr_expect_null(idtab_del(&tab, id));
	cr_expect_null(idtab_get(&tab, id));
	cr_expect_eq(tab.used, 0);
}

Test(idtab, id_of_a_deleted_object_does_not_name_its_successor)
{
	uint32_t old, id;

	idtab_init(&tab, 1);
	old = add(&objs[0]);
	for (unsigned i = 1; i < 60000; i++) {
		uint32_t before = i > 1 ? id : old;

		cr_assert_eq(idtab_del(&tab, before), &objs[i - 1]);
		id = add(&objs[i]);
		cr_assert_null(idtab_get(&tab, before));
		cr_assert_null(idtab_get(&tab, old));
		cr_assert_eq(idtab_get(&tab, id), &objs[i]);
	}
}

Test(idtab, id_is_never_0_when_the_generation_wraps)
{
	idtab_init(&tab, 1);
	for (unsigned i = 0; i < 70000; i++)
		cr_assert_eq(idtab_del(&tab, add(&objs[i])), &objs[i]);
}

Test(idtab, invalid_ids_name_nothing)
{
	uint32_t id;

	idtab_init(&tab, 100);
	id = add(&objs[0]);
	for (uint32_t other = 0; other < 0x40000; other++) {
		if (other != id)
			cr_assert_null(idtab_get(&tab, other));
	}
	cr_expect_null(idtab_get(&tab, UINT32_MAX));
}

Test(idtab, walk_visits_every_object_once)
{
	unsigned seen[100] = {0};
	uint32_t id[100], pos = 0;
	int *obj;

	idtab_init(&tab, 100);
	for (unsigned i = 0; i < 100; i++)
		id[i] = add(&objs[i]);
	for (unsigned i = 0; i < 100; i += 3)
		idtab_del(&tab, id[i]);
	while ((obj = idtab_next(&tab, &pos)))
		seen[obj - objs]++;
	for (unsigned i = 0; i < 100; i++)
		cr_expect_eq(seen[i], i % 3 != 0);
}

Test(idtab, walk_may_delete_the_current_object)
{
	uint32_t id[40], pos = 0;
	unsigned n = 0;
	int *obj;

	idtab_init(&tab, 40);
	for (unsigned i = 0; i < 40; i++)
		id[i] = add(&objs[i]);
	for (; (obj = idtab_next(&tab, &pos)); n++)
		cr_expect_eq(idtab_del(&tab, id[obj - objs]), obj);
	cr_expect_eq(n, 40);
	cr_expect_eq(tab.used, 0);
}

Test(idtab, deinit_leaves_an_empty_table_of_the_same_limit)
{
	uint32_t id;

	idtab_init(&tab, 2);
	add(&objs[0]);
	idtab_deinit(&tab);
	cr_expect_eq(tab.used, 0);
	add(&objs[1]);
	add(&objs[2]);
	cr_expect_eq(idtab_add(&tab, &objs[3], &id), IDTAB_E_FULL);
}
