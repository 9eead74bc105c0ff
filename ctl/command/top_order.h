/* SPDX-License-Identifier: BSD-2-Clause */
/* The order of the records that `ddpctl top` shows, and their sums by user. */
#ifndef CTL_TOP_ORDER_H
#define CTL_TOP_ORDER_H

#include <stdbool.h>

#include "ctl/field/query.h"

enum top_order { TOP_TRAFFIC, TOP_MESSAGES, TOP_BYTES, TOP_SENT, TOP_RECEIVED, TOP_ORDERS };

/* The word of the command line. */
const char *top_order_name(enum top_order order);

/* All words, separated by blanks. */
#define TOP_ORDER_WORDS "traffic messages bytes sent received"

/* False: no such word. */
bool top_order_parse(const char *word, enum top_order *ret);

/* Those with most first. Associations have segments in place of messages and bytes. */
void top_order_sort(struct query_reply *a, enum top_order order);

/* A record for each user of the queue pairs, sorted: qp_num is their number, tx_ and rx_ are sums.
 * The caller frees ret->recs. False: out of memory. */
bool top_order_by_user(const struct query_reply *qps, enum top_order order,
		       struct query_reply *ret);

#endif
