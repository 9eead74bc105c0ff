/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/easy/easy_hello.h"

#include <ddp/ddp.h>
#include <endian.h>
#include <string.h>

static const uint8_t begin[5] = {'D', 'D', 'P', 'E', 1};

void easy_hello_put(uint8_t *to, const struct easy_hello *h)
{
	uint16_t messages = htobe16((uint16_t)h->messages);
	uint32_t words[2] = {htobe32(h->message_bytes), htobe32(h->rkey)};
	uint64_t offer[2] = {htobe64(h->addr), htobe64(h->length)};

	memcpy(to, begin, sizeof(begin));
	to[5] = (uint8_t)h->access;
	memcpy(to + 6, &messages, sizeof(messages));
	memcpy(to + 8, words, sizeof(words));
	memcpy(to + 16, offer, sizeof(offer));
}

const char *easy_hello_get(const uint8_t *from, size_t len, struct easy_hello *ret)
{
	struct easy_hello h = {0};
	uint16_t messages;
	uint32_t words[2];
	uint64_t offer[2];

	if (len < EASY_HELLO_SIZE || memcmp(from, begin, sizeof(begin)) != 0)
		return "does not use the easy calls of this version";
	memcpy(&messages, from + 6, sizeof(messages));
	memcpy(words, from + 8, sizeof(words));
	memcpy(offer, from + 16, sizeof(offer));
	h.access = from[5] & (DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ);
	h.messages = be16toh(messages);
	h.message_bytes = be32toh(words[0]);
	h.rkey = be32toh(words[1]);
	h.addr = be64toh(offer[0]);
	h.length = be64toh(offer[1]);
	if (h.messages == 0 || h.messages > EASY_MESSAGES_MAX || h.message_bytes == 0)
		return "announced an invalid number of messages";
	if (h.length > UINT64_MAX - h.addr)
		return "offered memory beyond the end of addresses";
	*ret = h;
	return NULL;
}
