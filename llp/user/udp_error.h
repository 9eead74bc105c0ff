/* SPDX-License-Identifier: BSD-2-Clause */
/* The meaning of an entry in a socket's error queue. Private to udp*.c. */
#ifndef LLP_UDP_ERROR_H
#define LLP_UDP_ERROR_H

#include <stdbool.h>

#include "llp/user/udp.h"

struct sock_extended_err;

/* False if it is to be ignored. */
bool udp_error_kind(const struct sock_extended_err *e, enum udp_error_kind *ret);

#endif
