/* SPDX-License-Identifier: BSD-2-Clause */
/* The files at both ends of a copy. All results are 0 or a negative errno value. */
#ifndef TOOLS_DDPCP_FILE_H
#define TOOLS_DDPCP_FILE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/* A regular file to read, -EISDIR, or -EINVAL for another kind, and for a file whose size is
 * unknown
 * (/proc). dir may be AT_FDCWD; a link is followed only if `follow` is 1. */
int ddpcp_file_open(int dir, const char *name, int follow, int *ret_fd, uint64_t *ret_size,
		    uint32_t *ret_mode);

/* A result of ddpcp_file_open() or ddpcp_file_create() in words. */
const char *ddpcp_file_fault(int r);

/* An incomplete file under a temporary name in its directory. dir and fd are -1 if there is none.
 */
struct ddpcp_file {
	int dir, fd; /* dir is the file's */
	char base[NAME_MAX + 1];
	char temp[32];
	int made; /* the temporary file exists */
};

/* Takes dir over in any case. -EISDIR, or -EINVAL for another kind, if something has that name that
 * is neither a regular file nor a link: the copy would replace it. */
int ddpcp_file_create(struct ddpcp_file *f, int dir, const char *base);

/* Writes it to disk, gives it its mode and its name, and writes that to disk. */
int ddpcp_file_commit(struct ddpcp_file *f, uint32_t mode);

/* Closes it; removes it if it was not committed. */
void ddpcp_file_close(struct ddpcp_file *f);

/* Whole reads and writes. Read: -ENODATA if the file ends before. */
int ddpcp_file_pread(int fd, void *buf, size_t len, uint64_t off);
int ddpcp_file_pwrite(int fd, const void *buf, size_t len, uint64_t off);

#endif
