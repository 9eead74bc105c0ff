/* SPDX-License-Identifier: BSD-2-Clause */
/* An item of the key `listen`, as it is written. */
#ifndef DAEMON_BASE_LISTEN_WORD_H
#define DAEMON_BASE_LISTEN_WORD_H

#include <net/if.h>
#include <stdbool.h>
#include <sys/socket.h>

enum { LISTEN_WORD_MAX = 254 }; /* bytes with the NUL: a host name has at most 253 */

enum listen_kind {
	LISTEN_ANY,  /* each address of this host */
	LISTEN_ADDR, /* one address */
	LISTEN_NAME, /* the addresses of an interface, else those of a host */
};

struct listen_word {
	enum listen_kind kind;
	struct sockaddr_storage addr; /* LISTEN_ADDR: without its scope */
	char scope[IF_NAMESIZE];      /* name or number of its interface; "": none */
};

/* Reads an item. NULL, or the rest of a sentence about it: "is a wildcard". */
const char *listen_word_parse(const char *text, struct listen_word *ret);

/* True if both mean the same, whatever the host has. */
bool listen_word_same(const char *a, const char *b);

#endif
