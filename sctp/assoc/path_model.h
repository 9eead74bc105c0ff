/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of a path whose congestion control is BBR: its model, from the first data on, and a block
 * for the records of batches while data is in flight. */
#ifndef SCTP_PATH_MODEL_H
#define SCTP_PATH_MODEL_H

#include "sctp/base/path.h"

/* Data is about to be sent, and none is in flight. No effect with other algorithms. */
void sctp_path_model(struct sctp_path *p);
/* No data is in flight: the block goes. */
void sctp_path_rest_model(struct sctp_path *p);
/* The path goes. */
void sctp_path_free_model(struct sctp_path *p);

#endif
