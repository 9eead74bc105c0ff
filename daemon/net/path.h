/* SPDX-License-Identifier: BSD-2-Clause */
/* The paths of an association, as records and as text. */
#ifndef DAEMON_NET_PATH_H
#define DAEMON_NET_PATH_H

#include <stddef.h>

#include "ipc/msg.h"
#include "llp/common/llp.h"

struct association;

/* "application", "peer_window", ...; "" for LLP_LIMIT_UNKNOWN. */
const char *path_limit_str(enum llp_limit limit);

/* The path as programs see it. */
struct msg_path path_record(const struct llp_path *path);

/* The association's paths, the primary one first; hdr is left alone. None while it is not up. */
void path_query(const struct association *assoc, struct msg_paths *ret);

/* A sentence: "path to 192.0.2.1 is inactive; 1 of 2 paths is active". */
void path_describe(const struct association *assoc, const struct llp_path *path, const char *change,
		   char *ret, size_t len);

/* "unconfirmed", "active", "failing", "inactive" */
const char *path_state_str(enum llp_path_state s);

#endif
