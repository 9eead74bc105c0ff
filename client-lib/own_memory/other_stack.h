/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a function on another stack, while the stack of the calling thread does not change. */
#ifndef DDP_OTHER_STACK_H
#define DDP_OTHER_STACK_H

typedef int other_stack_fn(const void *arg);

/*
 * Calls fn(arg) on a thread of its own and waits for it. While fn runs, the calling thread does not
 * write to memory, so fn may replace the pages of its stack by others with the same bytes. First fn
 * must copy *arg. The caller has blocked its signals, and one thread at a time calls this. The new
 * thread inherits policy and processors of the calling one, which sleeps. Returns the result of fn;
 * or a negative errno value if no thread can be created, -EOPNOTSUPP if baton_lend() does not
 * support this processor.
 */
int other_stack_run(other_stack_fn *fn, const void *arg);

#endif
