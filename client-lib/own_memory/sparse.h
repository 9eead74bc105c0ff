/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memfd that holds adopted pages: as long as a file can be, and sparse, so that the offset of a
 * page can follow from its address. Pages that were never written are holes.
 */
#ifndef DDP_SPARSE_H
#define DDP_SPARSE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sparse {
	int fd;
	dev_t dev;
	ino_t ino;
};

/* Returns 0 or a negative errno value; -EFBIG if RLIMIT_FSIZE does not allow such a file. */
int sparse_open(struct sparse *ret);

/* Closes the descriptor. Mapped pages stay. */
void sparse_close(struct sparse *s);

/* Finds the first pages with data in [*start, *end), and clips the range to some of them. False if
 * there are none. Start and end are multiples of the page size. */
bool sparse_data(const struct sparse *s, uint64_t *start, uint64_t *end);

/* Frees the pages of [start, end), which become holes. */
void sparse_punch(const struct sparse *s, uint64_t start, uint64_t end);

/* Copies n bytes at p to the file. p may be any address. Neither allocates memory nor writes to
 * other memory. Returns 0 or a negative errno value; -EFAULT if p cannot be read. */
int sparse_write(const struct sparse *s, uint64_t offset, const void *p, size_t n);

/* Copies n bytes of the file to p, likewise. */
int sparse_read(const struct sparse *s, uint64_t offset, void *p, size_t n);

#endif
