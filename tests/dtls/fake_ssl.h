/* SPDX-License-Identifier: BSD-2-Clause */
/* A handshake without libssl, in which all is as drawn from a seed. */
#ifndef TESTS_DTLS_FAKE_SSL_H
#define TESTS_DTLS_FAKE_SSL_H

#include <stdint.h>

extern uint64_t fake_seed;

#endif
