/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "daemon/base/config.h"
#include "daemon/base/config_value.h"

void config_print(const struct config *c, FILE *f)
{
	const struct config_key *k;
	const char *section = "";

	for (size_t i = 0; (k = config_key_at(i)); i++) {
		const char *indent = *k->section ? "  " : "";
		char range[CONFIG_RANGE_MAX];

		if (strcmp(k->section, section) != 0)
			fprintf(f, "\n%s:\n", k->section);
		section = k->section;
		config_value_range(k, range);
		fprintf(f, "%s# %s (%s%s)\n%s%s: ", indent, k->help, range, config_key_effect(k),
			indent, k->name);
		config_value_print(k, c, f);
		fputc('\n', f);
	}
}
