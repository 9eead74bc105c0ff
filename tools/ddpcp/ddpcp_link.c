/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddpcp/ddpcp_link.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/common/tool.h"

enum {
	POLL = 16,
	PAGE = 4096, /* no page is smaller */
	LINGER_MS = 5000,
};

const struct session_need ddpcp_link_need = {
	.send_wr = DDPCP_LINK_SENDS,
	.recv_wr = DDPCP_RECVS,
};

static uint64_t recv_off(uint32_t slot)
{
	return (uint64_t)slot * DDPCP_REC_MAX;
}

static uint64_t send_off(uint32_t n)
{
	return (uint64_t)(DDPCP_RECVS + n % DDPCP_RECVS) * DDPCP_REC_MAX;
}

int ddpcp_link_init(struct ddpcp_link *l, struct session *s)
{
	size_t len = (size_t)2 * DDPCP_RECVS * DDPCP_REC_MAX;
	int r;

	*l = (struct ddpcp_link){.s = s};
	r = session_alloc(s, len, DDP_ACCESS_LOCAL_WRITE, &l->recs);
	for (uint32_t i = 0; r == 0 && i < DDPCP_RECVS; i++)
		r = session_post_recv(s, l->recs, recv_off(i), DDPCP_REC_MAX, i);
	return r;
}

static int need_memory(struct ddpcp_link *l, struct ddp_mr **mr, size_t len, unsigned access)
{
	int r;

	session_free(l->s, *mr);
	*mr = NULL;
	r = session_alloc_empty(l->s, len, access, mr);
	return r < 0 ? ddpcp_link_fail(l, r, "out of memory for a window") : 0;
}

int ddpcp_link_out(struct ddpcp_link *l, size_t len)
{
	return l->out && l->out->length >= len ? 0 : need_memory(l, &l->out, len, 0);
}

int ddpcp_link_in(struct ddpcp_link *l, size_t len)
{
	if (l->in && l->in->length >= len)
		return 0;
	l->touched = 0;
	return need_memory(l, &l->in, len, DDP_ACCESS_REMOTE_WRITE);
}

void ddpcp_link_touch(struct ddpcp_link *l, size_t len)
{
	/* Volatile: an addition of 0 may become a load, which leaves a hole as it is. */
	volatile uint8_t *p = l->in->addr;

	/* The peer may be writing there. */
	for (; l->touched < len; l->touched += PAGE)
		__atomic_fetch_or(p + l->touched, 0, __ATOMIC_RELAXED);
}

void ddpcp_link_next(struct ddpcp_link *l)
{
	l->reason[0] = '\0';
	l->peer_knows = false;
	l->midway = false;
}

int ddpcp_link_fail(struct ddpcp_link *l, int err, const char *fmt, ...)
{
	char text[DDPCP_TEXT_MAX + 1];
	va_list ap;

	if (*l->reason)
		return err;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	message_sanitize(l->reason, sizeof(l->reason), text, strlen(text));
	return err;
}

static void on_completion(struct ddpcp_link *l, const struct ddp_wc *wc)
{
	uint32_t at = (l->first + l->count) % DDPCP_RECVS;

	if (l->over)
		return;
	if (wc->status != DDP_WC_SUCCESS) {
		l->over = true;
		l->end = *wc;
	} else if (wc->opcode == DDP_WC_SEND) {
		l->sent++;
	} else if (wc->opcode == DDP_WC_RECV) {
		l->fifo[at].slot = (uint32_t)wc->wr_id;
		l->fifo[at].len = wc->byte_len;
		l->count++;
	}
}

/* Takes completions and waits for the first. The end of the session is a failure only if the caller
 * needs further completions. */
static int take_completions(struct ddpcp_link *l, int timeout_ms)
{
	struct ddp_wc wc[POLL];
	int n;

	if (l->over) {
		l->peer_knows = true; /* the peer can no longer be reached */
		if (l->s->own_ctx)
			return session_wc_fail(l->s, "copy", &l->end);
		return ddpcp_link_fail(l, -ECONNRESET, "the session ended");
	}
	n = session_wait(l->s, POLL, wc, timeout_ms);
	if (n == 0)
		return ddpcp_link_fail(l, -ETIMEDOUT, "the peer was silent for %d s",
				       timeout_ms / 1000);
	if (n == -EINTR || tool_stopped())
		return ddpcp_link_fail(l, -EINTR, "interrupted");
	for (int i = 0; i < n; i++)
		on_completion(l, &wc[i]);
	return n < 0 ? n : 0;
}

int ddpcp_link_write(struct ddpcp_link *l, const struct ddp_mr *mr, uint64_t off, uint32_t len,
		     uint64_t to, uint32_t stag)
{
	struct ddp_sge sge = {mr->iova + off, len, mr->lkey};
	struct ddp_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = DDP_WR_RDMA_WRITE,
		.rdma = {to, stag},
	};
	int r = ddp_post_send(l->s->qp, &wr, NULL);

	return r < 0 ? session_fail("post a write", r) : 0;
}

int ddpcp_link_send(struct ddpcp_link *l, const struct ddpcp_rec *rec)
{
	uint64_t off = send_off(l->sends);
	size_t len;
	int r = 0;

	while (r == 0 && l->sends - l->sent >= DDPCP_RECVS)
		r = take_completions(l, DDPCP_WAIT_MS);
	if (r < 0)
		return r;
	len = ddpcp_rec_put((uint8_t *)l->recs->addr + off, rec);
	l->sends++;
	return session_post_send(l->s, l->recs, off, (uint32_t)len, 0, DDP_SEND_SIGNALED);
}

/* The oldest record, whose slot is posted again. */
static int pop_record(struct ddpcp_link *l, struct ddpcp_rec *ret)
{
	uint32_t slot = l->fifo[l->first].slot, len = l->fifo[l->first].len;
	int r;

	l->first = (l->first + 1) % DDPCP_RECVS;
	l->count--;
	r = ddpcp_rec_get((uint8_t *)l->recs->addr + recv_off(slot), len, ret);
	if (r < 0)
		return ddpcp_link_fail(l, r, "a malformed record was received");
	if (l->over)
		return 0;
	return session_post_recv(l->s, l->recs, recv_off(slot), DDPCP_REC_MAX, slot);
}

int ddpcp_link_recv(struct ddpcp_link *l, unsigned kinds, int timeout_ms, struct ddpcp_rec *ret)
{
	int r = 0;

	while (r == 0 && !l->count)
		r = take_completions(l, timeout_ms);
	if (r == 0)
		r = pop_record(l, ret);
	if (r < 0)
		return r;
	if (ret->kind == DDPCP_RESULT && ret->status == DDPCP_FAILED) {
		l->peer_knows = true;
		return ddpcp_link_fail(l, -EREMOTEIO, "%s: %s", l->s->peer, ret->text);
	}
	if (kinds & DDPCP_LINK_KIND(ret->kind))
		return 0;
	return ddpcp_link_fail(l, -EPROTO, "unexpected record of kind %d", (int)ret->kind);
}

int ddpcp_link_send_result(struct ddpcp_link *l)
{
	struct ddpcp_rec rec = {.kind = DDPCP_RESULT};

	if (l->peer_knows)
		return 0;
	l->peer_knows = true;
	rec.status = *l->reason ? DDPCP_FAILED : DDPCP_OK;
	strcpy(rec.text, l->reason);
	return ddpcp_link_send(l, &rec);
}

int ddpcp_link_flush(struct ddpcp_link *l)
{
	int r = 0;

	while (r == 0 && l->sent != l->sends)
		r = take_completions(l, DDPCP_WAIT_MS);
	return r;
}

void ddpcp_link_linger(struct ddpcp_link *l)
{
	struct ddp_wc wc;

	/* The end of the session flushes the receives. */
	while (!l->over && session_wait(l->s, 1, &wc, LINGER_MS) > 0)
		if (wc.status != DDP_WC_SUCCESS)
			return;
}
