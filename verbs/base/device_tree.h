/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files of devices in /sys/class/infiniband, which programs read: the kernel has none for ours,
 * so they lie in a folder of the process, which is removed when it ends.
 */
#ifndef VERBS_DEVICE_TREE_H
#define VERBS_DEVICE_TREE_H

#include <stddef.h>

/* The path where a file is. to: memory for another one. Returns path, or to. */
const char *device_tree_path(const char *path, char *to, size_t size);

#endif
