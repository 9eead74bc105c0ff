/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into user-mode Linux on processors that have AMX. It stores and restores the registers
 * of its processes with a buffer that has no room for those of AMX. The host truncates what it
 * reads, but refuses to write a part, and the guest's init dies. So a write is completed here with
 * what the process has in the rest.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

typedef long ptrace_fn(enum __ptrace_request request, ...);

static long set_all(ptrace_fn *next, pid_t pid, const struct iovec *part)
{
	static _Alignas(64) uint8_t all[65536]; /* the stacks of a guest's kernel are small */
	struct iovec whole = {all, sizeof(all)};

	if (next(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &whole))
		return -1;
	memcpy(all, part->iov_base, part->iov_len < whole.iov_len ? part->iov_len : whole.iov_len);
	return next(PTRACE_SETREGSET, pid, (void *)NT_X86_XSTATE, &whole);
}

long ptrace(enum __ptrace_request request, ...)
{
	static ptrace_fn *next;
	void *addr, *data;
	va_list ap;
	pid_t pid;

	if (!next)
		next = (ptrace_fn *)dlsym(RTLD_NEXT, "ptrace");
	va_start(ap, request);
	pid = va_arg(ap, pid_t);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	if (request == PTRACE_SETREGSET && (uintptr_t)addr == NT_X86_XSTATE)
		return set_all(next, pid, data);
	return next(request, pid, addr, data);
}
