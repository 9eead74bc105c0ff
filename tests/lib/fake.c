/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/fake.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/lib/names.h"
#include "tests/lib/vector.h"
#include "util/be.h"

struct fake fake;

void fake_setup(void)
{
	const struct rdmap_cfg cfg = {.ord = PAIR_READS, .ird = PAIR_READS};

	fake_setup_as(&cfg);
}

void fake_setup_as(const struct rdmap_cfg *like)
{
	struct assoc_cfg cfg = pair_cfg(false);

	pair_init(&fake.node, &cfg);
	fake.qp = pair_qp_as(&fake.node, like);
	fake.mem = pair_region(&fake.node, FAKE_STAG, FAKE_BASE, FAKE_MEM, FAKE_ALL, 0);
	pair_fake_connect(&fake.node, fake.qp, FAKE_SID);
	assoc_tx_acked(fake.node.assoc); /* the Accept has arrived */
}

void fake_teardown(void)
{
	pair_deinit(&fake.node);
}

/* ---- messages of the peer ---- */

struct wire_ddp fake_header(uint8_t opcode)
{
	return (struct wire_ddp){.last = true, .dv = 1, .rv = 1, .opcode = opcode};
}

struct pair_msg fake_send(uint16_t ssn, uint32_t msn, uint32_t mo, bool last, const char *text)
{
	struct wire_ddp h = fake_header(WIRE_OP_SEND);

	h.msn = msn;
	h.mo = mo;
	h.last = last;
	return pair_segment(FAKE_SID, ssn, &h, text, (uint32_t)strlen(text));
}

struct pair_msg fake_write(uint16_t ssn, uint64_t to, const char *text)
{
	struct wire_ddp h = fake_header(WIRE_OP_WRITE);

	h.tagged = true;
	h.stag = FAKE_STAG;
	h.to = to;
	return pair_segment(FAKE_SID, ssn, &h, text, (uint32_t)strlen(text));
}

struct pair_msg fake_read(uint16_t ssn, uint32_t msn, uint32_t src, uint64_t to, uint32_t size)
{
	const struct wire_read_req req = {0x00c0ffee, 0x100, size, src, to};
	struct wire_ddp h = fake_header(WIRE_OP_READ_REQ);
	uint8_t body[WIRE_READ_REQ_LEN];

	h.qn = WIRE_QN_READ_REQ;
	h.msn = msn;
	wire_read_req_put(body, &req);
	return pair_segment(FAKE_SID, ssn, &h, body, sizeof(body));
}

struct pair_msg fake_response(uint16_t ssn, uint32_t stag, uint64_t to, bool last, const char *text)
{
	struct wire_ddp h = fake_header(WIRE_OP_READ_RESP);

	h.tagged = true;
	h.last = last;
	h.stag = stag;
	h.to = to;
	return pair_segment(FAKE_SID, ssn, &h, text, (uint32_t)strlen(text));
}

struct pair_msg fake_rdmap_terminate(uint16_t ssn, const void *body, uint32_t len)
{
	struct wire_ddp h = fake_header(WIRE_OP_TERMINATE);

	h.qn = WIRE_QN_TERMINATE;
	h.msn = 1;
	return pair_segment(FAKE_SID, ssn, &h, body, len);
}

struct pair_msg fake_end(uint16_t ssn)
{
	return pair_control(FAKE_SID, ssn, WIRE_TERMINATE, NULL, 0);
}

void fake_push(struct pair_msg m)
{
	pair_push(&fake.node, &m);
}

/* ---- messages of the node ---- */

void fake_post_recvs(unsigned count, uint32_t len)
{
	for (unsigned i = 0; i < count; i++)
		pair_post_recv(fake.qp, i, FAKE_STAG, FAKE_BASE + len * i, len);
}

void fake_expect_done(uint64_t cookie, enum rdmap_status status, uint32_t len)
{
	struct rdmap_done d = pair_done(fake.qp);

	cr_expect_eq(d.status, status, "cookie %u: %s", (unsigned)d.cookie, names_status(d.status));
	cr_expect_eq(d.cookie, cookie);
	cr_expect_eq(d.len, len);
}

void fake_expect_none(void)
{
	struct rdmap_done d = pair_done(fake.qp);

	cr_expect_eq(d.status, RDMAP_STATUS_COUNT, "cookie %u: %s", (unsigned)d.cookie,
		     names_status(d.status));
}

void fake_expect_nothing_sent(void)
{
	struct pair_msg m;

	cr_expect_not(pair_pull(&fake.node, &m), "ppid %u ssn %u", m.ppid, be_get16(m.b));
}

void fake_expect_end(uint16_t ssn)
{
	struct pair_msg m = {0};

	cr_assert(pair_pull(&fake.node, &m));
	cr_expect_eq(m.ppid, WIRE_PPID_CONTROL);
	cr_expect_eq(be_get16(m.b), ssn, "ssn %u", be_get16(m.b));
	cr_expect_eq(be_get16(m.b + 2), WIRE_TERMINATE);
	fake_expect_nothing_sent();
}

struct wire_term fake_expect_terminate(enum perr perr)
{
	struct wire_term t = {0};
	struct wire_ddp h;
	struct pair_msg m;

	cr_assert(pair_pull(&fake.node, &m), "%s: a Terminate is sent", names_perr(perr));
	cr_assert_eq(m.ppid, WIRE_PPID_SEGMENT, "%s: a Terminate is sent", names_perr(perr));
	cr_assert_eq(wire_ddp_get(m.b + 2, m.len - 2, &h), WIRE_UNTAGGED_LEN);
	cr_expect_eq(h.opcode, WIRE_OP_TERMINATE);
	cr_expect_eq(h.qn, WIRE_QN_TERMINATE);
	cr_expect_eq(h.msn, 1);
	cr_expect(h.last);
	cr_assert(wire_term_get(m.b + 20, m.len - 20, &t));
	cr_expect_eq(WIRE_TERM_WORD(t.layer, t.etype, t.code), perr_term(perr),
		     "%s, not %x/%x/%02x", names_perr(perr), t.layer, t.etype, t.code);
	fake_expect_end((uint16_t)(be_get16(m.b) + 1));
	return t;
}

void fake_expect_closed(enum assoc_reason reason, enum perr perr)
{
	struct assoc_event ev;

	cr_assert(pair_event(&fake.node, &ev), "the session is closed");
	cr_expect_eq(ev.type, ASSOC_EV_CLOSED);
	cr_expect_eq(ev.ep, fake.qp->ep);
	cr_expect_eq(ev.reason, reason, "reason %d, not %d", ev.reason, reason);
	cr_expect_eq(ev.at.perr, perr, "%s, not %s", names_perr(ev.at.perr), names_perr(perr));
	cr_expect_not(pair_event(&fake.node, &ev), "once");
}

void fake_expect_open(void)
{
	struct assoc_stream_info info;
	uint32_t pos = FAKE_SID;

	cr_assert(assoc_stream_next(fake.node.assoc, &pos, &info));
	cr_expect_str_eq(info.state, "open");
}

void fake_push_vector(const char *id, uint16_t ssn)
{
	struct vector v = vector_get(id);
	struct pair_msg m = {.sid = FAKE_SID, .ppid = v.ppid, .len = (uint32_t)v.len};

	memcpy(m.b, v.b, v.len);
	be_put16(m.b, ssn);
	fake_push(m);
}

void fake_expect_vector(const char *id, uint16_t ssn)
{
	struct vector v = vector_get(id);
	struct pair_msg m;

	be_put16(v.b, ssn);
	cr_assert(pair_pull(&fake.node, &m), "%s is sent", id);
	cr_expect_eq(m.ppid, v.ppid);
	cr_assert_eq(m.len, v.len, "%s: %u bytes", id, m.len);
	cr_expect_arr_eq(m.b, v.b, v.len, "%s", id);
	fake_expect_end((uint16_t)(ssn + 1));
}

void fake_post_read(uint64_t cookie, uint64_t off, uint32_t len)
{
	struct rdmap_wr wr = {.cookie = cookie,
			      .op = RDMAP_READ,
			      .flags = RDMAP_SIGNALED,
			      .nsge = 1,
			      .sge = {{FAKE_BASE + off, len, FAKE_STAG}},
			      .rstag = 1};
	struct pair_msg m;

	pair_post(fake.qp, &wr);
	cr_assert(pair_pull(&fake.node, &m));
}
