/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All ranks have exchanged a message with each other one; then the last one is killed, and the
 * others wait for a message of it, the first one also sends to it without end. A launcher that
 * does not end them leaves that to MPI.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BYTES = 1 << 16 };

int main(int argc, char **argv)
{
	static char out[BYTES], in[BYTES];
	char *from;
	int me, all;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &all);
	from = calloc((size_t)all, 1);
	MPI_Allgather(out, 1, MPI_BYTE, from, 1, MPI_BYTE, MPI_COMM_WORLD);
	for (int n = 1; n < all; n++)
		MPI_Sendrecv(out, BYTES, MPI_BYTE, (me + n) % all, 1, in, BYTES, MPI_BYTE,
			     (me + all - n) % all, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (me == 0) {
		puts("all are connected");
		fflush(stdout);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (me == all - 1)
		kill(getpid(), SIGKILL);
	while (me == 0)
		MPI_Send(out, BYTES, MPI_BYTE, all - 1, 2, MPI_COMM_WORLD);
	MPI_Recv(in, BYTES, MPI_BYTE, all - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Finalize();
	return 0;
}
