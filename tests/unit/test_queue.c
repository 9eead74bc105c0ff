/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "daemon/base/queue.h"

enum {
	ENTRIES = 4,
	LARGEST = 320, /* of both kinds of entries */
	MARK = 0xa5,
};

/* The client's end and ours of a ring whose entries hold 1, 2, 3 ... in the bytes after the head.
 */
static _Alignas(64) uint8_t memory[sizeof(struct ring_shared) + ENTRIES * LARGEST];
static struct ring client, ours;

static void fill(uint32_t entry_size)
{
	memset(memory, 0, sizeof(memory));
	ring_init(&client, memory, ENTRIES, entry_size);
	ring_init(&ours, memory, ENTRIES, entry_size);
	for (uint32_t n = 0; n < ENTRIES * entry_size; n++)
		client.entries[n] = (uint8_t)(n % entry_size);
}

static bool is_copied(const void *at, size_t head, size_t len)
{
	const uint8_t *p = at;

	for (size_t n = head; n < head + len; n++)
		if (p[n] != (uint8_t)n)
			return false;
	return true;
}

static bool is_untouched(const void *at, size_t from, size_t to)
{
	const uint8_t *p = at;

	for (size_t n = from; n < to; n++)
		if (p[n] != MARK)
			return false;
	return true;
}

/* Room for it and for what follows it. */
struct guarded_send {
	struct wqe_send e;
	uint8_t after[LARGEST];
};

struct guarded_recv {
	struct wqe_recv e;
	uint8_t after[LARGEST];
};

static struct guarded_send pop_a_send(uint32_t entry_size, uint8_t flags, uint8_t num_sge,
				      uint32_t inline_len)
{
	struct guarded_send got;
	struct wqe_send *e;

	fill(entry_size);
	e = ring_reserve(&client);
	e->flags = flags;
	e->num_sge = num_sge;
	e->inline_len = inline_len;
	ring_submit(&client);
	memset(&got, MARK, sizeof(got));
	cr_assert_eq(queue_pop_send(&ours, &got.e), QUEUE_E_OK);
	cr_expect_eq(queue_pop_send(&ours, &got.e), QUEUE_E_EMPTY);
	return got;
}

static struct guarded_recv pop_a_recv(uint32_t entry_size, uint8_t num_sge)
{
	struct guarded_recv got;
	struct wqe_recv *e;

	fill(entry_size);
	e = ring_reserve(&client);
	e->num_sge = num_sge;
	ring_submit(&client);
	memset(&got, MARK, sizeof(got));
	cr_assert_eq(queue_pop_recv(&ours, &got.e), QUEUE_E_OK);
	return got;
}

Test(queue, of_a_send_the_head_and_the_elements_that_it_says_are_copied)
{
	for (uint8_t n = 0; n <= WQE_MAX_SGE; n++) {
		struct guarded_send got = pop_a_send(wqe_send_size(n, 0), 0, n, UINT32_MAX);

		cr_expect_eq(got.e.num_sge, n);
		cr_expect(is_copied(&got, WQE_SEND_HEAD, n * sizeof(struct wqe_sge)), "%u", n);
		cr_expect(is_copied(&got, 16, 48), "the rest of the head");
	}
}

Test(queue, of_an_inline_send_every_byte_is_copied)
{
	for (uint32_t n = 0; n <= WQE_MAX_INLINE; n++) {
		struct guarded_send got = pop_a_send(wqe_send_size(1, n), WQE_INLINE, 255, n);

		cr_expect_eq(got.e.inline_len, n);
		cr_expect(is_copied(&got, WQE_SEND_HEAD, n), "%u", n);
	}
}

Test(queue, of_a_receive_the_elements_that_it_says_are_copied)
{
	for (uint8_t n = 0; n <= WQE_MAX_SGE; n++) {
		struct guarded_recv got = pop_a_recv(wqe_recv_size(n), n);

		cr_expect_eq(got.e.num_sge, n);
		cr_expect(is_copied(&got, WQE_RECV_HEAD, n * sizeof(struct wqe_sge)), "%u", n);
	}
}

/* A program may write any number there. */
Test(queue, lengths_beyond_the_entry_copy_no_more_than_the_entry)
{
	for (uint32_t sge = 1; sge <= WQE_MAX_SGE; sge++) {
		uint32_t size = wqe_send_size(sge, 0);
		struct guarded_send many = pop_a_send(size, 0, 255, 0);
		struct guarded_send longest = pop_a_send(size, WQE_INLINE, 0, UINT32_MAX);

		cr_expect(is_untouched(&many, size, sizeof(many)), "%u elements", sge);
		cr_expect(is_untouched(&longest, size, sizeof(longest)), "%u elements", sge);
	}
}

/* The largest entry has padding that the struct has no room for. */
Test(queue, lengths_beyond_the_struct_copy_no_more_than_the_struct)
{
	struct guarded_recv many = pop_a_recv(wqe_recv_size(WQE_MAX_SGE), 255);

	cr_expect_gt(wqe_recv_size(WQE_MAX_SGE), sizeof(struct wqe_recv));
	cr_expect(is_untouched(many.after, 0, sizeof(many.after)));
}

Test(queue, an_index_out_of_range_is_the_fault_of_the_client)
{
	struct wqe_send e;

	fill(wqe_send_size(1, 0));
	client.mine = ENTRIES + 1;
	ring_submit(&client);
	cr_expect_eq(queue_pop_send(&ours, &e), QUEUE_E_BROKEN);
}
