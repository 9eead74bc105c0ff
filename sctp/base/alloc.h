/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of the stack, counted. */
#ifndef SCTP_ALLOC_H
#define SCTP_ALLOC_H

#include <stddef.h>

#include "sctp/base/stack.h"

void *sctp_alloc(struct sctp *s, size_t len); /* all zero, counted; NULL */
void sctp_release(struct sctp *s, void *p, size_t len);

#endif
