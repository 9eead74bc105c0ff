/* SPDX-License-Identifier: BSD-2-Clause */
/* A prefix of addresses as text, such as "10.0.0.0/8", and back. */
#ifndef DAEMON_RULES_CONFIG_PREFIX_H
#define DAEMON_RULES_CONFIG_PREFIX_H

#include <stdint.h>
#include <sys/socket.h>

enum { CONFIG_PREFIX_TEXT = 50 };

/* NULL, and the prefix; or the fault of the text, a verb and its object. An address without a
 * length is that address alone. *ret_addr is all zero before. */
const char *config_prefix_parse(const char *text, struct sockaddr_storage *ret_addr,
				uint32_t *ret_bits);

/* "10.0.0.0/8". Returns ret. */
const char *config_prefix_text(const struct sockaddr_storage *addr, uint32_t bits,
			       char ret[CONFIG_PREFIX_TEXT]);

#endif
