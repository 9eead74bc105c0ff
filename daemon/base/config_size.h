/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers, and sizes such as "64 MiB", as text and back. */
#ifndef DAEMON_BASE_CONFIG_SIZE_H
#define DAEMON_BASE_CONFIG_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum config_size_result {
	CONFIG_SIZE_OK,
	CONFIG_SIZE_NO_NUMBER, /* or another unit */
	CONFIG_SIZE_TOO_LARGE, /* for 64 bits */
};

/* Digits of a base; *ret_end points after them. False if there are none or they exceed 64 bits. */
bool config_digits(const char *text, unsigned base, uint64_t *ret, const char **ret_end);

/* Bytes, KiB, MiB or GiB. */
enum config_size_result config_size_parse(const char *text, uint64_t *ret);

/* In the largest unit that divides it. */
void config_size_text(uint64_t v, char *ret, size_t len);

#endif
