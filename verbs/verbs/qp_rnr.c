/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/qp_rnr.h"

#include "verbs/base/error.h"

/* By min_rnr_timer, in units of 10 us. */
static const uint32_t rnr_timers[] = {
	65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,    32,
	48,    64,   96,   128,  192,  256,   384,   512,   768,   1024,  1536,
	2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

static unsigned rnr_timer_ms(unsigned code)
{
	return (rnr_timers[code] + 99) / 100;
}

static int set_rnr(const struct qp *qp, struct ddp_qp *ddp)
{
	return ddp_set_qp_rnr(ddp, qp->attr.rnr_retry, rnr_timer_ms(qp->attr.min_rnr_timer));
}

/* The retries are those of who sends, and the timer that of who receives. */
int qp_rnr_apply(const struct qp *qp)
{
	int r = 0;

	if (!(qp->ddp_init.options & DDP_QP_RNR))
		return 0;
	r = set_rnr(qp, qp->ddp);
	if (r == 0 && qp->own_peer)
		r = set_rnr(qp, qp->own_peer->ddp);
	return r ? error_of_call("ibv_modify_qp", r) : 0;
}

int qp_rnr_set_retry(struct qp *qp, unsigned retry)
{
	if (qp->attr.rnr_retry == retry)
		return 0;
	qp->attr.rnr_retry = (uint8_t)retry;
	return qp_rnr_apply(qp);
}
