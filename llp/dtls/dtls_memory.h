/* SPDX-License-Identifier: BSD-2-Clause */
/* Where OpenSSL has its objects: private keys, secrets of sessions, keys of records. */
#ifndef LLP_DTLS_MEMORY_H
#define LLP_DTLS_MEMORY_H

#include <stdbool.h>

/* From now on in a heap that core dumps leave out, and wiped when it is freed. Before anything else
 * of OpenSSL in this process; false: something was before. */
bool dtls_memory_hide(void);

#endif
