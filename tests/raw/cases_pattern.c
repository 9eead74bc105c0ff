/* SPDX-License-Identifier: BSD-2-Clause */
/* RFC 5043 6.1: every chunk in every state where it is illegal, in both roles. */
#include <string.h>

#include "tests/raw/case.h"
#include "tests/raw/pair.h"
#include "tests/raw/stage.h"

/* ---- chunks ---- */

enum { NO_SSN = 1 }; /* too short to have a DDP-SSN */

struct chunk {
	const char *name;
	uint32_t ppid;
	uint32_t len; /* of the whole message; 0: 2 and what is given */
	uint8_t bytes[24];
	uint32_t nbytes;
};

/* clang-format off */
static const struct chunk controls[] = {
	{"Initiate", 17, 0, {0, 1}, 2},
	{"Accept", 17, 0, {0, 2}, 2},
	{"Reject", 17, 0, {0, 3}, 2},
	{"Enhanced Initiate", 17, 0, {0, 5, 0x3f, 0xff, 0x3f, 0xff}, 6},
	{"Enhanced Accept", 17, 0, {0, 6, 0x3f, 0xff, 0x3f, 0xff}, 6},
	{"Enhanced Reject", 17, 0, {0, 7, 0x3f, 0xff, 0x3f, 0xff}, 6},
	{"code 0", 17, 0, {0, 0}, 2},
	{"code 8", 17, 0, {0, 8}, 2},
	{"code 0x0100", 17, 0, {1, 0}, 2},
	{"code 0x0400", 17, 0, {4, 0}, 2},
	{"code 0xffff", 17, 0, {0xff, 0xff}, 2},
	{"PPID 0", 0, 0, {0, 4}, 2},
	{"PPID 18", 18, 0, {0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}, 18},
	{"PPID 16 in the wrong byte order", 0x10000000, 0, {0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}, 18},
};

/* Chunks without the required length. */
static const struct chunk runts[] = {
	{"1 byte of control", 17, 1, {0}, 0},
	{"2 bytes of control", 17, 2, {0}, 0},
	{"3 bytes of control", 17, 3, {0}, 1},
	{"1 byte of a segment", 16, 1, {0}, 0},
	{"2 bytes of a segment", 16, 2, {0}, 0},
	{"3 bytes of a segment", 16, 3, {0x41}, 1},
	{"a tagged segment one byte short", 16, 15, {0xc1, 0x40}, 13},
	{"an untagged segment one byte short", 16, 19, {0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 17},
};
/* clang-format on */

static const struct chunk segment = {
	"a segment", 16, 0, {0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}, 18};

static const struct chunk terminate = {"Terminate", 17, 0, {0, 4}, 2};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void send_chunk(struct link *l, uint16_t sid, const struct chunk *c)
{
	struct raw_msg m = raw_any(c->ppid, c->bytes, c->nbytes);

	if (c->len == NO_SSN)
		link_send_bytes(l, sid, c->ppid, m.b, 1);
	else
		link_send(l, sid, &m);
}

static void expect_end(struct link *l, uint16_t sid, const struct chunk *c)
{
	struct raw_msg end = raw_control(RAW_END, NULL, 0);

	link_expect(l, sid, &end, c->name);
}

/* ---- established ---- */

/* A malformed chunk may or may not count as a DDP-SSN: our Terminate has the number that the chunk
 * would have, and in a second run the next one. */
static void send_end(struct link *l, uint16_t sid)
{
	struct raw_msg end = raw_control(RAW_END, NULL, 0);
	uint16_t ssn = link_next(l, sid);

	link_send_as(l, sid, (uint16_t)(ssn - 1), &end);
	link_send_as(l, sid, ssn, &end);
}

static void in_established(struct pair *p, const struct chunk *c)
{
	send_chunk(p->l, p->sid, c);
	if (c->len == NO_SSN)
		link_skip(p->l, p->sid, 1);
	expect_end(p->l, p->sid, c);
	send_end(p->l, p->sid);
	pair_disconnected(p, true, 0);
}

static void passive_established(void)
{
	struct pair p = pair_new(NULL);

	for (unsigned i = 0; i < COUNT(controls) + COUNT(runts); i++) {
		pair_alive(&p);
		in_established(&p,
			       i < COUNT(controls) ? &controls[i] : &runts[i - COUNT(controls)]);
		pair_next(&p);
	}
	pair_alive(&p);
}

static void active_established(void)
{
	struct pair p = pair_active(NULL);

	for (unsigned i = 0; i < COUNT(controls) + COUNT(runts); i++) {
		pair_alive(&p);
		in_established(&p,
			       i < COUNT(controls) ? &controls[i] : &runts[i - COUNT(controls)]);
		pair_again(&p);
	}
	pair_alive(&p);
}

/* ---- the client has not decided ---- */

static void in_pending(struct link *l, uint16_t sid, const struct chunk *c)
{
	struct raw_msg initiate = raw_control(RAW_INITIATE, NULL, 0);
	struct ddp_cm_event *ev;
	struct ddp_id *id;

	link_begin(l, sid, false);
	link_send(l, sid, &initiate);
	ev = client_event(DDP_CM_CONNECT_REQUEST);
	id = ev->id;
	ddp_ack_cm_event(ev);
	send_chunk(l, sid, c);
	expect_end(l, sid, c);
	ddp_ack_cm_event(client_event(DDP_CM_REQUEST_GONE));
	MUST(ddp_destroy_id(id));
}

static void pending(void)
{
	struct link *l = pair_listener(0);
	uint16_t sid = 0;

	for (unsigned i = 0; i < COUNT(controls); i++, sid += 2)
		in_pending(l, sid, &controls[i]);
	for (unsigned i = 0; i < COUNT(runts); i++, sid += 2)
		in_pending(l, sid, &runts[i]);
	in_pending(l, sid, &terminate);
	pair_marker(l);
	link_nothing_left(l);
}

/* ---- the client waits for our answer ---- */

static void in_requested(struct pair *p, const struct chunk *c)
{
	struct raw_msg initiate = raw_control(RAW_INITIATE, NULL, 0);
	struct ddp_cm_event *ev;

	p->v = client_end(NULL, NULL);
	MUST(ddp_connect_name(p->v.id, stage.addr, stage.port, NULL));
	if (!p->l)
		p->l = link_from();
	p->sid = link_new_stream(p->l);
	link_begin(p->l, p->sid, true);
	link_expect(p->l, p->sid, &initiate, "Initiate");
	send_chunk(p->l, p->sid, c);
	if (c->len == NO_SSN)
		link_skip(p->l, p->sid, 1);
	expect_end(p->l, p->sid, c);
	send_end(p->l, p->sid);
	ev = client_event(DDP_CM_CONNECT_ERROR);
	EXPECT(ev->err && ev->reason[0], "%s: an error without a reason", c->name);
	ddp_ack_cm_event(ev);
	client_end_free(&p->v);
}

/* Accept and Reject are the expected answers; an Initiate on the same stream is glare. */
static bool answer(const struct chunk *c)
{
	return c->ppid == 17 && c->bytes[0] == 0 && (c->bytes[1] == 2 || c->bytes[1] == 3);
}

static void requested(void)
{
	struct pair p = {0};

	client_open(0);
	link_listen(stage.port);
	for (unsigned i = 0; i < COUNT(controls); i++)
		if (!answer(&controls[i]))
			in_requested(&p, &controls[i]);
	for (unsigned i = 0; i < COUNT(runts); i++)
		in_requested(&p, &runts[i]);
	in_requested(&p, &segment); /* with DDP-SSN 0, where the answer has to be */
	link_nothing_left(p.l);
}

/* ---- no session ---- */

/* Chunks on a stream without a session are dropped without an answer and without an event. */
static void idle(void)
{
	struct link *l = pair_listener(0);
	struct pair p;
	uint16_t sid = 0;

	for (unsigned i = 0; i < COUNT(controls); i++, sid += 2)
		if (strstr(controls[i].name, "Initiate") == NULL)
			send_chunk(l, sid, &controls[i]);
	for (unsigned i = 0; i < COUNT(runts); i++, sid += 2)
		send_chunk(l, sid, &runts[i]);
	send_chunk(l, sid, &segment);
	send_chunk(l, sid + 2, &terminate);
	pair_marker(l);
	link_nothing_left(l);
	client_no_event();
	/* The streams work as before. */
	p = pair_passive(l, 0, NULL);
	pair_alive(&p);
	pair_end(&p);
	p = pair_passive(l, sid, NULL);
	pair_alive(&p);
}

/* An Initiate with another number than 0 begins no session. */
static void late_initiate(void)
{
	struct link *l = pair_listener(0);
	struct raw_msg initiate = raw_control(RAW_INITIATE, NULL, 0);

	link_send_as(l, 0, 1, &initiate);
	link_send_as(l, 2, 0xffff, &initiate);
	pair_marker(l);
	client_no_event();
}

/* ---- the end ---- */

/* Nothing may follow a Terminate: a later chunk is an error. */
static void chunk_after_terminate(struct pair *p, const struct chunk *c)
{
	struct raw_msg end = raw_control(RAW_END, NULL, 0);
	struct raw_msg m = raw_any(c->ppid, c->bytes, c->nbytes);
	uint16_t ssn = link_next(p->l, p->sid);

	link_send_as(p->l, p->sid, (uint16_t)(ssn + 1), &m);
	pair_marker(p->l);
	link_send_as(p->l, p->sid, ssn, &end);
	expect_end(p->l, p->sid, c);
	pair_disconnected(p, true, 0);
}

static void after_terminate(void)
{
	struct pair p = pair_new(NULL);

	chunk_after_terminate(&p, &segment);
	pair_next(&p);
	chunk_after_terminate(&p, &terminate);
	pair_next(&p);
	chunk_after_terminate(&p, &controls[0]);
	pair_next(&p);
	pair_alive(&p);
}

/* The client has ended its half with a Terminate: any later message ends the session without an
 * answer. */
static void half_ended(void)
{
	struct pair p = pair_new(NULL);

	for (unsigned i = 0; i < COUNT(controls); i++) {
		MUST(ddp_disconnect(p.v.id));
		expect_end(p.l, p.sid, &controls[i]);
		send_chunk(p.l, p.sid, &controls[i]);
		send_end(p.l, p.sid);
		ddp_ack_cm_event(client_event(DDP_CM_DISCONNECTED));
		client_flushed(&p.v);
		client_end_free(&p.v);
		pair_next(&p);
	}
	pair_marker(p.l);
	link_nothing_left(p.l);
}

/* The other sessions of the association are not affected. */
static void others(void)
{
	struct pair p = pair_new(NULL), q = pair_passive(p.l, 2, NULL);

	in_established(&p, &controls[8]);
	pair_alive(&q);
	pair_next(&q);
	p = pair_passive(p.l, 0, NULL);
	pair_alive(&p);
}

#define ROWS "5043-6.1-03 5043-6.1-04"

const struct raw_case case_pattern[] = {
	{"passive-established", ROWS " 5043-5.1-02", passive_established},
	{"active-established", ROWS " 5043-5.1-02", active_established},
	{"pending", ROWS, pending},
	{"requested", ROWS, requested},
	{"idle", ROWS " 5043-6-04", idle},
	{"late-initiate", ROWS " 5043-6.1-01", late_initiate},
	{"after-terminate", ROWS " 5041-6.2.1-03", after_terminate},
	{"half-ended", ROWS, half_ended},
	{"others", "5043-11.3-05", others},
	{0},
};
