/* SPDX-License-Identifier: BSD-2-Clause */
/* A message on its way through the simulated network: a copy of what was sent. */
#ifndef TESTS_LIB_SIMMSG_H
#define TESTS_LIB_SIMMSG_H

#include "llp/llp.h"
#include "tests/lib/simclock.h"
#include "util/list.h"

struct simmsg {
	struct list link;
	uint16_t sid;
	uint32_t ppid;
	uint32_t len;
	uint8_t *head, *rest; /* allocated apart, so that a tool sees who reads too far */
	uint32_t head_len;
};

/* A copy. Does not return without one: a run that cannot go on tells nothing. */
struct simmsg *simmsg_new(const struct llp_msg *m);

/* Takes it out of its list and frees it. NULL is fine. */
struct simmsg *simmsg_free(struct simmsg *m);

/* As a receiver sees it, good as long as the message is. k: cut into several spans at
 * random places; NULL: into at most two. */
void simmsg_view(const struct simmsg *m, struct simclock *k, struct llp_msg *ret);

#endif
