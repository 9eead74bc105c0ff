/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares completions with the model: each occurs once, in order, with the right values. */
#include <string.h>

#include "tests/lib/names.h"
#include "tests/sim/world.h"

static bool is_local_status(unsigned status)
{
	return status >= RDMAP_LOC_LEN_ERR && status <= RDMAP_LOC_BOUNDS_ERR;
}

/* True if the op may have failed on its own side with this status. */
static bool fits(const struct op *op, unsigned status)
{
	if (op->local == RDMAP_SUCCESS)
		return op->uncertain && (is_local_status(status) ||
					 (op->kind == RDMAP_BIND && status == RDMAP_MW_BIND_ERR));
	return status == op->local ||
	       ((op->uncertain || op->ep->sess->uncertain) && is_local_status(status));
}

static void put_local(struct op *op)
{
	for (unsigned i = 0; i < op->nlocal; i++)
		op->local_mem[i] = slice_put(op->local_mem[i]);
}

static bool is_receive(const struct rdmap_done *d)
{
	return d->op == RDMAP_RECV || d->op == RDMAP_RECV_TAGGED;
}

/* The oldest request of its queue. */
static struct op *oldest_receive(struct ep *ep, const struct rdmap_done *d)
{
	unsigned i = d->op == RDMAP_RECV_TAGGED ? QUEUE_TAGGED : d->qn;
	struct queue *l = &ep->queue[i < QUEUES ? i : 0];

	if (i >= QUEUES || l->done == l->n)
		return NULL;
	ep->rq_done++;
	return l->all[l->done++];
}

/* The op of this completion: the oldest one taken. */
static struct op *oldest(struct ep *ep, const struct rdmap_done *d)
{
	bool recv = is_receive(d);
	struct op *op = NULL;

	if (recv)
		op = oldest_receive(ep, d);
	else if (ep->sq_done < ep->sq_n)
		op = ep->sq[ep->sq_done++];
	if (!op || op->state != OP_TAKEN)
		fail(ep->w, "ep%u: %s completes, but none was taken", ep->id, names_op(d->op));
	if (op->cookie != d->cookie || (!recv && op->kind != d->op))
		fail(ep->w, "ep%u: %s #%llu completes before %s #%llu", ep->id, names_op(d->op),
		     (unsigned long long)d->cookie, names_op(op->kind),
		     (unsigned long long)op->cookie);
	return op;
}

/* ---- receives ---- */

static const struct op *first_wrong(const struct ep *ep)
{
	for (unsigned i = 0; i < ep->sq_n; i++)
		if (ep->sq[i]->must && ep->sq[i]->sent)
			return ep->sq[i];
	return NULL;
}

static void check_filled(struct op *recv, const struct op *send)
{
	uint32_t at = 0;

	for (unsigned i = 0; i < recv->nlocal; i++) {
		struct slice *s = recv->local_mem[i];
		uint32_t n = send->len - at < s->len ? send->len - at : s->len;

		if (!content_is(slice_mem(s), send->cid, send->from + at, n))
			fail(recv->ep->w,
			     "ep%u: receive #%llu, bytes %u to %u are not Send #%llu's",
			     recv->ep->id, (unsigned long long)recv->cookie, at, at + n,
			     (unsigned long long)send->cookie);
		slice_settle(s);
		at += n;
	}
}

static void check_invalidation(struct ep *ep, const struct op *send, const struct rdmap_done *d)
{
	const struct stag_region *r;
	bool inv = send->kind == RDMAP_SEND_INV;

	if (send->ep->cfg.raw)
		return;
	if (d->invalidated != inv || (inv && d->inv_stag != send->wr.inv_stag))
		fail(ep->w, "ep%u: wrong invalidation of 0x%08x", ep->id, d->inv_stag);
	if (!inv)
		return;
	r = stag_find(ep->node->stags, d->inv_stag);
	if (r && r->valid)
		fail(ep->w, "ep%u: STag 0x%08x is valid after its invalidation", ep->id,
		     d->inv_stag);
	ep->w->sum.invalidated++;
	if (send->inv)
		region_revoke(send->inv, false);
	if (send->grant && !send->uncertain)
		window_over(send->grant);
}

/* The other contents of the message. */
static void check_words(struct ep *ep, const struct op *send, const struct rdmap_done *d)
{
	bool imm = send->kind == RDMAP_IMM, notice = d->op == RDMAP_RECV_TAGGED;

	if (d->len != send->len || d->solicited != !!(send->wr.flags & RDMAP_SOLICITED))
		fail(ep->w, "ep%u: Send #%llu of %u bytes arrives with %u bytes, solicited %d",
		     ep->id, (unsigned long long)send->cookie, send->len, d->len, d->solicited);
	if (d->immediate != imm || (imm && d->imm != send->wr.imm))
		fail(ep->w, "ep%u: #%llu is %sImmediate Data, %016llx", ep->id,
		     (unsigned long long)send->cookie, d->immediate ? "" : "no ",
		     (unsigned long long)d->imm);
	if (ep->cfg.raw && d->imm != send->wr.raw.rsvd)
		fail(ep->w, "ep%u: RsvdULP of #%llu is %llx and arrives as %llx", ep->id,
		     (unsigned long long)send->cookie, (unsigned long long)send->wr.raw.rsvd,
		     (unsigned long long)d->imm);
	if (notice && d->inv_stag != send->wr.rstag)
		fail(ep->w, "ep%u: the notice of #%llu names STag %08x", ep->id,
		     (unsigned long long)send->cookie, d->inv_stag);
	ep->w->sum.notices += notice;
	ep->w->sum.raw_sends += ep->cfg.raw && !notice;
}

/* A message with a notice fills no receive. */
static void check_order(struct ep *ep, const struct op *send)
{
	struct ep *other = send->ep;

	if (send->at < other->delivered_upto)
		fail(ep->w, "ep%u: #%llu is delivered after a later message", ep->id,
		     (unsigned long long)send->cookie);
	other->delivered_upto = send->at + 1;
}

static void received(struct ep *ep, struct op *recv, const struct rdmap_done *d)
{
	struct queue *l = &ep->queue[recv->queue];
	struct ep *other = ep_other(ep);
	const struct op *wrong;
	struct op *send;

	if (!other || l->good_done >= other->queue[recv->queue].sent_n)
		fail(ep->w, "ep%u: a message was received that was never sent", ep->id);
	send = other->queue[recv->queue].sent[l->good_done];
	wrong = first_wrong(other);
	if (!send->sent || send->delivered)
		fail(ep->w, "ep%u: Send #%llu is delivered %s", ep->id,
		     (unsigned long long)send->cookie, send->sent ? "twice" : "before its end");
	if (wrong && wrong->at < send->at && !ep->sess->uncertain)
		fail(ep->w, "ep%u: Send #%llu is delivered despite an error before it", ep->id,
		     (unsigned long long)send->cookie);
	check_words(ep, send, d);
	check_order(ep, send);
	send->delivered = true;
	if (recv->queue != QUEUE_TAGGED)
		check_filled(recv, send);
	l->good_done++;
	ep_settle_writes(other, send->at + 1, true);
	check_invalidation(ep, send, d);
	window_seen_by_peer(other, send);
}

static void recv_failed(struct ep *ep, struct op *op, const struct rdmap_done *d)
{
	if (d->status == RDMAP_FLUSH_ERR) {
		ep->flushed = true;
		return;
	}
	if (fits(op, d->status))
		return;
	if (d->status == RDMAP_LOC_LEN_ERR &&
	    (ep->sess->uncertain || (ep_errors(ep_other(ep)) & perr_bit(PERR_TOO_LONG))))
		return;
	fail(ep->w, "ep%u: receive #%llu ends with %s", ep->id, (unsigned long long)op->cookie,
	     names_status(d->status));
}

static void recv_done(struct ep *ep, struct op *op, const struct rdmap_done *d)
{
	if (!d->signaled)
		fail(ep->w, "ep%u: a receive is not signaled", ep->id);
	if (ep->errored)
		fail(ep->w, "ep%u: a receive completes after the error", ep->id);
	if (d->status != RDMAP_SUCCESS)
		recv_failed(ep, op, d);
	else if (op->local != RDMAP_SUCCESS)
		fail(ep->w, "ep%u: bad receive #%llu took a message", ep->id,
		     (unsigned long long)op->cookie);
	else
		received(ep, op, d);
	if (d->status == RDMAP_SUCCESS)
		put_local(op); /* the others may be partly filled until the session ends */
}

/* ---- requests ---- */

static void read_back(struct ep *ep, struct op *op, const struct rdmap_done *d)
{
	uint32_t at = 0;

	if (op->must || !op->answered)
		fail(ep->w, "ep%u: Read #%llu completes %s", ep->id, (unsigned long long)op->cookie,
		     op->must ? "despite its error" : "before it was answered");
	if (d->len != op->len)
		fail(ep->w, "ep%u: Read #%llu of %u bytes reports %u", ep->id,
		     (unsigned long long)op->cookie, op->len, d->len);
	for (unsigned i = 0; i < op->nlocal; i++) {
		struct slice *sink = op->local_mem[i];

		if (op_known(op) && !content_of(op, slice_mem(sink), at, sink->len))
			fail(ep->w, "ep%u: Read #%llu does not have the bytes of its source",
			     ep->id, (unsigned long long)op->cookie);
		slice_settle(sink);
		at += sink->len;
	}
	ep_settle_writes(ep, op->at, true);
}

static void succeeded(struct ep *ep, struct op *op, const struct rdmap_done *d)
{
	bool local = op_is_local(op->kind);

	if (op->local != RDMAP_SUCCESS)
		fail(ep->w, "ep%u: bad %s #%llu succeeds", ep->id, names_op(op->kind),
		     (unsigned long long)op->cookie);
	if (!op->sent && !local)
		fail(ep->w, "ep%u: %s #%llu completes before it was sent", ep->id,
		     names_op(op->kind), (unsigned long long)op->cookie);
	if (ep->acked && op->sent && !op_has_response(op->kind) && op->seq > ep->end->acked)
		fail(ep->w, "ep%u: %s #%llu completes before it is acknowledged", ep->id,
		     names_op(op->kind), (unsigned long long)op->cookie);
	if (op->kind == RDMAP_READ)
		read_back(ep, op, d);
	if (op_is_atomic(op->kind))
		atomic_done(ep, op, d);
	if (op_has_response(op->kind) && !ep->acked) /* else the response may have come before */
		window_check_fence(ep, op);
	if (local)
		window_done(op);
	put_local(op);
	if (op->kind != RDMAP_WRITE)
		op->target = slice_put(op->target);
}

/* Nothing has changed. */
static void bind_failed(struct ep *ep, const struct op *op)
{
	if (stag_find(ep->node->stags, op->wr.rstag))
		fail(ep->w, "ep%u: a bind failed and 0x%08x is in use", ep->id, op->wr.rstag);
	if (op->grant)
		op->grant->held--;
}

static void request_failed(struct ep *ep, struct op *op, const struct rdmap_done *d)
{
	if (d->status == RDMAP_FLUSH_ERR) {
		ep->flushed = true;
	} else if (d->status == RDMAP_REM_ACCESS_ERR || d->status == RDMAP_REM_OP_ERR) {
		ep->remote_error = true;
	} else if (!fits(op, d->status)) {
		fail(ep->w, "ep%u: %s #%llu ends with %s", ep->id, names_op(op->kind),
		     (unsigned long long)op->cookie, names_status(d->status));
	}
	if (op->kind == RDMAP_BIND && op->local == RDMAP_MW_BIND_ERR)
		bind_failed(ep, op);
	if (op->local != RDMAP_SUCCESS && op->begun)
		fail(ep->w, "ep%u: bad %s #%llu was sent", ep->id, names_op(op->kind),
		     (unsigned long long)op->cookie);
	ep->w->sum.flushed += d->status == RDMAP_FLUSH_ERR;
	ep->w->sum.local_errors += is_local_status(d->status);
}

static void request_done(struct ep *ep, struct op *op, const struct rdmap_done *d)
{
	if (d->signaled != !!(op->wr.flags & RDMAP_SIGNALED))
		fail(ep->w, "ep%u: %s #%llu: signaled is %d", ep->id, names_op(op->kind),
		     (unsigned long long)op->cookie, d->signaled);
	if (d->status == RDMAP_SUCCESS)
		succeeded(ep, op, d);
	else
		request_failed(ep, op, d);
}

void done_check(struct ep *ep, const struct rdmap_done *d)
{
	struct op *op = oldest(ep, d);

	trace(ep->w, "ep%u %s #%llu done: %s len %u", ep->id, names_op(d->op),
	      (unsigned long long)d->cookie, names_status(d->status), d->len);
	op->state = OP_DONE;
	op->status = d->status;
	if (is_receive(d))
		recv_done(ep, op, d);
	else
		request_done(ep, op, d);
}
