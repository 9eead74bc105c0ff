/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory windows. */
#ifndef VERBS_MW_H
#define VERBS_MW_H

#include <ddp/ddp.h>
#include <infiniband/verbs.h>

/* The window of libddpclient. */
struct ddp_mw *mw_ddp(struct ibv_mw *mw);

#endif
