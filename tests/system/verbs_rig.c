/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/system/verbs_rig.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- checks ---- */

void (*rig_before_call)(void);

void rig_fail(const char *file, int line, const char *what)
{
	printf("FAILED %s:%d: %s: errno %s\n", file, line, what, strerror(errno));
	exit(1);
}

void rig_fill(void *to, size_t len, unsigned seed)
{
	uint8_t *b = to;

	for (size_t i = 0; i < len; i++)
		b[i] = (uint8_t)(seed * 31 + i * 7 + (i >> 8));
}

void rig_same(const void *came, size_t len, unsigned seed)
{
	uint8_t *expected = malloc(len + 1);

	VERB(expected);
	rig_fill(expected, len, seed);
	VERB(memcmp(came, expected, len) == 0);
	free(expected);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

bool rig_eventually(bool (*is_true)(void *arg), void *arg)
{
	const int64_t end = now_ms() + RIG_WAIT_MS;

	while (!is_true(arg)) {
		if (now_ms() > end)
			return false;
		sched_yield();
	}
	return true;
}

bool rig_joined(pthread_t thread, unsigned ms)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += ms * 1000000L;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return pthread_timedjoin_np(thread, NULL, &t) == 0;
}

/* ---- sides ---- */

void side_open(struct side *s, unsigned device)
{
	const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
	struct ibv_device **list;
	int n = 0;

	memset(s, 0, sizeof(*s));
	list = ibv_get_device_list(&n);
	VERB(list && n > (int)device);
	VERB(s->ctx = ibv_open_device(list[device]));
	ibv_free_device_list(list);
	VERB(s->pd = ibv_alloc_pd(s->ctx));
	VERB(s->cq = ibv_create_cq(s->ctx, 4 * RIG_DEPTH, s, NULL, 0));
	VERB(posix_memalign((void **)&s->mem, 4096, RIG_SIZE) == 0);
	memset(s->mem, 0, RIG_SIZE);
	VERB(s->mr = ibv_reg_mr(s->pd, s->mem, RIG_SIZE, all));
	VERB(ibv_query_gid(s->ctx, 1, 0, &s->gid) == 0);
}

void side_close(struct side *s)
{
	VERB(ibv_dereg_mr(s->mr) == 0);
	free(s->mem);
	VERB(ibv_destroy_cq(s->cq) == 0);
	VERB(ibv_dealloc_pd(s->pd) == 0);
	VERB(ibv_close_device(s->ctx) == 0);
}

struct ibv_qp_init_attr side_init(const struct side *s)
{
	return (struct ibv_qp_init_attr){
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = {RIG_DEPTH, RIG_DEPTH, 4, 4, 64},
		.qp_type = IBV_QPT_RC,
	};
}

/* ---- pairs ---- */

void rig_to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};

	VERB(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
	     0);
}

/* Attributes that unreliable connections do not have. */
static int of_rc(const struct ibv_qp *qp, int mask)
{
	return qp->qp_type == IBV_QPT_RC ? mask : 0;
}

void rig_to_rtr(struct ibv_qp *qp, uint32_t peer, const union ibv_gid *gid)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = *gid, .hop_limit = 1}},
	};

	VERB(ibv_modify_qp(
		     qp, &attr,
		     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     of_rc(qp, IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)) == 0);
}

void rig_to_rts(struct ibv_qp *qp, uint8_t rnr_retry)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = rnr_retry,
		.max_rd_atomic = 4,
	};

	VERB(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_SQ_PSN |
				   of_rc(qp, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						     IBV_QP_MAX_QP_RD_ATOMIC)) == 0);
}

void pair_connect(struct pair *p)
{
	for (int i = 0; i < 2; i++)
		rig_to_init(p->qp[i]);
	for (int i = 0; i < 2; i++)
		rig_to_rtr(p->qp[i], p->qp[!i]->qp_num, &p->side[!i]->gid);
	for (int i = 0; i < 2; i++)
		rig_to_rts(p->qp[i], p->impatient ? 1 : 7);
}

void pair_open(struct pair *p, struct side *a, struct side *b)
{
	*p = (struct pair){.side = {a, b}};
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_init_attr init = side_init(p->side[i]);

		VERB(p->qp[i] = ibv_create_qp(p->side[i]->pd, &init));
	}
	pair_connect(p);
}

void pair_close(struct pair *p)
{
	for (int i = 0; i < 2; i++)
		VERB(ibv_destroy_qp(p->qp[i]) == 0);
}

/* ---- work ---- */

struct ibv_sge side_sge(const struct side *s, size_t offset, uint32_t len)
{
	return (struct ibv_sge){(uintptr_t)s->mem + offset, len, s->mr->lkey};
}

void post_recv(struct pair *p, int end, uint64_t wr_id, size_t offset, uint32_t len)
{
	struct ibv_sge sge = side_sge(p->side[end], offset, len);
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	VERB(ibv_post_recv(p->qp[end], &wr, &bad) == 0);
}

int post(struct pair *p, int end, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	struct ibv_send_wr *bad;

	wr->sg_list = sge;
	wr->num_sge = sge ? 1 : 0;
	wr->send_flags |= IBV_SEND_SIGNALED;
	return ibv_post_send(p->qp[end], wr, &bad);
}

struct one_wc {
	struct ibv_cq *cq;
	struct ibv_wc wc;
};

static bool has_wc(void *arg)
{
	struct one_wc *w = arg;
	int n = ibv_poll_cq(w->cq, 1, &w->wc);

	if (n < 0) /* not VERB(): how many polls there are depends on the machine */
		rig_fail(__FILE__, __LINE__, "ibv_poll_cq()");
	return n == 1;
}

struct ibv_wc rig_wc(struct ibv_cq *cq)
{
	struct one_wc w = {.cq = cq};

	VERB(rig_eventually(has_wc, &w));
	return w.wc;
}

struct ibv_wc rig_done(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = rig_wc(cq);

	if (wc.status != IBV_WC_SUCCESS || wc.wr_id != wr_id || wc.opcode != opcode) {
		printf("came: wr_id %llu, status %d, opcode %d; expected: %llu, 0, %d\n",
		       (unsigned long long)wc.wr_id, (int)wc.status, (int)wc.opcode,
		       (unsigned long long)wr_id, (int)opcode);
		exit(1);
	}
	return wc;
}

void pair_send(struct pair *p, int from, uint32_t len, unsigned seed)
{
	struct ibv_sge sge = side_sge(p->side[from], 0, len);
	struct ibv_send_wr wr = {.wr_id = seed, .opcode = IBV_WR_SEND};
	struct side *to = p->side[!from];
	struct ibv_wc wc;

	rig_fill(p->side[from]->mem, len, seed);
	post_recv(p, !from, seed, RIG_SIZE / 2, len);
	VERB(post(p, from, &wr, &sge) == 0);
	rig_done(p->side[from]->cq, seed, IBV_WC_SEND);
	wc = rig_done(to->cq, seed, IBV_WC_RECV);
	VERB(wc.byte_len == len && wc.qp_num == p->qp[!from]->qp_num);
	rig_same(to->mem + RIG_SIZE / 2, len, seed);
}
