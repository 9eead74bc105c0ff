/* SPDX-License-Identifier: BSD-2-Clause */
/* A rule of `ports` as text, such as "1-1023 root @wheel": who may listen there. */
#ifndef DAEMON_BASE_PORT_RULE_H
#define DAEMON_BASE_PORT_RULE_H

#include <stdint.h>

#include "daemon/base/principal.h"

enum {
	PORT_RULE_WHO_MAX = 8,
	PORT_RULE_TEXT_MAX = 160,
};

struct port_rule {
	char text[PORT_RULE_TEXT_MAX]; /* as written */
	uint16_t first, last;
	uint32_t n;
	struct principal who[PORT_RULE_WHO_MAX];
};

/* Reads one; every byte is set. NULL, or the rest of a sentence about it. */
const char *port_rule_parse(const char *text, struct port_rule *ret);

/* The first rule that has the port; NULL: none, so everybody may listen there. */
const struct port_rule *port_rule_for(const struct port_rule *rules, unsigned n, uint16_t port);

#endif
