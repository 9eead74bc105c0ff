/* SPDX-License-Identifier: BSD-2-Clause */
/* The golden messages of tests/unit/vectors.json, by id. */
#ifndef TESTS_LIB_VECTOR_H
#define TESTS_LIB_VECTOR_H

#include <stddef.h>
#include <stdint.h>

enum { VECTOR_MAX = 128 };

struct vector {
	unsigned ppid;
	size_t len;
	uint8_t b[VECTOR_MAX]; /* the SCTP user message */
};

/* Ends the program if the file has no such vector. */
struct vector vector_get(const char *id);

#endif
