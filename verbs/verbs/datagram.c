/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/datagram.h"

#include <endian.h>
#include <errno.h>

#include "verbs/base/error.h"
#include "verbs/verbs/ah.h"
#include "verbs/verbs/context.h"

/* ---- queue pairs ---- */

void datagram_fill_init(const struct ibv_qp_init_attr *a, struct ddp_qp_init *ret)
{
	ret->qp_type = DDP_QP_DATAGRAM;
	ret->max_send_wr = a->cap.max_send_wr ? a->cap.max_send_wr : 1;
	ret->max_ord = ret->max_ird = 0;
	ret->hold_bytes = ret->hold_ms = 0;
	ret->options = 0;
}

static void join_list(struct host *h, struct qp *qp)
{
	qp->next_datagram = h->datagrams;
	h->datagrams = qp;
}

static void leave_list(struct host *h, const struct qp *qp)
{
	struct qp **at = &h->datagrams;

	while (*at && *at != qp)
		at = &(*at)->next_datagram;
	if (*at)
		*at = qp->next_datagram;
}

static struct qp *find_datagram(const struct host *h, uint32_t num)
{
	struct qp *qp = h->datagrams;

	while (qp && qp->num != num)
		qp = qp->next_datagram;
	return qp;
}

bool datagram_has_number(const struct host *h, uint32_t num)
{
	return find_datagram(h, num);
}

int datagram_adopt(struct qp *qp)
{
	struct host *h = context_of(qp->ibv.context)->host;
	int r = 0;

	pthread_mutex_lock(&h->event_lock);
	if (qp_is_carried(qp))
		r = qp_num_set(&h->numbers, qp->num, QP_NUM_DATAGRAM | qp->num);
	if (r == 0)
		join_list(h, qp);
	pthread_mutex_unlock(&h->event_lock);
	return r;
}

void datagram_abandon(struct qp *qp)
{
	struct host *h = context_of(qp->ibv.context)->host;

	leave_list(h, qp);
	if (qp_is_carried(qp))
		qp_num_clear(&h->numbers, ddp_qp_num(qp->ddp));
}

int datagram_take_number(const struct qp *qp, struct ddp_qp *next, bool *ret_taken)
{
	int r = ddp_take_qp_number(next, qp->ddp);

	*ret_taken = r == 0;
	return r == -EOPNOTSUPP ? 0 : r;
}

void datagram_send_failed(struct host *h, uint32_t num)
{
	struct qp *qp;

	pthread_mutex_lock(&h->event_lock);
	qp = find_datagram(h, num);
	if (qp && (qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD))
		qp_set_state(qp, IBV_QPS_SQE);
	pthread_mutex_unlock(&h->event_lock);
}

int datagram_set_qkey(struct qp *qp, uint32_t qkey)
{
	int r = qp_is_carried(qp) ? ddp_set_qp_qkey(qp->ddp, qkey) : 0;

	if (r)
		return error_of_call("ibv_modify_qp", r);
	if (qp_is_carried(qp))
		qp->ddp_init.qkey = qkey; /* of the next one, after RESET */
	qp->attr.qkey = qkey;
	return 0;
}

/* ---- work ---- */

#define NOT_CARRIED                                                                                \
	"the daemon does not carry datagrams: a queue pair for them (UD) has a number and "        \
	"receives, but sends nothing"

#define NOT_REACHED "datagrams do not reach the host of the address handle"

int datagram_convert(const struct qp *qp, const struct ibv_send_wr *wr, struct ddp_send_wr *ret)
{
	const struct ah *ah = (const struct ah *)wr->wr.ud.ah;

	if (wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM)
		return -EINVAL; /* work of connections */
	if (!qp_is_carried(qp))
		return -error_unsupported("ibv_post_send", NOT_CARRIED, EOPNOTSUPP);
	if (ah && !ah->ddp)
		return -error_unsupported("ibv_post_send", NOT_REACHED, EHOSTUNREACH);
	ret->opcode = DDP_WR_SEND;
	ret->send_flags &= ~(unsigned)DDP_SEND_FENCE; /* it waits for Reads */
	ret->ud.ah = ah ? ah->ddp : NULL;
	ret->ud.remote_qp = wr->wr.ud.remote_qpn;
	ret->ud.remote_qkey = wr->wr.ud.remote_qkey;
	if (wr->opcode == IBV_WR_SEND_WITH_IMM) {
		ret->send_flags |= DDP_SEND_WITH_IMM;
		ret->imm_data = be32toh(wr->imm_data);
	}
	return 1;
}
