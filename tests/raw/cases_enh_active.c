/* SPDX-License-Identifier: BSD-2-Clause */
/* RFC 6581 7, 9: the client sends an Enhanced Initiate, we answer. */
#include <errno.h>
#include <string.h>

#include "tests/raw/case.h"
#include "tests/raw/pair.h"
#include "tests/raw/stage.h"
#include "util/be.h"

enum {
	DEPTH = 0x3fff,
	IRD = 16,
	ORD = 8,
	PEER = DDP_CONN_NEGOTIATE | DDP_CONN_PEER_TO_PEER,
	NO_IRD = RAW_ERR(2, 0, 6),
	NO_RTR = RAW_ERR(2, 0, 7),
	LOCAL = RAW_ERR(2, 0, 5),
};

static const struct client_opts opts = {.recvs = 4, .size = 64, .ird = IRD, .ord = ORD};

static void open_active(void)
{
	client_open(0);
	link_listen(stage.port);
}

static struct ddp_conn_param offer(unsigned flags, uint16_t ird, uint16_t ord)
{
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);

	param.flags = flags;
	param.ird = ird;
	param.ord = ord;
	return param;
}

/* The client sends an Initiate with these parameters. */
static void connect_with(struct pair *p, struct ddp_conn_param param, uint16_t first,
			 uint16_t second)
{
	struct raw_msg want =
		raw_enhanced(RAW_E_INITIATE, first, second, param.private_data, param.private_len);

	p->opts = opts;
	p->msn = 1;
	p->v = client_end(NULL, &opts);
	MUST(ddp_connect_name(p->v.id, stage.addr, stage.port, &param));
	if (!p->l)
		p->l = link_from();
	p->sid = link_new_stream(p->l);
	link_begin(p->l, p->sid, true);
	link_expect(p->l, p->sid, &want, "Enhanced Initiate");
}

static void reply(struct pair *p, uint16_t code, uint16_t first, uint16_t second, const void *priv,
		  size_t n)
{
	pair_tx(p, raw_enhanced(code, first, second, priv, n));
}

/* We accept: the event of the client has our parameters. */
static void accept_with(struct pair *p, uint16_t first, uint16_t second)
{
	struct ddp_cm_event *ev;
	uint16_t ird = first & DEPTH, ord = second & DEPTH;

	reply(p, RAW_E_ACCEPT, first, second, "yes", 3);
	ev = client_event(DDP_CM_ESTABLISHED);
	EXPECT(ev->conn_flags & DDP_CONN_NEGOTIATE &&
		       !(ev->conn_flags & DDP_CONN_PEER_TO_PEER) == !(first & RAW_A),
	       "flags %x", ev->conn_flags);
	EXPECT(ev->peer_ird == (ird == RAW_KEEP ? DDP_READS_UNCHANGED : ird) &&
		       ev->peer_ord == (ord == RAW_KEEP ? DDP_READS_UNCHANGED : ord),
	       "ird %u, ord %u", ev->peer_ird, ev->peer_ord);
	EXPECT(ev->private_len == 3 && memcmp(ev->private_data, "yes", 3) == 0, "private data");
	ddp_ack_cm_event(ev);
}

static void depths(struct pair *p, uint16_t ird, uint16_t ord)
{
	struct ddp_qp_attr attr = DDP_INIT(ddp_qp_attr);

	MUST(ddp_query_qp(p->v.qp, &attr));
	EXPECT(attr.ird == ird && attr.ord == ord, "IRD %u, ORD %u", attr.ird, attr.ord);
}

/* ---- the parameters ---- */

static void words(void)
{
	struct pair p = {0};
	struct ddp_conn_param param = offer(DDP_CONN_NEGOTIATE, 3, 2);

	open_active();
	connect_with(&p, offer(DDP_CONN_NEGOTIATE, DDP_READS_MAX, DDP_READS_MAX), IRD, ORD);
	accept_with(&p, 20, 10);
	depths(&p, IRD, ORD);
	pair_end(&p);
	param.private_data = "more";
	param.private_len = 4;
	connect_with(&p, param, 3, 2);
	accept_with(&p, 2, 3);
	depths(&p, 3, 2);
	pair_end(&p);
	connect_with(&p, offer(DDP_CONN_NEGOTIATE, DDP_READS_UNCHANGED, DDP_READS_UNCHANGED),
		     RAW_KEEP, RAW_KEEP);
	accept_with(&p, RAW_KEEP, RAW_KEEP);
	depths(&p, IRD, ORD);
	pair_end(&p);
	connect_with(&p, offer(DDP_CONN_NEGOTIATE, DDP_READS_NONE, DDP_READS_NONE), 0, 0);
	accept_with(&p, 4, 0);
	pair_end(&p);
	/* B, C and D of an answer without A are ignored. */
	connect_with(&p, offer(DDP_CONN_NEGOTIATE, DDP_READS_MAX, DDP_READS_MAX), IRD, ORD);
	accept_with(&p, RAW_B | 8, RAW_C | RAW_D | 8);
	pair_alive(&p);
	pair_end(&p);
	link_nothing_left(p.l);
}

static void models(void)
{
	static const struct {
		unsigned flags;
		uint16_t first, second;
	} t[] = {
		{0, RAW_A | RAW_B, RAW_C | RAW_D},
		{DDP_CONN_RTR_SEND, RAW_A | RAW_B, 0},
		{DDP_CONN_RTR_WRITE, RAW_A, RAW_C},
		{DDP_CONN_RTR_READ, RAW_A, RAW_D},
		{DDP_CONN_RTR_READ | DDP_CONN_RTR_SEND, RAW_A | RAW_B, RAW_D},
	};
	struct pair p = {0};

	open_active();
	for (unsigned i = 0; i < 5; i++) {
		connect_with(&p, offer(PEER | t[i].flags, 4, 4), t[i].first | 4, t[i].second | 4);
		pair_tx(&p, raw_control(RAW_END, NULL, 0));
		ddp_ack_cm_event(client_event(DDP_CM_CONNECT_ERROR));
		client_end_free(&p.v);
	}
}

static void private_data(void)
{
	static const uint8_t bytes[512] = "private data after the parameters";
	struct ddp_conn_param param = offer(DDP_CONN_NEGOTIATE, 1, 1);
	struct pair p = {0};
	struct ddp_cm_event *ev;
	struct client_end e;

	open_active();
	param.private_data = bytes;
	param.private_len = 509;
	e = client_end(NULL, &opts);
	EXPECT(ddp_connect_name(e.id, stage.addr, stage.port, &param) < 0,
	       "509 bytes were accepted");
	client_end_free(&e);
	param.private_len = 508;
	connect_with(&p, param, 1, 1);
	reply(&p, RAW_E_ACCEPT, 1, 1, bytes, 508);
	ev = client_event(DDP_CM_ESTABLISHED);
	EXPECT(ev->private_len == 508 && memcmp(ev->private_data, bytes, 508) == 0, "other bytes");
	ddp_ack_cm_event(ev);
	pair_end(&p);
}

/* ---- the negotiated depths ---- */

static void read_n(struct pair *p, unsigned n)
{
	struct client_region r = client_region(client_pd(), 64, 0x7000, DDP_ACCESS_LOCAL_WRITE);
	struct ddp_sge sge = {0x7000, 1, r.mr->lkey};
	struct ddp_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = DDP_WR_RDMA_READ};

	while (n--)
		client_post(&p->v, wr);
}

/* Its ORD is at most our IRD. */
static void our_ird(void)
{
	struct raw_msg initiate = raw_control(RAW_INITIATE, NULL, 0);
	struct raw_msg end = raw_control(RAW_END, NULL, 0);
	struct pair p = {0};

	open_active();
	connect_with(&p, offer(DDP_CONN_NEGOTIATE, DDP_READS_MAX, DDP_READS_MAX), IRD, ORD);
	accept_with(&p, 2, 4);
	depths(&p, IRD, 2);
	read_n(&p, 10);
	(void)link_take(p.l, p.sid);
	(void)link_take(p.l, p.sid);
	link_send(p.l, 251, &initiate); /* no listener: the answer is a marker */
	link_expect(p.l, 251, &end, "Session Terminate");
	EXPECT(link_waiting(p.l, p.sid) == 0, "a third Read went out");
}

/* Its IRD is at least our ORD, even if it proposed less, up to its limit. */
static void our_ord(void)
{
	struct pair p = {0};

	open_active();
	connect_with(&p, offer(DDP_CONN_NEGOTIATE, 2, 2), 2, 2);
	accept_with(&p, 2, IRD);
	depths(&p, IRD, 2);
	pair_end(&p);
}

/* The client cannot continue: it reports the reason, ends the session, and was never connected. */
static void expect_connect_error(struct pair *p, uint16_t err)
{
	struct raw_msg want = raw_terminate((uint32_t)err << 16, NULL, 0);
	struct raw_msg end = raw_control(RAW_END, NULL, 0);
	struct ddp_cm_event *ev;

	link_expect(p->l, p->sid, &want, "Terminate");
	link_expect(p->l, p->sid, &end, "Session Terminate");
	pair_tx(p, end);
	ev = client_event(DDP_CM_CONNECT_ERROR);
	EXPECT(ev->err && ev->term == err && ev->reason[0], "err %d, %04x: %s", ev->err, ev->term,
	       ev->reason);
	ddp_ack_cm_event(ev);
	client_end_free(&p->v);
}

static void too_deep(void)
{
	struct pair p = {0};

	open_active();
	connect_with(&p, offer(DDP_CONN_NEGOTIATE, DDP_READS_MAX, DDP_READS_MAX), IRD, ORD);
	reply(&p, RAW_E_ACCEPT, 8, IRD + 1, NULL, 0);
	expect_connect_error(&p, NO_IRD);
	connect_with(&p, offer(DDP_CONN_NEGOTIATE, DDP_READS_MAX, DDP_READS_MAX), IRD, ORD);
	reply(&p, RAW_E_ACCEPT, 8, 0x3ffe, NULL, 0);
	expect_connect_error(&p, NO_IRD);
}

/* ---- ready to receive ---- */

static void no_common(void)
{
	static const struct {
		unsigned flags;
		uint16_t first, second;
	} t[] = {
		{DDP_CONN_RTR_SEND, RAW_A | 4, RAW_C | RAW_D | 4},
		{DDP_CONN_RTR_WRITE, RAW_A | RAW_B | 4, RAW_D | 4},
		{0, RAW_A | 4, 4},
		{DDP_CONN_RTR_READ, RAW_A, RAW_D | 4}, /* and Reads are impossible */
	};
	struct pair p = {0};

	open_active();
	for (unsigned i = 0; i < 4; i++) {
		unsigned f = PEER | t[i].flags, f0 = t[i].flags;

		connect_with(&p, offer(f, 4, 4),
			     RAW_A | (!f0 || f0 & DDP_CONN_RTR_SEND ? RAW_B : 0) | 4,
			     (!f0 || f0 & DDP_CONN_RTR_WRITE ? RAW_C : 0) |
				     (!f0 || f0 & DDP_CONN_RTR_READ ? RAW_D : 0) | 4);
		reply(&p, RAW_E_ACCEPT, t[i].first, t[i].second, NULL, 0);
		expect_connect_error(&p, NO_RTR);
	}
	/* Another model than the requested one. */
	connect_with(&p, offer(PEER, 4, 4), RAW_A | RAW_B | 4, RAW_C | RAW_D | 4);
	reply(&p, RAW_E_ACCEPT, 4, 4, NULL, 0);
	expect_connect_error(&p, LOCAL);
	connect_with(&p, offer(DDP_CONN_NEGOTIATE, 4, 4), 4, 4);
	reply(&p, RAW_E_ACCEPT, RAW_A | RAW_B | 4, 4, NULL, 0);
	expect_connect_error(&p, LOCAL);
}

/* The session with this answer; the client has posted a Send before. */
static void begin(struct pair *p, uint16_t first, uint16_t second)
{
	struct ddp_send_wr wr = {.wr_id = 77, .opcode = DDP_WR_SEND};

	connect_with(p, offer(PEER, 4, 4), RAW_A | RAW_B | 4, RAW_C | RAW_D | 4);
	client_post(&p->v, wr);
	accept_with(p, first, second);
}

/* The session then works as usual, and the program gets only its own Send. */
static void ends(struct pair *p, uint32_t msn)
{
	struct raw_msg send = raw_send(msn, NULL, 0);
	struct ddp_wc wc;

	link_expect(p->l, p->sid, &send, "the program's Send");
	wc = client_wc(p->v.scq);
	EXPECT(wc.wr_id == 77 && wc.status == DDP_WC_SUCCESS, "another completion");
	pair_alive(p);
	client_idle(p->v.scq);
	pair_end(p);
}

static void ready(void)
{
	struct pair p = {0};
	struct raw_msg m;

	open_active();
	/* An empty Write. */
	begin(&p, RAW_A | 4, RAW_C | 4);
	m = link_take(p.l, p.sid);
	EXPECT(m.len == 16 && m.b[2] == RAW_TL && m.b[3] == RAW_WRITE,
	       "no empty Write comes first");
	ends(&p, 1);
	/* An empty Read. */
	begin(&p, RAW_A | 4, RAW_D | 4);
	m = link_take(p.l, p.sid);
	EXPECT(m.len == 48 && raw_opcode(&m) == 1 && raw_queue_of(&m).msn == 1 &&
		       be_get32(m.b + RAW_HOP + RAW_UNTAGGED + 12) == 0,
	       "no empty Read comes first");
	pair_tx(&p, raw_response(be_get32(m.b + RAW_HOP + RAW_UNTAGGED),
				 be_get64(m.b + RAW_HOP + RAW_UNTAGGED + 4), NULL, 0));
	ends(&p, 1);
	/* An empty Send, which has the first number. */
	begin(&p, RAW_A | RAW_B | 4, 4);
	m = raw_send(1, NULL, 0);
	link_expect(p.l, p.sid, &m, "an empty Send");
	ends(&p, 2);
	/* One of the kinds that it may choose. */
	begin(&p, RAW_A | RAW_B, RAW_C | RAW_D);
	m = link_take(p.l, p.sid);
	EXPECT(m.ppid == RAW_SEGMENT && (m.len == 16 || m.len == 20),
	       "no empty message comes first");
}

/* ---- rejected ---- */

static void rejected(void)
{
	struct pair p = {0};
	struct ddp_cm_event *ev;

	open_active();
	connect_with(&p, offer(DDP_CONN_NEGOTIATE, 4, 4), 4, 4);
	reply(&p, RAW_E_REJECT, RAW_A | 7, RAW_C | 9, "no", 2);
	ev = client_event(DDP_CM_REJECTED);
	EXPECT(ev->conn_flags & DDP_CONN_NEGOTIATE && ev->peer_ird == 7 && ev->peer_ord == 9,
	       "flags %x, ird %u, ord %u", ev->conn_flags, ev->peer_ird, ev->peer_ord);
	EXPECT(ev->private_len == 2 && memcmp(ev->private_data, "no", 2) == 0, "other bytes");
	ddp_ack_cm_event(ev);
	client_end_free(&p.v);
	/* Without parameters. */
	for (unsigned n = 0; n < 4; n++) {
		connect_with(&p, offer(DDP_CONN_NEGOTIATE, 4, 4), 4, 4);
		pair_tx(&p, raw_control(RAW_E_REJECT, "abc", n));
		ddp_ack_cm_event(client_event(DDP_CM_REJECTED));
		client_end_free(&p.v);
	}
	/* A plain one. */
	connect_with(&p, offer(DDP_CONN_NEGOTIATE, 4, 4), 4, 4);
	pair_tx(&p, raw_control(RAW_REJECT, "plain", 5));
	ev = client_event(DDP_CM_REJECTED);
	EXPECT(ev->conn_flags == 0 && ev->private_len == 5, "flags %x, %zu bytes", ev->conn_flags,
	       ev->private_len);
	ddp_ack_cm_event(ev);
	client_end_free(&p.v);
	connect_with(&p, offer(DDP_CONN_NEGOTIATE, 4, 4), 4, 4);
	link_nothing_left(p.l);
}

/* Invalid answers: plain, too short, too long. */
static void illegal(void)
{
	static const uint8_t bytes[513];
	struct raw_msg m[] = {
		raw_control(RAW_ACCEPT, NULL, 0),      raw_control(RAW_E_ACCEPT, bytes, 0),
		raw_control(RAW_E_ACCEPT, bytes, 3),   raw_control(RAW_E_ACCEPT, bytes, 513),
		raw_control(RAW_E_REJECT, bytes, 513), raw_control(RAW_E_INITIATE, bytes, 4)};
	struct raw_msg end = raw_control(RAW_END, NULL, 0);
	struct pair p = {0};

	open_active();
	for (unsigned i = 0; i < 6; i++) {
		connect_with(&p, offer(DDP_CONN_NEGOTIATE, 4, 4), 4, 4);
		pair_tx(&p, m[i]);
		link_expect(p.l, p.sid, &end, "Session Terminate");
		pair_tx(&p, end);
		ddp_ack_cm_event(client_event(DDP_CM_CONNECT_ERROR));
		client_end_free(&p.v);
	}
}

/* A peer that does not know the message. */
static void old_peer(void)
{
	struct pair p = {0};
	struct raw_msg end = raw_control(RAW_END, NULL, 0);
	struct raw_msg initiate = raw_control(RAW_INITIATE, NULL, 0);
	struct raw_msg accept = raw_control(RAW_ACCEPT, NULL, 0);
	struct ddp_cm_event *ev;

	open_active();
	connect_with(&p, offer(DDP_CONN_NEGOTIATE, 4, 4), 4, 4);
	pair_tx(&p, end);
	ddp_ack_cm_event(client_event(DDP_CM_CONNECT_ERROR));
	client_end_free(&p.v);
	/* Only with the retry flag there is another attempt. */
	connect_with(&p, offer(DDP_CONN_NEGOTIATE | DDP_CONN_RETRY_PLAIN, 4, 4), 4, 4);
	pair_tx(&p, end);
	p.sid = link_new_stream(p.l);
	link_begin(p.l, p.sid, true);
	link_expect(p.l, p.sid, &initiate, "a plain Initiate");
	pair_tx(&p, accept);
	ev = client_event(DDP_CM_ESTABLISHED);
	EXPECT(ev->conn_flags == 0, "flags %x", ev->conn_flags);
	ddp_ack_cm_event(ev);
	pair_alive(&p);
	pair_end(&p);
	/* And only one. */
	connect_with(&p, offer(DDP_CONN_NEGOTIATE | DDP_CONN_RETRY_PLAIN, 4, 4), 4, 4);
	pair_tx(&p, end);
	p.sid = link_new_stream(p.l);
	link_begin(p.l, p.sid, true);
	link_expect(p.l, p.sid, &initiate, "a plain Initiate");
	pair_tx(&p, end);
	ddp_ack_cm_event(client_event(DDP_CM_CONNECT_ERROR));
	client_end_free(&p.v);
	link_nothing_left(p.l);
}

/* Segments that overtake the Enhanced Accept. */
static void overtaken(void)
{
	struct pair p = {0};
	struct raw_msg accept = raw_enhanced(RAW_E_ACCEPT, 4, 4, NULL, 0);
	struct raw_msg send = raw_send(1, "early", 5), end = raw_control(RAW_END, NULL, 0);

	open_active();
	connect_with(&p, offer(DDP_CONN_NEGOTIATE, 4, 4), 4, 4);
	link_send_as(p.l, p.sid, 2, &end);
	link_send_as(p.l, p.sid, 1, &send);
	link_send_as(p.l, p.sid, 0, &accept);
	ddp_ack_cm_event(client_event(DDP_CM_ESTABLISHED));
	client_received(&p.v, 0, 5);
	link_expect(p.l, p.sid, &end, "Session Terminate");
	pair_disconnected(&p, false, 0);
}

const struct raw_case case_enh_active[] = {
	{"enh-asked",
	 "6581-7-01 6581-7-05 6581-9-01 6581-9-02 6581-9.1-07 6581-9.1-09 6581-9.1-11 "
	 "6581-9.1-13 6581-9.2-11 6581-9.2-12 6581-7-12",
	 words},
	{"enh-models", "6581-9.2-01 6581-9.2-02", models},
	{"enh-asked-private", "6581-7-05 6581-7-06 6581-7-09", private_data},
	{"enh-our-ird", "6581-9.1-07 5040-6.1-04", our_ird},
	{"enh-our-ord", "6581-9.1-07", our_ord},
	{"enh-too-deep", "6581-9.1-06 6581-9.1-08 5043-6.2-05", too_deep},
	{"enh-no-common", "6581-9.2-10 6581-9.3-01 5043-6.2-05", no_common},
	{"enh-first", "6581-9.2-09 6581-5-01", ready},
	{"enh-no", "6581-9.1-09 6581-7-12 6581-7-09", rejected},
	{"enh-illegal", "5043-6.1-04 6581-7-03 6581-12-01", illegal},
	{"enh-old-peer", "6581-10-05 6581-10-03", old_peer},
	{"enh-overtaken", "6581-7-03 5043-6.1-02", overtaken},
	{0},
};
