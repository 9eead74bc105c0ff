/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts the values of the configuration to text and back. */
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
 * Stores the value of the text; for a list, adds it as the next item. False if the key cannot have
 * this value: ret_reason then has a sentence with the fault and the expected values.
 */
bool config_value_parse(const struct config_key *k, const char *text, struct config *c,
			char ret_reason[CONFIG_REASON_MAX]);

/* The same for the value as a whole: items of a list are separated by commas and replace those that
 * were there. */
bool config_value_parse_all(const struct config_key *k, const char *text, struct config *c,
			    char ret_reason[CONFIG_REASON_MAX]);

/* True if the file has a list of values. */
bool config_value_is_list(const struct config_key *k);

/* Empties a list. Other values stay unchanged. */
void config_value_clear(const struct config_key *k, struct config *c);

/* True if both have the same value. */
bool config_value_same(const struct config_key *k, const struct config *a, const struct config *b);

/* Copies the value. */
void config_value_copy(const struct config_key *k, const struct config *from, struct config *to);

/* Prints the value as YAML, in one line without a newline. */
void config_value_print(const struct config_key *k, const struct config *c, FILE *f);

/* The value as config_value_print() does, cut if it is longer. */
void config_value_text(const struct config_key *k, const struct config *c, char *ret, size_t len);

/* Prints the values that the key accepts: "1 to 1024", "auto, on or off". */
void config_value_range(const struct config_key *k, char ret[CONFIG_RANGE_MAX]);

#endif
