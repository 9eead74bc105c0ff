/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into daemons and programs: the calls that may fail for want of memory, descriptors,
 * room or buffers. Each is a site, which fails when it is armed. Reads and writes of bells and
 * timers are let pass: their calls can only be interrupted, or find them empty or full.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tests/faults/site.h"

#define EXPORT __attribute__((visibility("default")))

/* The C library's allocator under the names that nobody replaces. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
void __libc_free(void *p);

/* ---- the allocator ---- */

EXPORT void *malloc(size_t n)
{
	void *p;
	int site;

	if (site_fails("malloc", &site)) {
		errno = ENOMEM;
		return NULL;
	}
	p = __libc_malloc(n);
	site_allocated(site, p, n);
	return p;
}

EXPORT void *calloc(size_t n, size_t size)
{
	void *p;
	int site;

	if (site_fails("calloc", &site)) {
		errno = ENOMEM;
		return NULL;
	}
	p = __libc_calloc(n, size);
	site_allocated(site, p, n * size);
	return p;
}

EXPORT void *realloc(void *old, size_t n)
{
	void *p;
	int site;

	if (site_fails("realloc", &site)) {
		errno = ENOMEM;
		return NULL;
	}
	/* Before, because another thread may get the old block at once. */
	site_freed(old);
	p = __libc_realloc(old, n);
	site_allocated(site, p, n);
	return p;
}

static void *aligned(const char *call, size_t align, size_t n)
{
	void *p;
	int site;

	if (site_fails(call, &site)) {
		errno = ENOMEM;
		return NULL;
	}
	p = __libc_memalign(align, n);
	site_allocated(site, p, n);
	return p;
}

EXPORT void *aligned_alloc(size_t align, size_t n)
{
	return aligned("aligned_alloc", align, n);
}

EXPORT int posix_memalign(void **ret, size_t align, size_t n)
{
	void *p = aligned("posix_memalign", align, n);

	if (!p)
		return ENOMEM;
	*ret = p;
	return 0;
}

EXPORT void free(void *p)
{
	site_freed(p);
	__libc_free(p);
}

/* ---- calls of the system ---- */

/* The definition that this one hides. */
#define REAL(name, ...)                                                                            \
	static __typeof__(&name) real;                                                             \
	if (!real)                                                                                 \
		*(void **)&real = dlsym(RTLD_NEXT, #name);                                         \
	int site

#define FAILS(name, error, failed)                                                                 \
	if (site_fails(#name, &site)) {                                                            \
		errno = (error);                                                                   \
		return failed;                                                                     \
	}

/* A call that fails with this error. */
#define HOOK(type, name, params, args, error, failed)                                              \
	EXPORT type name params                                                                    \
	{                                                                                          \
		REAL(name);                                                                        \
		FAILS(name, error, failed)                                                         \
		return real args;                                                                  \
	}

static bool is_kind(int fd, mode_t kind)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == kind;
}

/* A call that transfers bytes, of a socket or a file. */
#define HOOK_IO(type, name, params, args, fd, on_socket, on_file)                                  \
	EXPORT type name params                                                                    \
	{                                                                                          \
		int before = errno;                                                                \
		bool socket = is_kind(fd, S_IFSOCK), file = is_kind(fd, S_IFREG);                  \
		REAL(name);                                                                        \
		errno = before;                                                                    \
		if (socket || file)                                                                \
			FAILS(name, socket ? (on_socket) : (on_file), -1)                          \
		return real args;                                                                  \
	}

typedef struct sockaddr *sockaddr;
typedef const struct sockaddr *const_sockaddr;

HOOK(void *, mmap, (void *p, size_t n, int prot, int flags, int fd, off_t off),
     (p, n, prot, flags, fd, off), ENOMEM, MAP_FAILED)
HOOK(int, mprotect, (void *p, size_t n, int prot), (p, n, prot), ENOMEM, -1)
HOOK(int, madvise, (void *p, size_t n, int advice), (p, n, advice), ENOMEM, -1)
HOOK(int, memfd_create, (const char *name, unsigned flags), (name, flags), EMFILE, -1)
HOOK(int, ftruncate, (int fd, off_t n), (fd, n), ENOSPC, -1)
HOOK(int, fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n), ENOSPC, -1)
HOOK(int, socket, (int domain, int type, int protocol), (domain, type, protocol), EMFILE, -1)
HOOK(int, socketpair, (int domain, int type, int protocol, int fds[2]),
     (domain, type, protocol, fds), EMFILE, -1)
HOOK(int, bind, (int fd, const_sockaddr a, socklen_t n), (fd, a, n), ENOMEM, -1)
HOOK(int, connect, (int fd, const_sockaddr a, socklen_t n), (fd, a, n), ENOMEM, -1)
HOOK(int, listen, (int fd, int backlog), (fd, backlog), ENOMEM, -1)
HOOK(int, accept4, (int fd, sockaddr a, socklen_t *n, int flags), (fd, a, n, flags), ENFILE, -1)
HOOK(int, getsockname, (int fd, sockaddr a, socklen_t *n), (fd, a, n), ENOBUFS, -1)
HOOK(int, getsockopt, (int fd, int level, int name, void *v, socklen_t *n), (fd, level, name, v, n),
     ENOBUFS, -1)
HOOK(int, setsockopt, (int fd, int level, int name, const void *v, socklen_t n),
     (fd, level, name, v, n), ENOBUFS, -1)
HOOK(int, epoll_create1, (int flags), (flags), EMFILE, -1)
HOOK(int, epoll_ctl, (int ep, int op, int fd, struct epoll_event *e), (ep, op, fd, e), ENOMEM, -1)
HOOK(int, timerfd_create, (int clock, int flags), (clock, flags), EMFILE, -1)
HOOK(int, eventfd, (unsigned n, int flags), (n, flags), EMFILE, -1)
HOOK(int, pipe2, (int fds[2], int flags), (fds, flags), EMFILE, -1)
HOOK(int, chmod, (const char *path, mode_t mode), (path, mode), EROFS, -1)
HOOK(int, poll, (struct pollfd * p, nfds_t n, int ms), (p, n, ms), ENOMEM, -1)
HOOK(int, ppoll, (struct pollfd * p, nfds_t n, const struct timespec *t, const sigset_t *mask),
     (p, n, t, mask), ENOMEM, -1)
HOOK(FILE *, fopen, (const char *path, const char *mode), (path, mode), EMFILE, NULL)
HOOK(DIR *, opendir, (const char *path), (path), EMFILE, NULL)
HOOK(int, getifaddrs, (struct ifaddrs * *ret), (ret), ENOMEM, -1)

HOOK_IO(ssize_t, read, (int fd, void *p, size_t n), (fd, p, n), fd, ENOMEM, EIO)
HOOK_IO(ssize_t, pread, (int fd, void *p, size_t n, off_t at), (fd, p, n, at), fd, ENOMEM, EIO)
HOOK_IO(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n), fd, ENOBUFS, ENOSPC)
HOOK_IO(ssize_t, send, (int fd, const void *p, size_t n, int flags), (fd, p, n, flags), fd, ENOBUFS,
	EIO)
HOOK_IO(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags), fd, ENOBUFS,
	EIO)
HOOK_IO(int, sendmmsg, (int fd, struct mmsghdr *m, unsigned n, int flags), (fd, m, n, flags), fd,
	ENOBUFS, EIO)
HOOK_IO(ssize_t, recv, (int fd, void *p, size_t n, int flags), (fd, p, n, flags), fd, ENOMEM, EIO)
HOOK_IO(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags), fd, ENOMEM, EIO)
HOOK_IO(int, recvmmsg, (int fd, struct mmsghdr *m, unsigned n, int flags, struct timespec *t),
	(fd, m, n, flags, t), fd, ENOMEM, EIO)

EXPORT int pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg)
{
	REAL(pthread_create);
	if (site_fails("pthread_create", &site))
		return EAGAIN;
	return real(ret, attr, run, arg);
}

EXPORT int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **ret)
{
	int r;

	REAL(getaddrinfo);
	if (site_fails("getaddrinfo", &site))
		return EAI_MEMORY;
	/* glibc 2.36 ends the process where it lacks memory for nsswitch.conf. */
	site_pause(true);
	r = real(node, service, hints, ret);
	site_pause(false);
	return r;
}

/* The argument after the fixed ones, which has the size of a pointer or is promoted to int. */
static void *next_of(va_list ap)
{
	return va_arg(ap, void *);
}

EXPORT void *mremap(void *p, size_t old, size_t n, int flags, ...)
{
	void *to;
	va_list ap;

	REAL(mremap);
	va_start(ap, flags);
	to = next_of(ap);
	va_end(ap);
	FAILS(mremap, ENOMEM, MAP_FAILED)
	return real(p, old, n, flags, to);
}

EXPORT int open(const char *path, int flags, ...)
{
	int mode;
	va_list ap;

	REAL(open);
	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, int) : 0;
	va_end(ap);
	FAILS(open, EMFILE, -1)
	return real(path, flags, mode);
}

EXPORT int openat(int dir, const char *path, int flags, ...)
{
	int mode;
	va_list ap;

	REAL(openat);
	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, int) : 0;
	va_end(ap);
	FAILS(openat, EMFILE, -1)
	return real(dir, path, flags, mode);
}

EXPORT int fcntl(int fd, int what, ...)
{
	void *arg;
	va_list ap;

	REAL(fcntl);
	va_start(ap, what);
	arg = next_of(ap);
	va_end(ap);
	if (what == F_DUPFD_CLOEXEC || what == F_DUPFD)
		FAILS(fcntl, EMFILE, -1)
	if (what == F_ADD_SEALS)
		FAILS(fcntl, EBUSY, -1)
	return real(fd, what, arg);
}

EXPORT int ioctl(int fd, unsigned long what, ...)
{
	void *arg;
	va_list ap;

	REAL(ioctl);
	va_start(ap, what);
	arg = next_of(ap);
	va_end(ap);
	FAILS(ioctl, ENOMEM, -1)
	return real(fd, what, arg);
}
