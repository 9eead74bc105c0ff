/* SPDX-License-Identifier: BSD-2-Clause */
/* The program as a whole: its name, its exit statuses, and the signals that stop it. */
#ifndef TOOLS_TOOL_H
#define TOOLS_TOOL_H

#include <stdbool.h>
#include <stdint.h>

/* Exit statuses of all tools. */
enum {
	TOOL_OK,
	TOOL_FAILED,
	TOOL_USAGE,
};

/* To be called first, with the name that messages begin with. SIGINT and SIGTERM then ask the
 * program to stop; one that arrives more than a second later kills it. SIGPIPE is ignored. */
void tool_start(const char *name);

/* The name given to tool_start(). */
const char *tool_name(void);

/* True after SIGINT or SIGTERM. */
bool tool_stopped(void);

/* Prints the tool's and the library's version (major << 16 | minor << 8 | patch). */
void tool_version(uint32_t library);

#endif
