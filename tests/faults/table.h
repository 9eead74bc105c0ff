/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of faults: memory that tests/faults/hook.c in each process and tests/faults/faults.py
 * share. A site is a call of the system or the allocator with the last callers of it. faults.py
 * knows the layout: see SITE there.
 */
#ifndef TESTS_FAULTS_TABLE_H
#define TESTS_FAULTS_TABLE_H

#include <stdatomic.h>
#include <stdint.h>

enum {
	TABLE_SITES = 16384, /* a power of two */
	TABLE_DEPTH = 6,
	TABLE_MODULES = 64,
	TABLE_NAME = 64,
};

struct table_site {
	_Atomic uint64_t key;        /* 0: free */
	_Atomic int64_t live, bytes; /* blocks that it has allocated and that are not freed */
	_Atomic uint32_t hits, part; /* part: the one in which it was seen first */
	uint64_t frame[TABLE_DEPTH]; /* module << 48 | offset in it; 0: none */
	char call[24];
	char process[16];
};

struct table {
	_Atomic uint64_t armed; /* key of the site that fails once; 0: none */
	_Atomic uint32_t fired; /* times that it has */
	_Atomic uint32_t part;  /* the part that runs now; 0: sites are not recorded */
	_Atomic uint32_t full;  /* sites that did not fit */
	_Atomic uint32_t unused;
	char module[TABLE_MODULES][TABLE_NAME]; /* base names of the files */
	struct table_site site[TABLE_SITES];
};

_Static_assert(sizeof(struct table_site) == 8 * 4 + 8 * TABLE_DEPTH + 24 + 16, "no padding");

#endif
