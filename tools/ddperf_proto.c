/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddperf_proto.h"

#include <errno.h>

#include "tools/rec.h"

enum { MAGIC = 0x44445046 }; /* "DDPF" */

static void head(uint8_t *buf, size_t len)
{
	memset(buf, 0, len);
	rec_put32(buf, MAGIC);
	rec_put16(buf + 4, DDPERF_VERSION);
}

void ddperf_hello_put(uint8_t buf[DDPERF_HELLO_LEN], const struct ddperf_hello *h)
{
	head(buf, DDPERF_HELLO_LEN);
	buf[6] = (uint8_t)h->op;
	buf[7] = (uint8_t)h->metric;
	rec_put32(buf + 8, h->size);
	rec_put32(buf + 12, h->depth);
	rec_put32(buf + 16, h->stag);
	rec_put64(buf + 24, h->to);
}

int ddperf_hello_get(const void *buf, size_t len, struct ddperf_hello *ret)
{
	const uint8_t *p = buf;
	uint32_t size, depth;

	if (len < 6 || rec_get32(p) != MAGIC)
		return -EPROTO;
	if (rec_get16(p + 4) != DDPERF_VERSION)
		return -EPROTONOSUPPORT;
	if (len != DDPERF_HELLO_LEN)
		return -EPROTO;
	size = rec_get32(p + 8);
	depth = rec_get32(p + 12);
	if (p[6] >= DDPERF_OPS || p[7] >= DDPERF_METRICS || size == 0 || size > DDPERF_MAX_SIZE ||
	    depth == 0 || depth > DDPERF_MAX_DEPTH)
		return -ERANGE;
	*ret = (struct ddperf_hello){
		.op = p[6],
		.metric = p[7],
		.size = size,
		.depth = depth,
		.stag = rec_get32(p + 16),
		.to = rec_get64(p + 24),
	};
	return 0;
}

void ddperf_answer_put(uint8_t buf[DDPERF_ANSWER_LEN], const struct ddperf_answer *a)
{
	head(buf, DDPERF_ANSWER_LEN);
	rec_put32(buf + 8, a->stag);
	rec_put32(buf + 12, a->credits);
	rec_put64(buf + 16, a->to);
}

int ddperf_answer_get(const void *buf, size_t len, struct ddperf_answer *ret)
{
	const uint8_t *p = buf;

	if (len != DDPERF_ANSWER_LEN || rec_get32(p) != MAGIC ||
	    rec_get16(p + 4) != DDPERF_VERSION || rec_get32(p + 12) == 0)
		return -EPROTO;
	*ret = (struct ddperf_answer){
		.stag = rec_get32(p + 8),
		.credits = rec_get32(p + 12),
		.to = rec_get64(p + 16),
	};
	return 0;
}
