/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ddpctl capture`: a daemon that writes anything into the ring of packets. The reader takes
 * records that lie in the ring, or finds a wrong one; what it writes is a file of pcapng, block
 * after block. Input: positions of both ends; then bytes of the ring, or packets that a good writer
 * adds.
 */
#include <stdbool.h>
#include <sys/socket.h>

#include "ctl/capture/pcapng.h"
#include "tests/fuzz/fuzz.h"

enum {
	SIZE = 4096, /* bytes for packets */
	STEPS = 64,
	SNAP = 96,
};

static _Alignas(64) uint8_t memory[PACKET_RING_HEAD + SIZE];
static uint8_t packet[PACKET_RING_MAX];

static uint32_t get32(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Each block has its length at both ends, and blocks fill the file. */
static void check_file(const char *p, size_t len, unsigned packets)
{
	unsigned n = 0;

	while (len > 0) {
		uint32_t all;

		must(len >= 12);
		all = get32(p + 4);
		must(all >= 12 && all % 4 == 0 && all <= len && get32(p + all - 4) == all);
		if (get32(p) == 6) {
			must(get32(p + 20) <= all - 32 && get32(p + 20) <= get32(p + 24));
			n++;
		}
		p += all;
		len -= all;
	}
	must(n == packets);
}

/* Takes what there is. False: a record was wrong. */
static bool take_all(struct packet_ring *r, FILE *f, unsigned *packets)
{
	struct packet_head h;
	int e = PACKET_RING_E_OK;

	for (unsigned i = 0; i < STEPS; i++) {
		e = packet_ring_take(r, &h, packet);
		if (e != PACKET_RING_E_OK)
			break;
		must(h.kept <= h.len);
		*packets += pcapng_packet(f, &h, packet, h.lost) == 0;
	}
	return e != PACKET_RING_E_WRONG;
}

static void scribble(struct input *in)
{
	size_t at = in_16(in) % sizeof(memory), n = in_8(in);

	in_copy(in, memory + at, n < sizeof(memory) - at ? n : sizeof(memory) - at);
}

static void put(struct packet_ring *w, struct input *in)
{
	uint8_t bits = in_8(in), bytes[UINT8_MAX];
	struct packet_head h = {.time_ns = 1, .out = bits & 1};
	struct span part = {bytes, in_8(in)};

	h.local.family = h.remote.family = bits & 2 ? AF_INET6 : AF_INET;
	if (bits & 4)
		h.remote.family = in_8(in);
	in_fill(in, bytes, part.len);
	(void)packet_ring_put(w, &h, &part, 1, bits & 8 ? UINT32_MAX : SNAP);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct packet_ring reader, writer;
	unsigned packets = 0;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	must(f && packet_ring_bytes(SIZE) == sizeof(memory));
	memset(memory, 0, sizeof(memory));
	packet_ring_init(&reader, memory, SIZE);
	packet_ring_init(&writer, memory, SIZE);
	reader.at = writer.at = in_16(&in);
	atomic_store(&reader.page->head, writer.at);
	atomic_store(&reader.page->tail, reader.at);
	must(pcapng_begin(f, "fuzz", "any packets", SNAP) == 0);
	for (unsigned i = 0; i < STEPS && in.left > 0; i++) {
		uint8_t what = in_8(&in);

		if (what % 2)
			put(&writer, &in);
		else
			scribble(&in);
		if (what < 128 && !take_all(&reader, f, &packets))
			break;
	}
	must(pcapng_end(f, packets, packet_ring_lost(&reader), 1) == 0 && fclose(f) == 0);
	check_file(text, len, packets);
	free(text);
	return 0;
}
