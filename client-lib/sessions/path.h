/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths in records. */
#ifndef DDP_PATH_H
#define DDP_PATH_H

#include "client-lib/context/ddp_impl.h"

/* Converts a path for programs. Returns 0, or -EPROTO if it is invalid; *ret is then untouched. */
int path_read(const struct msg_path *m, struct ddp_path *ret);

#endif
