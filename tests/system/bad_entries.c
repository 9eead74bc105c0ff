/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes invalid ring entries. Promise: each completes in order, with the status of its error, and
 * its neighbors are not affected; an index out of range in any ring ends the client.
 *
 *   bad_entries SOCKET ADDRESS PORT
 *
 * Both ends of the sessions are queue pairs of one client of the daemon at SOCKET, which has
 * ADDRESS. Exit status 0 if all held.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ipc/conn.h"
#include "ipc/doorbell.h"
#include "ipc/wqe.h"
#include "tests/lib/patience.h"
#include "tests/system/bad_rig.h"
#include "util/opcode.h"

enum { DEPTH = 16, PAGE = 4096, IOVA = 0x10000 };

struct side {
	uint32_t qp, slot;
	struct ring sq, rq;
};

struct rig {
	struct bad b;
	struct msg_addr at;
	uint32_t pd, cq, stag;
	struct ring done;
	int done_bell;
	struct side from, to; /* requests go this way */
};

static void wait_for(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (poll(&p, 1, PATIENCE_MS) != 1)
		die("no completion came");
}

static void *map(int fd, uint64_t offset, size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

/* ---- objects and sessions ---- */

static void make_objects(struct rig *r)
{
	struct msg_reg_mr mr = {.hdr = {MSG_REG_MR, 1}, .access = 2 | 4, .len = PAGE, .iova = IOVA};
	struct msg_create_cq cq = {.hdr = {MSG_CREATE_CQ, 2}, .entries = 4 * DEPTH};
	const struct msg_cq *made;
	int fd = make_memfd(PAGE);

	r->pd = mr.pd = make_pd(&r->b);
	r->stag = ((const struct msg_mr *)call(&r->b, &mr, sizeof(mr), &fd, 1))->stag;
	close(fd);
	made = call(&r->b, &cq, sizeof(cq), NULL, 0);
	r->cq = made->handle;
	ring_init(&r->done, map(r->b.fds[0], made->offset, made->bytes), made->entries,
		  sizeof(struct wqe_cqe));
	r->done_bell = r->b.fds[1];
	r->b.nfds = 0; /* they stay open to the end */
}

static struct side make_side(struct rig *r, uint32_t type, uint32_t srq)
{
	struct msg_create_qp m = {
		.hdr = {MSG_CREATE_QP, 3},
		.pd = r->pd,
		.send_cq = r->cq,
		.recv_cq = r->cq,
		.sq_entries = DEPTH,
		.rq_entries = srq ? 0 : DEPTH,
		.max_send_sge = 2,
		.max_recv_sge = 2,
		.max_inline = 32,
		.type = type,
		.srq = srq,
		.raw_queues = type == MSG_QP_RAW ? 2 : 0,
	};
	const struct msg_qp *qp = call(&r->b, &m, sizeof(m), NULL, 0);
	struct side s = {.qp = qp->handle, .slot = qp->slot};
	uint8_t *base = map(r->b.fds[0], qp->offset, qp->bytes);

	ring_init(&s.sq, base, DEPTH, qp->sq_entry);
	if (!srq)
		ring_init(&s.rq, base + qp->rq_offset, DEPTH, qp->rq_entry);
	return s;
}

static struct msg_event next_event(struct rig *r, uint32_t type)
{
	struct msg_event ev;
	int fds[MSG_MAX_FDS];
	unsigned nfds;
	size_t len;

	wait_for(r->b.event_fd);
	if (conn_recv(r->b.event_fd, &ev, sizeof(ev), &len, fds, &nfds) || len != sizeof(ev) ||
	    ev.type != type) {
		fprintf(stderr, "bad_entries: event %u: %s\n", ev.type, ev.reason);
		die("another event");
	}
	return ev;
}

static void connect_sides(struct rig *r)
{
	struct msg_connect con = {.hdr = {MSG_CONNECT, 4}, .qp = r->from.qp};
	struct msg_accept acc = {.hdr = {MSG_ACCEPT, 5}, .qp = r->to.qp};

	con.npeers = 1;
	con.peers[0] = r->at;
	call(&r->b, &con, sizeof(con), NULL, 0);
	acc.request = next_event(r, MSG_EV_REQUEST).request;
	call(&r->b, &acc, sizeof(acc), NULL, 0);
	next_event(r, MSG_EV_ESTABLISHED);
	next_event(r, MSG_EV_ESTABLISHED);
}

static void begin(struct rig *r, uint32_t type, uint32_t srq)
{
	r->from = make_side(r, type, 0);
	r->to = make_side(r, type, srq);
	connect_sides(r);
}

/* The event at the other end depends on its type. */
static void end(struct rig *r, enum msg_event_type type)
{
	struct msg_handle m = {.hdr = {MSG_DESTROY_QP, 6}, .handle = r->from.qp};

	call(&r->b, &m, sizeof(m), NULL, 0);
	next_event(r, type);
	m.handle = r->to.qp;
	call(&r->b, &m, sizeof(m), NULL, 0);
}

/* ---- work ---- */

static void post(struct ring *q, const void *entry, size_t len)
{
	memcpy(ring_reserve(q), entry, len < q->entry_size ? len : q->entry_size);
	ring_submit(q);
}

static void ring_for(struct rig *r, const struct side *s)
{
	if (bell_ring(r->b.page, s->slot))
		doorbell_ring(r->b.bell);
}

static struct wqe_cqe completion(struct rig *r)
{
	struct wqe_cqe e;

	ring_sleep(&r->done, RING_SLEEPS);
	while (ring_avail(&r->done) == 0) {
		wait_for(r->done_bell);
		doorbell_drain(r->done_bell);
		ring_sleep(&r->done, RING_SLEEPS);
	}
	ring_awake(&r->done);
	memcpy(&e, ring_peek(&r->done), sizeof(e));
	ring_release(&r->done, 1);
	return e;
}

static struct wqe_send good_write(const struct rig *r, uint64_t wr_id)
{
	struct wqe_send e = {.wr_id = wr_id,
			     .opcode = WQE_WRITE,
			     .flags = WQE_SIGNALED,
			     .num_sge = 1,
			     .rkey = r->stag};

	e.remote_addr = IOVA;
	e.sge[0] = (struct wqe_sge){IOVA, 64, r->stag};
	return e;
}

/* The entry between two good ones. */
static unsigned try(struct rig *r, const char *name, const struct wqe_send *bad, unsigned want)
{
	struct wqe_send before = good_write(r, 1), after = good_write(r, 3), e = *bad;
	struct wqe_cqe c[3];
	bool ok;

	e.wr_id = 2;
	post(&r->from.sq, &before, sizeof(before));
	post(&r->from.sq, &e, sizeof(e));
	post(&r->from.sq, &after, sizeof(after));
	ring_for(r, &r->from);
	for (unsigned i = 0; i < 3; i++)
		c[i] = completion(r);
	ok = c[0].wr_id == 1 && c[1].wr_id == 2 && c[2].wr_id == 3 && c[0].status == CQE_SUCCESS &&
	     c[1].status == want && c[2].status == CQE_SUCCESS;
	if (c[1].status != want)
		fprintf(stderr, "bad_entries: status %u, not %u\n", c[1].status, want);
	return !check(name, ok);
}

static unsigned invalid_forms(struct rig *r)
{
	unsigned failed = try(r, "opcode 255", &(struct wqe_send){.opcode = 255}, CQE_LOC_OP_ERR);

	for (uint8_t op = 0; op <= WQE_OPCODE_COUNT; op++) {
		struct wqe_send e = {.opcode = op, .flags = 0x80};

		failed += try(r, "an invalid opcode or flag", &e, CQE_LOC_OP_ERR);
		e.flags = WQE_WITH_IMM;
		if (!opcode_has(op, OPCODE_MAY_IMM))
			failed +=
				try(r, "immediate data where none are allowed", &e, CQE_LOC_OP_ERR);
		e.flags = 0;
		if (!opcode_is_send(op)) {
			failed += try(r, "an invalid opcode", &e, CQE_LOC_OP_ERR);
			continue;
		}
		e.num_sge = 255;
		failed += try(r, "255 elements", &e, CQE_LOC_SGE_ERR);
		e.num_sge = 1;
		if (opcode_table[op].max_sge == 0)
			failed += try(r, "an element where none is allowed", &e, CQE_LOC_SGE_ERR);
		e = (struct wqe_send){.opcode = op, .flags = WQE_INLINE, .inline_len = 8};
		if (!opcode_has(op, OPCODE_PAYLOAD))
			failed += try(r, "inline data where none is allowed", &e, CQE_LOC_OP_ERR);
	}
	return failed;
}

static unsigned invalid_operands(struct rig *r)
{
	struct wqe_send e = {.opcode = WQE_WRITE, .flags = WQE_INLINE, .inline_len = 33};
	unsigned failed = try(r, "inline data beyond the most", &e, CQE_LOC_LEN_ERR);

	e.inline_len = UINT32_MAX;
	failed += try(r, "4 GiB of inline data", &e, CQE_LOC_LEN_ERR);
	for (uint8_t op = WQE_FETCH_ADD; op <= WQE_CMP_SWAP; op++) {
		e = (struct wqe_send){.opcode = op, .num_sge = 2};
		failed += try(r, "an atomic with two elements", &e, CQE_LOC_SGE_ERR);
		e.num_sge = 1;
		e.sge[0] = (struct wqe_sge){IOVA, 7, r->stag};
		failed += try(r, "an atomic with 7 bytes for the old value", &e, CQE_LOC_LEN_ERR);
		e.sge[0] = (struct wqe_sge){IOVA, 8, r->stag ^ 0x5a5a00};
		failed += try(r, "an atomic with an invalid lkey", &e, CQE_LOC_KEY_ERR);
	}
	e = (struct wqe_send){.opcode = WQE_READ, .num_sge = 2, .remote_addr = UINT64_MAX - 15};
	e.sge[0] = e.sge[1] = (struct wqe_sge){IOVA, 8, r->stag};
	failed += try(r, "a Read in two parts that reaches 2^64", &e, CQE_LOC_LEN_ERR);
	e = (struct wqe_send){.opcode = WQE_BIND, .bind = {r->stag, 1, 8}};
	failed += try(r, "a bind of a local right", &e, CQE_MW_BIND_ERR);
	e = (struct wqe_send){.opcode = WQE_BIND, .rkey = r->stag, .bind = {r->stag, 4, 8}};
	failed += try(r, "a bind of a region", &e, CQE_MW_BIND_ERR);
	e = (struct wqe_send){.opcode = WQE_BIND, .rkey = 0, .bind = {0, UINT32_MAX, UINT64_MAX}};
	failed += try(r, "a bind of nothing to nothing", &e, CQE_MW_BIND_ERR);
	e = (struct wqe_send){.opcode = WQE_LOCAL_INV, .inv_rkey = 0};
	failed += try(r, "an invalidation of STag 0", &e, CQE_LOC_KEY_ERR);
	return failed;
}

static unsigned invalid_raw(struct rig *r)
{
	struct wqe_send e = {.opcode = WQE_SEND, .raw = {.rsvd = UINT64_C(1) << 40}};
	unsigned failed = try(r, "raw: a Send with 41 bits of RsvdULP", &e, CQE_LOC_OP_ERR);

	e.raw.rsvd = 0;
	e.raw.qn = 8;
	failed += try(r, "raw: queue 8", &e, CQE_LOC_OP_ERR);
	e.raw.qn = UINT32_MAX;
	failed += try(r, "raw: queue 2^32 - 1", &e, CQE_LOC_OP_ERR);
	e = (struct wqe_send){.opcode = WQE_WRITE, .raw = {.rsvd = 256}};
	failed += try(r, "raw: a Write with 9 bits of RsvdULP", &e, CQE_LOC_OP_ERR);
	for (uint8_t op = 0; op < WQE_OPCODE_COUNT; op++) {
		e = (struct wqe_send){.opcode = op, .num_sge = op == WQE_READ};
		if (opcode_is_send(op) && !opcode_has(op, OPCODE_RAW))
			failed += try(r, "raw: a request of RDMAP", &e, CQE_LOC_OP_ERR);
	}
	return failed;
}

/* ---- datagrams ---- */

/* A request that fails stops the queue pair until its Q_Key is set. */
static void resume(struct rig *r)
{
	struct msg_qp_qkey m = {.hdr = {MSG_SET_QP_QKEY, 10}, .handle = r->from.qp};

	call(&r->b, &m, sizeof(m), NULL, 0);
}

static unsigned try_datagram(struct rig *r, const char *name, const struct wqe_send *bad,
			     unsigned want)
{
	struct wqe_cqe c;

	resume(r);
	post(&r->from.sq, bad, sizeof(*bad));
	ring_for(r, &r->from);
	c = completion(r);
	if (c.status != want)
		fprintf(stderr, "bad_entries: status %u, not %u\n", c.status, want);
	return !check(name, c.status == want);
}

static unsigned invalid_datagrams(struct rig *r)
{
	struct msg_create_ah m = {.hdr = {MSG_CREATE_AH, 9}, .pd = r->pd, .remote = r->at};
	struct wqe_send good = {.opcode = WQE_SEND, .flags = WQE_SIGNALED, .rkey = 1}, e;
	unsigned failed;

	m.remote.port = 0;
	good.inv_rkey = ((const struct msg_handle *)call(&r->b, &m, sizeof(m), NULL, 0))->handle;
	r->from = make_side(r, MSG_QP_DATAGRAM, 0);
	failed = try_datagram(r, "a datagram for nobody", &good, CQE_SUCCESS);
	e = good;
	e.inv_rkey ^= 0x10000;
	failed += try_datagram(r, "an unknown address handle", &e, CQE_LOC_OP_ERR);
	e = good;
	e.fetch = 1;
	failed += try_datagram(r, "a datagram to be fetched", &e, CQE_LOC_OP_ERR);
	e = good;
	e.flags |= WQE_FENCE;
	failed += try_datagram(r, "a datagram with a fence", &e, CQE_LOC_OP_ERR);
	e = good;
	e.num_sge = 2;
	e.sge[0] = e.sge[1] = (struct wqe_sge){IOVA, PAGE, r->stag};
	failed += try_datagram(r, "a datagram of 8 KiB", &e, CQE_LOC_LEN_ERR);
	e.num_sge = 1;
	e.sge[0] = (struct wqe_sge){IOVA + 1, PAGE, r->stag};
	failed += try_datagram(r, "a datagram beyond its region", &e, CQE_LOC_BOUNDS_ERR);
	e.num_sge = 255;
	failed += try_datagram(r, "a datagram of 255 elements", &e, CQE_LOC_SGE_ERR);
	for (uint8_t op = 0; op <= WQE_OPCODE_COUNT; op++) {
		e = good;
		e.opcode = op;
		if (op != WQE_SEND)
			failed += try_datagram(r, "no Send", &e, CQE_LOC_OP_ERR);
	}
	return failed;
}

/* ---- receives ---- */

/* A message meets the bad receive first, then a good one. */
static unsigned receive(struct rig *r, struct ring *q, const char *name, const struct wqe_recv *bad,
			unsigned want)
{
	struct wqe_recv first = *bad, second = {.wr_id = 12};
	struct wqe_send send = {.wr_id = 13, .opcode = WQE_SEND};
	struct wqe_cqe c[2];

	first.wr_id = 11;
	post(q, &first, sizeof(first));
	post(q, &second, sizeof(second));
	post(&r->from.sq, &send, sizeof(send));
	ring_for(r, &r->from);
	c[0] = completion(r);
	c[1] = completion(r);
	return !check(name, c[0].wr_id == 11 && c[0].status == want && c[0].opcode == WQE_RECV &&
				    c[1].wr_id == 12 && c[1].status == CQE_SUCCESS);
}

static unsigned invalid_receives(struct rig *r, struct ring *q, uint32_t qns)
{
	struct wqe_recv e = {.qn = qns};
	unsigned failed = receive(r, q, "a receive of a queue too many", &e, CQE_LOC_OP_ERR);

	e.qn = 0x100;
	failed += receive(r, q, "a receive of queue 256", &e, CQE_LOC_OP_ERR);
	e.qn = 0;
	e.num_sge = 3;
	failed += receive(r, q, "a receive with an element too many", &e, CQE_LOC_SGE_ERR);
	e.num_sge = 255;
	failed += receive(r, q, "a receive with 255 elements", &e, CQE_LOC_SGE_ERR);
	if (qns == 1) {
		e = (struct wqe_recv){.qn = WQE_QN_TAGGED};
		failed += receive(r, q, "a receive for notices without a notice queue", &e,
				  CQE_LOC_OP_ERR);
	}
	return failed;
}

/* ---- a shared queue ---- */

static uint32_t make_shared(struct rig *r, struct ring *ret)
{
	struct msg_create_srq m = {
		.hdr = {MSG_CREATE_SRQ, 7}, .pd = r->pd, .entries = DEPTH, .max_sge = 2};
	const struct msg_srq *srq = call(&r->b, &m, sizeof(m), NULL, 0);

	ring_init(ret, map(r->b.fds[0], srq->offset, srq->bytes), DEPTH, srq->entry);
	return srq->handle;
}

static unsigned broken_index(struct rig *r, struct ring *q)
{
	struct wqe_send send = {.opcode = WQE_SEND};
	const struct msg_error *e = (const void *)r->b.rec;
	bool ok;

	q->mine += DEPTH + 1;
	ring_submit(q);
	post(&r->from.sq, &send, sizeof(send));
	ring_for(r, &r->from);
	ok = get(&r->b) && e->hdr.op == MSG_ERROR && e->fatal &&
	     strstr(e->reason, "receive ring is out of range") && !get(&r->b);
	return !check("a shared queue with its index out of range ends the client", ok);
}

static unsigned shared_receives(struct rig *r)
{
	struct ring q;
	uint32_t srq = make_shared(r, &q);
	unsigned failed;

	begin(r, MSG_QP_RDMAP, srq);
	failed = invalid_receives(r, &q, 1);
	return failed + broken_index(r, &q);
}

int main(int argc, char **argv)
{
	static struct rig r;
	struct msg_listen m = {.hdr = {MSG_LISTEN, 8}};
	unsigned failed;

	if (argc != 4) {
		fprintf(stderr, "usage: bad_entries SOCKET ADDRESS PORT\n");
		return 2;
	}
	alarm(LIFE_S);
	r.at = (struct msg_addr){.family = AF_INET, .port = (uint16_t)atoi(argv[3])};
	if (inet_pton(AF_INET, argv[2], r.at.bytes) != 1)
		die(argv[2]);
	r.b.fd = attach(argv[1]);
	hello(&r.b);
	make_objects(&r);
	m.port = r.at.port;
	m.naddrs = 1;
	m.addrs[0] = r.at;
	call(&r.b, &m, sizeof(m), NULL, 0);
	begin(&r, MSG_QP_RDMAP, 0);
	failed = invalid_forms(&r) + invalid_operands(&r) + invalid_receives(&r, &r.to.rq, 1);
	end(&r, MSG_EV_DISCONNECTED);
	begin(&r, MSG_QP_RAW, 0);
	failed += invalid_raw(&r) + invalid_receives(&r, &r.to.rq, 2);
	end(&r, MSG_EV_HALF_CLOSED);
	failed += invalid_datagrams(&r);
	failed += shared_receives(&r);
	printf("%u failed\n", failed);
	return failed ? 1 : 0;
}
