/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/base/budget.h"

#include <string.h>

#include "util/minmax.h"
#include "util/siphash.h"

enum { ERA_SHIFT = 21 }; /* the hash changes every 2^21 us */

#define SECOND UINT64_C(1000000000) /* ns */
#define MS UINT64_C(1000000)

void sctp_budget_init(struct sctp_budget *b, unsigned rate, const uint64_t key[2], uint64_t now_us)
{
	uint64_t cost = SECOND / rate;

	memset(b, 0, sizeof(*b));
	b->cost = cost ? cost : 1;
	b->start = now_us;
	memcpy(b->key, key, sizeof(b->key));
}

uint64_t sctp_budget_network(const uint64_t key[2], const struct sctp_addr *a, uint32_t number)
{
	uint8_t in[20] = {0};

	memcpy(in, a->ip, sctp_addr_is_v4(a) ? 15 : 8);
	memcpy(in + 16, &number, sizeof(number));
	return siphash64(key, in, sizeof(in));
}

static uint64_t *network_share(struct sctp_budget *b, enum sctp_work work,
			       const struct sctp_addr *from, uint64_t now_us)
{
	uint32_t number = (uint32_t)(now_us >> ERA_SHIFT) * SCTP_WORKS + work;

	return &b->share_spent[sctp_budget_network(b->key, from, number) % SCTP_BUDGET_NETWORKS];
}

/* The budget that is saved up, at most `save`; the excess is forfeited. */
static uint64_t saved(uint64_t *spent, uint64_t now, uint64_t save)
{
	if (now - *spent > save)
		*spent = now - save;
	return now - *spent;
}

enum sctp_budget_result sctp_budget_take(struct sctp_budget *b, enum sctp_work work,
					 const struct sctp_addr *from, uint64_t now_us)
{
	/* Time begins late enough for a full budget. At a low rate one piece can always be saved.
	 */
	uint64_t save = max_u64(SCTP_BUDGET_SAVE_MS * MS, b->cost);
	uint64_t share_cost = b->cost * SCTP_BUDGET_SHARES;
	uint64_t share_save = max_u64(SCTP_BUDGET_SHARE_MS * MS, share_cost);
	uint64_t now = (now_us - b->start) * 1000 + max_u64(save, share_save);
	uint64_t have = saved(&b->spent[work], now, save), *own;
	bool has_share;

	if (have < b->cost)
		return SCTP_BUDGET_ALL;
	own = network_share(b, work, from, now_us);
	has_share = saved(own, now, share_save) >= share_cost;
	if (have <= save / 2 && !has_share)
		return SCTP_BUDGET_SHARE;
	if (has_share)
		*own += share_cost;
	b->spent[work] += b->cost;
	return SCTP_BUDGET_OK;
}
