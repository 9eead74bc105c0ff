/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What goes over the wire, looked at by somebody who has read the RFCs and not the code: each
 * message well-formed, each stream numbered without a gap, each session a legal sequence,
 * each DDP message what its request asks for.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/world.h"
#include "util/be.h"

#define BAD(f, ...) bad(world_of(f), __LINE__, f, __VA_ARGS__)

/* A DDP header as RFC 5041 4 and RFC 5040 4 draw it. */
struct seg {
	bool tagged, last;
	uint8_t opcode;
	uint32_t inv, stag, qn, msn, mo;
	uint64_t to;
	const uint8_t *data;
	uint32_t len;
};

static struct world *world_of(const struct flow *f)
{
	return f->sess->ep[0]->w;
}

__attribute__((format(printf, 4, 5), noreturn)) static void
bad(struct world *w, int line, const struct flow *f, const char *fmt, ...)
{
	char text[120];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fail(w, "wire (wire.c:%d): session %u, from the %s side, DDP-SSN %u: %s", line, f->sess->id,
	     f->side ? "passive" : "active", f->ssn, text);
}

static struct ep *sender(const struct flow *f)
{
	return f->sess->ep[f->side];
}

static struct flow *opposite(const struct peer *p, uint16_t sid)
{
	struct llp_conn *c = sim_conn_peer(p->conn);
	struct peer *other = c->user;

	return &other->tx[sid];
}

/* ---- session control, RFC 5043 5.2.3 and 6 ---- */

static struct sess *session_of(struct world *w, const uint8_t *priv, uint32_t len)
{
	uint32_t id = len >= 4 ? be_get32(priv) : UINT32_MAX;

	list_foreach (it, &w->sessions) {
		struct sess *s = list_entry(it, struct sess, link);

		if (s->id == id && len == s->priv_len[0] && memcmp(priv, s->priv[0], len) == 0)
			return s;
	}
	fail(w, "wire: an Initiate that nobody asked for");
}

static void start_flow(struct flow *f, struct sess *s, unsigned side)
{
	f->sess = s;
	f->side = side;
	f->begun = true;
	f->ended = f->first_arrived = f->refusal = f->terminated = f->in_msg = false;
	f->ssn = 0;
	for (unsigned q = 0; q < 3; q++)
		f->msn[q] = 1;
}

/* RFC 5043 6.6: a stream is used again when nothing of its last session can be outstanding. */
static void initiate(struct peer *p, uint16_t sid, const uint8_t *priv, uint32_t len)
{
	struct world *w = p->node->w;
	struct flow *f = &p->tx[sid], *r = opposite(p, sid);

	if (f->sess && (!f->ended || !r->ended))
		BAD(f, "the stream is initiated again while its session lasts");
	if (f->sent != f->arrived || r->sent != r->arrived)
		BAD(f, "the stream is initiated again while old messages are under way");
	w->sum.reused += f->sess != NULL;
	start_flow(f, session_of(w, priv, len), 0);
	start_flow(r, f->sess, 1);
	r->begun = false;
	if ((sid % 2 == 0) != p->opener)
		BAD(f, "stream %u is not of this side's parity", sid);
	if (f->sess->sid != sid || f->sess->peer[0] != p)
		BAD(f, "sent on stream %u, meant for %u", sid, f->sess->sid);
}

static void answer(struct flow *f, struct flow *r, unsigned func, const uint8_t *priv, uint32_t len)
{
	const struct sess *s = f->sess;

	if (f->side != 1 || f->begun || f->ssn != 0 || !r->first_arrived)
		BAD(f, "%s is no answer here", wire_func_str(func));
	if (s->answer != (func == WIRE_ACCEPT ? ANS_ACCEPT : ANS_REJECT))
		BAD(f, "%s is not what the program said", wire_func_str(func));
	if (len != s->priv_len[1] || memcmp(priv, s->priv[1], len) != 0)
		BAD(f, "wrong private data");
	f->begun = true;
	f->ended = f->refusal = func == WIRE_REJECT;
}

static void terminate(struct flow *f, struct flow *r, uint32_t len)
{
	const struct sess *s = f->sess;
	const struct ep *ep = sender(f), *other = s->ep[!f->side];

	if (len != 0)
		BAD(f, "Terminate with private data");
	f->ended = true;
	f->sess->terminates++;
	world_of(f)->sum.terminates++;
	if (f->side == 1 && !f->begun) { /* a refusal */
		if (!r->first_arrived || s->answer == ANS_ACCEPT || s->answer == ANS_REJECT)
			BAD(f, "Terminate answers what it must not");
		f->begun = f->refusal = true;
		return;
	}
	if ((!f->first_arrived || !r->first_arrived) && !world_of(f)->plan.tight)
		BAD(f, "Terminate could overtake the %s", f->side ? "Accept" : "Initiate");
	if (f->in_msg && !world_of(f)->plan.tight && !s->shaky && !s->vanished[f->side] &&
	    !ep_errors(ep) && !ep_errors(other))
		BAD(f, "Terminate in the middle of a message");
}

static void control(struct peer *p, struct flow *f, const uint8_t *m, uint32_t len)
{
	struct world *w = p->node->w;
	struct flow *r = opposite(p, (uint16_t)(f - p->tx));
	unsigned func;

	if (len < 4 || len > 4 + WIRE_PRIVATE_MAX)
		fail(w, "wire: a control message of %u bytes", len);
	func = be_get16(m + 2);
	if (func == WIRE_INITIATE) {
		initiate(p, (uint16_t)(f - p->tx), m + 4, len - 4);
		return;
	}
	if (!f->sess || f->ended || (f->side == 0 && !f->begun))
		fail(w, "wire: %s on stream %d without a session", wire_func_str(func),
		     (int)(f - p->tx));
	if (func == WIRE_ACCEPT || func == WIRE_REJECT)
		answer(f, r, func, m + 4, len - 4);
	else if (func == WIRE_TERMINATE)
		terminate(f, r, len - 4);
	else
		BAD(f, "function code %u", func);
}

/* ---- segments ---- */

static void parse(struct flow *f, const uint8_t *m, uint32_t len, struct seg *ret)
{
	uint32_t hlen = len > 2 && (m[2] & 0x80) ? 16 : 20;

	if (len < hlen || len > 2 + WIRE_MULPDU_MAX)
		BAD(f, "a segment message of %u bytes", len);
	if ((m[2] & 0x3f) != 0x01 || (m[3] & 0xf0) != 0x40)
		BAD(f, "control bytes %02x %02x", m[2], m[3]);
	*ret = (struct seg){
		.tagged = hlen == 16,
		.last = m[2] & 0x40,
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

static enum rdmap_op op_of(uint8_t opcode)
{
	if (opcode == WIRE_OP_WRITE)
		return RDMAP_WRITE;
	if (opcode == WIRE_OP_READ_REQ)
		return RDMAP_READ;
	return opcode == WIRE_OP_SEND_INV || opcode == WIRE_OP_SEND_SE_INV ? RDMAP_SEND_INV
									   : RDMAP_SEND;
}

static bool reads_outstanding(const struct ep *ep, unsigned before)
{
	for (unsigned i = ep->sq_done; i < before; i++)
		if (ep->sq[i]->kind == RDMAP_READ && ep->sq[i]->sent)
			return true;
	return false;
}

/* It cannot be sent: wrong from the beginning, or its own memory was revoked before it was taken.
 */
static bool unsendable(const struct op *op)
{
	return op->late || op->local != RDMAP_OK;
}

static uint8_t send_opcode(const struct op *op)
{
	bool inv = op->kind == RDMAP_SEND_INV, se = op->wr.flags & RDMAP_SOLICITED;

	return (uint8_t)(WIRE_OP_SEND + inv + 2 * se);
}

static bool asks_for(const struct seg *s, const struct op *op)
{
	const struct sgl_elem *sink = &op->wr.sge[0];

	return s->len == 28 && s->last && be_get32(s->data) == sink->stag &&
	       be_get64(s->data + 4) == sink->to && be_get32(s->data + 12) == op->len &&
	       be_get32(s->data + 16) == op->wr.rstag && be_get64(s->data + 20) == op->wr.rto;
}

/* Whether the segment can be the first one of the request. */
static bool resembles(const struct op *op, const struct seg *s)
{
	if (op->kind != op_of(s->opcode))
		return false;
	if (op->kind == RDMAP_READ)
		return asks_for(s, op);
	if (s->last ? s->len != op->len : s->len >= op->len)
		return false;
	if (s->tagged)
		return s->stag == op->wr.rstag && s->to == op->wr.rto;
	return s->opcode == send_opcode(op) && content_is(s->data, op->cid, op->from, s->len);
}

/* The request that a message begins to carry out: the next in the order of posting. */
static struct op *next_request(struct flow *f, const struct seg *s)
{
	struct ep *ep = sender(f);
	struct op *op;

	while (ep->sq_wire < ep->sq_n && ep->sq[ep->sq_wire]->state == OP_DONE)
		ep->sq_wire++; /* it failed before it was sent */
	if (ep->sq_wire == ep->sq_n || ep->sq[ep->sq_wire]->state != OP_TAKEN)
		BAD(f, "a message that no request asked for");
	op = ep->sq[ep->sq_wire];
	while ((unsendable(op) || (op->shaky && !resembles(op, s))) &&
	       ep->sq_wire + 1 < ep->sq_taken)
		op = ep->sq[++ep->sq_wire];
	if (op->kind != op_of(s->opcode))
		BAD(f, "a %s message for %s #%llu", wire_opcode_str(s->opcode),
		    rdmap_op_str(op->kind), (unsigned long long)op->cookie);
	if (unsendable(op))
		BAD(f, "bad request #%llu is sent", (unsigned long long)op->cookie);
	if ((op->wr.flags & RDMAP_FENCE) && reads_outstanding(ep, op->at))
		BAD(f, "#%llu passes its fence", (unsigned long long)op->cookie);
	ep->sq_wire++;
	op->begun = true;
	if (op->kind == RDMAP_SEND || op->kind == RDMAP_SEND_INV)
		ep->sent[ep->sent_n++] = op;
	return op;
}

/* The Read of the other side that a response is for: the oldest one without. */
static struct op *next_read(struct flow *f)
{
	struct ep *ep = f->sess->ep[!f->side];

	for (unsigned i = 0; ep && i < ep->sq_wire; i++)
		if (ep->sq[i]->kind == RDMAP_READ && ep->sq[i]->sent && !ep->sq[i]->answered)
			return ep->sq[i];
	BAD(f, "a Read Response without a request");
}

static void begin(struct flow *f, const struct seg *s)
{
	static const uint8_t qn_of[] = {9, WIRE_QN_READ_REQ, 9, 0, 0, 0, 0, WIRE_QN_TERMINATE};

	if (s->opcode > WIRE_OP_TERMINATE)
		BAD(f, "opcode %u", s->opcode);
	if (s->tagged != (qn_of[s->opcode] == 9) || (!s->tagged && s->qn != qn_of[s->opcode]))
		BAD(f, "opcode %u in the wrong kind of segment", s->opcode);
	if (!s->tagged && s->msn != f->msn[s->qn]++)
		BAD(f, "message number %u on queue %u", s->msn, s->qn);
	f->opcode = s->opcode;
	f->qn = s->qn;
	f->off = 0;
	f->in_msg = true;
	if (s->opcode == WIRE_OP_READ_RESP)
		f->op = next_read(f);
	else if (s->opcode == WIRE_OP_TERMINATE)
		f->op = NULL;
	else
		f->op = next_request(f, s);
}

static void check_read_request(struct flow *f, const struct seg *s)
{
	const struct op *op = f->op;
	struct ep *ep = sender(f);

	if (!asks_for(s, op))
		BAD(f, "Read Request #%llu has wrong fields", (unsigned long long)op->cookie);
	if (++ep->reads_out > ep->cfg.ord)
		BAD(f, "%u Reads are outstanding, ORD is %u", ep->reads_out, ep->cfg.ord);
}

static void check_untagged(struct flow *f, const struct seg *s)
{
	const struct op *op = f->op;
	bool inv = op->kind == RDMAP_SEND_INV;

	if (s->opcode != send_opcode(op) || s->inv != (inv ? op->wr.inv_stag : 0) ||
	    s->mo != f->off)
		BAD(f, "Send #%llu: opcode %u, invalidates %08x, offset %u",
		    (unsigned long long)op->cookie, s->opcode, s->inv, s->mo);
}

static void check_tagged(struct flow *f, const struct seg *s)
{
	const struct op *op = f->op;
	bool resp = s->opcode == WIRE_OP_READ_RESP;
	uint32_t stag = resp ? op->wr.sge[0].stag : op->wr.rstag;
	uint64_t to = resp ? op->wr.sge[0].to : op->wr.rto;

	if (s->stag != stag || s->to != to + f->off)
		BAD(f, "%s #%llu: STag %08x and offset are wrong", wire_opcode_str(s->opcode),
		    (unsigned long long)op->cookie, s->stag);
}

/* Not a byte leaves memory that was revoked. */
static void check_source(struct flow *f, const struct seg *s)
{
	const struct op *op = f->op;
	uint32_t at = 0;

	if (s->opcode == WIRE_OP_READ_RESP) {
		if (s->len > 0 && op->target && op->target->rg->dead)
			BAD(f, "Read #%llu is answered from revoked memory",
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

static void check_payload(struct flow *f, const struct seg *s)
{
	struct op *op = f->op;

	if (s->len > op->len - f->off || (!s->last && s->len == 0))
		BAD(f, "#%llu: %u bytes at %u of %u", (unsigned long long)op->cookie, s->len,
		    f->off, op->len);
	check_source(f, s);
	if (op_known(op) && !content_is(s->data, op->cid, op->from + f->off, s->len))
		BAD(f, "#%llu: wrong bytes at %u", (unsigned long long)op->cookie, f->off);
	f->off += s->len;
	if (s->last && f->off != op->len)
		BAD(f, "#%llu ends at %u of %u bytes", (unsigned long long)op->cookie, f->off,
		    op->len);
}

static void check_terminate(struct flow *f, const struct seg *s)
{
	const struct sess *ss = f->sess;

	if (s->mo != 0 || !s->last || s->len < 4 || s->len > WIRE_TERM_MAX)
		BAD(f, "a Terminate of %u bytes", s->len);
	if (!ss->shaky && !ep_errors(ss->ep[!f->side]) && !ep_errors(sender(f)))
		BAD(f, "a Terminate without an error: %08x", be_get32(s->data));
	f->terminated = true;
	f->in_msg = false;
}

static void check_message(struct flow *f, const struct seg *s)
{
	if (s->opcode == WIRE_OP_READ_REQ) {
		check_read_request(f, s);
	} else {
		if (s->tagged)
			check_tagged(f, s);
		else
			check_untagged(f, s);
		check_payload(f, s);
	}
	if (!s->last)
		return;
	f->in_msg = false;
	if (s->opcode == WIRE_OP_READ_RESP)
		f->op->answered = true;
	else
		f->op->sent = true;
}

static void segment(struct peer *p, struct flow *f, const uint8_t *m, uint32_t len)
{
	struct flow *r = opposite(p, (uint16_t)(f - p->tx));
	struct seg s;

	if (!f->sess || !f->begun || f->ended)
		fail(p->node->w, "wire: a segment on stream %d without a session",
		     (int)(f - p->tx));
	if (f->side == 0 && !r->first_arrived)
		BAD(f, "a segment before the Accept was received");
	if (f->terminated)
		BAD(f, "a segment behind the RDMAP Terminate");
	parse(f, m, len, &s);
	world_of(f)->sum.passive_first += !f->sess->spoken && f->side == 1;
	f->sess->spoken = true;
	if (f->in_msg && s.opcode == WIRE_OP_TERMINATE)
		f->in_msg = false; /* the message is given up */
	if (!f->in_msg)
		begin(f, &s);
	else if (s.opcode != f->opcode ||
		 (!s.tagged && (s.qn != f->qn || s.msn != f->msn[s.qn] - 1)))
		BAD(f, "messages are mixed");
	if (s.opcode == WIRE_OP_TERMINATE)
		check_terminate(f, &s);
	else
		check_message(f, &s);
}

/* ---- numbers that are about to wrap ---- */

bool wire_fresh(const struct peer *p, uint16_t sid)
{
	const struct flow *f = &p->tx[sid], *r = opposite(p, sid);

	return f->ssn == 1 && r->ssn == 1 && f->sent == f->arrived && r->sent == r->arrived;
}

void wire_preset(struct peer *p, uint16_t sid, uint16_t ssn, uint32_t send_msn, uint32_t read_msn)
{
	struct flow *f = &p->tx[sid];

	f->ssn = ssn;
	f->msn[WIRE_QN_SEND] = send_msn;
	f->msn[WIRE_QN_READ_REQ] = read_msn;
}

/* ---- the observer ---- */

static void describe(struct world *w, const struct peer *p, const char *verb, uint16_t sid,
		     uint32_t ppid, const uint8_t *m, uint32_t len)
{
	const char *name = "?";

	if (len >= 4)
		name = ppid == WIRE_PPID_CONTROL ? wire_func_str(be_get16(m + 2))
						 : wire_opcode_str(m[3] & 0x0f);
	trace(w, "n%u c%u %s stream %u ssn %u %s%s len %u", p->node->id, sim_conn_id(p->conn), verb,
	      sid, len >= 2 ? be_get16(m) : 0, name,
	      ppid == WIRE_PPID_SEGMENT && len > 2 && (m[2] & 0x40) ? " last" : "", len);
}

static void sent(struct peer *p, const struct llp_msg *m)
{
	struct world *w = p->node->w;
	struct span dst = {w->flat, sizeof(w->flat)};
	struct flow *f;

	if (m->sid >= w->plan.streams)
		fail(w, "wire: stream %u", m->sid);
	span_copy(&dst, 1, m->part, m->n, 0, m->len);
	describe(w, p, "sends", m->sid, m->ppid, w->flat, m->len);
	f = &p->tx[m->sid];
	if (m->ppid == WIRE_PPID_CONTROL)
		control(p, f, w->flat, m->len);
	else if (m->ppid == WIRE_PPID_SEGMENT)
		segment(p, f, w->flat, m->len);
	else
		fail(w, "wire: payload protocol %u", m->ppid);
	if (be_get16(w->flat) != f->ssn)
		BAD(f, "the message has DDP-SSN %u", be_get16(w->flat));
	f->ssn++;
	f->sent++;
	w->sum.messages++;
}

/* conn is the receiving end; the flow is that of the sender. */
static void arrived(struct peer *p, const struct llp_msg *m)
{
	struct flow *f = opposite(p, m->sid), *r = &p->tx[m->sid];
	const uint8_t *head = m->part[0].p;

	describe(p->node->w, p, "gets", m->sid, m->ppid, head, m->len);
	f->arrived++;
	if (m->ppid != WIRE_PPID_CONTROL)
		return;
	if (be_get16(head + 2) <= WIRE_ACCEPT)
		f->first_arrived = true;
	else if (f->refusal)
		r->ended = true;
}

void wire_observe(void *user, enum sim_what what, const struct llp_conn *c, const struct llp_msg *m)
{
	(void)user;
	if (what == SIM_SENT)
		sent(c->user, m);
	else if (what == SIM_ARRIVED)
		arrived(c->user, m);
}
