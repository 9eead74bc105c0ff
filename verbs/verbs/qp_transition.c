/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/qp_transition.h"

#include <errno.h>
#include <stdbool.h>

#include "verbs/verbs/qp.h"

/* ---- transitions ---- */

#define BIT(state) (1U << IBV_QPS_##state)

/* Attributes besides IBV_QP_STATE. */
enum {
	TO_INIT = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	TO_RTR_UC = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
	TO_RTR_RC = TO_RTR_UC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	TO_RTS_UC = IBV_QP_SQ_PSN,
	TO_RTS_RC = TO_RTS_UC | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		    IBV_QP_MAX_QP_RD_ATOMIC,
	MAY_RTR = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX,
	MAY_RTS_UC =
		IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE,
	MAY_RTS_RC = MAY_RTS_UC | IBV_QP_MIN_RNR_TIMER,
	/* Datagrams: a queue pair has no path, and no peer. */
	TO_INIT_UD = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
	MAY_RTR_UD = IBV_QP_PKEY_INDEX | IBV_QP_QKEY,
	MAY_RTS_UD = IBV_QP_CUR_STATE | IBV_QP_QKEY,
	MAY_SQD_UC = IBV_QP_AV | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX |
		     IBV_QP_PATH_MIG_STATE,
	MAY_SQD_RC = MAY_SQD_UC | IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		     IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |
		     IBV_QP_MIN_RNR_TIMER,
	MAY_SQD = IBV_QP_EN_SQD_ASYNC_NOTIFY,
	/* All that iWARP has a use for, or that programs for InfiniBand set. */
	MAY_IWARP = (IBV_QP_DEST_QPN << 1) - 1,
	NEVER = -1, /* no mask has it */
};

static const struct {
	unsigned from, to; /* sets of states */
	int required[QP_STATES_IWARP], optional[QP_STATES_IWARP];
} transitions[] = {
	{BIT(RESET), BIT(RESET), {0}, {0}},
	{BIT(RESET), BIT(INIT), {TO_INIT, TO_INIT, TO_INIT_UD}, {0}},
	{BIT(INIT), BIT(INIT), {0}, {TO_INIT, TO_INIT, TO_INIT_UD}},
	{BIT(INIT), BIT(RTR), {TO_RTR_RC, TO_RTR_UC, 0}, {MAY_RTR, MAY_RTR, MAY_RTR_UD}},
	{BIT(RTR),
	 BIT(RTS),
	 {TO_RTS_RC, TO_RTS_UC, IBV_QP_SQ_PSN},
	 {MAY_RTS_RC, MAY_RTS_UC, MAY_RTS_UD}},
	{BIT(RTS) | BIT(SQD), BIT(RTS), {0}, {MAY_RTS_RC, MAY_RTS_UC, MAY_RTS_UD}},
	/* Only datagrams have this SQE: a connection that fails ends. */
	{BIT(SQE), BIT(RTS), {NEVER, NEVER, 0}, {0, 0, MAY_RTS_UD}},
	{BIT(RTS), BIT(SQD), {0}, {MAY_SQD, MAY_SQD, MAY_SQD}},
	{BIT(SQD), BIT(SQD), {0}, {MAY_SQD_RC, MAY_SQD_UC, MAY_RTR_UD}},
	{BIT(INIT) | BIT(RTR) | BIT(RTS) | BIT(SQD) | BIT(SQE) | BIT(ERR),
	 BIT(RESET) | BIT(ERR),
	 {0},
	 {0}},
};

/* iWARP has the states idle, which are RESET, INIT and RTR here, and RTS, closing (SQD), terminate
 * (SQE) and error. A device has no use for the attributes of a path, and needs none. */
static const unsigned iwarp_next[] = {
	[IBV_QPS_RESET] = BIT(RESET) | BIT(INIT) | BIT(ERR),
	[IBV_QPS_INIT] = BIT(RESET) | BIT(INIT) | BIT(RTR) | BIT(ERR),
	[IBV_QPS_RTR] = BIT(RESET) | BIT(RTR) | BIT(RTS) | BIT(ERR),
	[IBV_QPS_RTS] = BIT(RESET) | BIT(RTS) | BIT(SQD) | BIT(SQE) | BIT(ERR),
	[IBV_QPS_SQD] = BIT(RESET) | BIT(ERR),
	[IBV_QPS_SQE] = BIT(RESET) | BIT(ERR),
	[IBV_QPS_ERR] = BIT(RESET) | BIT(ERR),
};

static bool mask_fits(int mask, int required, int optional)
{
	return (mask & required) == required && (mask & ~(required | optional)) == 0;
}

/* mask: without IBV_QP_STATE. */
static bool may_move(enum qp_states states, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	if (states == QP_STATES_IWARP)
		return iwarp_next[from] & 1U << to && mask_fits(mask, 0, MAY_IWARP);
	for (unsigned i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++)
		if (transitions[i].from & 1U << from && transitions[i].to & 1U << to)
			return mask_fits(mask, transitions[i].required[states],
					 transitions[i].optional[states]);
	return false;
}

/* ---- values ---- */

/* The largest values of attributes that are numbers. */
enum {
	PORT = 1,
	MAX_TIMER = 31,
	MAX_RETRY = 7,
	MAX_NUMBER = 0xffffff, /* of a queue pair */
};

static bool good_path(const struct ibv_qp_attr *attr, int mask, unsigned gids)
{
	if (mask & IBV_QP_PORT && attr->port_num != PORT)
		return false;
	if (mask & IBV_QP_PKEY_INDEX && attr->pkey_index != 0)
		return false;
	if (mask & IBV_QP_PATH_MTU &&
	    (attr->path_mtu < IBV_MTU_256 || attr->path_mtu > IBV_MTU_4096))
		return false;
	if (mask & IBV_QP_DEST_QPN && attr->dest_qp_num > MAX_NUMBER)
		return false;
	if (!(mask & IBV_QP_AV))
		return true;
	return attr->ah_attr.port_num == PORT &&
	       (!attr->ah_attr.is_global || attr->ah_attr.grh.sgid_index < gids);
}

static bool good_limits(const struct ibv_qp_attr *attr, int mask)
{
	const struct {
		int bit;
		unsigned value, max;
	} limits[] = {
		{IBV_QP_MAX_QP_RD_ATOMIC, attr->max_rd_atomic, QP_READS},
		{IBV_QP_MAX_DEST_RD_ATOMIC, attr->max_dest_rd_atomic, QP_READS},
		{IBV_QP_TIMEOUT, attr->timeout, MAX_TIMER},
		{IBV_QP_MIN_RNR_TIMER, attr->min_rnr_timer, MAX_TIMER},
		{IBV_QP_RETRY_CNT, attr->retry_cnt, MAX_RETRY},
		{IBV_QP_RNR_RETRY, attr->rnr_retry, MAX_RETRY},
		{IBV_QP_STATE, attr->qp_state, IBV_QPS_ERR},
	};

	for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (mask & limits[i].bit && limits[i].value > limits[i].max)
			return false;
	return true;
}

int qp_transition_check(enum qp_states states, enum ibv_qp_state from,
			const struct ibv_qp_attr *attr, int mask, unsigned gids)
{
	const enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : from;

	if (!good_path(attr, mask, gids) || !good_limits(attr, mask))
		return EINVAL;
	if (mask & IBV_QP_CUR_STATE && attr->cur_qp_state != from)
		return EINVAL;
	return may_move(states, from, to, mask & ~IBV_QP_STATE) ? 0 : EINVAL;
}

/* ---- work ---- */

unsigned qp_transition_takes(enum qp_states states, enum ibv_qp_state state)
{
	const unsigned sends = BIT(RTS) | BIT(SQD) | BIT(SQE) | BIT(ERR);
	const unsigned recvs = sends | BIT(INIT) | BIT(RTR);
	unsigned ret = 0;

	if (sends & 1U << state)
		ret |= QP_TAKES_SENDS;
	if (recvs & 1U << state || states == QP_STATES_IWARP)
		ret |= QP_TAKES_RECVS;
	return ret;
}
