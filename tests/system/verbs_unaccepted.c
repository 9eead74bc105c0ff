/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for libibverbs at two devices. Promise: where the session of two queue pairs cannot be
 * accepted, although both programs have done their part, the work of both fails: nobody waits
 * without end. After RESET the queue pairs serve a session.
 *
 *   verbs_unaccepted      exit status 0 if it held
 */
#include <ddp/ddp.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "tests/system/verbs_rig.h"

static bool fails;
static unsigned calls;

/* ddpverbs calls this one instead of that of libddpclient. */
__attribute__((visibility("default"))) int ddp_accept(struct ddp_id *id,
						      const struct ddp_conn_param *param)
{
	int (*real)(struct ddp_id *, const struct ddp_conn_param *);

	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(&fails, __ATOMIC_RELAXED))
		return -ENOMEM;
	*(void **)&real = dlsym(RTLD_NEXT, "ddp_accept");
	return real(id, param);
}

static void set_fails(bool on)
{
	__atomic_store_n(&fails, on, __ATOMIC_RELAXED);
}

static bool has_failed(void *arg)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	VERB(ibv_query_qp(arg, &attr, IBV_QP_STATE, &init) == 0);
	return attr.qp_state == IBV_QPS_ERR;
}

static void hears(struct pair *p, int end)
{
	struct ibv_wc wc = rig_wc(p->side[end]->cq);

	VERB(wc.wr_id == 1 && wc.status == IBV_WC_WR_FLUSH_ERR);
	VERB(rig_eventually(has_failed, p->qp[end]));
}

/* The first one has the smaller address and connects. The second one is ready before that, so its
 * thread of events accepts. */
static void refuse(struct pair *p)
{
	set_fails(true);
	for (int i = 0; i < 2; i++) {
		rig_to_init(p->qp[i]);
		post_recv(p, i, 1, 0, 100);
	}
	rig_to_rtr(p->qp[1], p->qp[0]->qp_num, &p->side[0]->gid);
	rig_to_rtr(p->qp[0], p->qp[1]->qp_num, &p->side[1]->gid);
	for (int i = 0; i < 2; i++)
		hears(p, i);
	VERB(__atomic_load_n(&calls, __ATOMIC_RELAXED) > 0);
	printf("both hear that a session was not accepted\n");
}

static void connect_again(struct pair *p)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};

	set_fails(false);
	for (int i = 0; i < 2; i++)
		VERB(ibv_modify_qp(p->qp[i], &reset, IBV_QP_STATE) == 0);
	pair_connect(p);
	pair_send(p, 0, 3000, 1);
	pair_send(p, 1, 3000, 2);
	printf("and serve another one\n");
}

int main(void)
{
	struct side a, b;
	struct pair p = {.side = {&a, &b}};

	side_open(&a, 0);
	side_open(&b, 1);
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_init_attr init = side_init(p.side[i]);

		VERB(p.qp[i] = ibv_create_qp(p.side[i]->pd, &init));
	}
	refuse(&p);
	connect_again(&p);
	pair_close(&p);
	side_close(&b);
	side_close(&a);
	return 0;
}
