/* SPDX-License-Identifier: BSD-2-Clause */
/* The files at both ends of a copy. All results are 0 or a negative errno value. */
#ifndef TOOLS_DDPCP_FILE_H
#define TOOLS_DDPCP_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/ddpcp/ddpcp_proto.h"

/* A regular file to read, -EISDIR, or -EINVAL for another kind, and for a file whose size is
 * unknown (/proc). dir may be AT_FDCWD; a link is followed only if `follow` is 1. */
int ddpcp_file_open(int dir, const char *name, int follow, int *ret_fd,
		    struct ddpcp_meta *ret_meta);

/* A result of ddpcp_file_open() or ddpcp_file_create() in words. */
const char *ddpcp_file_fault(int r);

/* An incomplete file beside the one that it becomes, named .ddpcp-NAME. dir and fd are -1 if there
 * is none. */
struct ddpcp_file {
	int dir, fd; /* dir is the file's */
	char base[NAME_MAX + 1];
	char temp[NAME_MAX + 1];
	uint64_t have; /* bytes that an earlier copy has left */
	bool made;     /* the incomplete file is ours */
};

/*
 * Opens the incomplete file that an earlier copy has left, or makes one; no other copy gets it
 * before ddpcp_file_close(). Takes dir over in any case. -EISDIR, or -EINVAL for another kind, if
 * something has the name that is neither a regular file nor a link: the copy would replace it.
 * -EBUSY: another copy writes it. -EEXIST: the incomplete file's name exists, but is not a regular
 * file of this user with one link.
 */
int ddpcp_file_create(struct ddpcp_file *f, int dir, const char *base);

/* Gives it its mode without the bits of mask, with preserve the whole mode and the time. */
int ddpcp_file_dress(const struct ddpcp_file *f, const struct ddpcp_meta *meta, bool preserve,
		     uint32_t mask);

/* Gives it its name. */
int ddpcp_file_rename(struct ddpcp_file *f);

/* ddpcp_file_dress(), writes it to disk, ddpcp_file_rename(), and writes that to disk. */
int ddpcp_file_commit(struct ddpcp_file *f, const struct ddpcp_meta *meta, bool preserve,
		      uint32_t mask);

/* Closes it. If it was not committed it is removed, or with keep it stays for the next copy. */
void ddpcp_file_close(struct ddpcp_file *f, bool keep);

/* Makes a directory with these rights and those of its user, unless it exists. Never follows a
 * link. */
int ddpcp_file_mkdir(int dir, const char *base, uint32_t mode);

/* Sets mode and time of a directory. */
int ddpcp_file_set_dir(int dir, const char *base, const struct ddpcp_meta *meta);

/* Whole reads and writes. Read: -ENODATA if the file ends before. */
int ddpcp_file_pread(int fd, void *buf, size_t len, uint64_t off);
int ddpcp_file_pwrite(int fd, const void *buf, size_t len, uint64_t off);

/* Writes without the blocks that are zero: they stay holes, and the file may end before. */
int ddpcp_file_pwrite_sparse(int fd, const void *buf, size_t len, uint64_t off);

/* Whether that range, which begins in the file, is a hole of it. */
bool ddpcp_file_is_hole(int fd, uint64_t off, size_t len);

/* The same where there are no offsets, until the end, or -EINTR when the program was asked to stop.
 * Read returns fewer bytes only at the end. */
int ddpcp_file_read(int fd, void *buf, size_t len, size_t *ret_len);
int ddpcp_file_write(int fd, const void *buf, size_t len);

#endif
