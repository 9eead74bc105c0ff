/* SPDX-License-Identifier: BSD-2-Clause */
/* RFC 6581 7, 9: we send an Enhanced Initiate, the daemon answers. */
#include <errno.h>
#include <string.h>

#include "tests/raw/case.h"
#include "tests/raw/pair.h"
#include "tests/raw/stage.h"
#include "tests/raw/whole.h"
#include "util/be.h"

enum { DEPTH = 0x3fff, IRD = 16, ORD = 8, RTR_1 = RAW_A | RAW_B, RTR_2 = RAW_C | RAW_D };

static const struct client_opts opts = {.recvs = 4, .size = 64, .ird = IRD, .ord = ORD};

/* The value of the event for a depth on the wire. */
static uint16_t event_depth(uint16_t word)
{
	return (word & DEPTH) == RAW_KEEP ? DDP_READS_UNCHANGED : word & DEPTH;
}

static unsigned flags(uint16_t first, uint16_t second)
{
	unsigned f = DDP_CONN_NEGOTIATE;

	if (first & RAW_A)
		f |= DDP_CONN_PEER_TO_PEER | (first & RAW_B ? DDP_CONN_RTR_SEND : 0) |
		     (second & RAW_C ? DDP_CONN_RTR_WRITE : 0) |
		     (second & RAW_D ? DDP_CONN_RTR_READ : 0);
	return f;
}

/* Sends the Enhanced Initiate; the event of the client has all its parameters. */
static struct ddp_id *request(struct pair *p, uint16_t first, uint16_t second, const void *priv,
			      size_t n)
{
	struct raw_msg m = raw_enhanced(RAW_E_INITIATE, first, second, priv, n);
	struct ddp_cm_event *ev;
	struct ddp_id *id;

	p->opts = opts;
	p->msn = 1;
	link_begin(p->l, p->sid, false);
	link_send(p->l, p->sid, &m);
	ev = client_event(DDP_CM_CONNECT_REQUEST);
	id = ev->id;
	EXPECT(ev->conn_flags == flags(first, second) && ev->peer_ird == event_depth(first) &&
		       ev->peer_ord == event_depth(second),
	       "flags %x, ird %x, ord %x", ev->conn_flags, ev->peer_ird, ev->peer_ord);
	EXPECT(ev->private_len == n && memcmp(n ? ev->private_data : "", n ? priv : "", n) == 0,
	       "%zu bytes of private data", ev->private_len);
	ddp_ack_cm_event(ev);
	return id;
}

/* The parameters of the Enhanced Accept, whose private data must be these. */
static void answer(struct pair *p, const void *priv, size_t n, uint16_t ret[2])
{
	struct raw_msg m = link_take(p->l, p->sid), want;

	ret[0] = be_get16(m.b + 4);
	ret[1] = be_get16(m.b + 6);
	want = raw_enhanced(RAW_E_ACCEPT, ret[0], ret[1], priv, n);
	if (m.len >= 8 && raw_same(&m, &want))
		return;
	stage_hex("came", m.b, m.len);
	stage_fail("not an Enhanced Accept with %zu bytes of private data", n);
}

static void accept_with(struct pair *p, struct ddp_id *id, const struct ddp_conn_param *param,
			uint16_t ret[2])
{
	p->v = client_end(id, &opts);
	MUST(ddp_accept(id, param));
	answer(p, param ? param->private_data : NULL, param ? param->private_len : 0, ret);
	ddp_ack_cm_event(client_event(DDP_CM_ESTABLISHED));
}

/* The demands of RFC 6581 9.1 and 9.2 on the answer to these parameters; it must be in force. */
static void check(struct pair *p, uint16_t first, uint16_t second, const uint16_t got[2])
{
	struct ddp_qp_attr attr = DDP_INIT(ddp_qp_attr);
	uint16_t ird = got[0] & DEPTH, ord = got[1] & DEPTH;

	MUST(ddp_query_qp(p->v.qp, &attr));
	if ((second & DEPTH) == RAW_KEEP)
		EXPECT(ird == RAW_KEEP && attr.ird == IRD, "IRD %x, %u holds", ird, attr.ird);
	else
		EXPECT(ird == attr.ird && ird <= IRD && (ird >= (second & DEPTH) || ird == IRD),
		       "IRD %x, %u holds", ird, attr.ird);
	if ((first & DEPTH) == RAW_KEEP)
		EXPECT(ord == RAW_KEEP && attr.ord == ORD, "ORD %x, %u holds", ord, attr.ord);
	else
		EXPECT(ord == attr.ord && ord <= ORD && ord <= (first & DEPTH), "ORD %x, %u holds",
		       ord, attr.ord);
	EXPECT(attr.peer_ird == event_depth(first) && attr.peer_ord == event_depth(second),
	       "the peer's depths");
	EXPECT((got[0] & RAW_A) == (first & RAW_A), "A is not echoed");
	if (!(first & RAW_A)) {
		EXPECT(!(got[0] & RAW_B) && !(got[1] & RTR_2), "B, C or D without A");
		return;
	}
	EXPECT(got[0] & RAW_B || got[1] & RTR_2, "no ready-to-receive message is offered");
	EXPECT((got[0] & first & RAW_B) == (first & RAW_B) &&
		       (got[1] & second & RTR_2) == (second & RTR_2),
	       "not all that was asked for is offered");
	EXPECT(!(got[1] & RAW_D) || ird == RAW_KEEP || ird >= 1, "D with IRD 0");
}

static void words(void)
{
	static const uint16_t w[][2] = {
		{RTR_1 | 16, RAW_D | 8}, /* V24 */
		{RAW_KEEP, RAW_KEEP},    /* V26 */
		{16, 8},                 /* */
		{2, 3},                  /* */
		{0, 0},                  /* */
		{0x3ffe, 0x3ffe},        /* absurd */
		{RAW_KEEP, 4},           /* */
		{4, RAW_KEEP},           /* */
		{RAW_B | 4, RTR_2 | 4},  /* B, C and D without A */
		{RAW_A | 4, 4},          /* A without any of them */
		{RAW_A, RAW_D},          /* a Read, but depth 0 */
		{RAW_A | 1, RAW_C | 1},  /* */
		{RTR_1 | 1, 1},          /* */
		{RTR_1 | RAW_KEEP, RTR_2 | RAW_KEEP},
	};
	struct pair p = {.l = pair_listener(0)};

	for (unsigned i = 0; i < sizeof(w) / sizeof(w[0]); i++) {
		struct ddp_conn_param param = DDP_INIT(ddp_conn_param);
		uint16_t got[2];

		param.private_data = "back";
		param.private_len = i % 5;
		accept_with(&p, request(&p, w[i][0], w[i][1], "hi!", i % 4), &param, got);
		check(&p, w[i][0], w[i][1], got);
		pair_end(&p);
		p.sid += 2;
	}
}

/* The program wants less than the limit. */
static void wishes(void)
{
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);
	struct pair p = {.l = pair_listener(0)};
	uint16_t got[2];
	struct ddp_id *id;

	param.flags = DDP_CONN_NEGOTIATE;
	param.ird = 3;
	param.ord = 2;
	accept_with(&p, request(&p, 10, 3, NULL, 0), &param, got);
	check(&p, 10, 3, got);
	EXPECT(got[0] == 3 && got[1] == 2, "%04x %04x", got[0], got[1]);
	pair_end(&p);
	p.sid = 2;
	param.ird = param.ord = DDP_READS_NONE;
	accept_with(&p, request(&p, 10, 0, NULL, 0), &param, got);
	EXPECT(got[0] == 0 && got[1] == 0, "%04x %04x", got[0], got[1]);
	pair_end(&p);
	p.sid = 4;
	param.ord = 5; /* more than we accept */
	param.ird = DDP_READS_MAX;
	id = request(&p, 4, 4, NULL, 0);
	p.v = client_end(id, &opts);
	EXPECT(ddp_accept(id, &param) == -ERANGE, "ORD 5 was accepted");
	param.ord = 4;
	MUST(ddp_accept(id, &param));
	answer(&p, NULL, 0, got);
	ddp_ack_cm_event(client_event(DDP_CM_ESTABLISHED));
	EXPECT((got[1] & DEPTH) == 4, "ORD %u", got[1] & DEPTH);
	pair_end(&p);
}

/* The negotiated depths are in force: one more request has no buffer. */
static void depth_holds(void)
{
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);
	struct pair p = {.l = pair_listener(0)};
	struct client_region r = client_region(client_pd(), 16 << 20, 0, DDP_ACCESS_REMOTE_READ);
	struct raw_read big = {1, 2, 16 << 20, r.mr->rkey, 0}, none = {1, 2, 0, 0, 0};
	struct raw_msg third = raw_read(3, none), want, end = raw_control(RAW_END, NULL, 0);
	uint16_t got[2];
	struct whole w;

	param.flags = DDP_CONN_NEGOTIATE;
	param.ird = 2;
	param.ord = DDP_READS_MAX;
	accept_with(&p, request(&p, 4, 2, NULL, 0), &param, got);
	pair_tx(&p, raw_read(1, big));
	pair_tx(&p, raw_read(2, none));
	pair_tx(&p, third);
	w = whole_take(p.l, p.sid);
	want = raw_terminate_for(RAW_ERR(1, 2, 2), &third);
	EXPECT(w.cut && raw_same(&w.term, &want), "Terminate %04x", raw_error(&w.term));
	link_expect(p.l, p.sid, &end, "Session Terminate");
	pair_tx(&p, end);
	pair_disconnected(&p, true, RAW_ERR(1, 2, 2));
}

/* ---- private data ---- */

static const uint8_t bytes[513] = "private data after the parameters";

static void private_data(void)
{
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);
	struct pair p = {.l = pair_listener(0)};
	struct raw_msg end = raw_control(RAW_END, NULL, 0);
	uint16_t got[2];
	struct ddp_id *id;

	param.private_data = bytes;
	param.private_len = 508;
	accept_with(&p, request(&p, 1, 1, bytes, 508), &param, got);
	pair_end(&p);
	p.sid += 2;
	id = request(&p, 1, 1, bytes, 1);
	p.v = client_end(id, &opts);
	param.private_len = 509;
	EXPECT(ddp_accept(id, &param) < 0, "509 bytes were accepted");
	param.private_len = 0;
	MUST(ddp_accept(id, &param));
	answer(&p, NULL, 0, got);
	ddp_ack_cm_event(client_event(DDP_CM_ESTABLISHED));
	pair_end(&p);
	/* Too short for the parameters, or too long. */
	for (unsigned n = 0; n < 5; n++) {
		struct raw_msg m = raw_control(RAW_E_INITIATE, bytes, n < 4 ? n : 513);

		p.sid += 2;
		link_begin(p.l, p.sid, false);
		link_send(p.l, p.sid, &m);
		link_expect(p.l, p.sid, &end, "Session Terminate");
	}
	pair_marker(p.l);
	link_nothing_left(p.l);
}

static void rejected(void)
{
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);
	struct pair p = {.l = pair_listener(0)};
	struct raw_msg m;
	struct ddp_id *id;

	for (unsigned n = 0; n < 3; n++) {
		id = request(&p, RTR_1 | 2, RTR_2 | 2, "x", 1);
		param.private_data = bytes;
		param.private_len = n == 2 ? 508 : n;
		param.flags = n ? DDP_CONN_NEGOTIATE : 0;
		param.ird = 5;
		param.ord = 6;
		MUST(ddp_reject(id, &param));
		MUST(ddp_destroy_id(id));
		m = link_take(p.l, p.sid);
		EXPECT(m.ppid == RAW_CONTROL && raw_code(&m) == RAW_E_REJECT &&
			       m.len == 8 + param.private_len &&
			       memcmp(m.b + 8, bytes, param.private_len) == 0,
		       "no Enhanced Reject with parameters and %zu bytes", param.private_len);
		EXPECT(n == 0 || ((be_get16(m.b + 4) & DEPTH) == 5 &&
				  (be_get16(m.b + 6) & DEPTH) == 6),
		       "parameters %04x %04x", be_get16(m.b + 4), be_get16(m.b + 6));
		p.sid += 2;
	}
	pair_marker(p.l);
	link_nothing_left(p.l);
}

/* No program answers: the daemon answers with a Terminate, as for a plain Initiate. */
static void refused(void)
{
	struct pair p = {0};
	struct raw_msg m = raw_enhanced(RAW_E_INITIATE, 1, 1, NULL, 0);
	struct raw_msg end = raw_control(RAW_END, NULL, 0);
	struct ddp_id *listener, *id;

	client_open(0);
	listener = client_listen(1);
	p.l = link_to(stage.daemon[0].addr, stage.port);
	id = request(&p, 1, 1, NULL, 0);
	link_send(p.l, 2, &m);
	link_expect(p.l, 2, &end, "Session Terminate");
	MUST(ddp_destroy_id(listener));
	link_expect(p.l, 0, &end, "Session Terminate");
	MUST(ddp_destroy_id(id));
	link_send(p.l, 4, &m);
	link_expect(p.l, 4, &end, "Session Terminate");
}

/* A plain Initiate gets a plain answer, also beside enhanced ones. */
static void in_kind(void)
{
	struct pair p = pair_new(&opts), q = {.l = p.l, .sid = 2};
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);
	struct raw_msg m = raw_control(RAW_INITIATE, bytes, 512), no;
	struct ddp_cm_event *ev;
	struct ddp_id *id;
	uint16_t got[2];

	accept_with(&q, request(&q, 1, 1, NULL, 0), NULL, got);
	pair_alive(&q);
	link_begin(p.l, 4, false);
	link_send(p.l, 4, &m);
	ev = client_event(DDP_CM_CONNECT_REQUEST);
	id = ev->id;
	EXPECT(ev->conn_flags == 0 && ev->private_len == 512, "flags %x", ev->conn_flags);
	ddp_ack_cm_event(ev);
	param.flags = DDP_CONN_NEGOTIATE;
	MUST(ddp_reject(id, &param));
	no = raw_control(RAW_REJECT, NULL, 0);
	link_expect(p.l, 4, &no, "a plain Reject");
	pair_alive(&p);
}

/* ---- ready to receive ---- */

static void expect_send(struct pair *p)
{
	struct raw_msg want = raw_send(1, "waiting", 7);

	link_expect(p->l, p->sid, &want, "the Send that was held back");
}

/* A peer-to-peer session with these ready-to-receive messages, in which the client posts a Send at
 * once. */
static void post_at_once_with(struct pair *p, uint16_t first, uint16_t second)
{
	struct ddp_sge sge = {(uintptr_t) "waiting", 7, 0};
	struct ddp_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = DDP_WR_SEND};
	uint16_t got[2];

	accept_with(p, request(p, RAW_A | first | 4, second | 4, NULL, 0), NULL, got);
	wr.send_flags = DDP_SEND_INLINE;
	client_post(&p->v, wr);
	pair_marker(p->l);
	EXPECT(link_waiting(p->l, p->sid) == 0, "it does not wait for us");
}

static void post_at_once(struct pair *p)
{
	post_at_once_with(p, RAW_B, RTR_2);
}

static void ready(void)
{
	struct pair p = {.l = pair_listener(0)};
	struct raw_read none = {5, 6, 0, UINT32_MAX, UINT64_MAX};
	struct raw_msg want = raw_response(5, 6, NULL, 0);

	post_at_once(&p);
	pair_tx(&p, raw_write(UINT32_MAX, UINT64_MAX, NULL, 0));
	expect_send(&p);
	pair_alive(&p);
	pair_end(&p);

	p.sid = 2;
	post_at_once(&p);
	pair_tx(&p, raw_read(1, none));
	{
		/* The answer and the Send, in either order. */
		struct raw_msg a = link_take(p.l, p.sid), b = link_take(p.l, p.sid);
		struct raw_msg send = raw_send(1, "waiting", 7);

		EXPECT((raw_same(&a, &want) && raw_same(&b, &send)) ||
			       (raw_same(&b, &want) && raw_same(&a, &send)),
		       "not the Read Response and the Send");
	}
	pair_tx(&p, raw_read(2, none));
	link_expect(p.l, p.sid, &want, "the Read Response");
	pair_alive(&p);
	pair_end(&p);

	/* An empty Send takes no receive of the program, even if it allowed other kinds. */
	for (unsigned i = 0; i < 2; i++) {
		p.sid = (uint16_t)(4 + 2 * i);
		post_at_once_with(&p, RAW_B, i ? RTR_2 : 0);
		pair_tx(&p, raw_send(1, NULL, 0));
		p.msn = 2;
		expect_send(&p);
		pair_alive(&p);
		pair_end(&p);
	}

	p.sid = 8;
	post_at_once(&p);
	pair_alive(&p); /* data instead */
	expect_send(&p);
	pair_alive(&p);
	pair_end(&p);
}

/* Without A there is no ready-to-receive message, and an empty Send belongs to the program. */
static void client_server(void)
{
	struct pair p = {.l = pair_listener(0)};
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND};
	struct raw_msg want = raw_send(1, NULL, 0);
	uint16_t got[2];

	accept_with(&p, request(&p, RAW_B | 4, RTR_2 | 4, NULL, 0), NULL, got);
	client_post(&p.v, wr);
	link_expect(p.l, p.sid, &want, "the Send");
	pair_tx(&p, raw_send(1, NULL, 0));
	client_received(&p.v, 0, 0);
	p.msn = 2;
	pair_alive(&p);
	pair_end(&p);
}

/* A peer that ends the session before it is ready. */
static void never_ready(void)
{
	struct pair p = {.l = pair_listener(0)};
	struct raw_msg end = raw_control(RAW_END, NULL, 0);

	post_at_once(&p);
	pair_tx(&p, end);
	link_expect(p.l, p.sid, &end, "Session Terminate");
	EXPECT(client_wc(p.v.scq).status == DDP_WC_FLUSH_ERR, "the Send was completed");
	pair_disconnected(&p, false, 0);
}

/* ---- switched off ---- */

static void off(void)
{
	struct raw_msg m = raw_enhanced(RAW_E_INITIATE, RAW_KEEP, RAW_KEEP, NULL, 0);
	struct raw_msg end = raw_control(RAW_END, NULL, 0);
	struct pair p;

	stage.daemon[STAGE_DAEMON] = stage.daemon[STAGE_OFF];
	p = pair_new(NULL);
	link_send(p.l, 2, &m);
	link_expect(p.l, 2, &end, "Session Terminate");
	client_no_event();
	pair_alive(&p);
}

const struct raw_case case_enh_passive[] = {
	{"enh-words",
	 "6581-7-01 6581-7-04 6581-7-05 6581-7-08 6581-7-09 6581-7-11 6581-7-12 6581-9-01 "
	 "6581-9-02 6581-9.1-01 6581-9.1-02 6581-9.1-03 6581-9.1-04 6581-9.1-10 6581-9.1-12 "
	 "6581-9.2-01 6581-9.2-03 6581-9.2-04 6581-9.2-05 6581-9.2-06 6581-9.2-07 6581-9.2-08 "
	 "6581-9.2-11 6581-9.2-12 6581-10-01 6581-12-01",
	 words},
	{"enh-wishes", "6581-9.1-02 6581-9.1-04", wishes},
	{"enh-depth-holds", "6581-9.1-01 5040-6.1-05", depth_holds},
	{"enh-private", "6581-7-04 6581-7-06 6581-12-01", private_data},
	{"enh-rejected", "6581-7-01 6581-7-02 6581-7-04 6581-9.1-05 6581-10-01", rejected},
	{"enh-refused", "6581-7-07 6581-7-03 6581-10-01", refused},
	{"enh-in-kind", "6581-10-02 6581-10-04", in_kind},
	{"enh-ready", "6581-9.2-03 6581-5-01", ready},
	{"enh-client-server", "6581-9.2-12", client_server},
	{"enh-never-ready", "6581-7-11", never_ready},
	{"enh-off", "5043-6.1-04 6581-10-05", off},
	{0},
};
