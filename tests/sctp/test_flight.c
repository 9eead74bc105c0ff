/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: whatever happens to chunks in whatever order, lists and bytes in flight are those of a
 * model that keeps a plain array. */
#include <criterion/criterion.h>

#include "sctp/send/flight.h"
#include "sctp/wire/tsn.h"
#include "tests/sctp/memory.h"

enum {
	OPERATIONS = 1000000,
	PATHS = 3,
	RING = 1024, /* chunks of the model */
	SORTED = 64, /* lost chunks that are in the order of TSNs for certain */
	LONGEST = 3000,
};

static struct memory memory;
static struct sctp_pool pool;
static const struct sctp_account account = {&pool, NULL};
static struct sctp_queue queue;
static struct sctp_flight flight;
static struct sctp_path_flight part[PATHS];
static uint64_t seed;

/* The model. */
static struct {
	enum sctp_tx_state state;
	unsigned path;
	uint32_t payload;
} chunk[RING];
static uint32_t order[RING], norder; /* in flight, in the order of the list */
static uint32_t cum, sent, next;     /* as in the queue */
static uint32_t bytes, unsent;
static uint64_t repeated;

static uint32_t below(uint32_t n)
{
	return next_random(&seed) % n;
}

static uint32_t wire(uint32_t tsn)
{
	return (SCTP_DATA_HEAD + chunk[tsn % RING].payload + 3) & ~3u;
}

/* ---- the model's lists ---- */

static void order_last(uint32_t tsn)
{
	order[norder++] = tsn;
}

static void order_first(uint32_t tsn)
{
	memmove(order + 1, order, norder++ * sizeof(order[0]));
	order[0] = tsn;
}

static void order_drop(uint32_t tsn)
{
	uint32_t i = 0;

	while (order[i] != tsn)
		i++;
	memmove(order + i, order + i + 1, (--norder - i) * sizeof(order[0]));
}

/* A random chunk that was sent and has this state, on this path or, with PATHS, on any; cum: none.
 */
static uint32_t any_chunk(enum sctp_tx_state state, unsigned path)
{
	uint32_t n = sent - cum - 1, from = n ? below(n) : 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t tsn = cum + 1 + (from + i) % n;

		if (chunk[tsn % RING].state == state &&
		    (path == PATHS || chunk[tsn % RING].path == path))
			return tsn;
	}
	return cum;
}

/* ---- operations: on both ---- */

static void put(uint32_t most)
{
	static uint8_t data[LONGEST];
	uint32_t len = 1 + below(below(4) ? 200 : LONGEST);
	struct span span = {data, len};

	if (next - cum > most)
		return;
	cr_assert(sctp_queue_reserve(&queue, &account, len));
	sctp_queue_put(&queue, 1200, 0, 0, 0, &span, 1, len);
	chunk[next % RING].state = SCTP_TX_QUEUED;
	chunk[next % RING].payload = len;
	bytes += wire(next);
	unsent += wire(next++);
}

static void send_next(void)
{
	unsigned path = below(PATHS);
	uint32_t first = part[path].first, tsn;
	bool alone = part[path].bytes == 0;

	cr_assert_eq(sctp_flight_waits(&flight, &queue), flight.lost.n || sent != next);
	if (!sctp_flight_waits(&flight, &queue))
		return;
	tsn = sctp_flight_next(&flight, &queue);
	cr_assert_eq(sctp_flight_sent(&flight, &queue, &part[path], path, tsn),
		     alone || !sctp_tsn_before(first, tsn));
	if (chunk[tsn % RING].state == SCTP_TX_LOST) {
		repeated++;
	} else {
		cr_assert_eq(tsn, sent);
		unsent -= wire(sent++);
	}
	chunk[tsn % RING].state = SCTP_TX_OUT;
	chunk[tsn % RING].path = path;
	order_last(tsn);
}

static void acknowledge(uint32_t tsn, enum sctp_tx_state state)
{
	sctp_flight_acked(&flight, &queue, &part[chunk[tsn % RING].path], tsn, state);
	if (chunk[tsn % RING].state == SCTP_TX_OUT)
		order_drop(tsn);
	chunk[tsn % RING].state = state;
}

static void acknowledge_gap(void)
{
	uint32_t tsn = any_chunk(below(3) ? SCTP_TX_OUT : SCTP_TX_LOST, PATHS);

	if (tsn != cum)
		acknowledge(tsn, SCTP_TX_GAP);
}

static void advance(void)
{
	uint32_t n = sent - cum - 1, old = cum;

	for (n = n ? below(n + 1) : 0; n; n--) {
		sctp_queue_advance(&queue);
		acknowledge(++cum, SCTP_TX_ACKED);
		bytes -= wire(cum);
	}
	if (cum != old)
		sctp_queue_free(&queue, &account, old);
}

static void renege(void)
{
	uint32_t tsn = any_chunk(SCTP_TX_GAP, PATHS);

	if (tsn == cum)
		return;
	sctp_flight_reneged(&flight, &queue, &part[chunk[tsn % RING].path], tsn);
	chunk[tsn % RING].state = SCTP_TX_OUT;
	order_first(tsn);
}

static void lose(uint32_t tsn)
{
	sctp_flight_lost(&flight, &queue, &part[chunk[tsn % RING].path], tsn);
	chunk[tsn % RING].state = SCTP_TX_LOST;
	order_drop(tsn);
}

static void lose_one(void)
{
	uint32_t tsn = any_chunk(SCTP_TX_OUT, PATHS);

	if (tsn != cum)
		lose(tsn);
}

static void lose_all(unsigned path)
{
	sctp_flight_lost_all(&flight, &queue, &part[path], path);
	for (uint32_t tsn = cum + 1; tsn != sent; tsn++)
		if (chunk[tsn % RING].state == SCTP_TX_OUT && chunk[tsn % RING].path == path) {
			chunk[tsn % RING].state = SCTP_TX_LOST;
			order_drop(tsn);
		}
}

/* From the end of the list of lost chunks on, so that the earliest one is the first in flight. */
static void restore(unsigned path)
{
	uint32_t tsn[RING], n = 0;

	for (uint32_t at = flight.lost.first; n < flight.lost.n; n++) {
		tsn[n] = at;
		at = sctp_queue_at(&queue, at)->next;
	}
	sctp_flight_restore(&flight, &queue, &part[path], path);
	while (n--) {
		if (chunk[tsn[n] % RING].path != path)
			continue;
		chunk[tsn[n] % RING].state = SCTP_TX_OUT;
		order_first(tsn[n]);
	}
}

static void settle(unsigned path)
{
	uint32_t before = part[path].first, tsn = cum + 1;

	sctp_flight_settle(&queue, &part[path], path);
	if (part[path].bytes == 0)
		return;
	while (chunk[tsn % RING].state != SCTP_TX_OUT || chunk[tsn % RING].path != path)
		tsn++;
	cr_assert_eq(part[path].first, tsn);
	cr_assert(!sctp_tsn_before(tsn, before));
}

static void ask_last(unsigned path)
{
	uint32_t i = norder;

	if (part[path].bytes == 0)
		return;
	while (chunk[order[--i] % RING].path != path)
		;
	cr_assert_eq(sctp_flight_last(&flight, &queue, path), order[i]);
}

static void operate(uint32_t most)
{
	switch (below(24)) {
	case 0:
		lose_all(below(PATHS));
		break;
	case 1:
		restore(below(PATHS));
		break;
	case 2:
		advance();
		break;
	case 3:
	case 4:
		settle(below(PATHS));
		break;
	case 5:
		ask_last(below(PATHS));
		break;
	case 6:
	case 7:
		acknowledge_gap();
		break;
	case 8:
		renege();
		break;
	case 9:
	case 10:
		lose_one();
		break;
	case 11:
	case 12:
	case 13:
	case 14:
	case 15:
		put(most);
		break;
	default:
		send_next();
	}
}

/* ---- comparison ---- */

static void compare_lists(void)
{
	uint32_t tsn = flight.out.first, last = 0, n;

	cr_assert_eq(flight.out.n, norder);
	for (n = 0; n < norder; n++) {
		cr_assert_eq(tsn, order[n]);
		last = tsn;
		tsn = sctp_queue_at(&queue, tsn)->next;
	}
	cr_assert(n == 0 || flight.out.last == last);
	tsn = flight.lost.first;
	for (n = 0; n < flight.lost.n; n++) {
		cr_assert_eq(chunk[tsn % RING].state, SCTP_TX_LOST);
		cr_assert(n == 0 || flight.lost.n > SORTED || sctp_tsn_before(last, tsn));
		cr_assert(n == 0 || sctp_queue_at(&queue, tsn)->prev == last);
		last = tsn;
		tsn = sctp_queue_at(&queue, tsn)->next;
	}
	cr_assert(n == 0 || flight.lost.last == last);
}

static void compare_sums(void)
{
	uint32_t sum[PATHS] = {0}, payload = 0, lost = 0;

	for (uint32_t tsn = cum + 1; tsn != sent; tsn++) {
		unsigned path = chunk[tsn % RING].path;

		cr_assert_eq(sctp_queue_at(&queue, tsn)->state, chunk[tsn % RING].state);
		lost += chunk[tsn % RING].state == SCTP_TX_LOST;
		if (chunk[tsn % RING].state != SCTP_TX_OUT)
			continue;
		cr_assert(!sctp_tsn_before(tsn, part[path].first));
		sum[path] += wire(tsn);
		payload += chunk[tsn % RING].payload;
	}
	for (unsigned i = 0; i < PATHS; i++)
		cr_assert_eq(part[i].bytes, sum[i]);
	cr_assert_eq(flight.payload, payload);
	cr_assert_eq(flight.lost.n, lost);
	cr_assert_eq(flight.repeated, repeated);
}

static void compare(void)
{
	cr_assert(queue.cum == cum && queue.send_tsn == sent && queue.next_tsn == next);
	cr_assert(queue.bytes == bytes && queue.unsent == unsent);
	compare_lists();
	compare_sums();
}

/* ---- */

static void begin(uint64_t number, uint32_t tsn)
{
	struct sctp_mem mem = memory_of(&memory);

	seed = number;
	sctp_pool_init(&pool, &mem, UINT64_C(1) << 26);
	memset(&queue, 0, sizeof(queue));
	memset(&flight, 0, sizeof(flight));
	memset(part, 0, sizeof(part));
	sctp_queue_init(&queue, tsn);
	sent = next = tsn;
	cum = tsn - 1;
	norder = bytes = unsent = 0;
	repeated = 0;
}

static void end(void)
{
	sctp_queue_deinit(&queue, &account);
	sctp_flight_clear(&flight);
	cr_assert(flight.out.n == 0 && flight.lost.n == 0 && flight.payload == 0);
	cr_assert_eq(pool.used, 0);
	sctp_pool_deinit(&pool);
	cr_assert_eq(memory.bytes, 0);
}

Test(flight, random_operations_agree_with_a_model)
{
	static const uint32_t windows[] = {3, 10, 40, 60, 200};

	for (unsigned round = 0; round < 10; round++) {
		uint32_t most = 10;

		begin(round + 1, UINT32_MAX - 1000);
		for (unsigned i = 0; i < OPERATIONS / 10; i++) {
			if (i % 1000 == 0)
				most = windows[below(5)];
			operate(most);
			compare();
		}
		end();
	}
}
