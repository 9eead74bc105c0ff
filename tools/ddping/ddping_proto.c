/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddping/ddping_proto.h"

#include <errno.h>
#include <string.h>

#include "util/be.h"

enum { MAGIC = 0x44445049 }; /* "DDPI" */

void ddping_hello_put(uint8_t buf[DDPING_HELLO_LEN], uint32_t size)
{
	memset(buf, 0, DDPING_HELLO_LEN);
	be_put32(buf, MAGIC);
	be_put16(buf + 4, DDPING_VERSION);
	be_put32(buf + 8, size);
}

int ddping_hello_get(const void *buf, size_t len, uint32_t *ret_size)
{
	const uint8_t *p = buf;
	uint32_t size;

	if (len < 6 || be_get32(p) != MAGIC)
		return -EPROTO;
	if (be_get16(p + 4) != DDPING_VERSION)
		return -EPROTONOSUPPORT;
	if (len != DDPING_HELLO_LEN)
		return -EPROTO;
	size = be_get32(p + 8);
	if (size == 0 || size > DDPING_MAX_SIZE)
		return -ERANGE;
	*ret_size = size;
	return 0;
}

void ddping_rec_put(uint8_t buf[DDPING_REC_LEN], const struct ddping_rec *rec)
{
	memset(buf, 0, DDPING_REC_LEN);
	be_put32(buf, MAGIC);
	be_put16(buf + 4, DDPING_VERSION);
	be_put16(buf + 6, rec->kind);
	be_put32(buf + 8, rec->seq);
	be_put32(buf + 12, rec->len);
	be_put32(buf + 16, rec->src_stag);
	be_put32(buf + 20, rec->sink_stag);
	be_put64(buf + 24, rec->src_to);
	be_put64(buf + 32, rec->sink_to);
}

int ddping_rec_get(const void *buf, size_t len, uint16_t kind, struct ddping_rec *ret)
{
	const uint8_t *p = buf;

	if (len != DDPING_REC_LEN || be_get32(p) != MAGIC || be_get16(p + 4) != DDPING_VERSION ||
	    be_get16(p + 6) != kind)
		return -EPROTO;
	*ret = (struct ddping_rec){
		.kind = kind,
		.seq = be_get32(p + 8),
		.len = be_get32(p + 12),
		.src_stag = be_get32(p + 16),
		.sink_stag = be_get32(p + 20),
		.src_to = be_get64(p + 24),
		.sink_to = be_get64(p + 32),
	};
	return 0;
}
