/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/system/rig.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/system/posted.h"

/* ---- checks ---- */

void ok(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("ok ");
	vprintf(fmt, ap);
	puts("");
	va_end(ap);
	fflush(stdout);
}

void fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("FAILED: ");
	vprintf(fmt, ap);
	printf("\n  last reason: %s\n", ddp_last_reason());
	va_end(ap);
	fflush(stdout);
	_exit(1);
}

void is(const char *what, uint64_t came, uint64_t expected)
{
	if (came != expected)
		fail("%s: 0x%llx was expected, 0x%llx came", what, (unsigned long long)expected,
		     (unsigned long long)came);
	ok("%s", what);
}

void same(const char *what, const void *came, const void *expected, size_t len)
{
	const uint8_t *c = came, *e = expected;

	for (size_t i = 0; i < len; i++)
		if (c[i] != e[i])
			fail("%s: byte %zu of %zu is %02x instead of %02x", what, i, len, c[i],
			     e[i]);
	ok("%s", what);
}

void rig_refused(const char *what, int came, int err)
{
	if (came != -err)
		fail("%s: %s was expected, %s came", what, strerror(err), strerror(-came));
	ok("%s is refused: %s", what, ddp_last_reason());
}

/* ---- ends ---- */

void end_open(struct end *e, const char *name, const char *socket)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);
	struct ddp_cq_attr cq = DDP_INIT(ddp_cq_attr);

	*e = (struct end){.name = name, .socket = socket};
	attr.socket = socket;
	MUST(ddp_open(&attr, &e->ctx));
	MUST(ddp_alloc_pd(e->ctx, &e->pd));
	cq.entries = 256;
	MUST(ddp_create_cq(e->ctx, &cq, &e->cq));
	MUST(ddp_alloc_mr(e->pd, RIG_SIZE, RIG_ALL, &e->mr));
}

void end_listen(struct end *e)
{
	int r;

	MUST(ddp_create_id(e->ctx, NULL, &e->listener));
	e->port = (uint16_t)(10000 + getpid() % 50000);
	while ((r = ddp_listen(e->listener, NULL, e->port, 0)) == -EADDRINUSE)
		e->port++;
	MUST(r);
}

void end_close(struct end *e)
{
	MUST(ddp_destroy_id(e->listener));
	MUST(ddp_destroy_cq(e->cq));
	MUST(ddp_dereg_mr(e->mr));
	MUST(ddp_dealloc_pd(e->pd));
	MUST(ddp_close(e->ctx));
}

uint8_t *end_at(const struct end *e, size_t offset)
{
	return (uint8_t *)e->mr->addr + offset;
}

void end_fill(const struct end *e, size_t offset, size_t len, unsigned seed)
{
	uint8_t *p = end_at(e, offset);
	uint32_t v = seed * 2654435761U + 1;

	for (size_t i = 0; i < len; i++) {
		v = v * 1664525 + 1013904223;
		p[i] = (uint8_t)(v >> 24);
	}
}

struct ddp_sge end_sge(const struct end *e, size_t offset, uint32_t len)
{
	return (struct ddp_sge){e->mr->iova + offset, len, e->mr->lkey};
}

struct ddp_cm_event *end_event(struct end *e, enum ddp_cm_event_type type)
{
	struct ddp_cm_event *ev;
	int r = ddp_get_cm_event(e->ctx, &ev, RIG_WAIT_MS);

	while (r == 0 && ev->type == DDP_CM_PATH) {
		printf("path %s: %s: %s\n", e->name, ddp_path_state_str(ev->path.state),
		       ev->reason);
		ddp_ack_cm_event(ev);
		r = ddp_get_cm_event(e->ctx, &ev, RIG_WAIT_MS);
	}
	if (r)
		fail("%s: event %s was expected: %s", e->name, ddp_event_str(type), strerror(-r));
	if (ev->type != type)
		fail("%s: event %s was expected, %s came: %s, term %04x: %s", e->name,
		     ddp_event_str(type), ddp_event_str(ev->type), strerror(-ev->err), ev->term,
		     ev->reason);
	return ev;
}

struct ddp_id *end_expect(struct end *e, enum ddp_cm_event_type type)
{
	struct ddp_cm_event *ev = end_event(e, type);
	struct ddp_id *id = ev->id;

	ddp_ack_cm_event(ev);
	return id;
}

struct ddp_wc end_wc(struct end *e)
{
	struct ddp_wc wc;
	int n = ddp_wait_cq(e->cq, 1, &wc, RIG_WAIT_MS);

	if (n != 1)
		fail("%s: a completion was expected, %d came", e->name, n);
	return wc;
}

struct ddp_wc end_done(struct end *e, enum ddp_wc_opcode opcode, enum ddp_wc_status status)
{
	struct ddp_wc wc;
	char reason[256];
	int n = ddp_wait_cq(e->cq, 1, &wc, RIG_WAIT_MS);

	if (n != 1)
		fail("%s: completion of %s was expected, %d came", e->name,
		     ddp_wc_opcode_str(opcode), n);
	ddp_explain(&wc, reason, sizeof(reason));
	if (wc.opcode != opcode || wc.status != status)
		fail("%s: %s, %s was expected, %s, %s came: %s", e->name, ddp_wc_opcode_str(opcode),
		     ddp_wc_status_str(status), ddp_wc_opcode_str(wc.opcode),
		     ddp_wc_status_str(wc.status), reason);
	return wc;
}

void end_drain(struct end *e)
{
	struct ddp_wc wc;

	while (MUST(ddp_poll_cq(e->cq, 1, &wc)) > 0)
		;
}

/* ---- sessions ---- */

static void add_defaults(struct ddp_qp_init *init, const struct end *e)
{
	init->struct_size = sizeof(*init);
	if (!init->send_cq)
		init->send_cq = e->cq;
	if (!init->recv_cq)
		init->recv_cq = e->cq;
	if (!init->max_send_wr)
		init->max_send_wr = RIG_DEPTH;
	if (!init->srq && !init->max_recv_wr)
		init->max_recv_wr = RIG_DEPTH;
	if (!init->max_send_sge)
		init->max_send_sge = 4;
	if (!init->srq && !init->max_recv_sge)
		init->max_recv_sge = 4;
	if (!init->max_inline)
		init->max_inline = 64;
}

void session_make_qp(struct session *s, int side, const struct how *how)
{
	struct ddp_qp_init init = {0};
	struct ddp_pd *pd = s->end[side]->pd;

	if (how) {
		init = how->init[side];
		pd = how->pd[side] ? how->pd[side] : pd;
	}
	add_defaults(&init, s->end[side]);
	MUST(ddp_create_qp(s->id[side], pd, &init, &s->qp[side]));
}

void session_connect(struct session *s, struct end *a, struct end *b, const char *address,
		     const struct how *how)
{
	*s = (struct session){.end = {a, b}};
	s->number = posted_session(a->socket, b->socket, how ? how->request : NULL,
				   how ? &how->init[0] : NULL);
	MUST(ddp_create_id(a->ctx, NULL, &s->id[0]));
	session_make_qp(s, 0, how);
	MUST(ddp_connect_name(s->id[0], address, b->port, how ? how->request : NULL));
}

struct ddp_cm_event *session_request(struct session *s)
{
	struct ddp_cm_event *ev = end_event(s->end[1], DDP_CM_CONNECT_REQUEST);

	s->id[1] = ev->id;
	return ev;
}

void session_open(struct session *s, struct end *a, struct end *b, const char *address,
		  const struct how *how)
{
	session_connect(s, a, b, address, how);
	ddp_ack_cm_event(session_request(s));
	session_make_qp(s, 1, how);
	MUST(ddp_accept(s->id[1], how ? how->answer : NULL));
	for (int side = 1; side >= 0; side--)
		if (end_expect(s->end[side], DDP_CM_ESTABLISHED) != s->id[side])
			fail("%s: ESTABLISHED for another id", s->end[side]->name);
}

void session_free(struct session *s)
{
	for (int side = 0; side < 2; side++) {
		if (!s->id[side])
			continue;
		MUST(ddp_destroy_qp(s->qp[side]));
		MUST(ddp_destroy_id(s->id[side]));
		end_drain(s->end[side]);
	}
	*s = (struct session){.end = {s->end[0], s->end[1]}};
}

/* The last event of one side. */
static void over(struct session *s, int side, int err, uint16_t term)
{
	struct ddp_cm_event *ev = end_event(s->end[side], DDP_CM_DISCONNECTED);

	if (ev->id != s->id[side])
		fail("%s: another session has ended: %s", s->end[side]->name, ev->reason);
	if (ev->err != -err || ev->term != term)
		fail("%s: end of the session with %d, term %04x was expected; %d, term %04x came: "
		     "%s",
		     s->end[side]->name, -err, term, ev->err, ev->term, ev->reason);
	ddp_ack_cm_event(ev);
}

void session_close(struct session *s, int side)
{
	MUST(ddp_disconnect(s->id[side]));
	over(s, side, 0, 0);
	over(s, !side, 0, 0);
	session_free(s);
}

void session_broken(struct session *s, int refuses, uint16_t term)
{
	posted_refusal(s->number, refuses, term);
	over(s, refuses, EPROTO, term);
	over(s, !refuses, EREMOTEIO, term);
	session_free(s);
}

void session_post(const struct session *s, int side, struct ddp_send_wr wr)
{
	struct ddp_sge none = {0};
	const struct ddp_send_wr probe = {
		.opcode = DDP_WR_RDMA_READ,
		.sg_list = &none,
		.num_sge = 1,
	};

	wr.send_flags |= DDP_SEND_SIGNALED;
	posted_work(s->number, side, &wr);
	if (wr.send_flags & DDP_SEND_PLACED)
		posted_work(s->number, side, &probe);
	MUST(ddp_post_send(s->qp[side], &wr, NULL));
}

void session_send(const struct session *s, int side, struct ddp_send_wr wr, size_t offset,
		  uint32_t len)
{
	struct ddp_sge sge = end_sge(s->end[side], offset, len);

	wr.sg_list = &sge;
	wr.num_sge = 1;
	session_post(s, side, wr);
}

void session_recv(const struct session *s, int side, size_t offset, uint32_t len)
{
	struct ddp_sge sge = end_sge(s->end[side], offset, len);
	struct ddp_recv_wr wr = {.wr_id = offset, .sg_list = &sge, .num_sge = 1};

	MUST(ddp_post_recv(s->qp[side], &wr, NULL));
}
