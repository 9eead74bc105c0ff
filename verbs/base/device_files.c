/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UCX leaves a device out unless stat() and access() find its file in /dev/infiniband. Ours have
 * none: they are shown as a character device that everybody may open.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVICES "/dev/infiniband/uverbs_ddpsctp"

static const char *file_of(const char *path)
{
	return strncmp(path, DEVICES, strlen(DEVICES)) == 0 ? "/dev/null" : path;
}

int access(const char *path, int mode)
{
	return faccessat(AT_FDCWD, file_of(path), mode, 0);
}

int stat(const char *restrict path, struct stat *restrict ret)
{
	return fstatat(AT_FDCWD, file_of(path), ret, 0);
}

int stat64(const char *restrict path, struct stat64 *restrict ret)
{
	return fstatat64(AT_FDCWD, file_of(path), ret, 0);
}
