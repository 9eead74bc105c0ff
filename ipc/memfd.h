/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that two processes share: a memfd, sealed so that it cannot shrink under the one who
 * maps it. A descriptor that came from the other side is judged by what it says of itself.
 */
#ifndef IPC_MEMFD_H
#define IPC_MEMFD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a memfd is refused. */
enum {
	MEMFD_E_OK,
	MEMFD_E_NOT_MEMFD,    /* another kind of file */
	MEMFD_E_HUGE,         /* on huge pages: a hole punched into it kills who touches it */
	MEMFD_E_UNSEALED,     /* not sealed against shrinking, and the seal cannot be added */
	MEMFD_E_RANGE,        /* ends before offset + len */
	MEMFD_E_ACCESS,       /* not opened for reading, or not for the writing that is wanted */
	MEMFD_E_WRITE_SEALED, /* sealed against the writing that is wanted */
	MEMFD_E_COUNT
};

/* A part of a memfd in this process. */
struct memfd_map {
	uint8_t *addr; /* its first byte */
	void *map;     /* the pages that it lies in, NULL if nothing is mapped */
	size_t map_len;
	bool is_private; /* read-only, of a file that nobody can write: not to be made writable */
};

/*
 * A zeroed memfd of size bytes, close-on-exec, sealed against shrinking, growing and further
 * seals, and mapped as a whole; the name shows in /proc. Undo it with close() and munmap() of size
 * bytes. Returns 0 or a negative errno value.
 */
int memfd_create_mapped(const char *name, uint64_t size, int *ret_fd, void **ret_map);

/*
 * Whether a memfd from elsewhere can be mapped without harm: it is one, sealed against shrinking
 * (the seal is added if it may be), covers [offset, offset + len) with len not 0, and can be read,
 * and written if that is wanted. Returns 0, MEMFD_E_*, or a negative errno value.
 */
int memfd_verify(int fd, uint64_t offset, uint64_t len, bool write);

/* Verifies, then maps [offset, offset + len), shared; offset may be any. The fd may be closed
 * afterwards. Undo it with memfd_unmap(). Returns 0, MEMFD_E_*, or a negative errno value. */
int memfd_map_client(int fd, uint64_t offset, uint64_t len, bool write, struct memfd_map *ret);

/* A map that is all zero is fine. Zeroes it. */
void memfd_unmap(struct memfd_map *m);

/* The errno value that answers a MEMFD_E_*: EPERM for missing seals and rights, else EINVAL. */
int memfd_errno(int outcome);

/* A MEMFD_E_* in words, the end of a sentence: "it is not sealed against shrinking". "?" for a
 * value that is none. */
const char *memfd_reason(int outcome);

#endif
