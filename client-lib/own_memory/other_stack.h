/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a function on another stack, while the stack of the calling thread does not change. */
#ifndef DDP_OTHER_STACK_H
#define DDP_OTHER_STACK_H

typedef int other_stack_fn(const void *arg);

/*
 * Calls fn(arg) on a thread of its own and waits for it. Meanwhile the calling thread writes
 * nothing to memory, so fn may replace the pages of its stack by others with the same bytes; first
 * fn copies what arg points to. The caller has blocked its signals. One thread at a time calls
 * this. The new thread has the policy and the processors of the calling one, which sleeps
 * meanwhile. Returns what fn returned, or a negative errno value if no thread can be made,
 * -EOPNOTSUPP if this processor has no baton_lend().
 */
int other_stack_run(other_stack_fn *fn, const void *arg);

#endif
