/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Links at the end that receives. Something else of that name is replaced, if it is a file or a
 * link; -EISDIR or -EINVAL if it is not. No link is followed. *ret_new: the name was made or
 * replaced.
 */
#ifndef TOOLS_DDPCP_ENTRY_H
#define TOOLS_DDPCP_ENTRY_H

#include <stdbool.h>

#include "tools/ddpcp/ddpcp_proto.h"

/* meta: its time, NULL: that of now. */
int ddpcp_entry_symlink(int dir, const char *base, const char *target,
			const struct ddpcp_meta *meta, bool *ret_new);

/* A second name for the regular file `from` of from_dir. */
int ddpcp_entry_hardlink(int from_dir, const char *from, int dir, const char *base, bool *ret_new);

/* Whether there is a regular file with the size, the time and the mode of meta. */
bool ddpcp_entry_is_same(int dir, const char *base, const struct ddpcp_meta *meta);

#endif
