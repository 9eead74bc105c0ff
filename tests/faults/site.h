/* SPDX-License-Identifier: BSD-2-Clause */
/* The sites of this process: who calls, whether the call fails, and the blocks that are not freed.
 */
#ifndef TESTS_FAULTS_SITE_H
#define TESTS_FAULTS_SITE_H

#include <stdbool.h>
#include <stddef.h>

/* Records a call of that name; *ret_site is its place in the table, or -1. True: it must fail,
 * once. */
bool site_fails(const char *call, int *ret_site);

/* The site's call has returned that block; before it is freed, site_freed(). NULL is allowed. */
void site_allocated(int site, void *block, size_t bytes);
void site_freed(void *block);

/* While it is on, calls of this thread are not recorded and do not fail. */
void site_pause(bool on);

#endif
