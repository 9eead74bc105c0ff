/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments: compares each message on the wire with its request. */
#include <string.h>

#include "tests/lib/names.h"
#include "tests/sim/wire.h"
#include "util/be.h"

/* A DDP header as RFC 5041 4, RFC 5040 4 and RFC 7306 4 draw it. */
struct seg {
	bool tagged, last;
	uint8_t octet;  /* after the first one: raw, the program's */
	uint8_t opcode; /* else */
	uint32_t inv, stag, qn, msn, mo;
	uint64_t to;
	const uint8_t *data;
	uint32_t len;
};

static void parse(struct flow *f, const uint8_t *m, uint32_t len, struct seg *ret)
{
	uint32_t hlen = len > 2 && (m[2] & 0x80) ? 16 : 20;

	if (len < hlen || len > 2 + WIRE_MULPDU_MAX)
		BAD(f, "a segment message of %u bytes", len);
	if ((m[2] & 0x3f) != 0x01 || (!f->sess->raw && (m[3] & 0xf0) != 0x40))
		BAD(f, "control bytes %02x %02x", m[2], m[3]);
	*ret = (struct seg){
		.tagged = hlen == 16,
		.last = m[2] & 0x40,
		.octet = m[3],
		.opcode = m[3] & 0x0f,
		.data = m + hlen,
		.len = len - hlen,
	};
	if (ret->tagged) {
		ret->stag = be_get32(m + 4);
		ret->to = be_get64(m + 8);
	} else {
		ret->inv = be_get32(m + 4);
		ret->qn = be_get32(m + 8);
		ret->msn = be_get32(m + 12);
		ret->mo = be_get32(m + 16);
	}
}

/* ---- which request it is of ---- */

static enum rdmap_op kind_of(const struct flow *f, const struct seg *s)
{
	if (f->sess->raw)
		return s->tagged ? RDMAP_WRITE : RDMAP_SEND;
	switch (s->opcode) {
	case WIRE_OP_WRITE:
		return RDMAP_WRITE;
	case WIRE_OP_READ_REQ:
		return RDMAP_READ;
	case WIRE_OP_SEND_INV:
	case WIRE_OP_SEND_SE_INV:
		return RDMAP_SEND_INV;
	case WIRE_OP_IMM:
	case WIRE_OP_IMM_SE:
		return RDMAP_IMM;
	case WIRE_OP_ATOMIC_REQ:
		if (s->len != 52)
			BAD(f, "an Atomic Request of %u bytes", s->len);
		return be_get32(s->data) == 2 ? RDMAP_CMP_SWAP : RDMAP_FETCH_ADD;
	default:
		return RDMAP_SEND;
	}
}

static uint8_t opcode_of(const struct op *op)
{
	bool se = op->wr.flags & RDMAP_SOLICITED;

	if (op->kind == RDMAP_IMM)
		return (uint8_t)(WIRE_OP_IMM + se);
	return (uint8_t)(WIRE_OP_SEND + (op->kind == RDMAP_SEND_INV) + 2 * se);
}

/* Where a part of a Read begins in it. */
static uint32_t part_at(const struct op *op, unsigned part)
{
	return (uint32_t)sgl_total(op->wr.sge, part);
}

/* A Read Request, RFC 5040 4.4: the next one of the Read. */
static bool reads(const struct seg *s, const struct op *op)
{
	struct sgl_elem sink = op_sink_of(op, op->asked);

	return s->len == 28 && s->last && s->mo == 0 && s->inv == 0 &&
	       be_get32(s->data) == sink.stag && be_get64(s->data + 4) == sink.to &&
	       be_get32(s->data + 12) == sink.len && be_get32(s->data + 16) == op->wr.rstag &&
	       be_get64(s->data + 20) == op->wr.rto + part_at(op, op->asked);
}

/* An Atomic Request, RFC 7306 5.2.1; any identifier. FetchAdd compares nothing, with all bits. */
static bool operates(const struct seg *s, const struct op *op)
{
	bool swap = op->kind == RDMAP_CMP_SWAP;
	uint64_t compare = swap ? op->wr.atomic.compare : 0;
	uint64_t compare_mask = swap ? op->wr.atomic.compare_mask : UINT64_MAX;

	return s->len == 52 && s->last && s->mo == 0 && s->inv == 0 &&
	       be_get32(s->data) == (swap ? 2 : 0) && be_get32(s->data + 8) == op->wr.rstag &&
	       be_get64(s->data + 12) == op->wr.rto &&
	       be_get64(s->data + 20) == op->wr.atomic.data &&
	       be_get64(s->data + 28) == op->wr.atomic.mask && be_get64(s->data + 36) == compare &&
	       be_get64(s->data + 44) == compare_mask;
}

/* Immediate Data, RFC 7306 6. */
static bool imm_matches(const struct seg *s, const struct op *op)
{
	return s->len == 8 && s->last && s->mo == 0 && s->inv == 0 && s->opcode == opcode_of(op) &&
	       be_get64(s->data) == op->wr.imm;
}

/* Raw: the program's queue and its RsvdULP, in every segment of the message. */
static bool imm_fields_match(const struct seg *s, const struct op *op)
{
	if (s->tagged)
		return s->octet == op->wr.raw.rsvd;
	return s->qn == op->wr.raw.qn && ((uint64_t)s->octet << 32 | s->inv) == op->wr.raw.rsvd;
}

/* True if the segment can be the first one of the request. */
static bool resembles(const struct flow *f, const struct op *op, const struct seg *s)
{
	if (op->kind != kind_of(f, s))
		return false;
	if (op->kind == RDMAP_READ)
		return reads(s, op);
	if (op_is_atomic(op->kind))
		return operates(s, op);
	if (op->kind == RDMAP_IMM)
		return imm_matches(s, op);
	if (s->last ? s->len != op->len : s->len >= op->len)
		return false;
	if (f->sess->raw ? !imm_fields_match(s, op) : !s->tagged && s->opcode != opcode_of(op))
		return false;
	if (s->tagged)
		return s->stag == op->wr.rstag && s->to == op->wr.rto;
	return content_is(s->data, op->cid, op->from, s->len);
}

/* True if the request sends nothing, is invalid, or its memory was revoked before it was taken. */
static bool unsendable(const struct op *op)
{
	return op_is_local(op->kind) || op->late || op->local != RDMAP_SUCCESS;
}

static bool rtr_outstanding(const struct flow *f)
{
	return f->rtr_read && !f->answer_arrived;
}

/* Its response may still come. It completes behind earlier requests, which may wait for
 * acknowledgments. */
static bool is_outstanding(const struct op *op)
{
	return op_has_response(op->kind) && op->sent && !(op->ep->acked && op->answered);
}

static bool responses_outstanding(const struct flow *f, const struct ep *ep, unsigned before)
{
	for (unsigned i = ep->sq_done; i < before; i++)
		if (is_outstanding(ep->sq[i]))
			return true;
	return rtr_outstanding(f);
}

/* The request that a message begins: the next one in the order of posting. */
static struct op *next_request(struct flow *f, const struct seg *s)
{
	struct ep *ep = wire_sender(f);
	struct queue *l;
	struct op *op;

	while (ep->sq_wire < ep->sq_n && ep->sq[ep->sq_wire]->state == OP_DONE)
		ep->sq_wire++; /* it failed before it was sent */
	if (ep->sq_wire == ep->sq_n || ep->sq[ep->sq_wire]->state != OP_TAKEN)
		BAD(f, "a message without a request");
	op = ep->sq[ep->sq_wire];
	while ((unsendable(op) || (op->uncertain && !resembles(f, op, s))) &&
	       ep->sq_wire + 1 < ep->sq_taken)
		op = ep->sq[++ep->sq_wire];
	if (op->kind != kind_of(f, s))
		BAD(f, "a %s message for %s #%llu", names_opcode(s->opcode), names_op(op->kind),
		    (unsigned long long)op->cookie);
	if (unsendable(op))
		BAD(f, "bad request #%llu is sent", (unsigned long long)op->cookie);
	if ((op->wr.flags & RDMAP_FENCE) && responses_outstanding(f, ep, op->at))
		BAD(f, "#%llu overtakes its fence", (unsigned long long)op->cookie);
	ep->sq_wire++;
	op->begun = true;
	if (op->queue >= 0) {
		l = ep_queue(ep, (unsigned)op->queue);
		l->sent[l->sent_n++] = op;
	}
	return op;
}

/* The Read of which the message is a further part, or NULL. */
static struct op *read_goes_on(struct flow *f, const struct seg *s)
{
	const struct ep *ep = wire_sender(f);
	struct op *op = ep->sq_wire > 0 ? ep->sq[ep->sq_wire - 1] : NULL;
	bool next;

	if (!op || op->asked == 0 || op->asked == op_parts(op))
		return NULL;
	next = s->opcode == WIRE_OP_READ_REQ && reads(s, op);
	if (!next && !op->uncertain)
		BAD(f, "opcode %u before part %u of Read #%llu", s->opcode, op->asked,
		    (unsigned long long)op->cookie);
	return next ? op : NULL;
}

/* The Read or atomic of the other side with the next answer: the oldest unanswered one. */
static struct op *next_with_response(struct flow *f, const struct flow *r)
{
	struct ep *ep = f->sess->ep[!f->side];

	if (r->rtr_read && !r->rtr_answered)
		BAD(f, "an answer before the one to the ready-to-receive message");
	for (unsigned i = ep ? ep->answered : 0; ep && i < ep->sq_wire; i++)
		if (ep->sq[i]->asked > ep->sq[i]->replied)
			return ep->sq[i];
	BAD(f, "an answer without a request");
}

void wire_atomic_offered(struct assoc_end *p, struct flow *f, uint64_t old)
{
	struct op *op = next_with_response(f, wire_opposite(p, (uint16_t)(f - p->tx)));

	if (!op_is_atomic(op->kind))
		BAD(f, "an Atomic Response for %s #%llu", names_op(op->kind),
		    (unsigned long long)op->cookie);
	atomic_execute(op, old);
}

/* ---- the first segment of a message ---- */

static void number(struct flow *f, const struct seg *s)
{
	if (!s->tagged && s->msn != f->msn[s->qn]++)
		BAD(f, "message number %u on queue %u", s->msn, s->qn);
	f->opcode = s->opcode;
	f->tagged = s->tagged;
	f->qn = s->qn;
	f->off = 0;
	f->in_msg = true;
}

static void begin_raw(struct flow *f, const struct seg *s)
{
	if (!s->tagged && s->qn >= RDMAP_RAW_QUEUES)
		BAD(f, "queue %u", s->qn);
	number(f, s);
	f->op = next_request(f, s);
	if (!raw_may_begin(wire_sender(f)))
		BAD(f, "a second message after the error");
}

static void begin(struct flow *f, const struct flow *r, const struct seg *s)
{
	enum { TAGGED = 9 };
	static const uint8_t qn_of[] = {TAGGED, 1, TAGGED, 0, 0, 0, 0, 2, 0, 0, 1, 3};

	if (s->opcode > WIRE_OP_ATOMIC_RESP)
		BAD(f, "opcode %u", s->opcode);
	if (s->tagged != (qn_of[s->opcode] == TAGGED) || (!s->tagged && s->qn != qn_of[s->opcode]))
		BAD(f, "opcode %u in the wrong kind of segment", s->opcode);
	number(f, s);
	if (s->opcode == WIRE_OP_READ_RESP || s->opcode == WIRE_OP_ATOMIC_RESP)
		f->op = next_with_response(f, r);
	else if (s->opcode == WIRE_OP_TERMINATE)
		f->op = NULL;
	else if (!(f->op = read_goes_on(f, s)))
		f->op = next_request(f, s);
}

/* ---- each of its segments ---- */

/* Of several parts, those whose response was not sent: when it arrives shows in no completion. */
static unsigned outstanding_of(const struct op *op)
{
	return op_parts(op) > 1 ? op->asked - op->replied : is_outstanding(op);
}

static void check_depth(struct flow *f)
{
	const struct ep *ep = wire_sender(f);
	unsigned n = 1U + rtr_outstanding(f);

	for (unsigned i = ep->sq_done; i < ep->sq_n; i++)
		n += outstanding_of(ep->sq[i]);
	if (n > ep->ord)
		BAD(f, "%u Reads and atomics are outstanding, ORD is %u", n, ep->ord);
}

static void check_request(struct flow *f, const struct seg *s)
{
	struct op *op = f->op;
	struct ep *ep = op->ep;

	if (op->kind == RDMAP_READ ? !reads(s, op) : !operates(s, op))
		BAD(f, "the request of %s #%llu has wrong fields", names_op(op->kind),
		    (unsigned long long)op->cookie);
	check_depth(f);
	if (op->kind == RDMAP_READ)
		return;
	op->id = be_get32(s->data + 4);
	for (unsigned i = ep->sq_done; i < op->at; i++)
		if (op_is_atomic(ep->sq[i]->kind) && is_outstanding(ep->sq[i]) &&
		    ep->sq[i]->id == op->id)
			BAD(f, "identifier %llu is in use", (unsigned long long)op->id);
}

static void check_untagged(struct flow *f, const struct seg *s)
{
	const struct op *op = f->op;
	bool inv = op->kind == RDMAP_SEND_INV;

	if (s->opcode != opcode_of(op) || s->inv != (inv ? op->wr.inv_stag : 0) || s->mo != f->off)
		BAD(f, "Send #%llu: opcode %u, invalidates %08x, offset %u",
		    (unsigned long long)op->cookie, s->opcode, s->inv, s->mo);
}

static void check_tagged(struct flow *f, const struct seg *s, bool resp)
{
	const struct op *op = f->op;
	struct sgl_elem sink = op_sink_of(op, op->replied);
	uint32_t stag = resp ? sink.stag : op->wr.rstag;
	uint64_t to = resp ? sink.to : op->wr.rto;

	if (s->stag != stag || s->to != to + f->off)
		BAD(f, "%s #%llu: STag %08x and offset are wrong", names_opcode(s->opcode),
		    (unsigned long long)op->cookie, s->stag);
	if (resp && op->kind != RDMAP_READ)
		BAD(f, "a Read Response for %s #%llu", names_op(op->kind),
		    (unsigned long long)op->cookie);
}

static bool out_of_reach(const struct op *op)
{
	return op->target && (op->target->rg->dead || (op->via && op->via->state == GRANT_OVER));
}

/* Revoked memory is not sent. */
static void check_source(struct flow *f, const struct seg *s, bool resp)
{
	const struct op *op = f->op;
	uint32_t at = 0;

	if (resp) {
		if (s->len > 0 && out_of_reach(op))
			BAD(f, "Read #%llu is answered from memory that it cannot access",
			    (unsigned long long)op->cookie);
		return;
	}
	for (unsigned i = 0; i < op->nlocal; i++) {
		const struct slice *m = op->local_mem[i];

		if (m->rg->dead && at < f->off + s->len && f->off < at + m->len)
			BAD(f, "#%llu is sent from revoked memory", (unsigned long long)op->cookie);
		at += m->len;
	}
}

static void check_payload(struct flow *f, const struct seg *s, bool resp)
{
	struct op *op = f->op;
	uint32_t len = resp ? op_sink_of(op, op->replied).len : op->len;
	uint32_t at = resp ? part_at(op, op->replied) : 0;

	if (s->len > len - f->off || (!s->last && s->len == 0))
		BAD(f, "#%llu: %u bytes at %u of %u", (unsigned long long)op->cookie, s->len,
		    f->off, len);
	check_source(f, s, resp);
	if (op->after && !op->after->executed && !op->after->uncertain)
		BAD(f, "Read #%llu overtakes an atomic", (unsigned long long)op->cookie);
	if (op_known(op) && !content_of(op, s->data, at + f->off, s->len))
		BAD(f, "#%llu: wrong bytes at %u", (unsigned long long)op->cookie, at + f->off);
	f->off += s->len;
	if (s->last && f->off != len)
		BAD(f, "#%llu ends at %u of %u bytes", (unsigned long long)op->cookie, f->off, len);
}

static void check_atomic_response(struct flow *f, const struct seg *s)
{
	const struct op *op = f->op;

	if (!op_is_atomic(op->kind) || !op->executed)
		BAD(f, "an Atomic Response for %s #%llu", names_op(op->kind),
		    (unsigned long long)op->cookie);
	if (s->len != 12 || !s->last || s->mo != 0 || s->inv != 0 || be_get32(s->data) != op->id ||
	    be_get64(s->data + 4) != op->old)
		BAD(f, "the answer to atomic #%llu is wrong", (unsigned long long)op->cookie);
}

static void check_terminate(struct flow *f, const struct seg *s)
{
	const struct sess *ss = f->sess;
	bool disagree = params_no_rtr(ss) && f->side == 0;

	if (s->mo != 0 || !s->last || s->len < 4 || s->len > WIRE_TERM_MAX)
		BAD(f, "a Terminate of %u bytes", s->len);
	if (disagree && be_get16(s->data) != 0x2007)
		BAD(f, "a missing ready-to-receive message is reported as %04x", be_get16(s->data));
	if (!disagree && !ss->uncertain && !ep_errors(ss->ep[!f->side]) &&
	    !ep_errors(wire_sender(f)))
		BAD(f, "a Terminate without an error: %08x", be_get32(s->data));
	f->terminated = true;
	f->in_msg = false;
}

static void check_rdmap(struct flow *f, const struct seg *s)
{
	bool resp = s->opcode == WIRE_OP_READ_RESP;

	if (s->opcode == WIRE_OP_READ_REQ || s->opcode == WIRE_OP_ATOMIC_REQ) {
		check_request(f, s);
	} else if (s->opcode == WIRE_OP_ATOMIC_RESP) {
		check_atomic_response(f, s);
	} else if (f->op->kind == RDMAP_IMM) {
		if (!imm_matches(s, f->op))
			BAD(f, "Immediate Data #%llu is wrong", (unsigned long long)f->op->cookie);
	} else {
		if (s->tagged)
			check_tagged(f, s, resp);
		else
			check_untagged(f, s);
		check_payload(f, s, resp);
	}
}

static void check_raw(struct flow *f, const struct seg *s)
{
	if (!imm_fields_match(s, f->op))
		BAD(f, "#%llu: RsvdULP or queue is not the program's",
		    (unsigned long long)f->op->cookie);
	if (s->tagged)
		check_tagged(f, s, false);
	else if (s->mo != f->off)
		BAD(f, "Send #%llu: offset %u", (unsigned long long)f->op->cookie, s->mo);
	check_payload(f, s, false);
}

/* ---- RFC 6581: the first message ---- */

static unsigned rtr_of(const struct seg *s)
{
	switch (s->opcode) {
	case WIRE_OP_SEND:
		return s->len == 0 ? WIRE_RTR_SEND : 0;
	case WIRE_OP_WRITE:
		return s->len == 0 ? WIRE_RTR_WRITE : 0;
	case WIRE_OP_READ_REQ:
		return s->len == 28 && be_get32(s->data + 12) == 0 ? WIRE_RTR_READ : 0;
	default:
		return 0;
	}
}

/* The first message of the active side is one that both named; no program sees it. */
static void check_rtr(struct flow *f, const struct seg *s)
{
	unsigned kind = rtr_of(s);

	if (!(kind & f->sess->rtr) || !s->last || s->mo != 0 || s->inv != 0)
		BAD(f, "opcode %u, %u bytes, is no ready-to-receive message that was agreed on",
		    s->opcode, s->len);
	if (kind == WIRE_RTR_READ && wire_sender(f)->ord == 0)
		BAD(f, "a ready-to-receive Read where ORD is 0");
	number(f, s);
	f->in_msg = false;
	f->rtr_due = false;
	f->rtr_sent = true;
	f->rtr_read = kind == WIRE_RTR_READ;
	f->rtr_ssn = f->ssn;
	wire_world(f)->sum.rtr[kind]++;
}

/* The response to a Read of nothing. */
static void check_rtr_answer(struct flow *f, struct flow *r, const struct seg *s)
{
	if (s->opcode != WIRE_OP_READ_RESP || s->len != 0 || !s->last)
		BAD(f, "opcode %u, %u bytes, for the ready-to-receive Read", s->opcode, s->len);
	r->rtr_answered = true;
	r->answer_ssn = f->ssn;
}

/* True if the segment belongs to no request. */
static bool opening(struct flow *f, struct flow *r, const struct seg *s)
{
	const struct sess *ss = f->sess;

	if (!ss->enhanced || !ss->wire_params[0].p2p)
		return false;
	if (f->side == 1 && !r->rtr_arrived)
		BAD(f, "a segment before the ready-to-receive message came");
	if (s->opcode == WIRE_OP_TERMINATE)
		return false;
	if (f->rtr_due) {
		check_rtr(f, s);
		return true;
	}
	if (f->in_msg || s->opcode != WIRE_OP_READ_RESP || !r->rtr_read || r->rtr_answered)
		return false;
	check_rtr_answer(f, r, s);
	return true;
}

/* ---- any segment ---- */

static void check_turn(struct flow *f, const struct flow *r)
{
	if (!f->begun || f->ended)
		BAD(f, "a segment without a session");
	if (f->side == 0 && !r->first_arrived)
		BAD(f, "a segment before the Accept was received");
	if (f->terminated)
		BAD(f, "a segment after the RDMAP Terminate");
}

static bool goes_on(const struct flow *f, const struct seg *s)
{
	if (s->tagged != f->tagged || (!f->sess->raw && s->opcode != f->opcode))
		return false;
	return s->tagged || (s->qn == f->qn && s->msn == f->msn[s->qn] - 1);
}

/* A message of the request was. */
static void was_sent(struct op *op)
{
	op->asked += op_has_response(op->kind);
	op->sent = op->asked == 0 || op->asked == op_parts(op);
	op->seq = op->ep->end->sent;
}

static void was_answered(struct op *op)
{
	op->replied++;
	op->answered = op->replied == op_parts(op);
	if (op->answered)
		op->ep->answered = op->at + 1;
}

static void message(struct flow *f, const struct flow *r, const struct seg *s)
{
	bool raw = f->sess->raw, terminate = !raw && s->opcode == WIRE_OP_TERMINATE;

	if (f->in_msg && terminate)
		f->in_msg = false; /* the message is abandoned */
	if (f->in_msg && !goes_on(f, s))
		BAD(f, "segments of different messages are mixed");
	if (!f->in_msg && raw)
		begin_raw(f, s);
	else if (!f->in_msg)
		begin(f, r, s);
	if (terminate) {
		check_terminate(f, s);
		return;
	}
	if (raw)
		check_raw(f, s);
	else
		check_rdmap(f, s);
	if (!s->last)
		return;
	f->in_msg = false;
	if (f->op->ep == wire_sender(f))
		was_sent(f->op);
	else
		was_answered(f->op);
}

void wire_segment(struct assoc_end *p, struct flow *f, const uint8_t *m, uint32_t len)
{
	struct flow *r = wire_opposite(p, (uint16_t)(f - p->tx));
	struct seg s;

	if (!f->sess)
		fail(p->node->w, "wire: a segment on stream %d, which was not begun",
		     (int)(f - p->tx));
	check_turn(f, r);
	parse(f, m, len, &s);
	wire_world(f)->sum.passive_first += !f->sess->segment_sent && f->side == 1;
	f->sess->segment_sent = true;
	if (!opening(f, r, &s))
		message(f, r, &s);
}
