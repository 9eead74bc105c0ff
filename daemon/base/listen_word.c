/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/listen_word.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "util/addr.h"

static bool read_in(const char *text, struct sockaddr_storage *ret)
{
	struct sockaddr_in sin = {.sin_family = AF_INET};

	if (inet_pton(AF_INET, text, &sin.sin_addr) != 1)
		return false;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, &sin, sizeof(sin));
	return true;
}

/* With %interface after a link-local address. */
static bool read_in6(const char *text, struct listen_word *ret)
{
	struct sockaddr_in6 sin6 = {.sin6_family = AF_INET6};
	const char *scope = strchr(text, '%');
	char number[INET6_ADDRSTRLEN];
	int n = scope ? (int)(scope - text) : (int)strlen(text);

	if (n >= (int)sizeof(number) || (scope && strlen(scope + 1) >= sizeof(ret->scope)))
		return false;
	snprintf(number, sizeof(number), "%.*s", n, text);
	if (inet_pton(AF_INET6, number, &sin6.sin6_addr) != 1)
		return false;
	memset(&ret->addr, 0, sizeof(ret->addr));
	memcpy(&ret->addr, &sin6, sizeof(sin6));
	snprintf(ret->scope, sizeof(ret->scope), "%s", scope ? scope + 1 : "");
	return true;
}

/* Why an association cannot use the address; NULL if it can. */
static const char *unfit(const struct listen_word *w)
{
	const struct in6_addr *a6 = &((const struct sockaddr_in6 *)&w->addr)->sin6_addr;

	/* Replies have to leave from the address that received the packet. */
	if (addr_any(&w->addr))
		return "is a wildcard; write any";
	if (!addr_one_host(&w->addr))
		return "is not the address of one host";
	if (w->addr.ss_family == AF_INET)
		return NULL;
	if (IN6_IS_ADDR_V4MAPPED(a6))
		return "must be written as an IPv4 address";
	if (IN6_IS_ADDR_LINKLOCAL(a6) != (*w->scope != '\0'))
		return *w->scope ? "has an interface, but is not a link-local address"
				 : "needs its interface, as in fe80::1%eth0";
	return NULL;
}

/* The characters of interfaces and hosts; not only digits and dots. */
static bool is_name(const char *text)
{
	size_t n = strlen(text);

	if (n == 0 || n >= LISTEN_WORD_MAX || strspn(text, "0123456789.") == n)
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("._-@+", *text))
			return false;
	return true;
}

const char *listen_word_parse(const char *text, struct listen_word *ret)
{
	*ret = (struct listen_word){.kind = LISTEN_ADDR};
	if (read_in(text, &ret->addr) || read_in6(text, ret))
		return unfit(ret);
	if (!is_name(text))
		return "is neither an address nor a name";
	ret->kind = strcmp(text, "any") == 0 ? LISTEN_ANY : LISTEN_NAME;
	return NULL;
}

bool listen_word_same(const char *a, const char *b)
{
	struct listen_word wa, wb;

	if (strcmp(a, b) == 0)
		return true;
	return !listen_word_parse(a, &wa) && !listen_word_parse(b, &wb) && wa.kind == LISTEN_ADDR &&
	       wb.kind == LISTEN_ADDR && addr_same_host(&wa.addr, &wb.addr) &&
	       strcmp(wa.scope, wb.scope) == 0;
}
