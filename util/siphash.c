/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/siphash.h"

#include <endian.h>
#include <string.h>

struct state {
	uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static inline void rounds(struct state *s, unsigned n)
{
	while (n--) {
		s->v0 += s->v1;
		s->v2 += s->v3;
		s->v1 = rotate(s->v1, 13) ^ s->v0;
		s->v3 = rotate(s->v3, 16) ^ s->v2;
		s->v0 = rotate(s->v0, 32);
		s->v2 += s->v1;
		s->v0 += s->v3;
		s->v1 = rotate(s->v1, 17) ^ s->v2;
		s->v3 = rotate(s->v3, 21) ^ s->v0;
		s->v2 = rotate(s->v2, 32);
	}
}

static inline void absorb(struct state *s, uint64_t word)
{
	s->v3 ^= word;
	rounds(s, 2);
	s->v0 ^= word;
}

static inline uint64_t squeeze(struct state *s)
{
	rounds(s, 4);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

static struct state keyed_state(const uint64_t key[2])
{
	/* "somepseudorandomlygeneratedbytes" */
	return (struct state){
		key[0] ^ 0x736f6d6570736575,
		key[1] ^ 0x646f72616e646f6d,
		key[0] ^ 0x6c7967656e657261,
		key[1] ^ 0x7465646279746573,
	};
}

static void absorb_all(struct state *s, const uint8_t *p, size_t len)
{
	uint64_t word, last = (uint64_t)len << 56;
	size_t rest = len % 8;

	for (const uint8_t *end = p + (len - rest); p != end; p += 8) {
		memcpy(&word, p, 8);
		absorb(s, le64toh(word));
	}
	for (size_t i = 0; i < rest; i++)
		last |= (uint64_t)p[i] << 8 * i;
	absorb(s, last);
}

uint64_t siphash64(const uint64_t key[2], const void *p, size_t len)
{
	struct state s = keyed_state(key);

	absorb_all(&s, p, len);
	s.v2 ^= 0xff;
	return squeeze(&s);
}

void siphash128(const uint64_t key[2], const void *p, size_t len, uint8_t ret[16])
{
	struct state s = keyed_state(key);
	uint64_t half[2];

	s.v1 ^= 0xee;
	absorb_all(&s, p, len);
	s.v2 ^= 0xee;
	half[0] = htole64(squeeze(&s));
	s.v1 ^= 0xdd;
	half[1] = htole64(squeeze(&s));
	memcpy(ret, half, sizeof(half));
}
