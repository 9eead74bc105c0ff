/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipc/rung.h"

const char *rung_str(uint32_t rung)
{
	static const char *const words[RUNG_COUNT] = {
		[RUNG_MEMFD] = "memfd",
		[RUNG_SHARED] = "shared",
		[RUNG_ADOPT] = "adopt",
		[RUNG_AGENT] = "agent",
	};

	return rung < RUNG_COUNT ? words[rung] : "?";
}

const char *rung_reason(uint32_t reason)
{
	static const char *const sentences[RUNG_REASON_COUNT] = {
		[RUNG_REASON_GIVEN] = "it was registered as a memfd",
		[RUNG_REASON_KNOWN] = "it lies in the memfd of another region",
		[RUNG_REASON_ADOPTED] = "its pages were adopted for another region",
		[RUNG_REASON_PRIVATE] = "its private pages were adopted",
		[RUNG_REASON_OTHERS] = "it is shared with others, and no memfd of another region",
		[RUNG_REASON_SYSV] = "it is System V shared memory",
		[RUNG_REASON_HUGE] = "it is on huge pages",
		[RUNG_REASON_FILE] =
			"it is a private mapping of a file, and other threads may access it",
		[RUNG_REASON_THREADS] = "other threads run, and userfaultfd(2) is not available",
		[RUNG_REASON_BLOCK] = "the control block of a thread lies in its pages",
		[RUNG_REASON_PARTS] = "older regions have parts of it",
	};

	return reason < RUNG_REASON_COUNT ? sentences[reason] : "?";
}
