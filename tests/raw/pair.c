/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/raw/pair.h"

#include <string.h>

#include "tests/raw/stage.h"

/* ---- the beginning ---- */

struct link *pair_listener(int backlog)
{
	if (!client_ctx())
		client_open(0);
	client_listen(backlog);
	return link_to(stage.daemon[0].addr, stage.port);
}

static void control(struct link *l, uint16_t sid, uint16_t code)
{
	struct raw_msg m = raw_control(code, NULL, 0);

	link_send(l, sid, &m);
}

struct pair pair_passive(struct link *l, uint16_t sid, const struct client_opts *o)
{
	static const struct client_opts some = {.recvs = 4, .size = 256};
	struct pair p = {.l = l, .sid = sid, .opts = o ? *o : some, .msn = 1};
	struct raw_msg accept = raw_control(RAW_ACCEPT, NULL, 0);
	struct ddp_cm_event *ev;

	link_begin(l, sid, false);
	control(l, sid, RAW_INITIATE);
	ev = client_event(DDP_CM_CONNECT_REQUEST);
	EXPECT(ev->stream == sid, "request on stream %u, not %u", ev->stream, sid);
	p.v = client_end(ev->id, &p.opts);
	ddp_ack_cm_event(ev);
	MUST(ddp_accept(p.v.id, NULL));
	link_expect(l, sid, &accept, "Accept");
	ddp_ack_cm_event(client_event(DDP_CM_ESTABLISHED));
	return p;
}

struct pair pair_new(const struct client_opts *o)
{
	return pair_passive(pair_listener(0), PAIR_FIRST, o);
}

void pair_next(struct pair *p)
{
	uint16_t sid = (uint16_t)((p->sid + 2) % PAIR_MARKER);

	*p = pair_passive(p->l, sid, &p->opts);
}

/* ---- the other role ---- */

static void request(struct pair *p)
{
	struct raw_msg initiate = raw_control(RAW_INITIATE, NULL, 0);

	p->msn = 1;
	p->v = client_end(NULL, &p->opts);
	MUST(ddp_connect_name(p->v.id, stage.addr, stage.port, NULL));
	if (!p->l)
		p->l = link_from();
	p->sid = link_new_stream(p->l);
	link_begin(p->l, p->sid, true);
	link_expect(p->l, p->sid, &initiate, "Initiate");
}

static void establish(struct pair *p)
{
	control(p->l, p->sid, RAW_ACCEPT);
	ddp_ack_cm_event(client_event(DDP_CM_ESTABLISHED));
}

struct pair pair_requested(const struct client_opts *o)
{
	static const struct client_opts some = {.recvs = 4, .size = 256};
	struct pair p = {.opts = o ? *o : some};

	if (!client_ctx())
		client_open(0);
	link_listen(stage.port);
	request(&p);
	return p;
}

struct pair pair_active(const struct client_opts *o)
{
	struct pair p = pair_requested(o);

	establish(&p);
	return p;
}

void pair_again(struct pair *p)
{
	request(p);
	establish(p);
}

/* ---- the middle ---- */

void pair_tx(struct pair *p, struct raw_msg m)
{
	link_send(p->l, p->sid, &m);
}

void pair_alive(struct pair *p)
{
	unsigned i = p->opts.recvs - p->v.posted;

	EXPECT(p->v.posted > 0, "no receive is left");
	pair_tx(p, raw_send(p->msn++, "still here", 10));
	client_received(&p->v, i, 10);
	EXPECT(memcmp(client_inbox(&p->opts, i), "still here", 10) == 0, "other bytes arrived");
}

void pair_marker(struct link *l)
{
	struct raw_msg no = raw_control(RAW_REJECT, "m", 1);
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);
	struct ddp_cm_event *ev;
	struct ddp_id *id;

	link_begin(l, PAIR_MARKER, false);
	control(l, PAIR_MARKER, RAW_INITIATE);
	ev = client_event(DDP_CM_CONNECT_REQUEST);
	id = ev->id;
	EXPECT(ev->stream == PAIR_MARKER, "a request on stream %u", ev->stream);
	ddp_ack_cm_event(ev);
	param.private_data = "m";
	param.private_len = 1;
	MUST(ddp_reject(id, &param));
	MUST(ddp_destroy_id(id));
	link_expect(l, PAIR_MARKER, &no, "the marker's Reject");
}

/* ---- the end ---- */

void pair_disconnected(struct pair *p, bool error, uint16_t term)
{
	struct ddp_cm_event *ev = client_event(DDP_CM_DISCONNECTED);

	EXPECT(ev->id == p->v.id, "the end of another session");
	EXPECT((ev->err != 0) == error && ev->term == term,
	       "expected an end with%s error, Terminate %04x: err %d, %04x, %s", error ? "" : "out",
	       term, ev->err, ev->term, ev->reason);
	EXPECT(!error || ev->reason[0], "an error without a reason");
	ddp_ack_cm_event(ev);
	client_flushed(&p->v);
	client_end_free(&p->v);
}

static void expect_end(struct pair *p)
{
	struct raw_msg end = raw_control(RAW_END, NULL, 0);

	link_expect(p->l, p->sid, &end, "Session Terminate");
}

void pair_end(struct pair *p)
{
	control(p->l, p->sid, RAW_END);
	expect_end(p);
	pair_disconnected(p, false, 0);
}

void pair_violated(struct pair *p)
{
	expect_end(p);
	control(p->l, p->sid, RAW_END);
	pair_disconnected(p, true, 0);
}

void pair_refused_any(struct pair *p, const uint16_t *err, unsigned n, const struct raw_msg *cause)
{
	struct raw_msg m = link_take(p->l, p->sid);
	uint16_t got = raw_error(&m);
	struct raw_msg want;

	for (unsigned i = 0; i < n; i++) {
		want = raw_terminate_for(err[i], cause);
		if (raw_same(&m, &want)) {
			expect_end(p);
			control(p->l, p->sid, RAW_END);
			pair_disconnected(p, true, got);
			return;
		}
	}
	want = raw_terminate_for(err[0], cause);
	stage_hex("in answer to", cause->b, cause->len);
	stage_hex("expected, apart from the DDP-SSN", want.b, want.len);
	stage_hex("came", m.b, m.len);
	stage_fail("not the Terminate %04x", err[0]);
}

void pair_refused(struct pair *p, uint16_t err, const struct raw_msg *cause)
{
	pair_refused_any(p, &err, 1, cause);
}
