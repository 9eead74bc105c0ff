/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library at a daemon that lies (hostile.c): in replies, events, the rings and the requests to
 * its agent. Calls end, they fail with a reason, what they return is in range, and after the daemon
 * has ended every object can be destroyed. The input is a sequence of calls and of what the daemon
 * does.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ddp/ddp.h"
#include "tests/fuzz/hostile.h"

enum {
	STEPS = 120, /* of one input */
	EACH = 3,    /* objects of a kind */
	MEM = 16384,
	WCS = 4,
	SOCKET_ERRORS = 4095,
};

static struct ddp_ctx *ctx;
static struct ddp_pd *pd[EACH];
static struct ddp_mr *mr[EACH];
static struct ddp_mw *mw[EACH];
static struct ddp_cq *cq[EACH];
static struct ddp_srq *srq[EACH];
static struct ddp_id *id[EACH];
static struct ddp_qp *qp[EACH]; /* each of the id of the same number, or moved */
static uint8_t *mem;            /* that the daemon cannot map */
static struct input in;
static volatile uint8_t seen;

#define SOME(object) object[in_8(&in) % EACH]

/* A call that has failed has said why. */
static bool ok(int r)
{
	must(r >= -SOCKET_ERRORS);
	must(r >= 0 || *ddp_last_reason());
	return r >= 0;
}

static const struct sockaddr *address(void)
{
	static struct sockaddr_in a;

	a = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(5043)};
	a.sin_addr.s_addr = htonl(0x0a000000 | in_8(&in));
	return (struct sockaddr *)&a;
}

/* ---- objects ---- */

static void make_cq(struct ddp_cq **ret)
{
	uint8_t bits = in_8(&in);
	struct ddp_cq_attr a = {
		.struct_size = sizeof(a),
		.entries = bits & 1 ? in_16(&in) : 1U + bits % 32,
		.spin_us = bits & 64 ? 1 : -1,
		.keep_events = bits & 128,
	};

	if (*ret)
		ok(ddp_resize_cq(*ret, 1 + in_16(&in)));
	else
		ok(ddp_create_cq(ctx, &a, ret));
}

static void make_srq(struct ddp_srq **ret)
{
	struct ddp_srq_attr a = {
		.struct_size = sizeof(a),
		.max_wr = 1U + in_8(&in) % 16,
		.limit = in_8(&in),
		.hold_ms = in_8(&in),
		.user = ret,
	};

	if (*ret)
		ok(ddp_modify_srq(*ret, &a, DDP_SRQ_LIMIT));
	else if (pd[0])
		ok(ddp_create_srq(pd[0], &a, ret));
}

static void make_qp(unsigned i)
{
	uint8_t bits = in_8(&in);
	struct ddp_qp_init a = {
		.struct_size = sizeof(a),
		.send_cq = cq[bits % 2],
		.recv_cq = cq[bits / 2 % 2],
		.max_send_wr = 1U + bits / 4 % 8,
		.max_recv_wr = 4,
		.max_send_sge = 2,
		.max_inline = 32,
		.srq = bits & 32 ? srq[0] : NULL,
		.qp_type = bits & 64 ? DDP_QP_RAW : DDP_QP_RDMAP,
		.hold_ms = bits & 128,
	};

	if (!id[i])
		ok(ddp_create_id(ctx, &id[i], &id[i]));
	else if (!qp[i] && pd[0] && a.send_cq && a.recv_cq)
		ok(ddp_create_qp(id[i], pd[0], &a, &qp[i]));
}

static void make_mr(struct ddp_mr **ret)
{
	uint8_t bits = in_8(&in);
	unsigned access = DDP_ACCESS_LOCAL_WRITE | DDP_ACCESS_REMOTE_WRITE;

	if (*ret && bits & 1 && pd[0])
		ok(ddp_rereg_mr(
			*ret, DDP_REREG_PD,
			&(struct ddp_rereg_attr){.struct_size = sizeof(struct ddp_rereg_attr),
						 .pd = pd[0]}));
	else if (*ret)
		ok(ddp_bind_mr(*ret, bits & 2 ? qp[0] : NULL));
	else if (pd[0] && bits & 1)
		ok(ddp_alloc_mr(pd[0], 64 + in_16(&in), access, ret));
	else if (pd[0])
		ok(ddp_reg_mr(pd[0], mem + in_8(&in), 1 + in_16(&in) % (MEM / 2), access, NULL,
			      ret));
}

static void make_mw(struct ddp_mw **ret)
{
	uint8_t bits = in_8(&in);

	if (*ret)
		ok(ddp_bind_mw(*ret, bits & 2 ? mr[0] : NULL, 0, 8, DDP_ACCESS_REMOTE_READ));
	else if (pd[0])
		ok(ddp_alloc_mw(pd[0], bits & 1 ? DDP_MW_TYPE_2 : DDP_MW_TYPE_1, ret));
}

/* An object, or a change of the one that there is. */
static void make(void)
{
	uint8_t what = in_8(&in);
	unsigned i = what / 8 % EACH;

	switch (what % 8) {
	case 0:
		if (!pd[i])
			ok(ddp_alloc_pd(ctx, &pd[i]));
		break;
	case 1:
		make_mr(&mr[i]);
		break;
	case 2:
		make_mw(&mw[i]);
		break;
	case 3:
		make_cq(&cq[i]);
		break;
	case 4:
		make_srq(&srq[i]);
		break;
	default:
		make_qp(i);
	}
}

#define DESTROY(object, call)                                                                      \
	do {                                                                                       \
		if (ok(call(object)))                                                              \
			(object) = NULL;                                                           \
	} while (0)

static void destroy_qp(unsigned i)
{
	uint32_t num = qp[i] ? ddp_qp_num(qp[i]) : 0;
	bool gone = false;

	if (!qp[i])
		return;
	if (ok(ddp_destroy_qp(qp[i]))) {
		qp[i] = NULL;
		gone = true;
	}
	for (unsigned k = 0; k < EACH; k++)
		gone &= !qp[k] || ddp_qp_num(qp[k]) != num; /* numbers of a liar may be the same */
	must(!gone || !ddp_find_id(ctx, num));
}

static void destroy(uint8_t kind, unsigned i)
{
	switch (kind % 7) {
	case 0:
		destroy_qp(i);
		break;
	case 1:
		DESTROY(srq[i], ddp_destroy_srq);
		break;
	case 2:
		DESTROY(mw[i], ddp_dealloc_mw);
		break;
	case 3:
		DESTROY(mr[i], ddp_dereg_mr);
		break;
	case 4:
		DESTROY(cq[i], ddp_destroy_cq);
		break;
	case 5:
		DESTROY(pd[i], ddp_dealloc_pd);
		break;
	default:
		DESTROY(id[i], ddp_destroy_id);
	}
}

/* ---- queries ---- */

#define QUERY(type, object, call)                                                                  \
	do {                                                                                       \
		struct type a = {.struct_size = sizeof(a)};                                        \
                                                                                                   \
		if (object)                                                                        \
			ok(call(object, &a));                                                      \
	} while (0)

static void check_paths(struct ddp_id *of)
{
	struct ddp_path path[4];
	int n = ddp_query_paths(of, path, 4);

	if (!ok(n))
		return;
	for (int i = 0; i < n && i < 4; i++)
		must(*ddp_path_state_str(path[i].state) != '?' && path[i].remote.ss_family);
}

static void query_session(void)
{
	struct sockaddr_storage own[2];
	struct ddp_id *of = SOME(id);

	ok(ddp_query_addrs(ctx, own, 2));
	if (!of)
		return;
	check_paths(of);
	ok(ddp_set_primary(of, address()));
	QUERY(ddp_id_attr, of, ddp_query_id);
}

static void query_qp(struct ddp_qp *of)
{
	struct ddp_qp_attr a = {.struct_size = sizeof(a)};

	if (of && ok(ddp_query_qp(of, &a)))
		must(a.state <= DDP_QP_ERROR && a.qp_type <= DDP_QP_RAW);
}

static void query(void)
{
	uint8_t what = in_8(&in);
	unsigned i = what / 8 % EACH;

	switch (what % 8) {
	case 0:
		QUERY(ddp_caps, ctx, ddp_query);
		break;
	case 1:
		QUERY(ddp_pd_attr, pd[i], ddp_query_pd);
		break;
	case 2:
		QUERY(ddp_mr_attr, mr[i], ddp_query_mr);
		break;
	case 3:
		QUERY(ddp_mw_attr, mw[i], ddp_query_mw);
		break;
	case 4:
		QUERY(ddp_cq_state, cq[i], ddp_query_cq);
		break;
	case 5:
		QUERY(ddp_srq_state, srq[i], ddp_query_srq);
		break;
	case 6:
		query_qp(qp[i]);
		break;
	default:
		query_session();
	}
}

/* ---- sessions ---- */

static void session(void)
{
	uint8_t what = in_8(&in);
	unsigned i = what / 8 % EACH;
	struct ddp_conn_param p = {
		.struct_size = sizeof(p),
		.flags = in_8(&in) & DDP_CONN_NEGOTIATE,
		.ird = DDP_READS_MAX,
		.ord = DDP_READS_MAX,
	};

	if (!id[i])
		return;
	switch (what % 8) {
	case 0:
	case 1:
		ok(ddp_listen(id[i], address(), 5043, 4));
		break;
	case 2:
		ok(ddp_connect(id[i], address(), &p));
		break;
	case 3:
		ok(ddp_accept(id[i], &p));
		break;
	case 4:
		ok(ddp_reject(id[i], &p));
		break;
	case 5:
		ok(ddp_disconnect(id[i]));
		break;
	case 6:
		if (qp[i] && id[(i + 1) % EACH])
			ok(ddp_move_qp(qp[i], id[(i + 1) % EACH]));
		break;
	default:
		if (qp[i])
			ok(ddp_set_qp_access(qp[i], DDP_ACCESS_REMOTE_READ));
	}
}

/* A session request brings an id of its own, which takes the place of a missing one. */
static void keep_id(struct ddp_id *got)
{
	for (unsigned i = 0; i < EACH; i++)
		if (!id[i]) {
			id[i] = got;
			return;
		}
	must(ok(ddp_destroy_id(got)) || *ddp_last_reason());
}

static void read_bytes(const void *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		seen = ((const uint8_t *)p)[i];
}

static void take_event(struct ddp_cm_event *ev)
{
	struct ddp_id *fresh = ev->type == DDP_CM_CONNECT_REQUEST ? ev->id : NULL;

	must(ev->err <= 0 && ev->err >= -SOCKET_ERRORS && *ddp_event_str(ev->type) != '?');
	must(ev->type == DDP_CM_SRQ_LIMIT ? ev->srq_user != NULL : ev->id != NULL);
	read_bytes(ev->private_data, ev->private_len);
	read_bytes(ev->header, ev->header_len);
	read_bytes(ev->reason, strlen(ev->reason));
	ddp_ack_cm_event(ev);
	if (fresh)
		keep_id(fresh);
}

static void take_async(void)
{
	struct ddp_async_event ev;

	if (!ok(ddp_get_async_event(ctx, &ev, 0)))
		return;
	must(*ddp_async_str(ev.type) != '?');
	ddp_ack_async_event(&ev);
}

static void take_events(void)
{
	struct ddp_cm_event *ev;

	while (ok(ddp_get_cm_event(ctx, &ev, 0)))
		take_event(ev);
	if (in_8(&in) % 2)
		take_async();
}

/* ---- work ---- */

static void post_send(struct ddp_qp *to)
{
	uint8_t bits = in_8(&in);
	struct ddp_sge sge = {
		.addr = mr[0] ? mr[0]->iova + in_8(&in) : (uintptr_t)mem,
		.length = in_8(&in) % 32,
		.lkey = mr[0] ? mr[0]->lkey : 1,
	};
	struct ddp_send_wr wr = {
		.wr_id = bits,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = (enum ddp_wr_opcode)(bits % 4),
		.send_flags = bits >> 4,
	};

	if (wr.send_flags & DDP_SEND_INLINE)
		sge.addr = (uintptr_t)mem;
	if (to)
		ok(ddp_post_send(to, &wr, NULL));
}

static void post_recv(void)
{
	struct ddp_sge sge = {.addr = mr[0] ? mr[0]->iova : 0, .length = 8};
	struct ddp_recv_wr wr = {.wr_id = 7, .sg_list = &sge, .num_sge = 1};
	struct ddp_qp *to = SOME(qp);

	sge.lkey = mr[0] ? mr[0]->lkey : 1;
	if (to)
		ok(ddp_post_recv(to, &wr, NULL));
	if (srq[0])
		ok(ddp_post_srq_recv(srq[0], &wr, NULL));
}

static void check_completions(const struct ddp_wc *wc, int n)
{
	char text[200];

	for (int i = 0; i < n; i++) {
		must(*ddp_wc_status_str(wc[i].status) != '?');
		must(*ddp_wc_opcode_str(wc[i].opcode) != '?');
		(void)ddp_explain(&wc[i], text, sizeof(text));
		must(memchr(text, 0, sizeof(text)) != NULL);
	}
}

static void poll(struct ddp_cq *from)
{
	struct ddp_cm_event *ev = NULL;
	struct ddp_wc wc[WCS];
	uint8_t how = in_8(&in);
	int n;

	if (!from)
		return;
	if (how & 8)
		ok(ddp_req_notify_cq(from, how & 16));
	if (how % 4 == 0)
		n = ddp_wait_cq(from, WCS, wc, 0);
	else if (how % 4 == 1)
		n = ddp_wait(from, WCS, wc, &ev, 0);
	else
		n = ddp_poll_cq(from, WCS, wc);
	if (ok(n))
		check_completions(wc, n);
	if (ev)
		take_event(ev);
	if (how & 32)
		ok(ddp_get_cq_event(from, 0));
}

static void notify(void)
{
	struct ddp_mr *of = SOME(mr);
	struct ddp_cq *to = SOME(cq);

	if (of)
		ok(ddp_notify_mr(of, to, 1));
}

/* ---- one input ---- */

static void change(uint8_t what)
{
	if (what % 4 == 0)
		notify();
	else if (what % 4 == 1)
		ok(ddp_reopen(ctx, 0));
	else
		destroy(what >> 2, in_8(&in) % EACH);
}

static void call(uint8_t what)
{
	switch (what % 8) {
	case 0:
	case 1:
		make();
		break;
	case 2:
		query();
		break;
	case 3:
		session();
		break;
	case 4:
		post_send(SOME(qp));
		post_recv();
		break;
	case 5:
		poll(SOME(cq));
		break;
	case 6:
		take_events();
		break;
	default:
		change(in_8(&in));
	}
}

static void act(uint8_t what)
{
	switch (what % 8) {
	case 0:
	case 1:
		hostile_event();
		break;
	case 2:
		hostile_bytes();
		break;
	case 3:
		hostile_scribble();
		break;
	case 4:
	case 5:
		hostile_complete();
		break;
	case 6:
		hostile_done();
		break;
	default:
		hostile_agent();
	}
}

static void destroy_all(void)
{
	for (uint8_t kind = 0; kind < 7; kind++)
		for (unsigned i = 0; i < EACH; i++)
			destroy(kind, i);
	for (unsigned i = 0; i < EACH; i++)
		must(!qp[i] && !srq[i] && !mw[i] && !mr[i] && !cq[i] && !pd[i] && !id[i]);
	must(ddp_close(ctx) == 0);
	ctx = NULL;
}

/* Completions of work that is lost come last. Waiting ends: the daemon has. */
static void poll_last(void)
{
	struct ddp_wc wc[WCS];
	int n;

	for (unsigned i = 0; i < EACH; i++)
		for (unsigned k = 0; cq[i] && k < STEPS; k++) {
			n = ddp_wait_cq(cq[i], WCS, wc, -1);
			must(n != 0);
			if (!ok(n))
				break;
			check_completions(wc, n);
		}
}

static void start(void)
{
	if (mem)
		return;
	signal(SIGPIPE, SIG_IGN);
	mem = mmap(NULL, MEM, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(mem != MAP_FAILED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ddp_open_attr attr = {.struct_size = sizeof(attr), .socket = "/no/socket"};
	int fd = dup(STDERR_FILENO);

	close(fd);
	start();
	memset(mem, 0, MEM);
	in = (struct input){data, size};
	hostile_begin(&in);
	if (ok(ddp_open(&attr, &ctx))) {
		for (unsigned i = 0; i < STEPS && in.left > 0; i++) {
			uint8_t what = in_8(&in);

			if (what % 3)
				call(what / 3);
			else
				act(what / 3);
		}
		hostile_end();
		poll_last();
		destroy_all();
	}
	hostile_end();
	must(dup(STDERR_FILENO) == fd); /* no descriptor was lost */
	close(fd);
	return 0;
}
