/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipc/rung.h"

const char *rung_str(uint32_t rung)
{
	static const char *const words[RUNG_COUNT] = {
		[RUNG_MEMFD] = "memfd",
		[RUNG_SHARED] = "shared",
		[RUNG_ADOPT] = "adopt",
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
	};

	return reason < RUNG_REASON_COUNT ? sentences[reason] : "?";
}
