/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of the messages on the wire, written from the RFCs and not from the code: each
 * message well-formed, each stream numbered without a gap, each session a legal sequence,
 * each DDP message as its request demands.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/wire.h"
#include "tests/lib/names.h"
#include "util/be.h"

__attribute__((noreturn)) void wire_bad(int line, const struct flow *f, const char *fmt, ...)
{
	char text[120];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fail(wire_world(f), "wire (line %d): session %u, from the %s side, DDP-SSN %u: %s", line,
	     f->sess->id, f->side ? "passive" : "active", f->ssn, text);
}

struct flow *wire_opposite(const struct assoc_end *p, uint16_t sid)
{
	struct llp_conn *c = sim_conn_peer(p->conn);
	struct assoc_end *other = c->user;

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
	fail(w, "wire: an Initiate that no program requested");
}

static void start_flow(struct flow *f, struct sess *s, unsigned side)
{
	f->sess = s;
	f->side = side;
	f->begun = true;
	f->ended = f->first_arrived = f->refusal = f->terminated = f->in_msg = false;
	f->rtr_due = f->rtr_sent = f->rtr_read = f->rtr_answered = f->rtr_arrived =
		f->answer_arrived = false;
	f->ssn = 0;
	for (unsigned q = 0; q < RDMAP_RAW_QUEUES; q++)
		f->msn[q] = 1;
}

/* RFC 6581 7: the parameters are the first bytes of the private data. */
static void take_words(struct flow *f, unsigned which, bool enhanced, const uint8_t **m,
		       uint32_t *len)
{
	struct sess *s = f->sess;
	struct wire_enh e;
	uint32_t v;

	if (enhanced != s->enhanced)
		BAD(f, "%s, but the session is %s", enhanced ? "enhanced" : "plain",
		    s->enhanced ? "enhanced" : "plain");
	if (!enhanced)
		return;
	if (*len < 4)
		BAD(f, "no parameters in an enhanced message");
	v = be_get32(*m);
	e = (struct wire_enh){
		.p2p = v >> 31,
		.rtr = (uint8_t)((v >> 30 & 1) | (v >> 15 & 1) << 1 | (v >> 14 & 1) << 2),
		.ird = v >> 16 & 0x3fff,
		.ord = v & 0x3fff,
	};
	params_sent(s, which, &e);
	*m += 4;
	*len -= 4;
}

/* The offer of credits behind the private data, or the answer; its window, or UINT64_MAX. */
static uint64_t take_offer(unsigned kind, const uint8_t *priv, uint32_t *len)
{
	static const uint8_t name[] = {0x8b, 'D', 'D', 'P', 'c', 'r', 'd'};
	const uint8_t *p = priv + *len - WIRE_OFFER_LEN;

	if (*len < WIRE_OFFER_LEN || memcmp(p, name, sizeof(name)) != 0 || p[7] != kind)
		return UINT64_MAX;
	*len -= WIRE_OFFER_LEN;
	return be_get32(p + 12);
}

/* What it has to be. An endpoint that is gone makes none any more. */
static uint64_t offer_of(const struct sess *s, unsigned which)
{
	const struct ep *ep = s->ep[which];

	return ep && ep->credits && !s->released[which] && ep->state != EP_OVER ? ep->ahead_max
										: UINT64_MAX;
}

/* RFC 5043 6.6: a stream is reused when nothing of its last session can be outstanding. */
static void initiate(struct assoc_end *p, uint16_t sid, bool enhanced, const uint8_t *priv,
		     uint32_t len)
{
	uint32_t words = enhanced ? WIRE_ENH_LEN : 0;
	struct world *w = p->node->w;
	struct flow *f = &p->tx[sid], *r = wire_opposite(p, sid);
	uint64_t window = take_offer(1, priv, &len);
	struct sess *s;

	if (f->sess && (!f->ended || !r->ended))
		BAD(f, "the stream is initiated again during its session");
	if (f->sent != f->arrived || r->sent != r->arrived)
		BAD(f, "the stream is initiated again while old messages are in flight");
	w->sum.reused += f->sess != NULL;
	if (len < words)
		fail(w, "wire: an Initiate without parameters");
	s = session_of(w, priv + words, len - words);
	start_flow(f, s, 0);
	if (window != offer_of(s, 0))
		BAD(f, "an Initiate with another offer of credits");
	s->offered = window != UINT64_MAX;
	take_words(f, 0, enhanced, &priv, &len);
	start_flow(r, f->sess, 1);
	r->begun = false;
	if ((sid % 2 == 0) != p->opener)
		BAD(f, "stream %u is not of this side's parity", sid);
	if (f->sess->sid != sid || f->sess->end[0] != p)
		BAD(f, "sent on stream %u, meant for %u", sid, f->sess->sid);
}

static void answer(struct flow *f, struct flow *r, unsigned func, const uint8_t *priv, uint32_t len)
{
	bool accept = func == WIRE_ACCEPT || func == WIRE_ENH_ACCEPT;
	struct sess *s = f->sess;
	uint64_t window = accept ? take_offer(2, priv, &len) : UINT64_MAX;

	if (f->side != 1 || f->begun || f->ssn != 0 || !r->first_arrived)
		BAD(f, "%s is not a valid answer", names_func(func));
	if (s->answer != (accept ? ANS_ACCEPT : ANS_REJECT))
		BAD(f, "%s is not the program's answer", names_func(func));
	if (window != (accept && s->offered ? offer_of(s, 1) : UINT64_MAX))
		BAD(f, "%s with another answer about credits", names_func(func));
	s->agreed = window != UINT64_MAX;
	take_words(f, 1, func >= WIRE_ENH_INITIATE, &priv, &len);
	if (len != s->priv_len[1] || memcmp(priv, s->priv[1], len) != 0)
		BAD(f, "wrong private data");
	f->begun = true;
	f->ended = f->refusal = !accept;
	r->rtr_due = accept && s->enhanced && s->wire_params[0].p2p;
	if (accept && s->ep[1]->state != EP_OVER)
		params_in_force(s->ep[1]);
}

static void terminate(struct flow *f, struct flow *r, uint32_t len)
{
	const struct sess *s = f->sess;
	const struct ep *ep = wire_sender(f), *other = s->ep[!f->side];

	if (len != 0)
		BAD(f, "Terminate with private data");
	f->ended = true;
	f->sess->terminates++;
	wire_world(f)->sum.terminates++;
	if (f->side == 1 && !f->begun) { /* a refusal */
		if (!r->first_arrived || s->answer == ANS_ACCEPT || s->answer == ANS_REJECT)
			BAD(f, "an unexpected Terminate as answer");
		f->begun = f->refusal = true;
		return;
	}
	if (ep && !s->released[f->side])
		raw_check_end(ep);
	if ((!f->first_arrived || !r->first_arrived) && !wire_world(f)->plan.tight)
		BAD(f, "Terminate could overtake the %s", f->side ? "Accept" : "Initiate");
	if (f->in_msg && !wire_world(f)->plan.tight && !s->uncertain && !s->released[f->side] &&
	    !ep_errors(ep) && !ep_errors(other))
		BAD(f, "Terminate in the middle of a message");
}

static void control(struct assoc_end *p, struct flow *f, const uint8_t *m, uint32_t len)
{
	struct world *w = p->node->w;
	struct flow *r = wire_opposite(p, (uint16_t)(f - p->tx));
	unsigned func;

	if (len < 4 || len > 4 + WIRE_PRIVATE_MAX)
		fail(w, "wire: a control message of %u bytes", len);
	func = be_get16(m + 2);
	if (func == WIRE_INITIATE || func == WIRE_ENH_INITIATE) {
		initiate(p, (uint16_t)(f - p->tx), func == WIRE_ENH_INITIATE, m + 4, len - 4);
		return;
	}
	if (!f->sess || f->ended || (f->side == 0 && !f->begun))
		fail(w, "wire: %s on stream %d without a session", names_func(func),
		     (int)(f - p->tx));
	if (func == WIRE_ACCEPT || func == WIRE_REJECT || func == WIRE_ENH_ACCEPT ||
	    func == WIRE_ENH_REJECT)
		answer(f, r, func, m + 4, len - 4);
	else if (func == WIRE_TERMINATE)
		terminate(f, r, len - 4);
	else
		BAD(f, "function code %u", func);
}

/* ---- numbers that are about to wrap ---- */

bool wire_fresh(const struct assoc_end *p, uint16_t sid)
{
	const struct flow *f = &p->tx[sid], *r = wire_opposite(p, sid);

	return f->ssn == 1 && r->ssn == 1 && f->sent == f->arrived && r->sent == r->arrived;
}

void wire_preset(struct assoc_end *p, uint16_t sid, uint16_t ssn,
		 const uint32_t msn[RDMAP_RAW_QUEUES])
{
	struct flow *f = &p->tx[sid];

	f->ssn = ssn;
	memcpy(f->msn, msn, sizeof(f->msn));
}

/* ---- the observer ---- */

static void describe(struct world *w, const struct assoc_end *p, const char *verb, uint16_t sid,
		     uint32_t ppid, const uint8_t *m, uint32_t len)
{
	const char *name = "?";

	if (ppid == WIRE_PPID_CREDIT)
		name = "Credit";
	else if (len >= 4)
		name = ppid == WIRE_PPID_CONTROL ? names_func(be_get16(m + 2))
						 : names_opcode(m[3] & 0x0f);
	trace(w, "n%u c%u %s stream %u ssn %u %s%s len %u", p->node->id, sim_conn_id(p->conn), verb,
	      sid, len >= 2 ? be_get16(m) : 0, name,
	      ppid == WIRE_PPID_SEGMENT && len > 2 && (m[2] & 0x40) ? " last" : "", len);
}

/* It has no DDP-SSN, and may be late. */
static void credit(const struct flow *f, const uint8_t *p, uint32_t len)
{
	const struct sess *s = f->sess;
	struct wire_credit c;

	if (!s || f->ended || !s->agreed || !wire_credit_get(p, len, &c))
		BAD(f, "a credit of %u bytes without an agreement", len);
	if (c.wait_ms && ((s->ep[0] && !s->ep[0]->rnr) || (s->ep[1] && !s->ep[1]->rnr)))
		BAD(f, "a report of no receive without an agreement");
	wire_world(f)->sum.credits++;
	wire_world(f)->sum.not_ready += c.wait_ms != 0;
}

static void sent(struct assoc_end *p, const struct llp_msg *m)
{
	struct world *w = p->node->w;
	struct span dst = {w->contiguous, sizeof(w->contiguous)};
	struct flow *f;

	if (m->sid >= w->plan.streams)
		fail(w, "wire: stream %u", m->sid);
	span_copy(&dst, 1, m->part, m->n, 0, m->len);
	describe(w, p, "sends", m->sid, m->ppid, w->contiguous, m->len);
	f = &p->tx[m->sid];
	p->sent++;
	if (m->ppid == WIRE_PPID_CREDIT) {
		credit(f, w->contiguous, m->len);
		return;
	}
	if (m->ppid == WIRE_PPID_CONTROL)
		control(p, f, w->contiguous, m->len);
	else if (m->ppid == WIRE_PPID_SEGMENT)
		wire_segment(p, f, w->contiguous, m->len);
	else
		fail(w, "wire: payload protocol %u", m->ppid);
	if (be_get16(w->contiguous) != f->ssn)
		BAD(f, "the message has DDP-SSN %u", be_get16(w->contiguous));
	f->ssn++;
	f->sent++;
	if (wire_sender(f))
		wire_sender(f)->since_us = simclock_now(w->clock);
	w->sum.messages++;
}

/* conn is the receiving end; the flow is that of the sender. */
static void arrived(struct assoc_end *p, const struct llp_msg *m)
{
	struct flow *f = wire_opposite(p, m->sid), *r = &p->tx[m->sid];
	const uint8_t *head = m->part[0].p;
	unsigned func;

	describe(p->node->w, p, "gets", m->sid, m->ppid, head, m->len);
	if (m->ppid == WIRE_PPID_CREDIT)
		return;
	f->arrived++;
	if (m->ppid != WIRE_PPID_CONTROL) {
		f->rtr_arrived |= f->rtr_sent && be_get16(head) == f->rtr_ssn;
		r->answer_arrived |= r->rtr_answered && be_get16(head) == r->answer_ssn;
		return;
	}
	func = be_get16(head + 2);
	if (f->refusal && func != WIRE_INITIATE && func != WIRE_ENH_INITIATE)
		r->ended = true;
	else if (func != WIRE_TERMINATE)
		f->first_arrived = true;
}

/* A message is offered to the transport: if it is an Atomic Response, the atomic has been executed.
 */
static void offered(struct assoc_end *p, const struct llp_msg *m)
{
	const uint8_t *head = m->part[0].p;
	struct flow *f = &p->tx[m->sid];

	if (m->sid >= p->node->w->plan.streams || m->ppid != WIRE_PPID_SEGMENT || !f->sess ||
	    f->sess->raw || m->part[0].len < 2 + 18 + 12 || head[2] & 0x80 ||
	    (head[3] & 0xf) != WIRE_OP_ATOMIC_RESP)
		return;
	wire_atomic_offered(p, f, be_get64(head + 2 + 18 + 4));
}

void wire_observe(void *user, enum sim_what what, const struct llp_conn *c, const struct llp_msg *m)
{
	(void)user;
	if (what == SIM_OFFERED)
		offered(c->user, m);
	else if (what == SIM_SENT)
		sent(c->user, m);
	else if (what == SIM_ARRIVED)
		arrived(c->user, m);
}
