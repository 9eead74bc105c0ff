/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ranks exchange messages of many sizes, each byte of which depends on who sent it, and compare
 * them: in a ring, and all to all. In C, for implementations of MPI for which there is no mpi4py.
 *
 *   mpi_ranks [LARGEST]      bytes of the largest block
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/programs/rank_bytes.h"

enum { ROUNDS = 3 };

static int me, all;

static int ring(uint8_t *out, uint8_t *in, int n)
{
	const int next = (me + 1) % all, last = (me + all - 1) % all;

	fill(out, n, me);
	MPI_Sendrecv(out, n, MPI_BYTE, next, 1, in, n, MPI_BYTE, last, 1, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	return same(in, n, last);
}

static int alltoall(uint8_t *out, uint8_t *in, int n)
{
	int right = 1;

	for (int to = 0; to < all; to++)
		fill(out + (size_t)to * n, n, me + 3 * to);
	MPI_Alltoall(out, n, MPI_BYTE, in, n, MPI_BYTE, MPI_COMM_WORLD);
	for (int from = 0; from < all; from++)
		right &= same(in + (size_t)from * n, n, from + 3 * me);
	return right;
}

int main(int argc, char **argv)
{
	static const int sizes[] = {1, 8, 1000, 4096, 65536, 1 << 20};
	const int largest = argc > 1 ? atoi(argv[1]) : 1 << 20;
	int right = 1, sum = 0;
	uint8_t *out, *in;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &all);
	out = malloc((size_t)largest * (size_t)all);
	in = malloc((size_t)largest * (size_t)all);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]) * ROUNDS; i++) {
		const int n = sizes[i / ROUNDS];

		if (n <= largest)
			right &= ring(out, in, n) & alltoall(out, in, n);
	}
	MPI_Allreduce(&right, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (me == 0)
		puts(sum == all ? "all data is right" : "data is wrong");
	MPI_Finalize();
	return sum == all ? 0 : 1;
}
