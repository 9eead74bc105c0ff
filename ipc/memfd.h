/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that two processes share: a memfd, sealed so that it cannot shrink while it is mapped.
 * A descriptor from another process is checked by its own properties. The record is not trusted.
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
	MEMFD_E_HUGE,         /* on huge pages: an access to a punched hole causes SIGBUS */
	MEMFD_E_UNSEALED,     /* not sealed against shrinking, and the seal cannot be added */
	MEMFD_E_RANGE,        /* ends before offset + len */
	MEMFD_E_ACCESS,       /* not opened for reading, or not for writing if that is needed */
	MEMFD_E_WRITE_SEALED, /* sealed against writing, which is needed */
	MEMFD_E_COUNT
};

/* A part of a memfd in this process. */
struct memfd_map {
	uint8_t *addr; /* its first byte */
	void *map;     /* the pages that contain it, NULL if none are mapped */
	size_t map_len;
	bool is_private; /* a read-only mapping of a write-sealed file: never make it writable */
};

/* A zeroed memfd of size bytes, close-on-exec, sealed against shrinking, growing and further seals;
 * the name shows in /proc. Returns 0 or a negative errno value. */
int memfd_create_sealed(const char *name, uint64_t size, int *ret_fd);

/* The same, and mapped as a whole. Undo it with close() and munmap() of size bytes. */
int memfd_create_mapped(const char *name, uint64_t size, int *ret_fd, void **ret_map);

/*
 * Whether a descriptor from another process can be mapped safely: it is a memfd, sealed against
 * shrinking (adds the seal if possible), covers [offset, offset + len) with len not 0, can be read,
 * and can be written if `write` is set. Returns 0, MEMFD_E_*, or a negative errno value.
 */
int memfd_verify(int fd, uint64_t offset, uint64_t len, bool write);

/* Verifies, then maps [offset, offset + len) shared. The offset needs no alignment. The fd may be
 * closed afterward. Core dumps leave the memory out. Undo it with memfd_unmap(). Returns 0,
 * MEMFD_E_*, or a negative errno value.
 */
int memfd_map_client(int fd, uint64_t offset, uint64_t len, bool write, struct memfd_map *ret);

/* Unmaps and zeroes *m. An all-zero *m is allowed. */
void memfd_unmap(struct memfd_map *m);

/* The errno value for a MEMFD_E_*: EPERM for missing seals and rights, else EINVAL. */
int memfd_errno(int outcome);

/* The reason of a MEMFD_E_*, the end of a sentence: "it is not sealed against shrinking". "?" for
 * other values. */
const char *memfd_reason(int outcome);

#endif
