/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages are cut into few segments of equal length within the limit (RFC 5041 5.2). */
#include <criterion/criterion.h>

#include "proto/ddp/ddp_tx.h"

/* Cuts a whole message and checks every segment. Returns their number. */
static unsigned cut_all(bool tagged, uint32_t len, uint32_t mulpdu)
{
	const uint32_t max = mulpdu - (tagged ? WIRE_TAGGED_LEN : WIRE_UNTAGGED_LEN);
	const struct wire_ddp first = {.tagged = tagged, .dv = 1, .rv = 1, .to = 0x4000};
	uint32_t off = 0, size = 0;
	unsigned n = 0;
	struct ddp_tx m;
	bool last;

	*ddp_tx_begin(&m, len) = first;
	do {
		uint8_t b[WIRE_UNTAGGED_LEN];
		struct wire_ddp h;
		uint32_t now = ddp_tx_cut(&m, mulpdu, DDP_TX_NO_ROOM);

		cr_assert_leq(now, max, "%u of %u at %u", now, len, mulpdu);
		cr_assert_eq(wire_ddp_get(b, ddp_tx_head(&m, b), &h), ddp_tx_head(&m, b));
		last = ddp_tx_last(&m);
		cr_assert_eq(h.last, last);
		cr_assert_eq(tagged ? h.to - 0x4000 : h.mo, off);
		if (n == 0)
			size = now;
		cr_assert(last ? now <= size : now == size, "equal, or less for the last");
		ddp_tx_taken(&m);
		off += now;
		n++;
	} while (!last);
	cr_assert_eq(off, len);
	return n;
}

/* rows: 5041-4.1-03 5041-4.1-04 5041-4.1-06 5041-5.2-01 5041-5.2-03 5041-5.2-05 5041-5.2-07 */
/* rows: 5041-5.3-02 */
Test(ddp_tx, every_length_around_the_limits)
{
	for (uint32_t mulpdu = WIRE_MULPDU_MIN; mulpdu < WIRE_MULPDU_MIN + 8; mulpdu++) {
		for (uint32_t len = 0; len < 2100; len++) {
			for (int tagged = 0; tagged < 2; tagged++) {
				uint32_t max = mulpdu - (tagged ? 14 : 18);

				cr_assert_eq(cut_all(tagged, len, mulpdu),
					     len ? (len + max - 1) / max : 1);
			}
		}
	}
}

/* rows: 5041-5.2-05 5041-5.2-07 */
Test(ddp_tx, the_example_of_rfc_5041)
{
	cr_expect_eq(cut_all(false, 2048, 1500), 2);
	cr_expect_eq(cut_all(true, 2048, 1500), 2);
}

/* rows: 5040-4.4-05 */
Test(ddp_tx, longest_message)
{
	const uint32_t max = WIRE_MULPDU_MAX - WIRE_TAGGED_LEN;

	cr_expect_eq(cut_all(true, UINT32_MAX, WIRE_MULPDU_MAX),
		     (unsigned)((UINT64_C(0xffffffff) + max - 1) / max));
}

Test(ddp_tx, answer_stays_until_the_segment_is_taken)
{
	const struct wire_ddp first = {.tagged = true, .dv = 1, .rv = 1};
	struct ddp_tx m;

	*ddp_tx_begin(&m, 3000) = first;
	cr_expect_eq(ddp_tx_cut(&m, 1514, DDP_TX_NO_ROOM), 1500);
	cr_expect_eq(ddp_tx_cut(&m, 1514, DDP_TX_NO_ROOM), 1500);
	cr_expect_eq(ddp_tx_cut(&m, 9000, DDP_TX_NO_ROOM), 1500, "a larger limit does not re-cut");
	cr_expect_eq(ddp_tx_cut(&m, 1014, DDP_TX_NO_ROOM), 1000, "a smaller one does");
}

/* With the room of the packet in preparation: it is filled, then whole packets, then the rest. */
Test(ddp_tx, segments_fill_packets)
{
	const struct wire_ddp first = {.tagged = true, .dv = 1, .rv = 1};
	const uint32_t room[] = {514, 1514, 1514}, want[] = {500, 1500, 1000};
	struct ddp_tx m;

	*ddp_tx_begin(&m, 3000) = first;
	for (int i = 0; i < 3; i++) {
		cr_expect_eq(ddp_tx_cut(&m, 1514, room[i]), want[i], "segment %d", i);
		cr_expect_eq(ddp_tx_last(&m), i == 2);
		ddp_tx_taken(&m);
	}
}

Test(ddp_tx, little_room_and_short_messages_are_not_cut_for)
{
	const struct wire_ddp first = {.tagged = true, .dv = 1, .rv = 1};
	struct ddp_tx m;

	*ddp_tx_begin(&m, 3000) = first;
	cr_expect_eq(ddp_tx_cut(&m, 1514, 0), 1500);
	cr_expect_eq(ddp_tx_cut(&m, 1514, 114), 1500);
	cr_expect_eq(ddp_tx_cut(&m, 1514, 9000), 1500);
	*ddp_tx_begin(&m, 1500) = first;
	cr_expect_eq(ddp_tx_cut(&m, 1514, 514), 1500);
	*ddp_tx_begin(&m, 0) = first;
	cr_expect_eq(ddp_tx_cut(&m, 1514, 514), 0);
}
