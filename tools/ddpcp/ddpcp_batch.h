/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that are whole and wait for their names. The batch is written to disk at once, and then
 * all of its files are renamed. Then follows all that has to come after the names: hard links to
 * them, and the times of their directories.
 */
#ifndef TOOLS_DDPCP_BATCH_H
#define TOOLS_DDPCP_BATCH_H

#include <sys/types.h>

#include "tools/ddpcp/ddpcp_file.h"

enum {
	DDPCP_BATCH = 256,            /* files and later steps, before they are named */
	DDPCP_BATCH_BYTES = 64 << 20, /* likewise */
};

struct ddpcp_batch_later;

struct ddpcp_batch {
	int root; /* names are relative to it; of the caller */
	struct ddpcp_file *file;
	struct ddpcp_batch_later *later;
	unsigned files, laters;
	uint64_t bytes;
	bool sync;  /* some of the files are to be written to disk */
	bool dirty; /* names that are to be written to disk */
	int dir;    /* the directory of the last file, or -1 */
	dev_t dev;  /* its file system, of all files */
	char path[DDPCP_NAME_MAX + 1];
	unsigned failed;                 /* files that got no name */
	char reason[DDPCP_TEXT_MAX + 1]; /* of the first of these */
};

/* 0 or -ENOMEM. */
int ddpcp_batch_init(struct ddpcp_batch *b, int root);

/* The directory of a name without a fault, and the name in it. It stays open until the next call
 * with this batch. */
int ddpcp_batch_dir(struct ddpcp_batch *b, const char *full, int *ret_dir, const char **ret_base);

/* ddpcp_file_create() for a name without a fault. If the batch is in its way, it ends first. It
 * waits five seconds for another copy of the file to end: the session of that one may be lost,
 * which its daemon notices after two seconds. */
int ddpcp_batch_create(struct ddpcp_batch *b, const char *full, struct ddpcp_file *ret);

/* Takes a file that is whole. */
void ddpcp_batch_add(struct ddpcp_batch *b, const struct ddpcp_file *f, uint64_t size, bool sync);

/* After the files before it: a hard link to target (DDPCP_HARDLINK), or mode and time of a
 * directory (DDPCP_LEFT). */
int ddpcp_batch_later(struct ddpcp_batch *b, const struct ddpcp_rec *rec, const char *full,
		      const char *target);

/* Names all, and writes the names to disk. Returns 0, or -EIO: b->reason says why. */
int ddpcp_batch_end(struct ddpcp_batch *b);

/* Names all, and frees the batch. */
void ddpcp_batch_free(struct ddpcp_batch *b);

#endif
