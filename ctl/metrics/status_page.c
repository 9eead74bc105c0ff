/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/metrics/status_page.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>

/* status.html as a string, made by make. */
static const char text[] =
#include "ctl/metrics/status_html.h"
	;

static const char mark[] = "NONCE"; /* in status.html */

bool status_page_nonce(char ret[STATUS_PAGE_NONCE])
{
	unsigned char random[STATUS_PAGE_NONCE / 2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return false;
	for (unsigned i = 0; i < sizeof(random); i++)
		snprintf(ret + 2 * i, 3, "%02x", random[i]);
	return true;
}

void status_page_policy(const char *nonce, char ret[STATUS_PAGE_POLICY])
{
	snprintf(ret, STATUS_PAGE_POLICY,
		 "default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; connect-src "
		 "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
		 "require-trusted-types-for 'script'",
		 nonce, nonce);
}

void status_page_print(FILE *out, const char *nonce)
{
	const char *from = text, *at;

	while ((at = strstr(from, mark))) {
		fwrite(from, 1, (size_t)(at - from), out);
		fputs(nonce, out);
		from = at + sizeof(mark) - 1;
	}
	fputs(from, out);
}

bool status_page_host(const char *host)
{
	char name[INET6_ADDRSTRLEN] = "";
	struct in6_addr in6;
	struct in_addr in;
	size_t len;

	if (!host)
		return false;
	len = *host == '[' ? strcspn(++host, "]") : strcspn(host, ":");
	if (len >= sizeof(name))
		return false;
	memcpy(name, host, len);
	if (inet_pton(AF_INET, name, &in) == 1)
		return ntohl(in.s_addr) >> 24 == 127;
	if (inet_pton(AF_INET6, name, &in6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&in6);
	return strcmp(name, "localhost") == 0;
}
