/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters as rates: `ddpctl -w`. */
#ifndef CTL_RATES_H
#define CTL_RATES_H

#include "ctl/field/field.h"
#include "ctl/field/query.h"

/* Replaces each counter of the records by its growth per second since `before`, the records of
 * `seconds` ago, and keeps the counters in `before` for the next call. New objects begin with 0. */
void rates_apply(const struct field_object *obj, struct query_reply *now,
		 struct query_reply *before, double seconds);

#endif
