/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/path/size_cache.h"

void sctp_size_cache_put(struct sctp_size_cache *c, const struct sctp_flow *to, uint32_t size,
			 uint64_t now_us)
{
	struct sctp_size *at = &c->entry[0];

	for (unsigned i = 0; i < SCTP_SIZE_ENTRIES; i++) {
		struct sctp_size *e = &c->entry[i];

		if (e->until_us && sctp_flow_equal(&e->to, to)) {
			at = e;
			break;
		}
		if (e->until_us < at->until_us)
			at = e;
	}
	*at = (struct sctp_size){*to, size, now_us + SCTP_SIZE_KEEP_US};
}

uint32_t sctp_size_cache_get(const struct sctp_size_cache *c, const struct sctp_flow *to,
			     uint64_t now_us)
{
	for (unsigned i = 0; i < SCTP_SIZE_ENTRIES; i++)
		if (c->entry[i].until_us > now_us && sctp_flow_equal(&c->entry[i].to, to))
			return c->entry[i].size;
	return 0;
}
