/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of devices that programs look for. UCX leaves a device out unless stat() and access() find
 * its file in /dev/infiniband: ours are shown as a character device that everybody may open. Those
 * in /sys/class/infiniband are files of the process. musl has one size of files: there the names
 * with 64 are macros.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verbs/base/device_tree.h"

#define DEVICES "/dev/infiniband/uverbs_ddpsctp"

/* musl 1.2.3 has none. */
struct statx;
int statx(int folder, const char *restrict path, int flags, unsigned mask,
	  struct statx *restrict ret);

static const char *file_of(const char *path, char *to)
{
	if (strncmp(path, DEVICES, strlen(DEVICES)) == 0)
		return "/dev/null";
	return device_tree_path(path, to, PATH_MAX);
}

int access(const char *path, int mode)
{
	char to[PATH_MAX];

	return faccessat(AT_FDCWD, file_of(path, to), mode, 0);
}

int stat(const char *restrict path, struct stat *restrict ret)
{
	char to[PATH_MAX];

	return fstatat(AT_FDCWD, file_of(path, to), ret, 0);
}

#ifndef stat64
int stat64(const char *restrict path, struct stat64 *restrict ret)
{
	char to[PATH_MAX];

	return fstatat64(AT_FDCWD, file_of(path, to), ret, 0);
}
#endif

int statx(int folder, const char *restrict path, int flags, unsigned mask,
	  struct statx *restrict ret)
{
	char to[PATH_MAX];

	return (int)syscall(SYS_statx, folder, file_of(path, to), flags, mask, ret);
}

/* The mode is there if the file may be created. */
static mode_t mode_of(int flags, va_list list)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(list, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
	char to[PATH_MAX];
	va_list list;
	mode_t mode;

	va_start(list, flags);
	mode = mode_of(flags, list);
	va_end(list);
	return openat(AT_FDCWD, device_tree_path(path, to, sizeof(to)), flags, mode);
}

#ifndef open64
int open64(const char *path, int flags, ...)
{
	char to[PATH_MAX];
	va_list list;
	mode_t mode;

	va_start(list, flags);
	mode = mode_of(flags, list);
	va_end(list);
	return openat64(AT_FDCWD, device_tree_path(path, to, sizeof(to)), flags, mode);
}
#endif

/* The function of the C library. */
static void *next_of(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

FILE *fopen(const char *restrict path, const char *restrict mode)
{
	static FILE *(*next)(const char *, const char *);
	char to[PATH_MAX];

	if (!next)
		*(void **)&next = next_of("fopen");
	return next(device_tree_path(path, to, sizeof(to)), mode);
}

#ifndef fopen64
FILE *fopen64(const char *restrict path, const char *restrict mode)
{
	static FILE *(*next)(const char *, const char *);
	char to[PATH_MAX];

	if (!next)
		*(void **)&next = next_of("fopen64");
	return next(device_tree_path(path, to, sizeof(to)), mode);
}
#endif

DIR *opendir(const char *path)
{
	static DIR *(*next)(const char *);
	char to[PATH_MAX];

	if (!next)
		*(void **)&next = next_of("opendir");
	return next(device_tree_path(path, to, sizeof(to)));
}
