/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/command/top_order.h"

#include <stdlib.h>
#include <string.h>

static const char *const words[TOP_ORDERS] = {
	[TOP_TRAFFIC] = "traffic", [TOP_MESSAGES] = "messages", [TOP_BYTES] = "bytes",
	[TOP_SENT] = "sent",       [TOP_RECEIVED] = "received",
};

const char *top_order_name(enum top_order order)
{
	return words[order];
}

bool top_order_parse(const char *word, enum top_order *ret)
{
	for (unsigned i = 0; i < TOP_ORDERS; i++)
		if (!strcmp(word, words[i])) {
			*ret = i;
			return true;
		}
	return false;
}

static uint64_t assoc_weight(const struct ctl_assoc *a, enum top_order order)
{
	switch (order) {
	case TOP_SENT:
		return a->tx_segments;
	case TOP_RECEIVED:
		return a->rx_segments;
	default:
		return a->tx_segments + a->rx_segments;
	}
}

static uint64_t qp_weight(const struct ctl_qp *q, enum top_order order)
{
	switch (order) {
	case TOP_MESSAGES:
		return q->tx_msgs + q->rx_msgs;
	case TOP_BYTES:
		return q->tx_bytes + q->rx_bytes;
	case TOP_SENT:
		return q->tx_bytes + q->tx_msgs;
	case TOP_RECEIVED:
		return q->rx_bytes + q->rx_msgs;
	default:
		return q->tx_bytes + q->rx_bytes + q->tx_msgs + q->rx_msgs;
	}
}

/* qsort() has no argument for it; ddpctl has one thread. */
static enum top_order sorted_by;

static uint64_t weight_of(const struct ctl_record *rec)
{
	if (rec->object == CTL_QP)
		return qp_weight(&rec->qp, sorted_by);
	return rec->object == CTL_ASSOC ? assoc_weight(&rec->assoc, sorted_by) : 0;
}

static int heavier(const void *a, const void *b)
{
	uint64_t x = weight_of(a), y = weight_of(b);

	return (x < y) - (x > y);
}

void top_order_sort(struct query_reply *a, enum top_order order)
{
	sorted_by = order;
	if (a->n)
		qsort(a->recs, a->n, sizeof(*a->recs), heavier);
}

static int by_uid(const void *a, const void *b)
{
	const struct ctl_record *x = a, *y = b;

	return (x->qp.uid > y->qp.uid) - (x->qp.uid < y->qp.uid);
}

static void add_to_user(struct ctl_qp *sum, const struct ctl_qp *q)
{
	sum->qp_num++;
	sum->tx_msgs += q->tx_msgs;
	sum->rx_msgs += q->rx_msgs;
	sum->tx_bytes += q->tx_bytes;
	sum->rx_bytes += q->rx_bytes;
}

bool top_order_by_user(const struct query_reply *qps, enum top_order order, struct query_reply *ret)
{
	struct ctl_record *recs = calloc(qps->n + 1, sizeof(*recs));
	size_t n = 0;

	if (!recs)
		return false;
	if (qps->n)
		memcpy(recs, qps->recs, qps->n * sizeof(*recs));
	qsort(recs, qps->n, sizeof(*recs), by_uid);
	for (size_t i = 0; i < qps->n; i++) {
		if (n && recs[n - 1].qp.uid == recs[i].qp.uid) {
			add_to_user(&recs[n - 1].qp, &recs[i].qp);
			continue;
		}
		recs[n] = recs[i];
		recs[n++].qp.qp_num = 1;
	}
	*ret = (struct query_reply){.recs = recs, .n = n};
	top_order_sort(ret, order);
	return true;
}
