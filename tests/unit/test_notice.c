/* SPDX-License-Identifier: BSD-2-Clause */
/* Which Writes of the peer the owner of a region is notified of, and when. */
#include <criterion/criterion.h>

#include "tests/lib/fake.h"
#include "util/be.h"

enum { REGION = 0x0badca00, WINDOW = 0x500 };

TestSuite(notice, .init = fake_setup, .fini = fake_teardown);

/* A window on the region. */
static void bind_window(uint32_t stag)
{
	struct stag_region r = {.stag = stag, .pd = PAIR_PD, .kind = STAG_WINDOW_PD};
	const struct stag_bind b = {stag, REGION, STAG_REMOTE_WRITE, FAKE_BASE, 8};
	const struct stag_accessor domain = {.pd = PAIR_PD};

	cr_assert_eq(stag_add(fake.node.stags, &r), STAG_ADD_OK);
	cr_assert_eq(stag_bind(fake.node.stags, &b, &domain), STAG_BIND_OK);
}

static void push_write_to(uint16_t ssn, uint32_t stag, uint64_t to, bool last, const char *text)
{
	struct pair_msg m = fake_write(ssn, to, text);

	be_put32(m.b + 4, stag);
	m.b[2] = (uint8_t)(last ? m.b[2] | 0x40 : m.b[2] & ~0x40);
	fake_push(m);
}

Test(notice, a_write_is_noticed_once_when_it_is_delivered)
{
	pair_region(&fake.node, REGION, FAKE_BASE, 64, FAKE_ALL | STAG_BIND_WINDOWS, 0);
	bind_window(WINDOW);
	fake_push(fake_write(1, FAKE_BASE, "before"));
	cr_expect_eq(fake.qp->written, 0);
	stag_set_notice(fake.node.stags, REGION, 77);
	push_write_to(4, REGION, FAKE_BASE, true, "early");
	push_write_to(3, REGION, FAKE_BASE + 4, true, "last");
	cr_expect_eq(fake.qp->written, 0);
	push_write_to(2, REGION, FAKE_BASE, false, "more");
	cr_expect_eq(fake.qp->written, 2);
	cr_expect_eq(fake.qp->notice, 77);
	push_write_to(5, WINDOW, FAKE_BASE + 4, true, "in a");
	cr_expect_eq(fake.qp->written, 3);
	push_write_to(6, REGION, FAKE_BASE + 64, true, "");
	cr_expect_eq(fake.qp->written, 4);
	/* An empty Write is not checked, so it may name anything. */
	push_write_to(7, REGION, FAKE_BASE + 65, true, "");
	push_write_to(8, WINDOW, FAKE_BASE + 9, true, "");
	push_write_to(9, 0x700, FAKE_BASE, true, "");
	stag_set_notice(fake.node.stags, REGION, 0);
	push_write_to(10, REGION, FAKE_BASE, true, "after");
	cr_expect_eq(fake.qp->written, 4);
	fake_expect_nothing_sent();
}
