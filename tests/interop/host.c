/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/interop/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned packets;

void host_die(const char *what)
{
	perror(what);
	_Exit(1);
}

static void put(char letter, const void *p, size_t n)
{
	static uint8_t buf[1 << 17];

	if (n >= sizeof(buf))
		host_die("a packet is too long");
	buf[0] = (uint8_t)letter;
	memcpy(buf + 1, p, n);
	if (send(STDIN_FILENO, buf, n + 1, MSG_NOSIGNAL) < 0)
		_Exit(0); /* interop.py has what it wanted */
}

void host_put(const void *p, size_t n)
{
	packets++;
	put('p', p, n);
}

unsigned host_packets(void)
{
	return packets;
}

void host_event(const char *what, size_t len)
{
	char text[64];
	int n = len ? snprintf(text, sizeof(text), "%s %zu", what, len)
		    : snprintf(text, sizeof(text), "%s", what);

	put('e', text, (size_t)n);
}

static void ask(const struct host_ops *ops, const char *text)
{
	unsigned n, len;

	if (!strcmp(text, "connect"))
		ops->connect();
	else if (!strcmp(text, "shutdown"))
		ops->shutdown();
	else if (!strcmp(text, "abort"))
		ops->abort();
	else if (sscanf(text, "send %u %u", &n, &len) == 2)
		ops->send(n, len);
	else
		host_die(text);
}

int host_run(const struct host_ops *ops)
{
	static uint8_t buf[1 << 17];
	ssize_t n;

	while ((n = recv(STDIN_FILENO, buf, sizeof(buf) - 1, 0)) > 0) {
		unsigned passed = 0;
		char text[16];

		buf[n] = 0;
		if (buf[0] == 'p' && n > 2)
			ops->packet(buf[1], buf + 2, (size_t)n - 2);
		else if (buf[0] == 'w')
			passed = ops->wait((unsigned)strtoul((char *)buf + 1, NULL, 10));
		else
			ask(ops, (char *)buf + 1);
		put('d', text, (size_t)snprintf(text, sizeof(text), "%u", passed));
	}
	return 0;
}
