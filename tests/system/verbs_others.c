/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for libibverbs at two devices. Promise: a queue pair without rdma_cm is connected to
 * the peer that its program names, also if others ask it for a session before that: before its
 * peer, after it, from the peer's address or from another one. Those others are rejected. Requests
 * that wait at other queue pairs of its process make no difference.
 *
 *   verbs_others      exit status 0 if it held
 */
#include <stdio.h>
#include <string.h>

#include "tests/system/verbs_rig.h"

enum { MANY = 20, LEN = 1000 };

static struct side at[2]; /* the second one has the larger GID */

static struct ibv_qp *new_qp(struct side *s)
{
	struct ibv_qp_init_attr init = side_init(s);
	struct ibv_qp *qp;

	VERB(qp = ibv_create_qp(s->pd, &init));
	rig_to_init(qp);
	return qp;
}

/* The end with the smaller GID and number asks. So the one that is asked is, of those that are made
 * at its device, the one with the largest number. */
static void make_qps(struct side *s, struct ibv_qp **ret, unsigned n)
{
	struct ibv_qp *qp;

	for (unsigned i = 0; i < n; i++) {
		ret[i] = new_qp(s);
		if (i == 0 || ret[i]->qp_num < ret[0]->qp_num)
			continue;
		qp = ret[0];
		ret[0] = ret[i];
		ret[i] = qp;
	}
}

static enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	VERB(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) == 0);
	return attr.qp_state;
}

static bool is_in_err(void *qp)
{
	return state_of(qp) == IBV_QPS_ERR;
}

/* A Send arrives. Both sides may have one queue. */
static void send_one(struct pair *p, int from, unsigned seed)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	struct ibv_sge sge = side_sge(p->side[from], 0, LEN);

	rig_fill(p->side[from]->mem, LEN, seed);
	post_recv(p, !from, 0, LEN, LEN);
	VERB(post(p, from, &wr, &sge) == 0);
	for (int i = 0; i < 2; i++)
		VERB(rig_wc(p->side[i]->cq).status == IBV_WC_SUCCESS);
	rig_same(p->side[!from]->mem + LEN, LEN, seed);
}

/* Requests arrive in their order, and so do their events: those before it are there when a session
 * that begins now moves bytes. */
static void await_requests(struct side *from)
{
	struct pair p;

	pair_open(&p, from, &at[1]);
	send_one(&p, 0, 1);
	pair_close(&p);
}

static void ask(struct side *s, struct ibv_qp *qp, const struct ibv_qp *peer)
{
	rig_to_rtr(qp, peer->qp_num, &at[1].gid);
	await_requests(s);
}

static void move_bytes(struct side *s, struct ibv_qp *peer, struct ibv_qp *qp)
{
	struct pair p = {.side = {s, &at[1]}, .qp = {peer, qp}};

	rig_to_rts(peer, 7);
	rig_to_rts(qp, 7);
	send_one(&p, 0, 2);
	send_one(&p, 1, 3);
}

/* before, after: others that ask before and after the peer. */
static void meets(unsigned others, unsigned peers, unsigned before, unsigned after)
{
	struct ibv_qp *made[2][MANY + 2], *qp, *peer, **other;
	unsigned n;

	for (unsigned i = 0; i < 2; i++)
		make_qps(&at[i], made[i], MANY + 2);
	qp = made[1][0];
	peer = made[peers][1];
	other = &made[others][2];
	for (n = 0; n < before; n++)
		ask(&at[others], other[n], qp);
	ask(&at[peers], peer, qp);
	VERB(state_of(peer) == IBV_QPS_RTR);
	for (; n < before + after; n++)
		ask(&at[others], other[n], qp);
	VERB(state_of(peer) == IBV_QPS_RTR);
	rig_to_rtr(qp, peer->qp_num, &at[peers].gid);
	move_bytes(&at[peers], peer, qp);
	for (n = 0; n < before + after; n++)
		VERB(rig_eventually(is_in_err, other[n]));
	for (n = 0; n < 2 * (MANY + 2); n++)
		VERB(ibv_destroy_qp(made[n % 2][n / 2]) == 0);
	printf("ok %u requests before that of the peer, and %u after it\n", before, after);
}

/* 80 requests of one address wait. A listener with 256 places has no room for a further one. */
static void meets_beside_others(void)
{
	enum { FULL = 10, EACH = 8 };
	struct ibv_qp *full[FULL], *other[FULL * EACH];
	struct ibv_qp *qp = new_qp(&at[1]), *peer = new_qp(&at[0]);

	for (unsigned i = 0; i < FULL; i++)
		full[i] = new_qp(&at[1]);
	for (unsigned i = 0; i < FULL * EACH; i++) {
		other[i] = new_qp(&at[0]);
		rig_to_rtr(other[i], full[i / EACH]->qp_num, &at[1].gid);
	}
	rig_to_rtr(peer, qp->qp_num, &at[1].gid);
	rig_to_rtr(qp, peer->qp_num, &at[0].gid);
	move_bytes(&at[0], peer, qp);
	for (unsigned i = 0; i < FULL * EACH; i++)
		VERB(state_of(other[i]) == IBV_QPS_RTR && ibv_destroy_qp(other[i]) == 0);
	for (unsigned i = 0; i < FULL; i++)
		VERB(ibv_destroy_qp(full[i]) == 0);
	VERB(ibv_destroy_qp(qp) == 0 && ibv_destroy_qp(peer) == 0);
	printf("ok %u requests wait at other queue pairs\n", FULL * EACH);
}

static void open_sides(void)
{
	struct side one;

	for (unsigned i = 0; i < 2; i++)
		side_open(&at[i], i);
	if (memcmp(at[0].gid.raw, at[1].gid.raw, sizeof(at[0].gid.raw)) < 0)
		return;
	one = at[0];
	at[0] = at[1];
	at[1] = one;
}

int main(void)
{
	open_sides();
	meets(0, 0, 1, 0);
	meets(1, 1, 1, 0);
	meets(0, 1, MANY, 0);
	meets(1, 0, MANY, 0);
	meets(0, 0, MANY - 3, 3);
	meets(1, 0, 3, MANY - 3);
	meets(0, 1, 0, MANY);
	meets_beside_others();
	for (unsigned i = 0; i < 2; i++)
		side_close(&at[i]);
	puts("a queue pair meets the peer that its program names, also if others ask");
	return 0;
}
