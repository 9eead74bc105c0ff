/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/easy/easy_link.h"

#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/base/deadline.h"

enum {
	SEND_SLOTS = EASY_SENDS + EASY_CONTROL,
	BATCH = 16,
	REASON_MS = 5000, /* how long the event may take that says why a session ended */
};

/* The high half of wr_id; the low half is the slot. */
enum work { RECV = 1, SEND, RDMA };

struct header {
	uint32_t kind, credits;
};
_Static_assert(sizeof(struct header) == EASY_HEADER, "two words");

static uint64_t work_id(enum work work, uint32_t slot)
{
	return (uint64_t)work << 32 | slot;
}

static size_t offset_of_send(const struct ddp_easy *e, unsigned slot)
{
	return (e->receives + slot) * e->slot_size;
}

static uint8_t *at(const struct ddp_easy *e, size_t offset)
{
	return (uint8_t *)e->mr->addr + offset;
}

uint8_t *easy_link_send_at(struct ddp_easy *e, unsigned slot)
{
	return at(e, offset_of_send(e, slot) + EASY_HEADER);
}

/* ---- the end ---- */

int easy_link_break(struct ddp_easy *e, int err, const char *fmt, ...)
{
	va_list ap;

	if (e->state == EASY_BROKEN)
		return easy_error_set(&e->error, e->broken, "%s", e->broken_text);
	va_start(ap, fmt);
	vsnprintf(e->broken_text, sizeof(e->broken_text), fmt, ap);
	va_end(ap);
	e->state = EASY_BROKEN;
	e->broken = err;
	if (e->end.id)
		ddp_disconnect(
			e->end.id); /* the peer learns of it; an error means that it is over */
	return easy_error_set(&e->error, err, "%s", e->broken_text);
}

int easy_link_check(struct ddp_easy *e)
{
	if (e->state == EASY_CONNECTED)
		return 0;
	if (e->state == EASY_BROKEN)
		return easy_error_set(&e->error, e->broken, "%s", e->broken_text);
	return easy_error_set(&e->error, -ENOTCONN, "the object is not an established connection");
}

static bool is_over(const struct easy_end *end)
{
	return end->over;
}

/* The receives were flushed: waits for the event with the reason. After it the end is final. */
static int learn_reason(struct ddp_easy *e)
{
	int r = easy_hub_wait(e->hub, &e->end, is_over, deadline_in(REASON_MS));

	if (r == -EPIPE)
		return easy_link_break(e, r, "%s", ddp_last_reason());
	if (r < 0)
		return easy_link_break(e, -ECONNRESET, "the connection has ended");
	if (e->end.err == 0)
		return easy_link_break(e, -ESHUTDOWN, "the peer has closed the connection");
	return easy_link_break(e, -ECONNRESET, "the connection has failed: %s", e->end.reason);
}

/* ---- posting ---- */

static int post_recv(struct ddp_easy *e, uint32_t slot)
{
	struct ddp_sge sge = {
		.addr = e->mr->iova + slot * e->slot_size,
		.length = EASY_HEADER + e->mine.message_bytes,
		.lkey = e->mr->lkey,
	};
	struct ddp_recv_wr wr = {.wr_id = work_id(RECV, slot), .sg_list = &sge, .num_sge = 1};
	int r = ddp_post_recv(e->qp, &wr, NULL);

	return r < 0 ? easy_link_break(e, r, "%s", ddp_last_reason()) : 0;
}

int easy_link_send(struct ddp_easy *e, unsigned slot, enum easy_kind kind, size_t length)
{
	struct header header = {htobe32(kind), htobe32(e->to_return)};
	size_t offset = offset_of_send(e, slot);
	struct ddp_sge sge = {
		.addr = e->mr->iova + offset,
		.length = (uint32_t)(EASY_HEADER + length),
		.lkey = e->mr->lkey,
	};
	struct ddp_send_wr wr = {
		.wr_id = work_id(SEND, slot),
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = DDP_SEND_SIGNALED,
	};
	int r;

	memcpy(at(e, offset), &header, sizeof(header));
	r = ddp_post_send(e->qp, &wr, NULL);
	if (r < 0)
		return easy_link_break(e, r, "%s", ddp_last_reason());
	e->idle_sends &= ~(1U << slot);
	e->to_return = 0;
	return 0;
}

int easy_link_rdma(struct ddp_easy *e, struct ddp_send_wr *wr)
{
	int r;

	wr->wr_id = work_id(RDMA, 0);
	r = ddp_post_send(e->qp, wr, NULL);
	if (r < 0)
		return easy_link_break(e, r, "%s", ddp_last_reason());
	e->rdma++;
	return 0;
}

/* Gives credits back if it is time. Without a free slot two such messages are on the way, and the
 * peer has credits; the next completion tries again. */
static int return_credits(struct ddp_easy *e)
{
	if (e->state != EASY_CONNECTED || e->flushed || e->to_return < (e->mine.messages + 1) / 2)
		return 0;
	for (unsigned slot = EASY_SENDS; slot < SEND_SLOTS; slot++)
		if (e->idle_sends & 1U << slot)
			return easy_link_send(e, slot, EASY_CREDITS, 0);
	return 0;
}

/* ---- completions ---- */

static int bad_message(struct ddp_easy *e, const char *why)
{
	return easy_link_break(e, -EPROTO, "the peer sent an invalid message: %s", why);
}

static int got_message(struct ddp_easy *e, uint32_t slot, uint32_t length)
{
	struct header header;
	uint32_t kind, credits;

	if (length < EASY_HEADER || length > EASY_HEADER + e->mine.message_bytes)
		return bad_message(e, "its length is wrong");
	memcpy(&header, at(e, slot * e->slot_size), sizeof(header));
	kind = be32toh(header.kind);
	credits = be32toh(header.credits);
	if (credits > e->peer.messages - e->credits)
		return bad_message(e, "it returns more credits than were given");
	e->credits += credits;
	if (kind == EASY_CREDITS)
		return post_recv(e, slot);
	if (kind != EASY_DATA || e->arrived_count == e->mine.messages)
		return bad_message(e, kind == EASY_DATA ? "it had no credit" : "unknown kind");
	e->arrived[(e->arrived_first + e->arrived_count++) % e->receives] =
		(struct easy_arrived){slot, length - EASY_HEADER};
	return 0;
}

/* A request that failed. That on this side of a Write or a Read alone does not end the session. */
static int on_failed_work(struct ddp_easy *e, const struct ddp_wc *wc)
{
	char text[300];

	ddp_explain(wc, text, sizeof(text));
	if (wc->wr_id >> 32 != RDMA || wc->status == DDP_WC_REM_ACCESS_ERR ||
	    wc->status == DDP_WC_REM_OP_ERR)
		return easy_link_break(e, wc->status == DDP_WC_REM_ACCESS_ERR ? -EACCES : -EPROTO,
				       "%s", text);
	e->rdma--;
	e->rdma_err = easy_error_set(&e->error, -EFAULT, "%s", text);
	return 0;
}

static int completed(struct ddp_easy *e, const struct ddp_wc *wc)
{
	uint32_t slot = (uint32_t)wc->wr_id;

	if (wc->status == DDP_WC_FLUSH_ERR) {
		e->flushed = true;
		return 0;
	}
	if (wc->status != DDP_WC_SUCCESS)
		return on_failed_work(e, wc);
	switch (wc->wr_id >> 32) {
	case RECV:
		return slot < e->receives ? got_message(e, slot, wc->byte_len) : -EPROTO;
	case SEND:
		if (slot < SEND_SLOTS)
			e->idle_sends |= 1U << slot;
		return return_credits(e);
	case RDMA:
		e->rdma -= e->rdma > 0;
		return 0;
	default:
		return -EPROTO;
	}
}

/* Takes completions, and waits for the first. -ETIMEDOUT: there are none. Those behind a broken
 * message are dropped. */
static int take_finished_work(struct ddp_easy *e, uint64_t deadline)
{
	struct ddp_wc wc[BATCH];
	int n = ddp_wait_cq(e->cq, BATCH, wc, deadline_left(deadline));

	if (n < 0)
		return easy_link_break(e, n, "%s", ddp_last_reason());
	for (int i = 0; i < n && e->state == EASY_CONNECTED; i++)
		completed(e, &wc[i]);
	e->taken += (unsigned)n;
	return n > 0 ? 0 : -ETIMEDOUT;
}

int easy_link_look(struct ddp_easy *e)
{
	int r = 0;

	while (r == 0 && e->state == EASY_CONNECTED && !e->flushed)
		r = take_finished_work(e, deadline_in(0));
	return r == -ETIMEDOUT ? 0 : r;
}

int easy_link_wait(struct ddp_easy *e, bool (*holds)(const struct ddp_easy *e), uint64_t deadline)
{
	int r = 0;

	while (r == 0) {
		if (holds(e))
			return 0;
		if (e->state != EASY_CONNECTED)
			return easy_link_check(e);
		if (e->flushed)
			return learn_reason(e);
		r = take_finished_work(e, deadline);
	}
	return r;
}

/* ---- messages for the program ---- */

const uint8_t *easy_link_message(struct ddp_easy *e, size_t *ret_length)
{
	const struct easy_arrived *a = &e->arrived[e->arrived_first];

	*ret_length = a->length;
	return at(e, a->slot * e->slot_size + EASY_HEADER);
}

int easy_link_release(struct ddp_easy *e)
{
	uint32_t slot = e->arrived[e->arrived_first].slot;
	int r;

	e->arrived_first = (e->arrived_first + 1) % e->receives;
	e->arrived_count--;
	if (e->state != EASY_CONNECTED || e->flushed)
		return 0;
	r = post_recv(e, slot);
	if (r < 0)
		return r;
	e->to_return++;
	return return_credits(e);
}

/* ---- begin and end ---- */

static int make_queues(struct ddp_easy *e)
{
	struct ddp_cq_attr cq = DDP_INIT(ddp_cq_attr);
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	size_t length = (e->receives + SEND_SLOTS) * e->slot_size;
	int r;

	cq.entries = e->receives + SEND_SLOTS + EASY_RDMA;
	cq.spin_us = -1;
	r = ddp_create_cq(e->hub->ctx, &cq, &e->cq);
	if (r == 0)
		r = ddp_alloc_mr(e->hub->pd, length, DDP_ACCESS_LOCAL_WRITE, &e->mr);
	if (r < 0)
		return r;
	init.send_cq = init.recv_cq = e->cq;
	init.max_send_wr = SEND_SLOTS + EASY_RDMA;
	init.max_recv_wr = e->receives;
	init.max_ord = init.max_ird = EASY_RDMA;
	return ddp_create_qp(e->end.id, e->hub->pd, &init, &e->qp);
}

int easy_link_make(struct ddp_easy *e)
{
	int r;

	e->receives = e->mine.messages + EASY_CONTROL;
	e->slot_size = (EASY_HEADER + (size_t)e->mine.message_bytes + 63) / 64 * 64;
	e->idle_sends = (1U << SEND_SLOTS) - 1;
	e->arrived = calloc(e->receives, sizeof(*e->arrived));
	if (!e->arrived)
		return easy_error_set(&e->error, -ENOMEM, "out of memory for %u messages",
				      e->receives);
	r = make_queues(e);
	if (r < 0)
		return easy_error_pass(&e->error, r);
	for (uint32_t slot = 0; slot < e->receives && r == 0; slot++)
		r = post_recv(e, slot);
	return r;
}

int easy_link_start(struct ddp_easy *e, const uint8_t *hello, size_t len)
{
	const char *why = easy_hello_get(hello, len, &e->peer);

	if (why)
		return easy_link_break(e, -EPROTO, "the peer %s", why);
	e->longest = e->mine.message_bytes < e->peer.message_bytes ? e->mine.message_bytes
								   : e->peer.message_bytes;
	e->credits = e->peer.messages;
	return 0;
}

void easy_link_free(struct ddp_easy *e)
{
	if (e->qp)
		ddp_destroy_qp(e->qp);
	easy_hub_drop(e->hub, &e->end);
	if (e->mr)
		ddp_dereg_mr(e->mr);
	if (e->cq)
		ddp_destroy_cq(e->cq);
	free(e->arrived);
	e->qp = NULL;
	e->mr = NULL;
	e->cq = NULL;
	e->arrived = NULL;
}
