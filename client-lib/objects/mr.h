/* SPDX-License-Identifier: BSD-2-Clause */
/* Regions, for the files that make them. */
#ifndef DDP_MR_H
#define DDP_MR_H

struct mr;

/* Frees a region that the daemon does not have, with the library's part in its memory. */
void mr_free(struct mr *mr);

#endif
