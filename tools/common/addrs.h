/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of hosts on the command line: "10.1.0.2,10.2.0.2". */
#ifndef TOOLS_ADDRS_H
#define TOOLS_ADDRS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { ADDRS_MAX = 8 }; /* the most that one side of an association can have */

struct addrs {
	struct sockaddr_storage a[ADDRS_MAX];
	unsigned n;
};

/* Whether the list has several hosts. */
bool addrs_several(const char *text);

/*
 * Looks up names or addresses separated by commas, of each the first address, and gives them the
 * port. what is for messages: "--bind". 0, or a negative errno value after a message.
 */
int addrs_parse(const char *what, const char *text, uint16_t port, struct addrs *ret);

#endif
