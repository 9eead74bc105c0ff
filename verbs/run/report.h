/* SPDX-License-Identifier: BSD-2-Clause */
/* The words at the end of a command. */
#ifndef VERBS_RUN_REPORT_H
#define VERBS_RUN_REPORT_H

#include "verbs/run/daemons.h"

/* Prints the lines of a file, each once, and not too many. */
void report_lines(int fd);

/* Prints why calls of the command failed, which daemons ended, and what they said. */
void report_failures(const struct daemons *d);

#endif
