/* SPDX-License-Identifier: BSD-2-Clause */
/* Which path is used. */
#ifndef SCTP_PATH_SELECT_H
#define SCTP_PATH_SELECT_H

#include "sctp/base/path.h"

/* The path for new data. */
struct sctp_path *sctp_path_choose(struct sctp_assoc *a);
struct sctp_path *sctp_assoc_find_path(struct sctp_assoc *a, const struct sctp_addr *peer);

#endif
