/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/config_rule.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/config_keys.h"

enum { V4_BITS = 32, V6_BITS = 128 };

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

static const uint8_t *bytes_of(const struct llp_cc_rule *r)
{
	return r->prefix.ss_family == AF_INET
		       ? (const void *)&((const struct sockaddr_in *)&r->prefix)->sin_addr
		       : (const void *)&((const struct sockaddr_in6 *)&r->prefix)->sin6_addr;
}

static unsigned most_bits(const struct llp_cc_rule *r)
{
	return r->prefix.ss_family == AF_INET ? V4_BITS : V6_BITS;
}

static bool read_address(const char *text, struct llp_cc_rule *ret)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)&ret->prefix;
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&ret->prefix;

	ret->prefix.ss_family = AF_INET;
	if (inet_pton(AF_INET, text, &sin->sin_addr) == 1)
		return true;
	ret->prefix.ss_family = AF_INET6;
	return inet_pton(AF_INET6, text, &sin6->sin6_addr) == 1;
}

/* Digits alone; NULL: all bits. False if it is none of both. */
static bool read_bits(const char *text, struct llp_cc_rule *ret)
{
	unsigned long n = most_bits(ret);

	if (text && (strlen(text) > 3 || strspn(text, "0123456789") != strlen(text) || !*text))
		return false;
	if (text)
		n = strtoul(text, NULL, 10);
	ret->bits = n <= V6_BITS ? (uint8_t)n : V6_BITS + 1;
	return true;
}

static bool has_more_bits(const struct llp_cc_rule *r)
{
	const uint8_t *p = bytes_of(r);

	for (unsigned i = r->bits; i < most_bits(r); i++)
		if (p[i / 8] >> (7 - i % 8) & 1)
			return true;
	return false;
}

static const char *check_prefix(const struct llp_cc_rule *r)
{
	bool v6 = r->prefix.ss_family == AF_INET6;

	if (r->bits > most_bits(r))
		return v6 ? "has more than 128 bits" : "has more than 32 bits";
	if (v6 && IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)bytes_of(r)))
		return "must be written with an IPv4 prefix";
	return has_more_bits(r) ? "has an address with bits beyond its prefix" : NULL;
}

const char *config_rule_parse(const char *text, struct llp_cc_rule *ret)
{
	char prefix[INET6_ADDRSTRLEN + 4], algorithm[16], rest, *slash;

	memset(ret, 0, sizeof(*ret));
	if (sscanf(text, "%49s %15s %c", prefix, algorithm, &rest) != 2)
		return "is not a prefix and an algorithm";
	slash = strchr(prefix, '/');
	if (slash)
		*slash++ = '\0';
	if (!read_address(prefix, ret) || !read_bits(slash, ret))
		return "has no numeric prefix";
	if (!find_algorithm(algorithm, ret))
		return "has an unknown algorithm";
	return check_prefix(ret);
}

void config_rule_print(const struct llp_cc_rule *r, FILE *f)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(r->prefix.ss_family, bytes_of(r), text, sizeof(text));
	fprintf(f, "\"%s/%u %s\"", text, r->bits, algorithms()[r->cc]);
}
