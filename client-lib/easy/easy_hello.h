/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The private data of both sides of an easy connection, in network byte order:
 *
 *	0  magic "DDPE"       8  longest message     16  address of the offer
 *	4  version, 1        12  key of the offer    24  length of the offer, 0: none
 *	5  rights of it
 *	6  receives (credits)
 */
#ifndef DDP_EASY_HELLO_H
#define DDP_EASY_HELLO_H

#include <stddef.h>
#include <stdint.h>

enum {
	EASY_HELLO_SIZE = 32,
	EASY_MESSAGES_MAX = 4096,
	EASY_BYTES_MAX = 16 << 20,
};

struct easy_hello {
	uint32_t messages, message_bytes;
	/* The offered memory: rights are those of enum ddp_access. */
	uint32_t access, rkey;
	uint64_t addr, length;
};

/* Writes EASY_HELLO_SIZE bytes. */
void easy_hello_put(uint8_t *to, const struct easy_hello *h);

/* Reads the private data of the peer. Returns NULL, or why it is invalid, as the rest of a sentence
 * that begins with "the peer". */
const char *easy_hello_get(const uint8_t *from, size_t len, struct easy_hello *ret);

#endif
