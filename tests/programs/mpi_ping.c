/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two ranks send a message there and back. The first one prints "us", and the mean of half a round
 * trip in microseconds, as ddperf does for its Sends.
 *
 *   mpi_ping BYTES COUNT
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { WARM_UP = 1000 };

static char *bytes;
static int size, me;

static void rounds(int n)
{
	for (int i = 0; i < n; i++) {
		if (me == 0)
			MPI_Send(bytes, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
		MPI_Recv(bytes, size, MPI_BYTE, !me, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (me == 1)
			MPI_Send(bytes, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	double began;
	int n;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	if (argc != 3 || (size = atoi(argv[1])) < 1 || (n = atoi(argv[2])) < 1 ||
	    !(bytes = calloc(1, (size_t)size))) {
		fputs("usage: mpi_ping BYTES COUNT, with two ranks\n", stderr);
		MPI_Abort(MPI_COMM_WORLD, 2);
		return 2;
	}
	rounds(WARM_UP);
	began = MPI_Wtime();
	rounds(n);
	if (me == 0)
		printf("us %.3f\n", (MPI_Wtime() - began) / n / 2 * 1e6);
	MPI_Finalize();
	free(bytes);
	return 0;
}
