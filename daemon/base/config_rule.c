/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/config_rule.h"

#include <string.h>

#include "daemon/base/config_keys.h"
#include "daemon/rules/config_prefix.h"

/* The names are those of the key without prefixes. */
static const char *const *algorithms(void)
{
	return config_key_find("user", "congestion_control")->choices;
}

static bool find_algorithm(const char *name, struct llp_cc_rule *ret)
{
	for (unsigned i = 0; i < CONFIG_MAX_CHOICES && algorithms()[i]; i++) {
		if (strcmp(algorithms()[i], name) == 0) {
			ret->cc = (enum llp_cc)i;
			return true;
		}
	}
	return false;
}

const char *config_rule_parse(const char *text, struct llp_cc_rule *ret)
{
	char prefix[CONFIG_PREFIX_TEXT], algorithm[16], rest;
	const char *wrong;

	memset(ret, 0, sizeof(*ret));
	if (sscanf(text, "%49s %15s %c", prefix, algorithm, &rest) != 2)
		return "is not a prefix and an algorithm";
	wrong = config_prefix_parse(prefix, &ret->prefix, &ret->bits);
	if (wrong)
		return wrong;
	return find_algorithm(algorithm, ret) ? NULL : "has an unknown algorithm";
}

void config_rule_print(const struct llp_cc_rule *r, FILE *f)
{
	char text[CONFIG_PREFIX_TEXT];

	fprintf(f, "\"%s %s\"", config_prefix_text(&r->prefix, r->bits, text), algorithms()[r->cc]);
}
