/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A call takes effect after what the program has posted before it. In each pair of a call and
 * posted work the daemon is stopped before the work is posted and runs again when the record of the
 * call waits in its socket: so it finds both at the same time.
 *
 *   order SOCKET SOCKET2 ADDRESS2 PID PID2
 *
 * PID and PID2 are the daemons of the sockets. Both may be the same.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/row.h"
#include "tests/system/rig.h"

enum {
	LONG = 200000, /* bytes: more packets than are sent at once */
	SHORT = 100,
	SENDS = 8,
	IDLE_US = 60000, /* a daemon reads the bells of a client for 50 ms after the last one */
	FDS = 256,
};

static struct end a, b;
static struct session s;
static const char *address;
static pid_t daemon_of_a, daemon_of_b, standing;

/* ---- the daemon stands still ---- */

static char state_of(pid_t pid)
{
	char path[64], text[512], *p;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		fail("daemon %d has ended", pid);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	p = strrchr(text, ')');
	return p && p[1] ? p[2] : '?';
}

/* As long as before, the doorbell of the client would not be needed. */
static void stop(pid_t pid)
{
	usleep(IDLE_US);
	standing = pid;
	if (kill(pid, SIGSTOP))
		fail("daemon %d: %s", pid, strerror(errno));
	while (state_of(pid) != 'T')
		sched_yield();
}

/* Bytes in sockets of this process that their receivers have not read. */
static size_t unread(void)
{
	size_t sum = 0;

	for (int fd = 3; fd < FDS; fd++) {
		int n;

		if (!ioctl(fd, SIOCOUTQ, &n) && n > 0)
			sum += (size_t)n;
	}
	return sum;
}

static pthread_t starter;
static size_t before_call;

static void *go_on(void *arg)
{
	(void)arg;
	while (unread() <= before_call)
		sched_yield();
	kill(standing, SIGCONT);
	return NULL;
}

/* The work is posted: the daemon goes on when it has the record of a call as well. */
static void posted(void)
{
	before_call = unread();
	if (pthread_create(&starter, NULL, go_on, NULL))
		fail("no thread");
}

static void called(void)
{
	pthread_join(starter, NULL);
}

/* ---- sessions, and work of a ---- */

static void begin(const struct how *how)
{
	memset(end_at(&b, 0), 0, RIG_SIZE);
	session_open(&s, &a, &b, address, how);
	end_fill(&a, 0, LONG, 7);
	stop(daemon_of_a);
}

static struct ddp_send_wr request(enum ddp_wr_opcode op)
{
	return (struct ddp_send_wr){.opcode = op, .rdma = {b.mr->iova, b.mr->rkey}};
}

static void post_write(uint32_t len)
{
	session_send(&s, 0, request(DDP_WR_RDMA_WRITE), 0, len);
}

static void post_sends(void)
{
	for (unsigned i = 0; i < SENDS; i++)
		session_send(&s, 0, request(DDP_WR_SEND), i * SHORT, SHORT);
}

static void post_recvs(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		session_recv(&s, 1, i * SHORT, SHORT);
}

static void arrived(uint32_t len)
{
	same("what arrived at the peer", end_at(&b, 0), end_at(&a, 0), len);
}

static void done(enum ddp_wc_opcode op)
{
	end_done(&a, op, DDP_WC_SUCCESS);
}

/* Both sides hear of the end, in order. */
static void ended(void)
{
	struct end *ends[] = {&a, &b};

	for (unsigned i = 0; i < 2; i++) {
		struct ddp_cm_event *ev = end_event(ends[i], DDP_CM_DISCONNECTED);

		if (ev->err)
			fail("%s: the session ended with %d: %s", ends[i]->name, ev->err,
			     ev->reason);
		ddp_ack_cm_event(ev);
	}
}

/* ---- ddp_disconnect() ---- */

static void disconnect(void)
{
	posted();
	MUST(ddp_disconnect(s.id[0]));
	called();
	ended();
}

static void disconnect_write(void)
{
	begin(NULL);
	post_write(LONG);
	disconnect();
	done(DDP_WC_RDMA_WRITE);
	arrived(LONG);
	session_free(&s);
	ok("disconnect: a Write arrives");
}

static void disconnect_sends(void)
{
	begin(NULL);
	post_recvs(SENDS);
	post_sends();
	disconnect();
	for (unsigned i = 0; i < SENDS; i++) {
		done(DDP_WC_SEND);
		end_done(&b, DDP_WC_RECV, DDP_WC_SUCCESS);
	}
	arrived(SENDS * SHORT);
	session_free(&s);
	ok("disconnect: Sends arrive");
}

/* Each of them waits for the one before. */
static void disconnect_responses(void)
{
	static const enum ddp_wr_opcode op[] = {DDP_WR_RDMA_READ, DDP_WR_ATOMIC_FETCH_AND_ADD,
						DDP_WR_RDMA_READ, DDP_WR_RDMA_WRITE};
	struct how how = {0};

	how.init[0].max_ord = how.init[1].max_ird = 1;
	begin(&how);
	*end_at(&b, 0) = 41;
	for (unsigned i = 0; i < 4; i++) {
		struct ddp_send_wr wr = request(op[i]);

		wr.atomic.compare_add = 1;
		wr.send_flags = DDP_SEND_FENCE;
		if (op[i] == DDP_WR_RDMA_WRITE)
			wr.rdma.remote_addr += RIG_HALF;
		session_send(&s, 0, wr, op[i] == DDP_WR_RDMA_WRITE ? 0 : i * 8, 8);
	}
	disconnect();
	done(DDP_WC_RDMA_READ);
	done(DDP_WC_FETCH_ADD);
	done(DDP_WC_RDMA_READ);
	done(DDP_WC_RDMA_WRITE);
	is("the value before", *end_at(&a, 0), 41);
	is("the value after", *end_at(&a, 16), 42);
	is("a Write behind a fence", *end_at(&b, RIG_HALF), 41);
	session_free(&s);
	ok("disconnect: Reads and atomics are answered, and what waits for them follows");
}

static struct ddp_send_wr bind_of(struct ddp_mw *mw)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_BIND_MW};

	wr.bind.mw = mw;
	wr.bind.rkey = ddp_inc_rkey(mw->rkey);
	wr.bind.mr = a.mr;
	wr.bind.addr = a.mr->iova;
	wr.bind.length = SHORT;
	wr.bind.access = DDP_ACCESS_REMOTE_READ;
	return wr;
}

static void disconnect_local(void)
{
	struct ddp_send_wr bind, undo = {.opcode = DDP_WR_LOCAL_INV};
	struct ddp_mw *mw;

	MUST(ddp_alloc_mw(a.pd, DDP_MW_TYPE_2, &mw));
	begin(NULL);
	post_recvs(1);
	bind = bind_of(mw);
	undo.invalidate_rkey = bind.bind.rkey;
	session_post(&s, 0, bind);
	session_post(&s, 0, undo);
	session_send(&s, 0, request(DDP_WR_SEND), 0, SHORT);
	disconnect();
	done(DDP_WC_BIND_MW);
	done(DDP_WC_LOCAL_INV);
	done(DDP_WC_SEND);
	end_done(&b, DDP_WC_RECV, DDP_WC_SUCCESS);
	session_free(&s);
	MUST(ddp_dealloc_mw(mw));
	ok("disconnect: binds and invalidations are executed");
}

static void posted_later(void)
{
	begin(NULL);
	post_recvs(2);
	session_send(&s, 0, request(DDP_WR_SEND), 0, SHORT);
	posted();
	MUST(ddp_disconnect(s.id[0]));
	called();
	session_send(&s, 0, request(DDP_WR_SEND), 0, SHORT);
	ended();
	done(DDP_WC_SEND);
	end_done(&a, DDP_WC_SEND, DDP_WC_FLUSH_ERR);
	end_done(&b, DDP_WC_RECV, DDP_WC_SUCCESS);
	end_done(&b, DDP_WC_RECV, DDP_WC_FLUSH_ERR);
	session_free(&s);
	ok("disconnect: what is posted after the call is flushed");
}

/* It answers nothing: neither the call nor, without limit, the end of the session waits for it. */
static void stopped_peer(void)
{
	session_open(&s, &a, &b, address, NULL);
	stop(daemon_of_b);
	for (unsigned i = 0; i < SENDS; i++)
		post_write(LONG);
	MUST(ddp_disconnect(s.id[0]));
	ddp_ack_cm_event(end_event(&a, DDP_CM_DISCONNECTED));
	for (unsigned i = 0; i < SENDS; i++) {
		struct ddp_wc wc;

		if (MUST(ddp_wait_cq(a.cq, 1, &wc, RIG_WAIT_MS)) != 1)
			fail("request %u of %d does not complete", i, SENDS);
	}
	kill(daemon_of_b, SIGCONT);
	end_expect(&b, DDP_CM_DISCONNECTED);
	session_free(&s);
	ok("disconnect: a peer that answers nothing delays the end by session.close_ms alone");
}

/* ---- the end of objects ---- */

static void destroy_qp(void)
{
	begin(NULL);
	post_write(LONG);
	posted();
	MUST(ddp_destroy_qp(s.qp[0]));
	called();
	s.qp[0] = NULL;
	end_expect(&b, DDP_CM_DISCONNECTED);
	arrived(LONG);
	session_free(&s);
	ok("destroy_qp: a Write was sent");
}

static struct ddp_mr *own;

static struct ddp_send_wr from_own(struct ddp_sge *sge)
{
	struct ddp_send_wr wr = request(DDP_WR_RDMA_WRITE);

	*sge = (struct ddp_sge){own->iova, LONG, own->lkey};
	wr.sg_list = sge;
	wr.num_sge = 1;
	return wr;
}

static void post_from_own(void)
{
	struct ddp_sge sge;

	MUST(ddp_alloc_mr(a.pd, LONG, RIG_ALL, &own));
	begin(NULL);
	memcpy(own->addr, end_at(&a, 0), LONG);
	session_post(&s, 0, from_own(&sge));
	posted();
}

static void own_was_sent(const char *call)
{
	called();
	done(DDP_WC_RDMA_WRITE);
	MUST(ddp_disconnect(s.id[0]));
	ended();
	arrived(LONG);
	session_free(&s);
	ok("%s: a Write was sent", call);
}

static void regions(void)
{
	struct ddp_rereg_attr attr = DDP_INIT(ddp_rereg_attr);

	post_from_own();
	MUST(ddp_dereg_mr(own));
	own_was_sent("dereg_mr");

	attr.access = DDP_ACCESS_LOCAL_WRITE;
	post_from_own();
	MUST(ddp_rereg_mr(own, DDP_REREG_ACCESS, &attr));
	own_was_sent("rereg_mr");
	MUST(ddp_dereg_mr(own));

	post_from_own();
	MUST(ddp_bind_mr(own, NULL));
	own_was_sent("bind_mr");
	MUST(ddp_dereg_mr(own));
}

static void windows(void)
{
	struct ddp_send_wr bind, undo = {.opcode = DDP_WR_LOCAL_INV};
	struct ddp_mw *mw;

	MUST(ddp_alloc_mr(a.pd, LONG, RIG_ALL, &own));
	MUST(ddp_alloc_mw(a.pd, DDP_MW_TYPE_2, &mw));
	begin(NULL);
	bind = bind_of(mw);
	bind.bind.mr = own;
	bind.bind.addr = own->iova;
	session_post(&s, 0, bind);
	posted();
	REFUSED("dereg_mr after a bind", ddp_dereg_mr(own), EBUSY);
	called();
	done(DDP_WC_BIND_MW);
	undo.invalidate_rkey = bind.bind.rkey;
	stop(daemon_of_a);
	session_post(&s, 0, undo);
	posted();
	MUST(ddp_dereg_mr(own));
	called();
	done(DDP_WC_LOCAL_INV);
	ok("dereg_mr: binds and invalidations are executed before");
	stop(daemon_of_a);
	bind = bind_of(mw);
	bind.bind.rkey = ddp_inc_rkey(undo.invalidate_rkey);
	session_post(&s, 0, bind);
	posted();
	MUST(ddp_dealloc_mw(mw));
	called();
	done(DDP_WC_BIND_MW);
	session_close(&s, 0);
	ok("dealloc_mw: a bind was executed");
}

/* ---- queues ---- */

static void resize_cq(void)
{
	begin(NULL);
	post_recvs(SENDS);
	post_sends();
	posted();
	REFUSED("resize_cq to less than what has completed", ddp_resize_cq(a.cq, SENDS / 2), EBUSY);
	called();
	for (unsigned i = 0; i < SENDS; i++)
		done(DDP_WC_SEND);
	session_close(&s, 0);
	ok("resize_cq: completions of what was posted count");
}

static void modify_srq(void)
{
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);
	struct ddp_srq_state now = DDP_INIT(ddp_srq_state);
	struct ddp_sge sge = end_sge(&a, 0, SHORT);
	struct ddp_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
	struct ddp_srq *srq;

	attr.max_wr = SENDS;
	MUST(ddp_create_srq(a.pd, &attr, &srq));
	stop(daemon_of_a);
	for (unsigned i = 0; i < SENDS; i++)
		MUST(ddp_post_srq_recv(srq, &wr, NULL));
	posted();
	attr.limit = SENDS;
	MUST(ddp_modify_srq(srq, &attr, DDP_SRQ_LIMIT));
	called();
	MUST(ddp_query_srq(srq, &now));
	is("an armed limit", now.limit, SENDS);
	MUST(ddp_destroy_srq(srq));
	ok("modify_srq: receives that were posted count");
}

/* ---- sessions ---- */

/* Requests and receives complete, in whatever order. */
static void succeed(struct end *e, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct ddp_wc wc;

		if (MUST(ddp_wait_cq(e->cq, 1, &wc, RIG_WAIT_MS)) != 1 ||
		    wc.status != DDP_WC_SUCCESS)
			fail("%s: completion %u of %u: %s", e->name, i, n,
			     ddp_wc_status_str(wc.status));
	}
}

/* Receives and Sends that are posted before the session wait for it. */
static void connect_and_accept(void)
{
	memset(end_at(&b, 0), 0, RIG_SIZE);
	s = (struct session){.end = {&a, &b}};
	MUST(ddp_create_id(a.ctx, NULL, &s.id[0]));
	session_make_qp(&s, 0, NULL);
	stop(daemon_of_a);
	session_recv(&s, 0, RIG_HALF, SHORT);
	post_sends();
	posted();
	MUST(ddp_connect_name(s.id[0], address, b.port, NULL));
	called();
	ddp_ack_cm_event(session_request(&s));
	session_make_qp(&s, 1, NULL);
	stop(daemon_of_b);
	post_recvs(SENDS);
	session_send(&s, 1, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, RIG_HALF, SHORT);
	posted();
	MUST(ddp_accept(s.id[1], NULL));
	called();
	end_expect(&a, DDP_CM_ESTABLISHED);
	end_expect(&b, DDP_CM_ESTABLISHED);
	succeed(&a, SENDS + 1);
	succeed(&b, SENDS + 1);
	arrived(SENDS * SHORT);
	session_close(&s, 0);
	ok("connect, accept: what was posted before waits for the session");
}

static void unlisten(void)
{
	struct ddp_id *listener;

	MUST(ddp_create_id(a.ctx, NULL, &listener));
	MUST(ddp_listen(listener, NULL, 0, 1));
	begin(NULL);
	post_write(LONG);
	posted();
	MUST(ddp_destroy_id(listener));
	own_was_sent("unlisten");
}

/* The same of a process that ends. */
static void exits(void)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		fail("fork: %s", strerror(errno));
	memset(end_at(&b, 0), 0, RIG_SIZE);
	if (child == 0) {
		struct end c;

		end_open(&c, "child", a.socket);
		session_connect(&s, &c, &b, address, NULL);
		end_expect(&c, DDP_CM_ESTABLISHED);
		end_fill(&c, 0, LONG, 7);
		stop(daemon_of_a);
		session_send(&s, 0, request(DDP_WR_RDMA_WRITE), 0, LONG);
		_exit(0);
	}
	s = (struct session){.end = {&a, &b}};
	ddp_ack_cm_event(session_request(&s));
	session_make_qp(&s, 1, NULL);
	MUST(ddp_accept(s.id[1], NULL));
	end_expect(&b, DDP_CM_ESTABLISHED);
	if (waitpid(child, &status, 0) != child || status)
		fail("the child ended with 0x%x", status);
	kill(daemon_of_a, SIGCONT);
	end_expect(&b, DDP_CM_DISCONNECTED);
	end_fill(&a, 0, LONG, 7);
	arrived(LONG);
	MUST(ddp_destroy_qp(s.qp[1]));
	MUST(ddp_destroy_id(s.id[1]));
	ok("the end of a program: a Write was sent");
}

int main(int argc, char **argv)
{
	if (argc < 6)
		return 2;
	address = argv[3];
	daemon_of_a = (pid_t)atoi(argv[4]);
	daemon_of_b = (pid_t)atoi(argv[5]);
	end_open(&a, "a", argv[1]);
	end_open(&b, "b", argv[2]);
	end_listen(&b);
	disconnect_write();
	disconnect_sends();
	disconnect_responses();
	disconnect_local();
	posted_later();
	destroy_qp();
	regions();
	windows();
	resize_cq();
	modify_srq();
	connect_and_accept();
	unlisten();
	exits();
	if (daemon_of_b != daemon_of_a)
		stopped_peer();
	row("5041-6.2.1-01", "what was posted before a disconnect arrives before the Terminate");
	return 0;
}
