/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hostile peer and an arbitrary local program against proto: the input is a sequence of messages,
 * calls and requests on one association. Promises: memory is accessed only as rights permit, no
 * segment is longer than announced, DDP-SSNs and message numbers have no gaps, Reads stay within
 * ORD and IRD, and each request that was taken completes once and in order. Other inputs are events
 * of one session, in any order.
 */
#include "proto/rdmap/credit.h"
#include "proto/session/session.h"
#include "tests/fuzz/assoc_check.h"
#include "util/be.h"
#include "util/opcode.h"

enum {
	STEPS = 400,       /* of one input */
	LITTLE_ROOM = 128, /* a bit of a draw of options */
};

/* What the endpoints of this input have for messages that wait. */
static struct {
	bool drawn;
	uint32_t hold, wait_ms, window, timer_ms, records, early;
	unsigned retry;
	bool no_keep;
} waits;

static void pull(unsigned max)
{
	static struct pair_msg m;

	for (; max > 0 && pair_pull(&w.node, &m); max--)
		check_message(&m);
}

static struct pair_qp *new_qp(void)
{
	struct pair_qp *qp = pair_qp_as(&w.node, &w.like);

	if (waits.hold > 0)
		pair_hold(qp, waits.hold, waits.wait_ms, false);
	if (!w.like.raw) {
		rdmap_set_options(qp->ep, w.options);
		rdmap_set_window(qp->ep, waits.window);
		rdmap_set_rnr(qp->ep, waits.retry, waits.timer_ms);
	}
	qp->no_keep = waits.no_keep;
	return qp;
}

static struct slot *some_slot(void)
{
	struct slot *s = &w.ep[in_8(&w.in) % EPS];

	if (!s->qp && w.node.nqps < PAIR_QPS)
		*s = (struct slot){.qp = new_qp()};
	return s;
}

/* ---- what the peer sends ---- */

/* The next DDP-SSN of a stream. */
static uint16_t due(uint16_t sid)
{
	struct assoc_stream_info info;
	uint32_t pos = sid;

	if (assoc_stream_next(w.node.assoc, &pos, &info) && info.sid == sid)
		return info.rx_ssn;
	return 0;
}

/* Replaces the message number by the next one of its queue. */
static void number(struct pair_msg *m)
{
	uint8_t *p = m->b + WIRE_SSN_LEN;
	struct wire_ddp h;

	if (m->sid >= STREAMS || !wire_ddp_get(p, m->len - WIRE_SSN_LEN, &h) || h.tagged)
		return;
	h.msn = w.rx_msn[m->sid][h.qn % QNS];
	w.rx_msn[m->sid][h.qn % QNS] += h.last;
	wire_ddp_put(p, &h);
}

/* Tags count from 1. */
static void receive_credit(struct pair_msg *m)
{
	struct wire_credit c = {.tag = in_8(&w.in)};

	if (w.options & RDMAP_RNR)
		c.tag |= WIRE_TAG_RNR;
	c.limit = in_16(&w.in);
	c.pos = in_16(&w.in);
	c.wait_ms = in_8(&w.in);
	m->ppid = WIRE_PPID_CREDIT;
	m->len = wire_credit_put(m->b, &c);
	pair_push(&w.node, m);
}

/* Input: kind, with the distance of the DDP-SSN from the next one; stream; length; the bytes after
 * the DDP-SSN. */
static void receive(bool whole)
{
	static struct pair_msg m;
	uint8_t kind = in_8(&w.in);
	int distance = waits.drawn && kind & 8 ? -(kind >> 4) : kind >> 4;
	uint16_t len;

	m.sid = in_8(&w.in);
	if (kind & 8 && w.options & RDMAP_CREDITS) {
		receive_credit(&m);
		return;
	}
	m.ppid = kind & 1 ? WIRE_PPID_CONTROL : WIRE_PPID_SEGMENT;
	if (kind & 2)
		m.ppid = in_32(&w.in);
	len = kind & 4 ? in_16(&w.in) : in_8(&w.in);
	m.len = len % (PAIR_MSG_MAX + 1);
	memset(m.b, 0, sizeof(m.b));
	if (m.len >= WIRE_SSN_LEN) {
		be_put16(m.b, (uint16_t)(due(m.sid) + distance));
		in_fill(&w.in, m.b + WIRE_SSN_LEN, m.len - WIRE_SSN_LEN);
	}
	if (whole && m.len >= WIRE_SSN_LEN)
		number(&m);
	pair_push(&w.node, &m);
}

/* ---- the local program ---- */

/* A depth up to the endpoint's, or "not negotiated". */
static uint16_t depth(uint16_t have)
{
	uint8_t v = in_8(&w.in);

	return v > have ? WIRE_ENH_UNCHANGED : v;
}

static struct assoc_params draw_params(struct wire_enh *enh)
{
	static uint8_t priv[WIRE_PRIVATE_MAX];
	uint8_t bits = in_8(&w.in);
	struct assoc_params o = {.priv = priv, .len = bits & 4 ? in_16(&w.in) : in_8(&w.in)};

	o.len %= WIRE_PRIVATE_MAX - WIRE_ENH_LEN + 1 -
		 (w.options & RDMAP_CREDITS ? WIRE_OFFER_LEN : 0);
	if (!(bits & 1) || w.like.raw)
		return o;
	enh->p2p = bits & 2;
	enh->rtr = bits >> 5 ? bits >> 5 : WIRE_RTR_SEND;
	enh->ird = depth(w.like.ird);
	enh->ord = depth(w.like.ord);
	o.enh = enh;
	return o;
}

static void connect_one(void)
{
	struct slot *s = some_slot();
	struct wire_enh enh = {0};
	struct assoc_params o = draw_params(&enh);
	bool full = assoc_full(w.node.assoc);
	uint16_t sid;

	if (!s->qp || s->bound)
		return;
	s->bound = assoc_connect(w.node.assoc, s->qp->ep, &o, &sid) == ASSOC_E_OK;
	must(s->bound != full);
}

static void answer(void)
{
	struct slot *s = some_slot();
	uint8_t how = in_8(&w.in);
	uint16_t sid = how >> 4;
	struct wire_enh enh = {0};
	struct assoc_params o = draw_params(&enh);

	if (how % 4 == 0)
		assoc_reject(w.node.assoc, sid, &o);
	else if (how % 4 == 1)
		assoc_refuse(w.node.assoc, sid);
	else if (s->qp && !s->bound)
		s->bound = assoc_accept(w.node.assoc, sid, s->qp->ep, &o) == ASSOC_E_OK;
}

/* Closes or unbinds an endpoint. The memory of an unbound one can be freed at once. */
static void end(void)
{
	struct slot *s = some_slot();

	if (!s->qp)
		return;
	if (in_8(&w.in) % 2) {
		assoc_close(w.node.assoc, s->qp->ep);
		return;
	}
	assoc_unbind(w.node.assoc, s->qp->ep);
	free(s->qp->ep);
	s->qp->ep = NULL;
	*s = (struct slot){0};
}

/* The STag of a region by number, or any value. */
static uint32_t name(uint64_t *ret_to)
{
	uint8_t n = in_8(&w.in);
	uint16_t off = in_16(&w.in);

	if (n > REGIONS) {
		*ret_to = in_64(&w.in);
		return in_32(&w.in);
	}
	*ret_to = check_regions[n % REGIONS].to + off;
	return n == REGIONS ? WINDOW + (uint32_t)off % 4 : check_regions[n].stag;
}

static unsigned elements(unsigned max, struct sgl_elem *ret)
{
	unsigned n = in_8(&w.in) % (max + 1);

	for (unsigned i = 0; i < n; i++) {
		ret[i].stag = name(&ret[i].to);
		ret[i].len = in_16(&w.in) % 2048;
	}
	return n;
}

/* The operands of each operation, as daemon/objects/sessions/wr.c accepts them. */
static void operands(struct rdmap_wr *wr)
{
	switch (wr->op) {
	case RDMAP_READ:
		elements(1, wr->sge);
		wr->nsge = 1;
		break;
	case RDMAP_IMM:
		wr->imm = in_64(&w.in);
		break;
	case RDMAP_FETCH_ADD:
	case RDMAP_CMP_SWAP:
		wr->atomic.data = in_16(&w.in);
		wr->atomic.mask = in_16(&w.in);
		wr->nsge = (uint8_t)elements(1, wr->sge);
		wr->sge[0].len = 8;
		break;
	case RDMAP_BIND:
		wr->rstag = WINDOW + in_8(&w.in) % 4;
		wr->bind.region = name(&wr->rto);
		wr->bind.rights = in_8(&w.in) & 0xe;
		wr->bind.len = in_16(&w.in);
		break;
	case RDMAP_LOCAL_INV:
		break;
	default:
		if (!(wr->flags & RDMAP_INLINE))
			wr->nsge = (uint8_t)elements(SGL_MAX, wr->sge);
		else
			wr->len = in_8(&w.in);
		in_fill(&w.in, wr->inl, wr->len);
	}
}

static void raw_operands(struct rdmap_wr *wr, uint8_t bits)
{
	if (wr->op != RDMAP_SEND && wr->op != RDMAP_WRITE)
		wr->status = RDMAP_LOC_OP_ERR;
	wr->raw.qn = bits & 7;
	wr->raw.rsvd = bits;
}

/* One of the operations that can be posted. */
static uint8_t send_op(unsigned n)
{
	uint8_t ops[RDMAP_OP_COUNT];
	unsigned count = 0;

	for (uint8_t op = 0; op < RDMAP_OP_COUNT; op++) {
		if (opcode_is_send(op))
			ops[count++] = op;
	}
	return ops[n % count];
}

static void send_one(void)
{
	struct slot *s = some_slot();
	uint8_t op = in_8(&w.in), flags = in_8(&w.in);
	struct rdmap_wr wr = {.op = send_op(op), .flags = flags & 0x7};

	if (opcode_has(wr.op, OPCODE_PAYLOAD))
		wr.flags = flags & 0xf;
	if (opcode_has(wr.op, OPCODE_MAY_IMM) && !w.like.raw && flags & 0x40)
		wr.flags |= RDMAP_WITH_IMM;
	wr.rstag = name(&wr.rto);
	wr.inv_stag = wr.rstag;
	operands(&wr);
	if (w.like.raw)
		raw_operands(&wr, flags >> 4);
	else if (flags >> 4 == 0xf)
		wr.status = RDMAP_LOC_SGE_ERR;
	if (!s->qp || s->qp->posted + s->qp->recv_posted == PAIR_QUEUE)
		return;
	wr.cookie = 1 + s->qp->posted;
	pair_post(s->qp, &wr);
}

static void recv_one(void)
{
	struct slot *s = some_slot();
	struct rdmap_recv r = {0};

	r.nsge = (uint8_t)elements(3, r.sge); /* one more than the endpoint has */
	r.qn = w.like.raw ? in_8(&w.in) : 0;
	if (!s->qp || s->qp->posted + s->qp->recv_posted == PAIR_QUEUE)
		return;
	r.cookie = 1000 + s->qp->recv_posted;
	s->qp->recv[s->qp->recv_posted++] = r;
	pair_wake(s->qp);
}

static void pass_time(void)
{
	w.now += in_8(&w.in) * 8;
	pair_tick(&w.node, w.now);
}

/* ---- one input ---- */

static void step(void)
{
	uint8_t what = in_8(&w.in);

	switch (what % 13) {
	case 0:
	case 1:
		receive(what % 13 == 0);
		break;
	case 2:
		connect_one();
		break;
	case 3:
		answer();
		break;
	case 4:
		end();
		break;
	case 5:
	case 6:
		send_one();
		break;
	case 7:
		recv_one();
		break;
	case 8:
		check_memory_revoke(in_8(&w.in) % (OURS + 1));
		break;
	case 9:
		pass_time();
		break;
	case 10:
		if (!w.held)
			assoc_tx_acked(w.node.assoc);
		break;
	case 11:
		w.held = !w.held;
		break;
	default:
		pull(in_8(&w.in));
	}
	if (!w.held)
		pull(64);
	check_events();
	for (unsigned i = 0; i < EPS; i++)
		check_slot(&w.ep[i]);
	must(assoc_expiry(w.node.assoc) > 0);
}

/* What needs another option, or a hold, goes without. */
static void draw_options(void)
{
	static const uint32_t size[] = {0, 256, 4096, 1 << 19};
	uint8_t how = in_8(&w.in);
	uint8_t draw = in_8(&w.in);
	unsigned o = draw & ~(unsigned)(RDMAP_ACKED | LITTLE_ROOM);

	if (draw & RDMAP_ACKED) /* which is not drawn */
		o |= RDMAP_STRICT_SENDS;
	waits.drawn = true;
	waits.records = draw & LITTLE_ROOM ? 4 : 64;
	waits.early = draw & LITTLE_ROOM ? 512 : 8192;
	waits.hold = size[how & 3];
	waits.wait_ms = how & 4 ? 50 : 0;
	waits.retry = how >> 4 & 7;
	waits.timer_ms = 1 + in_8(&w.in);
	waits.window = how & 8 ? credit_window(waits.hold) : 0;
	waits.no_keep = how & 128;
	if (waits.hold == 0)
		o &= ~(unsigned)(RDMAP_PLACE_IN_ORDER | RDMAP_RNR);
	if (!(o & RDMAP_PLACE_IN_ORDER))
		o &= ~(unsigned)RDMAP_IMM_OF_SEND;
	if (!(o & RDMAP_CREDITS))
		o &= ~(unsigned)RDMAP_RNR;
	w.options = o;
}

static void begin(void)
{
	uint8_t bits = in_8(&w.in), limits = in_8(&w.in);
	struct assoc_cfg cfg = pair_cfg(bits & 1);

	cfg.plain_only = bits & 2;
	w.like = (struct rdmap_cfg){
		.raw = (bits & 12) == 12,
		.plain_rdmap = (bits & 12) == 4,
		.queues = 1 + (limits >> 4) % RDMAP_RAW_QUEUES,
		.notify_mask = 1,
		.ord = limits & 3,
		.ird = limits >> 2 & 3,
	};
	if (bits & 32 && !w.like.raw) {
		draw_options();
		cfg.records_max = waits.records;
		cfg.early_max = waits.early;
	}
	pair_init(&w.node, &cfg);
	if (bits & 16)
		w.node.mulpdu = WIRE_MULPDU_MIN;
	assoc_set_trace(w.node.assoc, check_trace, NULL);
	assoc_tick(w.node.assoc, w.now = 1);
	check_memory_begin();
}

/* The association is lost: nothing more is sent, and all sessions end. */
static void finish(void)
{
	static struct pair_msg m;

	assoc_lost(w.node.assoc);
	must(!pair_pull(&w.node, &m));
	check_events();
	must(assoc_sessions(w.node.assoc) == 0);
	for (unsigned i = 0; i < EPS; i++)
		must(!w.ep[i].bound);
	check_memory_end();
	pair_deinit(&w.node);
}

/* ---- a session alone ---- */

/* What the association knows of it. */
struct promised {
	bool endpoint; /* one is bound */
	bool answer;   /* a program was asked about an Initiate */
};

static void follow(struct promised *o, unsigned todo)
{
	must(!(todo & SESSION_DO_REQUEST) || !o->answer);
	o->endpoint |= (todo & (SESSION_DO_INITIATE | SESSION_DO_ACCEPT)) != 0;
	o->answer |= (todo & SESSION_DO_REQUEST) != 0;
	if (todo & (SESSION_DO_REJECTED | SESSION_DO_REFUSED | SESSION_DO_END))
		o->endpoint = false;
	if (todo &
	    (SESSION_DO_ACCEPT | SESSION_DO_REJECT | SESSION_DO_TERMINATE | SESSION_DO_WITHDRAW))
		o->answer = false;
}

/* Promises: data changes no state; a session that is over has no endpoint, and one that waits for a
 * program has asked it once; no session outlives its association. */
static void alone(void)
{
	const struct session_trace quiet = {.fn = NULL};
	struct session s = {.trace = &quiet};
	struct promised o = {.endpoint = false};

	while (w.in.left > 0) {
		enum session_event ev = in_8(&w.in) % SESSION_EVENT_COUNT;
		enum session_state from = s.state;
		unsigned todo = session_event(&s, ev);

		must(s.state < SESSION_STATE_COUNT && *session_state_str(s.state) != '?');
		must(!(todo & SESSION_DO_DELIVER) ||
		     (todo == SESSION_DO_DELIVER && s.state == from));
		must(ev != SESSION_LOST || s.state == SESSION_IDLE);
		follow(&o, todo);
		must(o.answer == (s.state == SESSION_PENDING));
		must(!o.endpoint || (s.state != SESSION_IDLE && s.state != SESSION_PENDING &&
				     s.state < SESSION_LAST_CHUNK));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	w = (struct world){.in = {data, size}};
	memset(&waits, 0, sizeof(waits));
	if (size > 0 && data[0] & 64) {
		alone();
		return 0;
	}
	begin();
	for (unsigned i = 0; i < STEPS && w.in.left > 0; i++)
		step();
	finish();
	return 0;
}
