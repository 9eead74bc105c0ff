/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/rules/config_prefix.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { V4_BITS = 32, V6_BITS = 128 };

static const uint8_t *bytes_of(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET ? (const void *)&((const struct sockaddr_in *)a)->sin_addr
				       : (const void *)&((const struct sockaddr_in6 *)a)->sin6_addr;
}

static unsigned most_bits(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET ? V4_BITS : V6_BITS;
}

static bool read_address(const char *text, struct sockaddr_storage *ret)
{
	ret->ss_family = AF_INET;
	if (inet_pton(AF_INET, text, &((struct sockaddr_in *)ret)->sin_addr) == 1)
		return true;
	ret->ss_family = AF_INET6;
	return inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)ret)->sin6_addr) == 1;
}

/* Digits alone; NULL: all bits. False if it is none of both. */
static bool read_bits(const char *text, unsigned most, uint32_t *ret)
{
	unsigned long n = most;

	if (text && (strlen(text) > 3 || strspn(text, "0123456789") != strlen(text) || !*text))
		return false;
	if (text)
		n = strtoul(text, NULL, 10);
	*ret = n <= V6_BITS ? (uint32_t)n : V6_BITS + 1;
	return true;
}

static bool has_more_bits(const struct sockaddr_storage *a, unsigned bits)
{
	const uint8_t *p = bytes_of(a);

	for (unsigned i = bits; i < most_bits(a); i++)
		if (p[i / 8] >> (7 - i % 8) & 1)
			return true;
	return false;
}

const char *config_prefix_parse(const char *text, struct sockaddr_storage *ret_addr,
				uint32_t *ret_bits)
{
	char copy[CONFIG_PREFIX_TEXT], *slash;

	if (strlen(text) >= sizeof(copy))
		return "has no numeric prefix";
	strcpy(copy, text);
	slash = strchr(copy, '/');
	if (slash)
		*slash++ = '\0';
	if (!read_address(copy, ret_addr) || !read_bits(slash, most_bits(ret_addr), ret_bits))
		return "has no numeric prefix";
	if (*ret_bits > most_bits(ret_addr))
		return ret_addr->ss_family == AF_INET6 ? "has more than 128 bits"
						       : "has more than 32 bits";
	if (ret_addr->ss_family == AF_INET6 &&
	    IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)bytes_of(ret_addr)))
		return "must be written with an IPv4 prefix";
	return has_more_bits(ret_addr, *ret_bits) ? "has an address with bits beyond its prefix"
						  : NULL;
}

const char *config_prefix_text(const struct sockaddr_storage *addr, uint32_t bits,
			       char ret[CONFIG_PREFIX_TEXT])
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(addr->ss_family, bytes_of(addr), text, sizeof(text));
	snprintf(ret, CONFIG_PREFIX_TEXT, "%s/%u", text, bits);
	return ret;
}
