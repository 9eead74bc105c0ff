/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/baton.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * baton_lend() for each processor, in one piece: between two pieces a compiler may write to the
 * stack. It stores BATON_BORROWER, wakes the borrower, then sleeps while that value is there. A
 * system call does not write to the stack of its thread. If futex() fails, the value has changed,
 * or its page is just being replaced: then the next load waits for the page.
 */
#if defined(__x86_64__)

#define LENDS true

static inline __attribute__((always_inline)) void lend(uint32_t *word)
{
	__asm__ volatile("movl %[borrower], (%%rdi)\n\t"
			 "movl %[wake], %%esi\n\t"
			 "movl $1, %%edx\n\t"
			 "movl %[futex], %%eax\n\t"
			 "syscall\n"
			 "1:\t"
			 "cmpl %[borrower], (%%rdi)\n\t"
			 "jne 2f\n\t"
			 "movl %[wait], %%esi\n\t"
			 "movl %[borrower], %%edx\n\t"
			 "xorl %%r10d, %%r10d\n\t"
			 "movl %[futex], %%eax\n\t"
			 "syscall\n\t"
			 "jmp 1b\n"
			 "2:"
			 :
			 : "D"(word), [borrower] "i"(BATON_BORROWER), [futex] "i"(SYS_futex),
			   [wake] "i"(FUTEX_WAKE_PRIVATE), [wait] "i"(FUTEX_WAIT_PRIVATE)
			 : "rax", "rcx", "rdx", "rsi", "r10", "r11", "cc", "memory");
}

#elif defined(__i386__)

#define LENDS true

static inline __attribute__((always_inline)) void lend(uint32_t *word)
{
	__asm__ volatile("movl %[borrower], (%%ebx)\n\t"
			 "movl %[wake], %%ecx\n\t"
			 "movl $1, %%edx\n\t"
			 "movl %[futex], %%eax\n\t"
			 "int $0x80\n"
			 "1:\t"
			 "cmpl %[borrower], (%%ebx)\n\t"
			 "jne 2f\n\t"
			 "movl %[wait], %%ecx\n\t"
			 "movl %[borrower], %%edx\n\t"
			 "xorl %%esi, %%esi\n\t"
			 "movl %[futex], %%eax\n\t"
			 "int $0x80\n\t"
			 "jmp 1b\n"
			 "2:"
			 :
			 : "b"(word), [borrower] "i"(BATON_BORROWER), [futex] "i"(SYS_futex),
			   [wake] "i"(FUTEX_WAKE_PRIVATE), [wait] "i"(FUTEX_WAIT_PRIVATE)
			 : "eax", "ecx", "edx", "esi", "cc", "memory");
}

#elif defined(__aarch64__)

#define LENDS true

static inline __attribute__((always_inline)) void lend(uint32_t *word)
{
	__asm__ volatile("mov x9, %[word]\n\t"
			 "mov w2, %[borrower]\n\t"
			 "stlr w2, [x9]\n\t"
			 "mov x0, x9\n\t"
			 "mov x1, %[wake]\n\t"
			 "mov x2, #1\n\t"
			 "mov x8, %[futex]\n\t"
			 "svc #0\n"
			 "1:\t"
			 "ldar w10, [x9]\n\t"
			 "cmp w10, %[borrower]\n\t"
			 "b.ne 2f\n\t"
			 "mov x0, x9\n\t"
			 "mov x1, %[wait]\n\t"
			 "mov x2, %[borrower]\n\t"
			 "mov x3, #0\n\t"
			 "mov x8, %[futex]\n\t"
			 "svc #0\n\t"
			 "b 1b\n"
			 "2:"
			 :
			 : [word] "r"(word), [borrower] "i"(BATON_BORROWER), [futex] "i"(SYS_futex),
			   [wake] "i"(FUTEX_WAKE_PRIVATE), [wait] "i"(FUTEX_WAIT_PRIVATE)
			 : "x0", "x1", "x2", "x3", "x8", "x9", "x10", "cc", "memory");
}

#else

#define LENDS false

static inline void lend(uint32_t *word)
{
	(void)word;
}

#endif

bool baton_lends(void)
{
	return LENDS;
}

/* Not inlined: the caller's frame is complete before the call. */
__attribute__((noinline)) void baton_lend(struct baton *b)
{
	lend(&b->holder);
}

void baton_borrow(struct baton *b)
{
	while (__atomic_load_n(&b->holder, __ATOMIC_ACQUIRE) != BATON_BORROWER)
		syscall(SYS_futex, &b->holder, FUTEX_WAIT_PRIVATE, BATON_OWNER, NULL, NULL, 0);
}

void baton_return(struct baton *b)
{
	__atomic_store_n(&b->holder, BATON_OWNER, __ATOMIC_RELEASE);
	syscall(SYS_futex, &b->holder, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
