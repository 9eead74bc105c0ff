/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the agent of a context when the first region needs it. */
#ifndef DDP_AGENT_OPEN_H
#define DDP_AGENT_OPEN_H

struct ddp_ctx;

/* Makes the agent, unless there is one. call: name of the public function. Returns 0, or a negative
 * errno value with the reason set. */
int agent_open(struct ddp_ctx *ctx, const char *call);

#endif
