/* SPDX-License-Identifier: BSD-2-Clause */
/* When an association has to run next. */
#ifndef SCTP_DEADLINES_H
#define SCTP_DEADLINES_H

#include <stdint.h>

#include "sctp/base/path.h"

/* A deadline changed. */
void sctp_assoc_arm(struct sctp_assoc *a);
/* The earliest deadline of a path. */
uint64_t sctp_path_expiry(const struct sctp_path *p);

#endif
