/* SPDX-License-Identifier: BSD-2-Clause */
/* A rule of user.congestion_control_for as text, such as "10.0.0.0/8 bbr", and back. */
#ifndef DAEMON_BASE_CONFIG_RULE_H
#define DAEMON_BASE_CONFIG_RULE_H

#include <stdio.h>

#include "llp/common/llp.h"

/* NULL, and the rule with every byte set; or what is wrong with the text, a verb and its object. An
 * address without a length is that address alone. */
const char *config_rule_parse(const char *text, struct llp_cc_rule *ret);

/* Prints it in double quotes. */
void config_rule_print(const struct llp_cc_rule *r, FILE *f);

#endif
