/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of hosts on the command line: "10.1.0.2,10.2.0.2". */
#ifndef TOOLS_HOST_LIST_H
#define TOOLS_HOST_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { HOST_LIST_MAX = 8 }; /* the most that one side of an association can have */

struct host_list {
	struct sockaddr_storage a[HOST_LIST_MAX];
	unsigned n;
};

/* False after a message if the hosts are written as for another program: USER@HOST or HOST:PORT. */
bool host_list_check(const char *text);

/* Whether the list has several hosts. */
bool host_list_several(const char *text);

/*
 * Looks up names or addresses separated by commas, of each the first address, and gives them the
 * port. what: the option, for messages: "--bind". 0, or a negative errno value after a message.
 */
int host_list_parse(const char *what, const char *text, uint16_t port, struct host_list *ret);

#endif
