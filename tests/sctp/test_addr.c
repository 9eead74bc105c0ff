/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: addresses are classified as RFC 9260 needs it. */
#include <criterion/criterion.h>

#include "sctp/wire/addr.h"

static struct sctp_addr v4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return sctp_addr_v4((const uint8_t[]){a, b, c, d});
}

Test(sctp_addr, ipv4_is_recognized)
{
	struct sctp_addr a = v4(192, 0, 2, 1), v6 = {.ip = {0x20, 0x01, 0x0d, 0xb8, [15] = 1}};

	cr_assert(sctp_addr_is_v4(&a));
	cr_assert_not(sctp_addr_is_v4(&v6));
	cr_assert(sctp_addr_equal(&a, &a));
	cr_assert_not(sctp_addr_equal(&a, &v6));
}

Test(sctp_addr, unusable_addresses_are_no_unicast)
{
	struct sctp_addr any4 = v4(0, 0, 0, 0), multicast = v4(224, 0, 0, 1),
			 broadcast = v4(255, 255, 255, 255), good = v4(10, 0, 0, 1);
	struct sctp_addr any6 = {{0}, 0}, multicast6 = {.ip = {0xff, 2, [15] = 1}},
			 good6 = {.ip = {0x20, 1, [15] = 1}};

	cr_assert_not(sctp_addr_unicast(&any4));
	cr_assert_not(sctp_addr_unicast(&multicast));
	cr_assert_not(sctp_addr_unicast(&broadcast));
	cr_assert(sctp_addr_unicast(&good));
	cr_assert_not(sctp_addr_unicast(&any6));
	cr_assert_not(sctp_addr_unicast(&multicast6));
	cr_assert(sctp_addr_unicast(&good6));
}

Test(sctp_addr, scopes)
{
	struct sctp_addr lo = v4(127, 1, 2, 3), link = v4(169, 254, 1, 1), lo6 = {.ip = {[15] = 1}},
			 link6 = {.ip = {0xfe, 0x80, [15] = 9}, .scope = 2};

	cr_assert(sctp_addr_loopback(&lo));
	cr_assert(sctp_addr_loopback(&lo6));
	cr_assert_not(sctp_addr_loopback(&link6));
	cr_assert(sctp_addr_link_local(&link));
	cr_assert(sctp_addr_link_local(&link6));
	cr_assert_not(sctp_addr_link_local(&lo6));
}
