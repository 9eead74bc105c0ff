/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages, Writes and Reads of ddp_easy.h. */
#ifndef DDP_EASY_WORK_H
#define DDP_EASY_WORK_H

#include "client-lib/easy/easy_link.h"

/* Waits until no Write and no Read is in flight; -EINPROGRESS after the deadline. */
int easy_work_finish(struct ddp_easy *e, uint64_t deadline);

/* The same, and until all messages have left; -ETIMEDOUT without a sentence. */
int easy_work_flush(struct ddp_easy *e, uint64_t deadline);

#endif
