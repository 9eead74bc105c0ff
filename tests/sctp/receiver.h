/* SPDX-License-Identifier: BSD-2-Clause */
/* A receiver as an association has it: a pool, a map of TSNs, and what waits. */
#ifndef TESTS_SCTP_RECEIVER_H
#define TESTS_SCTP_RECEIVER_H

#include <criterion/criterion.h>
#include <string.h>

#include "sctp/receive/recv.h"
#include "sctp/receive/tsn_map.h"
#include "tests/sctp/memory.h"

enum { LIMIT = 1 << 20, STREAMS = 16, B = 1, E = 2, U = 4 };

static struct memory memory;
static struct sctp_pool pool;
static const struct sctp_account account = {&pool, NULL};
static struct sctp_recv recv_state;
static struct sctp_tsn_map map;
static unsigned dropped;

static inline void start_limited(uint32_t initial_tsn, uint32_t limit)
{
	struct sctp_mem mem = memory_of(&memory);

	sctp_pool_init(&pool, &mem, UINT64_MAX);
	sctp_tsn_map_init(&map, &account, initial_tsn);
	sctp_recv_init(&recv_state, &account, limit, STREAMS);
	dropped = 0;
}

static inline void start(uint32_t initial_tsn)
{
	start_limited(initial_tsn, LIMIT);
}

static inline void finish(void)
{
	sctp_recv_deinit(&recv_state);
	sctp_tsn_map_deinit(&map);
	cr_assert_eq(pool.used, pool.scratch ? SCTP_SCRATCH : 0);
	sctp_pool_deinit(&pool);
	cr_assert_eq(memory.bytes, 0);
}

/* What the association does with a chunk. */
static inline enum sctp_recv_result take(const struct sctp_data *d)
{
	enum sctp_recv_result res = SCTP_RECV_DIRECT;
	struct sctp_recv_range out;

	cr_assert_eq(sctp_tsn_map_check(&map, d->tsn), SCTP_TSN_NEW);
	if (!sctp_recv_direct(&recv_state, d))
		while ((res = sctp_recv_add(&recv_state, d, map.cum, &out)) == SCTP_RECV_DROPPED)
			for (uint32_t t = out.first; t != out.last + 1; t++) {
				sctp_tsn_map_renege(&map, t);
				dropped++;
			}
	if (res == SCTP_RECV_DIRECT || res == SCTP_RECV_TAKEN)
		sctp_tsn_map_add(&map, d->tsn);
	return res;
}

/* Bytes that differ from each other, to be freed. */
static inline uint8_t *pattern(uint32_t len)
{
	uint8_t *p = malloc(len);

	for (uint32_t i = 0; i < len; i++)
		p[i] = (uint8_t)(i * 7 + i / 251);
	return p;
}

#endif
