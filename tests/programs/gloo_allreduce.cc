/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes add vectors with Gloo over verbs and compare the sums.
 *
 *   gloo_allreduce FOLDER-TO-MEET RANK PROCESSES
 */
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	const int rank = atoi(argv[2]), all = atoi(argv[3]);
	gloo::rendezvous::FileStore store(argv[1]);
	auto device = gloo::transport::ibverbs::CreateDevice({"ddpsctp0", 1, 0});
	auto context = std::make_shared<gloo::rendezvous::Context>(rank, all);

	context->connectFullMesh(store, device);
	for (int size : {1, 100, 10000, 1000000}) {
		std::vector<float> values(size);
		std::vector<float *> of{values.data()};
		auto &sum = *new gloo::AllreduceRingChunked<float>(context, of, size);

		for (int round = 1; round <= 5; round++) {
			for (int i = 0; i < size; i++)
				values[i] = float(round * (rank + 1) + i % 100);
			sum.run();
			for (int i = 0; i < size; i++)
				if (values[i] !=
				    float(round * all * (all + 1) / 2 + all * (i % 100)))
					return fprintf(stderr, "size %d: value %d is wrong\n", size,
						       i),
					       1;
		}
	}
	/* Gloo's queues end with the process: the last completion may be on its way. */
	store.set("done" + std::to_string(rank), {'1'});
	for (int i = 0; i < all; i++)
		store.wait({"done" + std::to_string(i)});
	std::_Exit(0);
}
