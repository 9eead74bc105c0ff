/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/tunables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "daemon/base/log.h"

#define VARIABLE "GLIBC_TUNABLES"
#define SIZE "glibc.malloc.tcache_max"
#define SETTING SIZE "=4096:glibc.malloc.tcache_count=4000"

void tunables_apply(char **argv)
{
	const char *old = getenv(VARIABLE);
	char value[4096];
	int n;

	/* Executing /proc/self/exe makes the name of the process "exe". */
	prctl(PR_SET_NAME, program_invocation_short_name);
	/* With privileges glibc ignores the variable and removes it, so this would have no end. */
	if (getauxval(AT_SECURE) || (old && strstr(old, SIZE)))
		return;
	n = snprintf(value, sizeof(value), "%s%s" SETTING, old ? old : "", old && *old ? ":" : "");
	if (n < 0 || (size_t)n >= sizeof(value) || setenv(VARIABLE, value, 1) < 0)
		return;
	execv("/proc/self/exe", argv);
	log_warn("allocator: " VARIABLE " is not set, and executing /proc/self/exe failed: %s",
		 strerror(errno));
}
