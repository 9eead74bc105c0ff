/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs another program of this package for a check, and keeps what it prints. */
#ifndef CTL_TOOL_RUN_H
#define CTL_TOOL_RUN_H

#include <stddef.h>

/* Runs argv[0], found in $PATH or in the folder, with standard output and standard error in ret:
 * the first len - 1 bytes and a NUL. Waits for its end. The exit status; 128 + N if signal N ended
 * it; a negative errno value if it cannot be run, -ENOENT if it is not installed. */
int tool_run(const char *folder, char *const argv[], char *ret, size_t len);

#endif
