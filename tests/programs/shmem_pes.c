/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processing elements of OpenSHMEM put, get and add to the memory of each other, and compare every
 * byte. The memory is that of the symmetric heap, and that of a static variable.
 *
 *   shmem_pes [LARGEST]      bytes of the largest block
 */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/programs/rank_bytes.h"

enum { STATIC_SIZE = 4096, ADDS = 50 };

static int me, all;
static uint8_t fixed[STATIC_SIZE];
static long sum, swaps;

/* Each puts a block of its own into the memory of each other, which then gets it back. */
static int put_and_get(uint8_t *heap, uint8_t *own, int n)
{
	int right = 1;

	for (int pe = 0; pe < all; pe++) {
		fill(own, n, me + 3 * pe);
		shmem_putmem(heap + (size_t)me * n, own, n, pe);
	}
	shmem_barrier_all();
	for (int pe = 0; pe < all; pe++) {
		right &= same(heap + (size_t)pe * n, n, pe + 3 * me);
		shmem_getmem(own, heap + (size_t)me * n, n, pe);
		right &= same(own, n, me + 3 * pe);
	}
	shmem_barrier_all();
	return right;
}

static int put_static(void)
{
	uint8_t own[STATIC_SIZE];
	int right;

	fill(own, STATIC_SIZE, me);
	shmem_putmem(fixed, own, STATIC_SIZE, (me + 1) % all);
	shmem_barrier_all();
	right = same(fixed, STATIC_SIZE, (me + all - 1) % all);
	shmem_barrier_all();
	return right;
}

/* All add to the element 0, whose memory has the sum then; one of all swaps. */
static int atomics(void)
{
	long first;
	int right = 1;

	for (int i = 0; i < ADDS; i++) {
		right &= shmem_long_atomic_fetch_add(&sum, me + 1, 0) >= 0;
		shmem_long_atomic_add(&sum, 1, 0);
	}
	first = shmem_long_atomic_compare_swap(&swaps, 0, me + 1, 0);
	shmem_barrier_all();
	right &= (first == 0) == (shmem_long_g(&swaps, 0) == me + 1);
	return right & (shmem_long_g(&sum, 0) == (long)ADDS * (all + (long)all * (all + 1) / 2));
}

int main(int argc, char **argv)
{
	static const int sizes[] = {1, 8, 1000, 4096, 65536, 1 << 20};
	static long wrong;
	const int largest = argc > 1 ? atoi(argv[1]) : 1 << 20;
	uint8_t *heap, *own;
	int right = 1;

	shmem_init();
	me = shmem_my_pe();
	all = shmem_n_pes();
	heap = shmem_malloc((size_t)largest * (size_t)all);
	own = malloc((size_t)largest);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i] <= largest)
			right &= put_and_get(heap, own, sizes[i]);
	right &= put_static();
	right &= atomics();
	if (!right)
		shmem_long_atomic_add(&wrong, 1, 0);
	shmem_barrier_all();
	if (me == 0)
		puts(wrong == 0 ? "all data is right" : "data is wrong");
	shmem_free(heap);
	shmem_finalize();
	return right ? 0 : 1;
}
