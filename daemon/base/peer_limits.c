/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/peer_limits.h"

#include <string.h>

#include "daemon/base/config_keys.h"
#include "daemon/base/config_size.h"

#define VALUE(name)                                                                                \
	.key = #name, .member = offsetof(struct config_peers, name),                               \
	.size = sizeof(((struct config_peers *)0)->name)

#define MIB (UINT64_C(1) << 20)

/* One network gets at most three quarters of a total: so each is larger than the default of one
 * network by a third or more. A quarter of all associations remains for those that are opened here.
 */
static const struct peer_limits_row rows[NETWORK_KINDS] = {
	[NETWORK_ASSOCS] = {VALUE(associations), .what = "associations", .all = 12288},
	[NETWORK_SESSIONS] = {VALUE(sessions), .what = "sessions", .all = NETWORK_NO_LIMIT},
	[NETWORK_REQUESTS] = {VALUE(requests), .what = "session requests that wait", .all = 16384},
	[NETWORK_RATE] = {VALUE(requests_per_s), .what = "session requests in a second",
			  .all = NETWORK_NO_LIMIT},
	[NETWORK_EARLY] = {VALUE(early_bytes), .what = "bytes of segments before an Accept",
			   .all = 256 * MIB},
	[NETWORK_MEMORY] = {VALUE(memory), .what = "bytes of queued data", .all = LLP_USER_MEMORY},
	/* Without a key. No window is refused, it only stays smaller. */
	[NETWORK_WINDOWS] = {.what = "bytes of grown receive windows", .all = LLP_USER_WINDOWS},
	[NETWORK_CARRIERS] = {.what = "sessions for datagrams", .all = PEER_LIMITS_CARRIERS},
};

const struct peer_limits_row *peer_limits_row(enum network_kind kind)
{
	return &rows[kind];
}

static enum network_kind find_kind(const char *key)
{
	int kind = 0;

	while (kind < NETWORK_KINDS && !(rows[kind].key && strcmp(rows[kind].key, key) == 0))
		kind++;
	return (enum network_kind)kind;
}

static uint64_t value_of(const struct config_peers *cfg, enum network_kind kind)
{
	const char *at = (const char *)cfg + rows[kind].member;
	uint64_t wide = 0;
	uint32_t narrow = 0;

	if (!rows[kind].key)
		return NETWORK_NO_LIMIT;
	if (rows[kind].size == sizeof(wide)) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, at, sizeof(narrow));
	return narrow;
}

static void add_rules(const struct peer_rule *r, struct network_limits *ret)
{
	for (unsigned i = 0; r->has && i < r->nprefixes; i++) {
		struct network_rule *rule = &ret->rule[ret->nrules++];

		memcpy(rule->ip, r->prefix[i].ip, sizeof(rule->ip));
		rule->bits = (uint8_t)r->prefix[i].bits;
		for (unsigned kind = 0; kind < NETWORK_KINDS; kind++) {
			rule->has[kind] = r->has >> kind & 1;
			rule->most[kind] = r->most[kind];
		}
	}
}

void peer_limits_get(const struct config_peers *cfg, struct network_limits *ret)
{
	*ret = (struct network_limits){.nrules = 0};
	for (unsigned kind = 0; kind < NETWORK_KINDS; kind++) {
		ret->most[kind] = value_of(cfg, kind);
		ret->all[kind] = rows[kind].all;
	}
	for (unsigned i = 0; i < cfg->rules.n; i++)
		add_rules(&cfg->rules.rule[i], ret);
}

/* ---- rules as text ---- */

/* As the key of the same name, without a section. */
static const char *parse_amount(const struct config_key *k, const char *text, uint64_t *ret)
{
	const char *end;

	if (k->type == CONFIG_TYPE_NUMBER) {
		if (!config_digits(text, 10, ret, &end) || *end)
			return "has a limit that is no number";
	} else if (config_size_parse(text, ret) != CONFIG_SIZE_OK) {
		return "has a limit that is no size in bytes, KiB, MiB or GiB";
	}
	return *ret < k->min || *ret > k->max ? "has a limit that is out of range" : NULL;
}

/* A word of a rule: "sessions=100" */
static const char *parse_limit(char *word, struct peer_rule *ret)
{
	char *amount = strchr(word, '=');
	enum network_kind kind;

	*amount++ = '\0';
	kind = find_kind(word);
	if (kind == NETWORK_KINDS)
		return "has an unknown word before =";
	if (ret->has >> kind & 1)
		return "has a word twice";
	ret->has |= 1U << kind;
	return parse_amount(config_key_find("peers", word), amount, &ret->most[kind]);
}

const char *peer_limits_parse_rule(const char *text, struct peer_rule *ret)
{
	return peer_rule_parse(text, parse_limit, ret);
}

void peer_limits_print_rule(const struct peer_rule *r, FILE *f)
{
	char amount[32];

	fputc('"', f);
	peer_rule_print(r, f);
	for (unsigned kind = 0; kind < NETWORK_KINDS; kind++) {
		const char *key = rows[kind].key;

		if (!(r->has >> kind & 1))
			continue;
		if (config_key_find("peers", key)->type == CONFIG_TYPE_SIZE)
			config_size_text(r->most[kind], amount, sizeof(amount));
		else
			snprintf(amount, sizeof(amount), "%ju", (uintmax_t)r->most[kind]);
		fprintf(f, " %s=%s", key, amount);
	}
	fputc('"', f);
}
