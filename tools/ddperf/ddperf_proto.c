/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddperf/ddperf_proto.h"

#include <errno.h>
#include <string.h>

#include "util/be.h"

enum { MAGIC = 0x44445046 }; /* "DDPF" */

static void put_head(uint8_t *buf, size_t len)
{
	memset(buf, 0, len);
	be_put32(buf, MAGIC);
	be_put16(buf + 4, DDPERF_VERSION);
}

void ddperf_hello_put(uint8_t buf[DDPERF_HELLO_LEN], const struct ddperf_hello *h)
{
	put_head(buf, DDPERF_HELLO_LEN);
	buf[6] = (uint8_t)h->op;
	buf[7] = (uint8_t)h->metric;
	be_put32(buf + 8, h->size);
	be_put32(buf + 12, h->depth);
	be_put32(buf + 16, h->stag);
	be_put32(buf + 20, h->flags);
	be_put64(buf + 24, h->to);
	be_put64(buf + 32, h->client);
	be_put32(buf + 40, h->credits);
}

/* Whether the test exists. */
static bool is_known_test(const struct ddperf_hello *h)
{
	bool reverse = h->flags & DDPERF_REVERSE;

	if (h->op >= DDPERF_OPS || h->metric >= DDPERF_METRICS || h->flags & ~DDPERF_FLAGS)
		return false;
	if (reverse && (h->metric == DDPERF_LAT || h->credits == 0))
		return false;
	return h->size > 0 && h->size <= DDPERF_MAX_SIZE && h->depth > 0 &&
	       h->depth <= DDPERF_MAX_DEPTH;
}

int ddperf_hello_get(const void *buf, size_t len, struct ddperf_hello *ret)
{
	const uint8_t *p = buf;
	struct ddperf_hello h;

	if (len < 6 || be_get32(p) != MAGIC)
		return -EPROTO;
	if (be_get16(p + 4) != DDPERF_VERSION)
		return -EPROTONOSUPPORT;
	if (len != DDPERF_HELLO_LEN)
		return -EPROTO;
	h = (struct ddperf_hello){
		.op = p[6],
		.metric = p[7],
		.size = be_get32(p + 8),
		.depth = be_get32(p + 12),
		.stag = be_get32(p + 16),
		.flags = be_get32(p + 20),
		.to = be_get64(p + 24),
		.client = be_get64(p + 32),
		.credits = be_get32(p + 40),
	};
	if (!is_known_test(&h))
		return -ERANGE;
	*ret = h;
	return 0;
}

void ddperf_answer_put(uint8_t buf[DDPERF_ANSWER_LEN], const struct ddperf_answer *a)
{
	put_head(buf, DDPERF_ANSWER_LEN);
	be_put32(buf + 8, a->stag);
	be_put32(buf + 12, a->credits);
	be_put64(buf + 16, a->to);
}

int ddperf_answer_get(const void *buf, size_t len, struct ddperf_answer *ret)
{
	const uint8_t *p = buf;

	if (len != DDPERF_ANSWER_LEN || be_get32(p) != MAGIC || be_get16(p + 4) != DDPERF_VERSION ||
	    be_get32(p + 12) == 0)
		return -EPROTO;
	*ret = (struct ddperf_answer){
		.stag = be_get32(p + 8),
		.credits = be_get32(p + 12),
		.to = be_get64(p + 16),
	};
	return 0;
}

void ddperf_go_put(uint8_t buf[DDPERF_GO_LEN], const struct ddperf_go *go)
{
	be_put64(buf, go->ns);
	be_put64(buf + 8, go->count);
}

int ddperf_go_get(const void *buf, size_t len, struct ddperf_go *ret)
{
	const uint8_t *p = buf;

	if (len != DDPERF_GO_LEN)
		return -EPROTO;
	*ret = (struct ddperf_go){.ns = be_get64(p), .count = be_get64(p + 8)};
	return 0;
}

void ddperf_done_put(uint8_t buf[DDPERF_DONE_LEN], const struct ddperf_done *done)
{
	put_head(buf, DDPERF_DONE_LEN);
	be_put64(buf + 8, done->messages);
	be_put64(buf + 16, done->ns);
}

int ddperf_done_get(const void *buf, size_t len, struct ddperf_done *ret)
{
	const uint8_t *p = buf;

	if (len != DDPERF_DONE_LEN || be_get32(p) != MAGIC)
		return -EPROTO;
	*ret = (struct ddperf_done){.messages = be_get64(p + 8), .ns = be_get64(p + 16)};
	return 0;
}
