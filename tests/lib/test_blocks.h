/* SPDX-License-Identifier: BSD-2-Clause */
/* A pool of blocks (util/blocks.h) in memory of its own. Without memory the program ends. */
#ifndef TESTS_LIB_TEST_BLOCKS_H
#define TESTS_LIB_TEST_BLOCKS_H

#include "util/blocks.h"

struct test_blocks {
	struct blocks blocks;
};

/* A pool of at least n blocks, none of which is reserved. */
struct test_blocks *test_blocks_new(uint32_t n);

void test_blocks_free(struct test_blocks *p);

#endif
