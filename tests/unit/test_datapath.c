/* SPDX-License-Identifier: BSD-2-Clause */
/* The MULPDU that follows from the largest message of the transport, RFC 5043 section 9, and the
 * budgets of messages. */
#include <criterion/criterion.h>

#include "daemon/net/datapath.h"
#include "proto/ddp/wire.h"
#include "tests/lib/assoc_test.h"
#include "tests/lib/fake.h"

static uint32_t max_message;
static struct pair_msg *next, *end; /* messages of the transport */

static void info(const struct llp_conn *c, struct llp_info *ret)
{
	(void)c;
	*ret = (struct llp_info){.max_message = max_message};
}

static int receive(struct llp_conn *c, struct llp_msg *ret)
{
	(void)c;
	if (next == end)
		return LLP_E_AGAIN;
	*ret = (struct llp_msg){.sid = next->sid, .ppid = next->ppid, .len = next->len, .n = 1};
	ret->part[0] = (struct span){next->b, next->len};
	next++;
	return LLP_E_OK;
}

static uint32_t in_flight; /* messages, at most those of the transport */
static bool reports;

static int take(struct llp_conn *c, const struct llp_msg *m)
{
	(void)c;
	(void)m;
	return LLP_E_OK;
}

static uint32_t unacked(const struct llp_conn *c)
{
	(void)c;
	return in_flight;
}

static void report_acks(struct llp_conn *c)
{
	(void)c;
	reports = true;
}

static const struct llp_ops ops = {.name = "fixed",
				   .info = info,
				   .recv = receive,
				   .send = take,
				   .unacked = unacked,
				   .report_acks = report_acks};
static struct llp transport = {.ops = &ops};
static struct llp_conn conn = {.llp = &transport};

/* rows: 5043-9-02 5043-9-05 */
Test(datapath, segment_leaves_room_for_a_sack_and_is_never_below_516)
{
	static const struct {
		uint32_t message, mulpdu;
	} row[] = {
		{1452, 1452 - 2 - 16},
		{1432, 1432 - 2 - 16},
		{400, 516},
		{0, 516},
		{534, 516},
		{535, 517},
		{65553, 65535},
		{UINT32_MAX, 65535},
	};
	struct datapath dp = {.conn = &conn};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		max_message = row[i].message;
		dp_update_mulpdu(&dp);
		cr_expect_eq(dp.mulpdu, row[i].mulpdu, "%u gives %u", max_message, dp.mulpdu);
	}
}

/* rows: 5041-3-01 4296-2.1.1-03 */
Test(datapath, a_change_is_reported_once)
{
	struct datapath dp = {.conn = &conn};

	max_message = 1452;
	cr_expect(dp_update_mulpdu(&dp));
	cr_expect_not(dp_update_mulpdu(&dp));
	max_message = 1300;
	cr_expect(dp_update_mulpdu(&dp));
	cr_expect_eq(dp.mulpdu, 1300 - 2 - 16);
}

static void on_event(void *user, const struct assoc_event *ev)
{
	(void)user;
	cr_expect_eq(ev->type, ASSOC_EV_ACCEPTED);
}

/* Messages that the Accept sets free count as well. The transport does not tell about those that
 * are left, so they do not depend on it. */
Test(datapath, messages_beyond_the_budget_are_resumed, .init = fake_setup, .fini = fake_teardown)
{
	struct datapath dp = {.ddp = fake.node.assoc, .conn = &conn, .on_event = on_event};
	struct pair_qp *q = pair_qp(&fake.node);
	struct pair_msg m[4];
	uint16_t sid;

	cr_assert_eq(pair_plain_connect(fake.node.assoc, q->ep, NULL, 0, &sid), ASSOC_E_OK);
	cr_assert(pair_pull(&fake.node, &m[0]));
	for (uint16_t i = 0; i < 3; i++) {
		m[i] = fake_write((uint16_t)(i + 1), FAKE_BASE + i, "x");
		m[i].sid = sid;
	}
	m[3] = pair_control(sid, 0, WIRE_ACCEPT, NULL, 0);
	next = m;
	end = m + 4;
	cr_expect(dp_rx(&dp, 3), "the budget is over");
	cr_expect(dp_rx(&dp, 2), "the Accept, and one more");
	cr_expect_arr_eq(fake.mem, "x\0\0", 3);
	cr_expect_not(dp_rx(&dp, 2), "the transport has no more");
	cr_expect_arr_eq(fake.mem, "x\0\0", 3);
	cr_expect(dp_resume(&dp, 1), "the budget is over");
	cr_expect_arr_eq(fake.mem, "xx\0", 3);
	cr_expect_not(dp_resume(&dp, 2));
	cr_expect_arr_eq(fake.mem, "xxx", 3);
}

/* Sends n Writes of a segment each; returns how many left. */
static unsigned send_writes(struct datapath *dp, struct pair_qp *q, unsigned n)
{
	uint64_t before = dp->sent;

	for (unsigned i = 0; i < n; i++) {
		q->posted = q->taken = q->ndone = 0;
		pair_post(q, &(struct rdmap_wr){.op = RDMAP_WRITE});
		dp_tx(dp, 1);
	}
	return (unsigned)(dp->sent - before);
}

/* RFC 5043 10. The transport never says that everything is acknowledged. */
Test(datapath, bulk_data_do_not_wait_until_everything_is_acknowledged, .init = fake_setup,
     .fini = fake_teardown)
{
	struct datapath dp = {.ddp = fake.node.assoc, .conn = &conn, .mulpdu = 1400};
	struct pair_qp *q = fake.qp;

	reports = false;
	in_flight = 8000;
	cr_expect_eq(send_writes(&dp, q, 70000), 70000);
	cr_expect_not(reports, "each acknowledgment costs time");
	in_flight = 40000;
	cr_expect_lt(send_writes(&dp, q, 70000), 32767);
	cr_expect(reports, "the window opens with the next acknowledgment");
}
