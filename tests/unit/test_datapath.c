/* SPDX-License-Identifier: BSD-2-Clause */
/* The MULPDU that follows from the largest message of the transport, RFC 5043 section 9. */
#include <criterion/criterion.h>

#include "daemon/net/datapath.h"
#include "proto/wire.h"

static uint32_t max_message;

static void info(const struct llp_conn *c, struct llp_info *ret)
{
	(void)c;
	*ret = (struct llp_info){.max_message = max_message};
}

static const struct llp_ops ops = {.name = "fixed", .info = info};
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
