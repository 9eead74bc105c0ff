/* SPDX-License-Identifier: BSD-2-Clause */
/* A message on its way through the simulated network: a copy of what was sent. */
#ifndef TESTS_LIB_SIMMSG_H
#define TESTS_LIB_SIMMSG_H

#include "llp/common/llp.h"
#include "tests/lib/simclock.h"
#include "util/list.h"

struct simmsg {
	struct list link;
	uint16_t sid;
	uint32_t ppid;
	uint32_t len;
	uint64_t seq;         /* messages that its conn has sent before it */
	uint8_t *head, *rest; /* allocated separately, so that a tool detects reads after its end */
	uint32_t head_len;
};

/* A copy. Ends the program without memory, because the run could not continue. */
struct simmsg *simmsg_new(const struct llp_msg *m);

/* Takes it out of its list and frees it. NULL is fine. */
struct simmsg *simmsg_free(struct simmsg *m);

/* As a receiver sees it, valid as long as the message. k: cut into several spans at
 * random places; NULL: into at most two. */
void simmsg_view(const struct simmsg *m, struct simclock *k, struct llp_msg *ret);

#endif
