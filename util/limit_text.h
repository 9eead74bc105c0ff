/* SPDX-License-Identifier: BSD-2-Clause */
/* Errno values in words that name the limit which this process has reached, and its value. */
#ifndef UTIL_LIMIT_TEXT_H
#define UTIL_LIMIT_TEXT_H

#include <stddef.h>

/* A sentence for an errno value of a system call: EMFILE and ENFILE name the limit of descriptors,
 * of this process or of the host; others have the words of the C library. Returns buf. */
const char *limit_text(int err, char *buf, size_t len);

/* The same for a failure of pthread_create(): EAGAIN names the limits of threads. Returns buf. */
const char *limit_text_of_thread(int err, char *buf, size_t len);

enum { LIMIT_TEXT_MAX = 256 };

#endif
