/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of files on the other side of ddpcp. */
#ifndef TOOLS_DDPCP_NAME_H
#define TOOLS_DDPCP_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Temporary files begin with this; no name may. */
#define DDPCP_NAME_TEMP ".ddpcp-"

/*
 * Whether a name stays within the root that it is looked up from, symbolic links aside: not empty,
 * not too long, not absolute, no component that is empty, "." or "..", and no temporary file.
 * Returns NULL, or a sentence with the fault.
 */
const char *ddpcp_name_fault(const char *name);

/*
 * Whether a symbolic link of that name may have that target: it stays within the root,
 * whatever other such links do. So it begins with at most as many ".." as the name has
 * directories, and has none after them. Returns NULL, or a sentence with the fault.
 */
const char *ddpcp_name_link_fault(const char *name, const char *target);

/*
 * Opens the directory of a name, one component after the other and never through a
 * symbolic link: it cannot be outside of root. ret_base points into name. Returns 0, or a negative
 * errno value: -EINVAL for a name with a fault.
 */
int ddpcp_name_open_dir(int root, const char *name, int *ret_dir, const char **ret_base);

/*
 * HOST:NAME, where an IPv6 address stands in brackets. NAME may be empty and points into arg.
 * Returns 0, or -EINVAL: no colon, no host, or a host longer than size - 1.
 */
int ddpcp_name_split(const char *arg, char *ret_host, size_t size, const char **ret_name);

/* The part after the last slash. */
const char *ddpcp_name_base(const char *path);

#endif
