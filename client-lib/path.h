/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths in records. */
#ifndef DDP_PATH_H
#define DDP_PATH_H

#include "client-lib/ddp_impl.h"

/* A path as programs see it. 0, or -EPROTO for what is none, with *ret untouched. */
int path_read(const struct msg_path *m, struct ddp_path *ret);

#endif
