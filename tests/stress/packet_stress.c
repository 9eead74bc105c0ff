/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packet_stress [PACKETS [SEED]]
 *
 * Promise: while a writer puts packets of random sizes into a ring that is often full, a reader
 * gets each packet that was put, once, in order and with its bytes, and learns before each how many
 * were left out.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/packet_ring.h"
#include "tests/stress/pace.h"

enum { SIZE = 1 << 15, LONGEST = 3000, SNAP = 2000, PAUSE = 400 };

static struct packet_ring writer, reader;
static uint64_t packets; /* of one part */
static uint64_t base;    /* the number of its first packet */
static _Atomic bool over;

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "FAILED: %s\n", what);
	exit(1);
}

static uint32_t length_of(uint64_t number)
{
	uint64_t rng = number + 1;

	return 1 + pace_draw(&rng, LONGEST);
}

static void fill(uint8_t *data, uint64_t number, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		data[i] = (uint8_t)(number * 7 + i * 13 + (i >> 8));
}

/* The packet is in two parts, as a batch of the transport is. */
static void put(uint64_t number)
{
	const struct packet_head h = {.time_ns = number};
	static uint8_t data[LONGEST];
	uint32_t len = length_of(number), first = len / 3;
	const struct span part[2] = {{data, first}, {data + first, len - first}};

	fill(data, number, len);
	(void)packet_ring_put(&writer, &h, part, 2, SNAP);
}

static void *write_all(void *arg)
{
	uint64_t rng = *(uint64_t *)arg + 1;

	for (uint64_t i = 0; i < packets; i++) {
		put(base + i);
		if (i % 16 == 0)
			pace_pause(&rng, PAUSE);
	}
	atomic_store(&over, true);
	return NULL;
}

static void check(const struct packet_head *h, const uint8_t *data, uint64_t came)
{
	uint32_t len = length_of(h->time_ns);
	uint8_t expected[LONGEST];

	must(came + h->lost == h->time_ns, "each packet comes or is counted as left out");
	must(h->len == len && h->kept == (len < SNAP ? len : SNAP), "its length");
	fill(expected, h->time_ns, h->kept);
	must(memcmp(data, expected, h->kept) == 0, "its bytes");
}

/* Until the writer has ended and the ring is empty. Returns how many have come since the start. */
static uint64_t read_all(uint64_t seed, uint64_t came)
{
	static uint8_t data[PACKET_RING_MAX];
	uint64_t rng = seed + 2;

	for (;;) {
		bool last = atomic_load(&over);
		struct packet_head h;
		int r = packet_ring_take(&reader, &h, data);

		must(r != PACKET_RING_E_WRONG, "no record is wrong");
		if (r == PACKET_RING_E_OK)
			check(&h, data, came++);
		else if (last)
			return came;
		if (came % 64 == 0)
			pace_pause(&rng, 10 * PAUSE);
	}
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 5043, came = 0;
	struct pace_parts parts = {0};
	void *memory = aligned_alloc(64, packet_ring_bytes(SIZE));

	must(memory, "memory");
	memset(memory, 0, packet_ring_bytes(SIZE));
	packet_ring_init(&writer, memory, SIZE);
	packet_ring_init(&reader, memory, SIZE);
	packets = pace_share(argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000);
	printf("seed %" PRIu64 "\n", seed);
	pace_pin(pthread_self(), 0);
	while (pace_part(&parts)) {
		pthread_t thread;

		atomic_store(&over, false);
		must(pthread_create(&thread, NULL, write_all, &seed) == 0, "thread");
		pace_pin(thread, 1);
		came = read_all(seed + parts.done, came);
		pthread_join(thread, NULL);
		base += packets;
	}
	must(came + packet_ring_lost(&reader) == base, "all packets came or were counted");
	printf("%" PRIu64 " packets, %" PRIu64 " came\n", base, came);
	free(memory);
	return 0;
}
