/* SPDX-License-Identifier: BSD-2-Clause */
/* Atomics: each operation on a cell of b, and a sum to which several processes add. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/patience.h"
#include "tests/lib/row.h"
#include "tests/system/posted.h"
#include "tests/system/whole.h"

static uint64_t *cell(const struct end *e, unsigned i)
{
	return (uint64_t *)(void *)end_at(e, 8 * i);
}

/* One atomic on that cell; the value before. With a sink it is also in memory. */
static uint64_t atomic(const struct session *s, struct ddp_send_wr wr, const uint64_t *at,
		       bool sink)
{
	struct end *a = s->end[0], *b = s->end[1];
	bool add = wr.opcode == DDP_WR_ATOMIC_FETCH_AND_ADD ||
		   wr.opcode == DDP_WR_MASKED_FETCH_AND_ADD;
	struct ddp_wc wc;

	wr.rdma.remote_addr =
		b->mr->iova + (uint64_t)((const uint8_t *)at - (const uint8_t *)b->mr->addr);
	wr.rdma.rkey = b->mr->rkey;
	if (sink)
		session_send(s, 0, wr, 0, 8);
	else
		session_post(s, 0, wr);
	wc = end_done(a, add ? DDP_WC_FETCH_ADD : DDP_WC_CMP_SWAP, DDP_WC_SUCCESS);
	if (sink)
		is("the old value in memory", *cell(a, 0), wc.imm_data);
	return wc.imm_data;
}

static void plain(const struct session *s, uint64_t *at)
{
	struct ddp_send_wr add = {.opcode = DDP_WR_ATOMIC_FETCH_AND_ADD};
	struct ddp_send_wr swap = {.opcode = DDP_WR_ATOMIC_CMP_AND_SWP};

	*at = 40;
	add.atomic.compare_add = 2;
	add.atomic.add_mask = UINT64_MAX; /* used only by the masked one */
	is("FetchAdd: the value before", atomic(s, add, at, true), 40);
	is("FetchAdd: the sum", *at, 42);
	add.atomic.compare_add = (uint64_t)-43;
	is("FetchAdd without a sink", atomic(s, add, at, false), 42);
	is("FetchAdd below 0", *at, UINT64_MAX);
	swap.atomic.compare_add = 7;
	swap.atomic.swap = 0x1122334455667788;
	is("CmpSwap of another value: the value before", atomic(s, swap, at, true), UINT64_MAX);
	is("CmpSwap of another value: no change", *at, UINT64_MAX);
	swap.atomic.compare_add = UINT64_MAX;
	is("CmpSwap: the value before", atomic(s, swap, at, false), UINT64_MAX);
	is("CmpSwap: the new value", *at, 0x1122334455667788);
}

static void masked(const struct session *s, uint64_t *at)
{
	struct ddp_send_wr add = {.opcode = DDP_WR_MASKED_FETCH_AND_ADD};
	struct ddp_send_wr swap = {.opcode = DDP_WR_MASKED_CMP_AND_SWP};

	/* Two counters of 32 bits: the lower one overflows, the upper one does not change. */
	*at = 0x00000005ffffffff;
	add.atomic.compare_add = 0x0000000100000001;
	add.atomic.add_mask = 0x8000000080000000;
	is("masked FetchAdd: the value before", atomic(s, add, at, true), 0x00000005ffffffff);
	is("masked FetchAdd: two sums", *at, 0x0000000600000000);
	*at = 0xaabbccddeeff0011;
	swap.atomic.compare_add = 0x99999999999900ff;
	swap.atomic.compare_mask = 0xff00;
	swap.atomic.swap = 0x1234567812345678;
	swap.atomic.swap_mask = 0xffffffff00000000;
	is("masked CmpSwap: the value before", atomic(s, swap, at, false), 0xaabbccddeeff0011);
	is("masked CmpSwap: half of it", *at, 0x12345678eeff0011);
	swap.atomic.compare_mask = 0xff;
	swap.atomic.swap = 0;
	is("masked CmpSwap of another value", atomic(s, swap, at, true), 0x12345678eeff0011);
	is("masked CmpSwap of another value: no change", *at, 0x12345678eeff0011);
}

void whole_atomics(struct whole *w)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_ATOMIC_FETCH_AND_ADD};
	struct session s;

	whole_open(w, &s);
	plain(&s, cell(&w->b, 3));
	masked(&s, cell(&w->b, 5));
	row("7306-5-03 7306-5.1.1-05 7306-5.1.2-01 7306-5.2.2-04",
	    "FetchAdd and CmpSwap, plain and masked: the value before, and the new value");
	*cell(&w->b, 3) = 9;
	wr.rdma.remote_addr = w->b.mr->iova + 28;
	wr.rdma.rkey = w->b.mr->rkey;
	wr.atomic.compare_add = 1;
	session_post(&s, 0, wr);
	end_done(&w->a, DDP_WC_FETCH_ADD, DDP_WC_REM_OP_ERR);
	session_broken(&s, 1, 0x0207);
	is("a cell that is not aligned is untouched", *cell(&w->b, 3), 9);
	row("7306-5.1.1-02 7306-5.1.1-03 7306-8.2-02",
	    "a misaligned FetchAdd ends the session with 0/2/07 and changes nothing");
}

/* ---- a sum of many programs ---- */

enum { ADDERS = 4, ROUNDS = 400, LOCAL_ROUNDS = 20000 };

struct place {
	uint64_t iova;
	uint32_t rkey;
};

static pid_t start_adder(struct whole *w, const char *socket, unsigned number)
{
	char port[8], rounds[8], session[12];
	char *const argv[] = {"whole", "add",  (char *)socket, (char *)w->address,
			      port,    rounds, session,        NULL};
	pid_t pid;

	snprintf(port, sizeof(port), "%u", w->b.port);
	snprintf(rounds, sizeof(rounds), "%d", ROUNDS);
	snprintf(session, sizeof(session), "%u", number);
	pid = MUST(fork());
	if (pid == 0) {
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	return pid;
}

/* A child that shares only the memory. */
static pid_t start_local(const struct whole *w)
{
	pid_t pid = MUST(fork());

	if (pid == 0) {
		for (int i = 0; i < LOCAL_ROUNDS; i++)
			__atomic_fetch_add(cell(&w->b, 8), 1, __ATOMIC_SEQ_CST);
		_exit(0);
	}
	return pid;
}

/* The owner's side of an adder's session. */
static void admit(struct whole *w, struct session *s, unsigned number)
{
	struct place place = {w->b.mr->iova, w->b.mr->rkey};
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);

	*s = (struct session){.end = {NULL, &w->b}, .number = number};
	ddp_ack_cm_event(session_request(s));
	session_make_qp(s, 1, NULL);
	param.private_data = &place;
	param.private_len = sizeof(place);
	MUST(ddp_accept(s->id[1], &param));
	end_expect(&w->b, DDP_CM_ESTABLISHED);
}

static void must_succeed(const char *what, pid_t pid)
{
	int status;

	MUST(waitpid(pid, &status, 0));
	is(what, (uint64_t)status, 0);
}

void whole_sum(struct whole *w)
{
	struct ddp_send_wr go = {.opcode = DDP_WR_IMM_DATA};
	struct session s[ADDERS];
	pid_t pid[ADDERS], local;

	*cell(&w->b, 8) = *cell(&w->b, 9) = 0;
	for (int i = 0; i < ADDERS; i++) {
		const char *socket = i % 2 ? w->b.socket : w->a.socket;
		unsigned number = posted_session(socket, w->b.socket, NULL, NULL);

		pid[i] = start_adder(w, socket, number);
		admit(w, &s[i], number);
	}
	local = start_local(w);
	for (int i = 0; i < ADDERS; i++)
		session_post(&s[i], 1, go);
	for (int i = 0; i < ADDERS; i++)
		end_done(&w->b, DDP_WC_IMM_DATA, DDP_WC_SUCCESS);
	for (int i = 0; i < ADDERS; i++)
		must_succeed("a process that adds to the cell of another", pid[i]);
	must_succeed("a process that adds to its own memory", local);
	for (int i = 0; i < ADDERS; i++)
		end_expect(&w->b, DDP_CM_DISCONNECTED);
	for (int i = 0; i < ADDERS; i++) {
		MUST(ddp_destroy_qp(s[i].qp[1]));
		MUST(ddp_destroy_id(s[i].id[1]));
	}
	is("the sum of FetchAdds", *cell(&w->b, 8), ADDERS * ROUNDS + LOCAL_ROUNDS);
	is("the number of CmpSwaps", *cell(&w->b, 9), ADDERS * ROUNDS / 4);
	row("7306-5-01 7306-5-02 7306-5.3-01",
	    "no addition of four programs and of a local one is lost");
}

/* ---- one of the programs ---- */

static struct ddp_wc run(const struct session *s, struct ddp_send_wr wr)
{
	session_post(s, 0, wr);
	return end_done(s->end[0],
			wr.opcode == DDP_WR_ATOMIC_FETCH_AND_ADD ? DDP_WC_FETCH_ADD
								 : DDP_WC_CMP_SWAP,
			DDP_WC_SUCCESS);
}

/* FetchAdd of 1 to one cell, and to the next one the same by CmpSwap. */
static void add(const struct session *s, struct place p, int rounds)
{
	struct ddp_send_wr fetch = {.opcode = DDP_WR_ATOMIC_FETCH_AND_ADD,
				    .rdma = {p.iova + 64, p.rkey}};
	struct ddp_send_wr swap = {.opcode = DDP_WR_ATOMIC_CMP_AND_SWP,
				   .rdma = {p.iova + 72, p.rkey}};
	uint64_t last = 0;

	fetch.atomic.compare_add = 1;
	swap.atomic.swap = 1;
	for (int i = 0; i < rounds; i++) {
		uint64_t old = run(s, fetch).imm_data;

		if (i > 0 && old <= last)
			fail("the sum went from %" PRIu64 " to %" PRIu64, last, old);
		last = old;
	}
	for (int left = rounds / 4; left > 0;) {
		uint64_t old = run(s, swap).imm_data;

		left -= old == swap.atomic.compare_add;
		swap.atomic.compare_add = old == swap.atomic.compare_add ? swap.atomic.swap : old;
		swap.atomic.swap = swap.atomic.compare_add + 1;
	}
}

int whole_adder(char **argv)
{
	struct session s = {0};
	struct end e;
	struct ddp_cm_event *ev;
	struct place place;

	alarm(LIFE_S);
	end_open(&e, "adder", argv[0]);
	s.end[0] = &e;
	s.number = (unsigned)atoi(argv[4]);
	MUST(ddp_create_id(e.ctx, NULL, &s.id[0]));
	session_make_qp(&s, 0, NULL);
	session_recv(&s, 0, 0, 0);
	MUST(ddp_connect_name(s.id[0], argv[1], (uint16_t)atoi(argv[2]), NULL));
	ev = end_event(&e, DDP_CM_ESTABLISHED);
	if (ev->private_len != sizeof(place))
		fail("private data of %zu bytes", ev->private_len);
	memcpy(&place, ev->private_data, sizeof(place));
	ddp_ack_cm_event(ev);
	end_done(&e, DDP_WC_RECV, DDP_WC_SUCCESS);
	add(&s, place, atoi(argv[3]));
	MUST(ddp_disconnect(s.id[0]));
	end_expect(&e, DDP_CM_DISCONNECTED);
	session_free(&s);
	end_close(&e);
	return 0;
}
