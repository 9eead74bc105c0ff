/* SPDX-License-Identifier: BSD-2-Clause */
/* The values of the configuration as text, and back. */
#ifndef DAEMON_BASE_CONFIG_VALUE_H
#define DAEMON_BASE_CONFIG_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "daemon/base/config.h"
#include "daemon/base/config_keys.h"

enum {
	CONFIG_REASON_MAX = 384,
	CONFIG_RANGE_MAX = 96,
};

/*
 * Stores what the text says; of a list, adds it as the next item. False, with a sentence of what is
 * wrong and what would be right in ret_why, if it is no value for this key.
 */
bool config_value_parse(const struct config_key *k, const char *text, struct config *c,
			char ret_reason[CONFIG_REASON_MAX]);

/* Empties a list; other values are left alone. */
void config_value_clear(const struct config_key *k, struct config *c);

/* Whether both have the same value. */
bool config_value_same(const struct config_key *k, const struct config *a, const struct config *b);

/* Copies the value. */
void config_value_copy(const struct config_key *k, const struct config *from, struct config *to);

/* Prints the value as YAML, in one line without its end. */
void config_value_print(const struct config_key *k, const struct config *c, FILE *f);

/* What the key takes: "1 to 1024", "auto, on or off". */
void config_value_range(const struct config_key *k, char ret[CONFIG_RANGE_MAX]);

#endif
