/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "daemon/base/config.h"
#include "daemon/base/config_value.h"

void config_note(const struct config *c, const struct config_origin *o, FILE *f)
{
	const struct peer_rules *l = &c->peers.rules;
	char in[PEER_RULE_TITLE], out[PEER_RULE_TITLE], prefix[PEER_RULE_TITLE];

	for (unsigned i = 0; i < l->n; i++) {
		for (unsigned j = 0; j < l->rule[i].nprefixes; j++) {
			int around = peer_rules_around(l, i, j);

			if (around < 0)
				continue;
			fprintf(f,
				"%s:%d: peers.rules: %s (%s) is a part of %s, line %d, and "
				"counts first\n",
				o->file, o->rule_line[i], peer_rule_title(&l->rule[i], in),
				peer_prefix_text(&l->rule[i].prefix[j], prefix),
				peer_rule_title(&l->rule[around], out), o->rule_line[around]);
		}
	}
}

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
