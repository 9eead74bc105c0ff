/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/port_rule.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 1 to 65535, in *text, which then points after it. */
static bool read_port(const char **text, uint16_t *ret)
{
	size_t len = strspn(*text, "0123456789");
	unsigned long n = len > 0 && len <= 5 ? strtoul(*text, NULL, 10) : 0;

	*text += len;
	*ret = (uint16_t)n;
	return n > 0 && n <= UINT16_MAX;
}

static bool read_range(const char *text, struct port_rule *ret)
{
	if (!read_port(&text, &ret->first))
		return false;
	ret->last = ret->first;
	if (*text == '-') {
		text++;
		if (!read_port(&text, &ret->last))
			return false;
	}
	return *text == '\0' && ret->first <= ret->last;
}

const char *port_rule_parse(const char *text, struct port_rule *ret)
{
	char words[PORT_RULE_TEXT_MAX], *save = NULL, *word;
	const char *wrong = NULL;

	memset(ret, 0, sizeof(*ret));
	if (strlen(text) >= sizeof(words))
		return "is too long";
	strcpy(ret->text, text);
	strcpy(words, text);
	word = strtok_r(words, " ", &save);
	if (!word || !read_range(word, ret))
		return "does not begin with a port or two, as in 7000-7099";
	while (!wrong && (word = strtok_r(NULL, " ", &save))) {
		if (ret->n == PORT_RULE_WHO_MAX)
			return "has more than 8 users and groups";
		wrong = principal_parse(word, &ret->who[ret->n++]);
	}
	if (wrong)
		return "names a user or a group that this system does not have";
	return ret->n > 0 ? NULL : "names nobody: write users, @groups or *";
}

const struct port_rule *port_rule_for(const struct port_rule *rules, unsigned n, uint16_t port)
{
	for (unsigned i = 0; i < n; i++)
		if (rules[i].first <= port && port <= rules[i].last)
			return &rules[i];
	return NULL;
}
