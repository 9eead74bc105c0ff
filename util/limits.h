/* SPDX-License-Identifier: BSD-2-Clause */
/* Errno values in words that name the limit which this process has reached, and its value. */
#ifndef UTIL_LIMITS_H
#define UTIL_LIMITS_H

#include <stddef.h>

/* A sentence for an errno value of a system call: EMFILE and ENFILE name the limit of descriptors,
 * of this process or of the host; others have the words of the C library. Returns buf. */
const char *limits_words(int err, char *buf, size_t len);

/* The same for a failure of pthread_create(): EAGAIN names the limits of threads. Returns buf. */
const char *limits_thread_words(int err, char *buf, size_t len);

enum { LIMITS_WORDS_LEN = 256 };

#endif
