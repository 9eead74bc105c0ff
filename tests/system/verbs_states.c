/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for libibverbs at two devices. Promise: ibv_modify_qp() makes the transitions of the IB
 * specification and no other, with the attributes that each needs and takes, or those of an iWARP
 * device; a call that fails changes nothing. Each state takes the work that it should, ERR flushes,
 * and after RESET a queue pair serves another session.
 *
 *   verbs_states      exit status 0 if it held
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/verbs_rig.h"

enum { STATES = IBV_QPS_ERR + 1, BITS = 26 };

static struct side a, b;
static bool iwarp;
static unsigned checked;

static const char *const names[STATES] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

/* ---- what is expected ---- */

struct row {
	const char *from, *to, *required, *optional;
};

/* From ibv_modify_qp(3), and for optional attributes from table 91 of the IB specification. */
static const struct row rc[] = {
	{"RESET", "RESET", "", ""},
	{"RESET", "INIT", "pkey port access", ""},
	{"INIT", "RESET", "", ""},
	{"INIT", "INIT", "", "pkey port access"},
	{"INIT", "RTR", "av mtu dest rq_psn dest_reads rnr_timer", "alt access pkey"},
	{"INIT", "ERR", "", ""},
	{"RTR", "RESET", "", ""},
	{"RTR", "RTS", "timeout retry rnr_retry sq_psn reads", "cur alt access rnr_timer mig"},
	{"RTR", "ERR", "", ""},
	{"RTS", "RESET", "", ""},
	{"RTS", "RTS", "", "cur alt access rnr_timer mig"},
	{"RTS", "SQD", "", "notify"},
	{"RTS", "ERR", "", ""},
	{"SQD", "RESET", "", ""},
	{"SQD", "RTS", "", "cur alt access rnr_timer mig"},
	{"SQD", "SQD", "",
	 "port av timeout retry rnr_retry reads dest_reads alt access pkey rnr_timer mig"},
	{"SQD", "ERR", "", ""},
	{"ERR", "RESET", "", ""},
	{"ERR", "ERR", "", ""},
};

/* Likewise, of queue pairs for datagrams. */
static const struct row ud[] = {
	{"RESET", "RESET", "", ""},       {"RESET", "INIT", "pkey port qkey", ""},
	{"INIT", "RESET", "", ""},        {"INIT", "INIT", "", "pkey port qkey"},
	{"INIT", "RTR", "", "pkey qkey"}, {"INIT", "ERR", "", ""},
	{"RTR", "RESET", "", ""},         {"RTR", "RTS", "sq_psn", "cur qkey"},
	{"RTR", "ERR", "", ""},           {"RTS", "RESET", "", ""},
	{"RTS", "RTS", "", "cur qkey"},   {"RTS", "SQD", "", "notify"},
	{"RTS", "ERR", "", ""},           {"SQD", "RESET", "", ""},
	{"SQD", "RTS", "", "cur qkey"},   {"SQD", "SQD", "", "pkey qkey"},
	{"SQD", "ERR", "", ""},           {"SQE", "RESET", "", ""},
	{"SQE", "RTS", "", "cur qkey"},   {"SQE", "ERR", "", ""},
	{"ERR", "RESET", "", ""},         {"ERR", "ERR", "", ""},
};

/* Idle, which has three names, to RTS, and from there to closing, terminate and error. */
static const struct {
	const char *from, *to;
} of_iwarp[] = {
	{"RESET", "RESET INIT ERR"},  {"INIT", "RESET INIT RTR ERR"},
	{"RTR", "RESET RTR RTS ERR"}, {"RTS", "RESET RTS SQD SQE ERR"},
	{"SQD", "RESET ERR"},         {"SQE", "RESET ERR"},
	{"ERR", "RESET ERR"},
};

static const struct {
	const char *name;
	int bit;
} attributes[] = {
	{"cur", IBV_QP_CUR_STATE},
	{"notify", IBV_QP_EN_SQD_ASYNC_NOTIFY},
	{"access", IBV_QP_ACCESS_FLAGS},
	{"pkey", IBV_QP_PKEY_INDEX},
	{"port", IBV_QP_PORT},
	{"qkey", IBV_QP_QKEY},
	{"av", IBV_QP_AV},
	{"mtu", IBV_QP_PATH_MTU},
	{"timeout", IBV_QP_TIMEOUT},
	{"retry", IBV_QP_RETRY_CNT},
	{"rnr_retry", IBV_QP_RNR_RETRY},
	{"rq_psn", IBV_QP_RQ_PSN},
	{"reads", IBV_QP_MAX_QP_RD_ATOMIC},
	{"alt", IBV_QP_ALT_PATH},
	{"rnr_timer", IBV_QP_MIN_RNR_TIMER},
	{"sq_psn", IBV_QP_SQ_PSN},
	{"dest_reads", IBV_QP_MAX_DEST_RD_ATOMIC},
	{"mig", IBV_QP_PATH_MIG_STATE},
	{"cap", IBV_QP_CAP},
	{"dest", IBV_QP_DEST_QPN},
};

static bool has_word(const char *text, const char *word)
{
	const size_t n = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += n)
		if ((at == text || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
			return true;
	return false;
}

static int bits_of(const char *words)
{
	int ret = 0;

	for (unsigned i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (has_word(words, attributes[i].name))
			ret |= attributes[i].bit;
	return ret;
}

struct expected {
	bool allowed;
	int required, optional;
};

static struct expected expect_row(const struct row *rows, size_t n, unsigned from, unsigned to)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].from, names[from]) == 0 && strcmp(rows[i].to, names[to]) == 0)
			return (struct expected){true, bits_of(rows[i].required),
						 bits_of(rows[i].optional)};
	return (struct expected){.allowed = false};
}

static struct expected expect_rc(unsigned from, unsigned to)
{
	return expect_row(rc, sizeof(rc) / sizeof(rc[0]), from, to);
}

static struct expected expected(const struct ibv_qp *qp, unsigned from, unsigned to)
{
	const int all = bits_of("cur notify access pkey port qkey av mtu timeout retry rnr_retry "
				"rq_psn reads alt rnr_timer sq_psn dest_reads mig cap dest");

	if (qp->qp_type == IBV_QPT_UD)
		return expect_row(ud, sizeof(ud) / sizeof(ud[0]), from, to);
	if (!iwarp)
		return expect_rc(from, to);
	return (struct expected){has_word(of_iwarp[from].to, names[to]), 0, all};
}

/* ---- one queue pair ---- */

/* The peer that it names connects: it does not exist, so no session begins. */
static struct ibv_qp_attr values(unsigned state, unsigned cur)
{
	return (struct ibv_qp_attr){
		.qp_state = (enum ibv_qp_state)state,
		.cur_qp_state = (enum ibv_qp_state)cur,
		.path_mtu = IBV_MTU_1024,
		.qkey = 0x11111111,
		.dest_qp_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh.dgid = a.gid},
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.port_num = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};
}

static unsigned query_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	VERB(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) == 0);
	return attr.qp_state;
}

/* The member is the state, too. The end of the peer may come between the looks at both. */
static unsigned state_of(struct ibv_qp *qp)
{
	unsigned state = query_state(qp), member, next;

	while (member = qp->state, (next = query_state(qp)) != state)
		state = next;
	VERB(member == state);
	return state;
}

static void go(struct ibv_qp *qp, unsigned to)
{
	struct ibv_qp_attr attr = values(to, state_of(qp));

	VERB(ibv_modify_qp(qp, &attr, IBV_QP_STATE | expected(qp, state_of(qp), to).required) == 0);
	VERB(state_of(qp) == to);
}

static struct ibv_qp *fresh_of(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = side_init(&b);
	struct ibv_qp *qp;

	init.qp_type = type;
	VERB(qp = ibv_create_qp(b.pd, &init));
	VERB(state_of(qp) == IBV_QPS_RESET);
	return qp;
}

static struct ibv_qp *fresh(void)
{
	return fresh_of(IBV_QPT_RC);
}

static void fail_a_datagram(struct ibv_qp *qp);

/* From RESET, which each state leads to. */
static void bring(struct ibv_qp *qp, unsigned state)
{
	if (state_of(qp) != IBV_QPS_RESET)
		go(qp, IBV_QPS_RESET);
	for (unsigned s = IBV_QPS_INIT; s <= state && s <= IBV_QPS_RTS; s++)
		go(qp, s);
	if (state == IBV_QPS_SQE && !iwarp)
		fail_a_datagram(qp);
	else if (state > IBV_QPS_RTS)
		go(qp, state);
}

/* ---- transitions ---- */

/* One call; from: the state of the queue pair. */
static void attempt(struct ibv_qp *qp, unsigned from, unsigned to, int mask, bool may)
{
	struct ibv_qp_attr attr = values(to, from);
	int r = ibv_modify_qp(qp, &attr, mask | IBV_QP_STATE);

	if (r != (may ? 0 : EINVAL) || state_of(qp) != (may ? to : from)) {
		printf("%s to %s, mask 0x%x: result %d, state %s; expected %s\n", names[from],
		       names[to], (unsigned)mask, r, names[state_of(qp)],
		       may ? "success" : "EINVAL");
		exit(1);
	}
	checked++;
	if (may)
		bring(qp, from);
}

static void each_mask(struct ibv_qp *qp, unsigned from, unsigned to)
{
	const struct expected e = expected(qp, from, to);

	attempt(qp, from, to, e.required, e.allowed);
	for (int bit = 1; bit < 1 << BITS; bit <<= 1) {
		if (bit == IBV_QP_STATE)
			continue;
		if (e.required & bit)
			attempt(qp, from, to, e.required & ~bit, false);
		else
			attempt(qp, from, to, e.required | bit, e.allowed && e.optional & bit);
	}
}

static void each_transition(enum ibv_qp_type type)
{
	struct ibv_qp *qp = fresh_of(type);

	for (unsigned from = 0; from < STATES; from++) {
		if (from == IBV_QPS_SQE && !iwarp && type != IBV_QPT_UD)
			continue; /* a connection whose Send fails is in ERR */
		bring(qp, from);
		for (unsigned to = 0; to < STATES; to++)
			each_mask(qp, from, to);
	}
	VERB(ibv_destroy_qp(qp) == 0);
	printf("transitions: %u calls did as the table says\n", checked);
}

/* Without IBV_QP_STATE a call changes attributes of the state that it is in. */
static void without_state(void)
{
	struct ibv_qp *qp = fresh();
	struct ibv_qp_attr attr = values(IBV_QPS_RTS, IBV_QPS_RTS);

	VERB(ibv_modify_qp(qp, &attr, IBV_QP_ACCESS_FLAGS) == (iwarp ? 0 : EINVAL));
	bring(qp, IBV_QPS_RTS);
	VERB(ibv_modify_qp(qp, &attr, IBV_QP_ACCESS_FLAGS) == 0);
	VERB(ibv_modify_qp(qp, &attr, IBV_QP_MAX_DEST_RD_ATOMIC) == (iwarp ? 0 : EINVAL));
	VERB(state_of(qp) == IBV_QPS_RTS);
	VERB(ibv_destroy_qp(qp) == 0);
}

/* ---- values ---- */

#define SPOIL(name, member, value)                                                                 \
	static void name(struct ibv_qp_attr *t)                                                    \
	{                                                                                          \
		t->member = (value);                                                               \
	}
SPOIL(set_port, port_num, 9)
SPOIL(set_no_port, port_num, 0)
SPOIL(set_pkey, pkey_index, 1)
SPOIL(set_state, qp_state, (enum ibv_qp_state)77)
SPOIL(set_mtu, path_mtu, (enum ibv_mtu)6)
SPOIL(set_no_mtu, path_mtu, (enum ibv_mtu)0)
SPOIL(set_dest_reads, max_dest_rd_atomic, 17)
SPOIL(set_rnr_timer, min_rnr_timer, 32)
SPOIL(set_path_port, ah_attr.port_num, 2)
SPOIL(set_index, ah_attr.grh.sgid_index, 200)
SPOIL(set_dest, dest_qp_num, 1 << 24)
SPOIL(set_reads, max_rd_atomic, 17)
SPOIL(set_timeout, timeout, 32)
SPOIL(set_retry, retry_cnt, 8)
SPOIL(set_rnr_retry, rnr_retry, 8)

static const struct {
	unsigned to;
	void (*spoil)(struct ibv_qp_attr *t);
} spoilt[] = {
	{IBV_QPS_INIT, set_port},      {IBV_QPS_INIT, set_no_port},  {IBV_QPS_INIT, set_pkey},
	{IBV_QPS_INIT, set_state},     {IBV_QPS_RTR, set_mtu},       {IBV_QPS_RTR, set_no_mtu},
	{IBV_QPS_RTR, set_dest_reads}, {IBV_QPS_RTR, set_rnr_timer}, {IBV_QPS_RTR, set_path_port},
	{IBV_QPS_RTR, set_index},      {IBV_QPS_RTR, set_dest},      {IBV_QPS_RTS, set_reads},
	{IBV_QPS_RTS, set_timeout},    {IBV_QPS_RTS, set_retry},     {IBV_QPS_RTS, set_rnr_retry},
};

/* The attributes that a program sets are those that it finds. */
static void datagram_attributes(void)
{
	struct ibv_qp *qp = fresh_of(IBV_QPT_UD);
	struct ibv_qp_attr attr = values(IBV_QPS_RTS, IBV_QPS_RTS);
	struct ibv_qp_init_attr init;

	bring(qp, IBV_QPS_RTS);
	attr.qkey = 0x80000007;
	VERB(ibv_modify_qp(qp, &attr, IBV_QP_QKEY) == 0);
	memset(&attr, 0, sizeof(attr));
	VERB(ibv_query_qp(qp, &attr, IBV_QP_QKEY, &init) == 0);
	VERB(attr.qkey == 0x80000007 && attr.port_num == 1 && attr.pkey_index == 0);
	VERB(init.qp_type == IBV_QPT_UD && init.cap.max_send_wr >= RIG_DEPTH);
	VERB(ibv_destroy_qp(qp) == 0);
	puts("a queue pair for datagrams has the attributes that were set");
}

static void each_value(void)
{
	struct ibv_qp *qp = fresh();

	for (unsigned i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
		const unsigned from = spoilt[i].to - 1;
		struct ibv_qp_attr attr = values(spoilt[i].to, from);

		bring(qp, from);
		spoilt[i].spoil(&attr);
		VERB(ibv_modify_qp(qp, &attr,
				   IBV_QP_STATE | expect_rc(from, spoilt[i].to).required) ==
		     EINVAL);
		VERB(state_of(qp) == from);
	}
	VERB(ibv_destroy_qp(qp) == 0);
	puts("values out of range are refused");
}

/* ---- work ---- */

static int try_send(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int r = ibv_post_send(qp, wr, &bad);

	VERB(r == 0 || bad == wr);
	return r;
}

/* No call leads to SQE, but a Send to itself from memory that is not registered. */
static void fail_a_datagram(struct ibv_qp *qp)
{
	struct ibv_ah_attr to = {.is_global = 1, .port_num = 1, .grh.dgid = b.gid};
	struct ibv_sge sge = side_sge(&b, 0, 8);
	struct ibv_send_wr wr = {.wr_id = 8, .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1};
	struct ibv_wc wc;

	sge.lkey ^= 0x100;
	wr.wr.ud.remote_qpn = qp->qp_num;
	VERB(wr.wr.ud.ah = ibv_create_ah(b.pd, &to));
	VERB(try_send(qp, &wr) == 0);
	wc = rig_wc(b.cq);
	VERB(wc.status == IBV_WC_LOC_PROT_ERR && wc.wr_id == 8 && wc.qp_num == qp->qp_num);
	VERB(state_of(qp) == IBV_QPS_SQE);
	VERB(ibv_destroy_ah(wr.wr.ud.ah) == 0);
}

static int try_recv(struct ibv_qp *qp, uint64_t wr_id)
{
	struct ibv_sge sge = side_sge(&b, 0, 64);
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad = NULL;
	int r = ibv_post_recv(qp, &wr, &bad);

	VERB(r == 0 || bad == &wr);
	return r;
}

static void expect_flush(struct ibv_cq *cq, uint64_t wr_id)
{
	struct ibv_wc wc = rig_wc(cq);

	VERB(wc.status == IBV_WC_WR_FLUSH_ERR && wc.wr_id == wr_id);
}

static void each_state_works(enum ibv_qp_type type)
{
	struct ibv_ah_attr to = {.is_global = 1, .port_num = 1, .grh.dgid = b.gid};
	struct ibv_send_wr wr = {.wr_id = 9, .opcode = IBV_WR_SEND};
	struct ibv_qp *qp = fresh_of(type);

	if (type == IBV_QPT_UD) {
		wr.wr.ud.remote_qpn = qp->qp_num;
		VERB(wr.wr.ud.ah = ibv_create_ah(b.pd, &to));
	}

	VERB(try_recv(qp, 1) == (iwarp ? 0 : EINVAL));
	VERB(try_send(qp, &wr) == EINVAL);
	bring(qp, IBV_QPS_INIT);
	VERB(try_send(qp, &wr) == EINVAL);
	VERB(try_recv(qp, 2) == 0);
	go(qp, IBV_QPS_RTR);
	VERB(try_send(qp, &wr) == EINVAL);
	VERB(try_recv(qp, 3) == 0);
	go(qp, IBV_QPS_ERR);
	for (uint64_t id = iwarp ? 1 : 2; id <= 3; id++)
		expect_flush(b.cq, id);
	wr.send_flags = IBV_SEND_SIGNALED;
	VERB(try_send(qp, &wr) == 0);
	expect_flush(b.cq, 9);
	VERB(try_recv(qp, 4) == 0);
	expect_flush(b.cq, 4);
	if (type == IBV_QPT_UD)
		VERB(ibv_destroy_ah(wr.wr.ud.ah) == 0);
	VERB(ibv_destroy_qp(qp) == 0);
	puts("each state takes its work, and ERR flushes without a session");
}

/* ---- sessions ---- */

static void reuse(void)
{
	struct pair p;
	uint32_t num;

	pair_open(&p, &a, &b);
	num = p.qp[1]->qp_num;
	for (unsigned i = 0; i < 5; i++) {
		pair_send(&p, i % 2 ? 1 : 0, 100, i + 1);
		for (int side = 0; side < 2; side++)
			go(p.qp[side], IBV_QPS_RESET);
		pair_connect(&p);
	}
	VERB(p.qp[1]->qp_num == num);
	pair_send(&p, 0, 100, 7);
	pair_close(&p);
	puts("after RESET a queue pair has another session");
}

static bool is_err(void *qp)
{
	return state_of(qp) == IBV_QPS_ERR;
}

static void post_two(struct pair *p)
{
	post_recv(p, 1, 1, 0, 64);
	post_recv(p, 1, 2, 0, 64);
}

/* The peer destroys its queue pair. One of InfiniBand does not notice. */
static void peer_leaves(void)
{
	struct ibv_send_wr wr = {.wr_id = 9, .opcode = IBV_WR_SEND};
	struct ibv_wc wc;
	struct pair p;

	for (int sends = 0; sends < 2; sends++) {
		pair_open(&p, &a, &b);
		pair_send(&p, 0, 8, 1);
		post_two(&p);
		VERB(ibv_destroy_qp(p.qp[0]) == 0);
		if (!iwarp) {
			poll(NULL, 0, 300);
			VERB(ibv_poll_cq(b.cq, 1, &wc) == 0 && state_of(p.qp[1]) == IBV_QPS_RTS);
			wr.send_flags = IBV_SEND_SIGNALED;
			if (sends)
				VERB(try_send(p.qp[1], &wr) == 0);
			else
				go(p.qp[1], IBV_QPS_ERR);
		}
		VERB(rig_eventually(is_err, p.qp[1]));
		for (unsigned left = !iwarp && sends ? 3 : 2; left > 0; left--)
			VERB(rig_wc(b.cq).status == IBV_WC_WR_FLUSH_ERR);
		VERB(ibv_destroy_qp(p.qp[1]) == 0);
	}
	puts("the end of the peer is that of the device");
}

static void last_receive(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_qp_init_attr qp_init = side_init(&b);
	struct ibv_async_event ev;
	struct ibv_qp *qp;

	VERB(init.attr.max_wr && (qp_init.srq = ibv_create_srq(b.pd, &init)));
	VERB(qp = ibv_create_qp(b.pd, &qp_init));
	bring(qp, IBV_QPS_RTS);
	go(qp, IBV_QPS_ERR);
	VERB(ibv_get_async_event(b.ctx, &ev) == 0);
	VERB(ev.event_type == IBV_EVENT_QP_LAST_WQE_REACHED && ev.element.qp == qp);
	ibv_ack_async_event(&ev);
	VERB(ibv_destroy_qp(qp) == 0);
	VERB(ibv_destroy_srq(qp_init.srq) == 0);
	puts("QP_LAST_WQE_REACHED comes with ERR");
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	side_open(&a, 0);
	side_open(&b, 1);
	iwarp = a.ctx->device->transport_type == IBV_TRANSPORT_IWARP;
	each_transition(IBV_QPT_RC);
	without_state();
	each_value();
	each_state_works(IBV_QPT_RC);
	if (!iwarp) {
		each_transition(IBV_QPT_UD);
		datagram_attributes();
		each_state_works(IBV_QPT_UD);
	}
	reuse();
	peer_leaves();
	last_receive();
	side_close(&a);
	side_close(&b);
	return 0;
}
