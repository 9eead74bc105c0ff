/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A service key at the start of the private data of an Initiate. It selects one of several
 * listeners of an SCTP port. docs/choices.md describes the form: 7 bytes that name it, a version,
 * and the key in network byte order.
 */
#ifndef UTIL_SERVICE_KEY_H
#define UTIL_SERVICE_KEY_H

#include <stddef.h>
#include <stdint.h>

enum { SERVICE_KEY_LEN = 16 };

enum {
	SERVICE_KEY_E_OK,
	SERVICE_KEY_E_NONE, /* the private data does not begin with a key */
	SERVICE_KEY_E_BAD,  /* it does, but the key is cut off, 0, or of an unknown version */
};

/* Writes the form of this key, which is not 0. */
void service_key_put(uint8_t ret[SERVICE_KEY_LEN], uint64_t key);

/* Reads the key from len bytes of private data. SERVICE_KEY_E_; *ret is untouched unless OK. */
int service_key_get(const uint8_t *priv, size_t len, uint64_t *ret);

#endif
