/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: the sizes that passed are remembered for each way apart, for a while, and in bounded
 * memory. */
#include <criterion/criterion.h>

#include "sctp/path/size_cache.h"

static struct sctp_flow way(unsigned n, uint16_t port, uint8_t local)
{
	return (struct sctp_flow){
		.peer = sctp_addr_v4((const uint8_t[]){10, 0, (uint8_t)(n >> 8), (uint8_t)n}),
		.udp_port = port,
		.local = local};
}

Test(size_cache, each_way_has_its_size)
{
	struct sctp_size_cache c = {0};
	struct sctp_flow a = way(1, 9, 0), b = way(2, 9, 0), port = way(1, 8, 0),
			 from = way(1, 9, 1);

	cr_assert_eq(sctp_size_cache_get(&c, &a, 1), 0);
	sctp_size_cache_put(&c, &a, 1272, 1);
	sctp_size_cache_put(&c, &b, 600, 1);
	cr_assert_eq(sctp_size_cache_get(&c, &a, 1), 1272);
	cr_assert_eq(sctp_size_cache_get(&c, &b, 1), 600);
	cr_assert_eq(sctp_size_cache_get(&c, &port, 1), 0);
	cr_assert_eq(sctp_size_cache_get(&c, &from, 1), 0);
	sctp_size_cache_put(&c, &a, 1000, 2);
	cr_assert_eq(sctp_size_cache_get(&c, &a, 2), 1000);
}

Test(size_cache, it_is_forgotten)
{
	struct sctp_size_cache c = {0};
	struct sctp_flow a = way(1, 9, 0);

	sctp_size_cache_put(&c, &a, 1272, 5);
	cr_assert_eq(sctp_size_cache_get(&c, &a, 5 + SCTP_SIZE_KEEP_US - 1), 1272);
	cr_assert_eq(sctp_size_cache_get(&c, &a, 5 + SCTP_SIZE_KEEP_US), 0);
}

Test(size_cache, the_oldest_gives_way)
{
	struct sctp_size_cache c = {0};

	for (unsigned i = 0; i < 1000; i++) {
		struct sctp_flow a = way(i, 9, 0);

		sctp_size_cache_put(&c, &a, 600 + i, i);
	}
	for (unsigned i = 0; i < 1000; i++) {
		struct sctp_flow a = way(i, 9, 0);

		cr_assert_eq(sctp_size_cache_get(&c, &a, 1000),
			     i < 1000 - SCTP_SIZE_ENTRIES ? 0 : 600 + i);
	}
}
