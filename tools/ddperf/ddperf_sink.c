/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddperf/ddperf_sink.h"

#include <errno.h>
#include <string.h>

#include "tools/ddperf/ddperf_test.h"
#include "util/be.h"

enum {
	POLL = 64,
	SENDS = 64,
	MIN_BUF = 64,
	MIN_RECVS = 8,
};

static uint32_t buffer_len(const struct ddperf_sink *k)
{
	return k->size > MIN_BUF ? k->size : MIN_BUF;
}

int ddperf_sink_post(struct ddperf_sink *k, uint32_t n)
{
	struct ddp_sge sge = {k->in->iova, buffer_len(k), k->in->lkey};
	struct ddp_recv_wr wr[POLL];

	while (n) {
		uint32_t now = n < POLL ? n : POLL;
		int r;

		for (uint32_t i = 0; i < now; i++)
			wr[i] = (struct ddp_recv_wr){
				.next = i + 1 < now ? &wr[i + 1] : NULL,
				.sg_list = &sge,
				.num_sge = 1,
			};
		r = ddp_post_recv(k->s->qp, wr, NULL);
		if (r < 0)
			return session_fail("post receives", r);
		n -= now;
	}
	return 0;
}

static unsigned access_rights(enum ddperf_op op)
{
	if (op == DDPERF_FETCH_ADD)
		return DDP_ACCESS_REMOTE_ATOMIC;
	return DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ;
}

int ddperf_sink_set_up(struct ddperf_sink *k, struct session *s, const struct ddperf_hello *h)
{
	struct session_need need = {.send_wr = SENDS, .max_inline = DDPERF_CREDIT_LEN};
	struct ddp_caps caps = DDP_INIT(ddp_caps);
	int r = ddp_query(s->ctx, &caps);

	if (r < 0)
		return session_fail("query the daemon", r);
	*k = (struct ddperf_sink){.s = s, .size = h->size};
	k->recvs = h->op == DDPERF_SEND ? 2 * h->depth : 0;
	k->recvs = k->recvs < MIN_RECVS ? MIN_RECVS : k->recvs;
	need.recv_wr = k->recvs;
	if (ddperf_op_has_response(h->op))
		need.reads = (uint16_t)(h->depth < caps.max_ird ? h->depth : caps.max_ird);
	r = session_make_qp(s, &need);
	if (r == 0)
		r = session_alloc(s, buffer_len(k), access_rights(h->op), &k->in);
	if (r == 0)
		r = session_alloc(s, buffer_len(k), 0, &k->out);
	if (r == 0)
		memset(k->in->addr, 0, buffer_len(k));
	return r == 0 ? ddperf_sink_post(k, k->recvs) : r;
}

static int send_credit(struct ddperf_sink *k)
{
	uint8_t rec[DDPERF_CREDIT_LEN] = {0};
	struct ddp_sge sge = {(uintptr_t)rec, sizeof(rec), 0};
	struct ddp_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = DDP_WR_SEND,
		.send_flags = DDP_SEND_SIGNALED | DDP_SEND_INLINE,
	};
	int r;

	k->credited = k->taken;
	be_put32(rec, k->credited);
	r = ddp_post_send(k->s->qp, &wr, NULL);
	return r < 0 ? session_fail("post a credit", r) : 0;
}

int ddperf_sink_check(struct session *s, const struct ddp_wc *wc)
{
	if (wc->status == DDP_WC_SUCCESS)
		return 0;
	return wc->status == DDP_WC_FLUSH_ERR ? 1 : session_wc_fail(s, s->peer, wc);
}

/* One batch of completions. Sets *done when the source has reported its result, which needs no
 * credit.
 */
static int take_batch(struct ddperf_sink *k, const struct ddp_wc *wc, int n,
		      struct ddperf_done *ret, bool *done)
{
	uint32_t recvs = 0, results = 0;
	bool now = false;
	int r = 0;

	for (int i = 0; i < n && r == 0; i++) {
		bool solicited = wc[i].wc_flags & DDP_WC_SOLICITED;

		r = ddperf_sink_check(k->s, &wc[i]);
		if (r || wc[i].opcode != DDP_WC_RECV)
			continue;
		recvs++;
		if (solicited && wc[i].byte_len == DDPERF_DONE_LEN &&
		    ddperf_done_get(k->in->addr, wc[i].byte_len, ret) == 0)
			results++;
		else
			now |= solicited;
	}
	k->taken += recvs - results;
	*done = results > 0;
	if (r == 0)
		r = ddperf_sink_post(k, recvs);
	if (r == 0 && (now || k->taken - k->credited >= k->recvs / 4))
		r = send_credit(k);
	return r;
}

int ddperf_sink_take(struct ddperf_sink *k, struct ddperf_done *ret)
{
	struct ddp_wc wc[POLL];
	bool done = false;
	int n, r = 0;

	while (r == 0 && !done) {
		n = session_wait(k->s, POLL, wc, -1);
		r = n < 0 ? n : take_batch(k, wc, n, ret, &done);
	}
	return r;
}
