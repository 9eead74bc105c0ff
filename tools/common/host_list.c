/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/common/host_list.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"

enum { HOST_MAX = 256 };

/* The port of HOST:PORT and [ADDRESS]:PORT; NULL: there is none, as in an IPv6 address. */
static const char *port_after(const char *host, size_t len)
{
	const char *colon = memrchr(host, ':', len);
	bool alone = colon && colon > host && (colon[-1] == ']' || memchr(host, ':', len) == colon);

	return alone && strspn(colon + 1, "0123456789") > 0 ? colon + 1 : NULL;
}

bool host_list_check(const char *text)
{
	size_t len = strcspn(text, ",");
	const char *at = memchr(text, '@', len), *port = port_after(text, len);
	const char *name = text + (*text == '[');

	if (at)
		message_error("%.*s: a peer has no users: write %s", (int)len, text, at + 1);
	else if (port)
		message_error("%.*s: give the port as an option: -p %d %.*s", (int)len, text,
			      atoi(port), (int)strcspn(name, *text == '[' ? "]" : ":"), name);
	return !at && !port;
}

bool host_list_several(const char *text)
{
	return strchr(text, ',') != NULL;
}

static int resolve_host(const char *what, const char *host, struct sockaddr_storage *ret)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
	struct addrinfo *ai;
	int e = getaddrinfo(host, NULL, &hints, &ai);

	if (e) {
		message_error("%s: %s: %s", what, host, gai_strerror(e));
		return -EADDRNOTAVAIL;
	}
	memset(ret, 0, sizeof(*ret));
	if (ai->ai_addrlen <= sizeof(*ret))
		memcpy(ret, ai->ai_addr, ai->ai_addrlen);
	freeaddrinfo(ai);
	return 0;
}

/* The port has the same offset in both kinds of address. */
static void set_port(struct sockaddr_storage *a, uint16_t port)
{
	struct sockaddr_in in;

	memcpy(&in, a, sizeof(in));
	in.sin_port = htons(port);
	memcpy(a, &in, sizeof(in));
}

static int add_host(const char *what, const char *host, size_t len, uint16_t port,
		    struct host_list *l)
{
	char name[HOST_MAX];
	int r;

	if (len == 0 || len >= sizeof(name)) {
		message_error("%s: an address is %s", what, len ? "too long" : "empty");
		return -EINVAL;
	}
	if (l->n == HOST_LIST_MAX) {
		message_error("%s: at most %d addresses", what, HOST_LIST_MAX);
		return -EINVAL;
	}
	snprintf(name, sizeof(name), "%.*s", (int)len, host);
	r = resolve_host(what, name, &l->a[l->n]);
	if (r == 0)
		set_port(&l->a[l->n++], port);
	return r;
}

int host_list_parse(const char *what, const char *text, uint16_t port, struct host_list *ret)
{
	struct host_list l = {.n = 0};
	int r = 0;

	for (const char *host = text; r == 0 && host;) {
		const char *end = strchrnul(host, ',');

		r = add_host(what, host, (size_t)(end - host), port, &l);
		host = *end ? end + 1 : NULL;
	}
	if (r == 0)
		*ret = l;
	return r;
}
