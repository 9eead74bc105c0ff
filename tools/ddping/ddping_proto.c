/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddping/ddping_proto.h"

#include <errno.h>

#include "tools/common/rec.h"

enum { MAGIC = 0x44445049 }; /* "DDPI" */

void ddping_hello_put(uint8_t buf[DDPING_HELLO_LEN], uint32_t size)
{
	memset(buf, 0, DDPING_HELLO_LEN);
	rec_put32(buf, MAGIC);
	rec_put16(buf + 4, DDPING_VERSION);
	rec_put32(buf + 8, size);
}

int ddping_hello_get(const void *buf, size_t len, uint32_t *ret_size)
{
	const uint8_t *p = buf;
	uint32_t size;

	if (len < 6 || rec_get32(p) != MAGIC)
		return -EPROTO;
	if (rec_get16(p + 4) != DDPING_VERSION)
		return -EPROTONOSUPPORT;
	if (len != DDPING_HELLO_LEN)
		return -EPROTO;
	size = rec_get32(p + 8);
	if (size == 0 || size > DDPING_MAX_SIZE)
		return -ERANGE;
	*ret_size = size;
	return 0;
}

void ddping_rec_put(uint8_t buf[DDPING_REC_LEN], const struct ddping_rec *rec)
{
	memset(buf, 0, DDPING_REC_LEN);
	rec_put32(buf, MAGIC);
	rec_put16(buf + 4, DDPING_VERSION);
	rec_put16(buf + 6, rec->kind);
	rec_put32(buf + 8, rec->seq);
	rec_put32(buf + 12, rec->len);
	rec_put32(buf + 16, rec->src_stag);
	rec_put32(buf + 20, rec->sink_stag);
	rec_put64(buf + 24, rec->src_to);
	rec_put64(buf + 32, rec->sink_to);
}

int ddping_rec_get(const void *buf, size_t len, uint16_t kind, struct ddping_rec *ret)
{
	const uint8_t *p = buf;

	if (len != DDPING_REC_LEN || rec_get32(p) != MAGIC || rec_get16(p + 4) != DDPING_VERSION ||
	    rec_get16(p + 6) != kind)
		return -EPROTO;
	*ret = (struct ddping_rec){
		.kind = kind,
		.seq = rec_get32(p + 8),
		.len = rec_get32(p + 12),
		.src_stag = rec_get32(p + 16),
		.sink_stag = rec_get32(p + 20),
		.src_to = rec_get64(p + 24),
		.sink_to = rec_get64(p + 32),
	};
	return 0;
}
