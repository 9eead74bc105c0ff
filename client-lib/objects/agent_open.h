/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts the agent of a context when the first region needs it. */
#ifndef DDP_AGENT_OPEN_H
#define DDP_AGENT_OPEN_H

struct ddp_ctx;

/* Starts the agent, unless it runs already. call: name of the public function, for the reason.
 * Returns 0, or a negative errno value with the reason set. */
int agent_open(struct ddp_ctx *ctx, const char *call);

/* For ddp_reopen(): the daemon of `next` makes the memory of an agent; then the agent of ctx goes
 * on with it. Both return 0, or a negative errno value with the reason set. */
int agent_prepare(struct ddp_ctx *next, const char *call);
int agent_resume(struct ddp_ctx *ctx, struct ddp_ctx *next, const char *call);

#endif
