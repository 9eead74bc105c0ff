/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queries the limits of limits.sh. Makes as many objects of each kind as they allow, and one more;
 * then frees everything.
 *
 *   limits SOCKET ADDRESS
 *
 * As root it repeats this as another user while the first user's objects exist.
 */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/patience.h"
#include "tests/lib/row.h"
#include "tests/system/rig.h"

/* As in limits.sh. */
enum {
	CLIENTS = 5,
	PDS = 3,
	MRS = 5,
	MR_BYTES = 2 << 20,
	MWS = 3,
	CQS = 4,
	QPS = 4,
	SRQS = 2,
	LISTENERS = 2,
	QP_WR = 64,
	CQE = 256,
	NOBODY = 65534,
};

static struct end e;
static struct ddp_ctx *ctx[CLIENTS];
static struct ddp_pd *pd[PDS];
static struct ddp_mr *mr[MRS];
static struct ddp_mw *mw[MWS];
static struct ddp_cq *cq[CQS];
static struct ddp_srq *srq[SRQS];
static struct ddp_id *id[QPS], *listener[LISTENERS];
static struct ddp_qp *qp[QPS];

/* Expects that this limit is reached. */
static void beyond(const char *key, int came, int err)
{
	char word[32];

	snprintf(word, sizeof(word), "limits.%s", key);
	if (came != -err || !strstr(ddp_last_reason(), word))
		fail("one more than %s: %s was expected, %s came", word, strerror(err),
		     strerror(-came));
	ok("one more than %s: %s", word, ddp_last_reason());
}

static int make_client(int i)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);

	attr.socket = e.socket;
	return ddp_open(&attr, &ctx[i]);
}

static int make_pd(int i)
{
	return ddp_alloc_pd(e.ctx, &pd[i]);
}

static int make_mr(int i)
{
	return ddp_alloc_mr(e.pd, 4096, RIG_ALL, &mr[i]);
}

static int make_mw(int i)
{
	return ddp_alloc_mw(e.pd, DDP_MW_TYPE_2, &mw[i]);
}

static int make_cq(int i)
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);

	attr.entries = CQE;
	return ddp_create_cq(e.ctx, &attr, &cq[i]);
}

static int make_srq(int i)
{
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);

	attr.max_wr = QP_WR;
	return ddp_create_srq(e.pd, &attr, &srq[i]);
}

static int make_qp(int i)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	if (!id[i])
		MUST(ddp_create_id(e.ctx, NULL, &id[i]));
	init.send_cq = init.recv_cq = e.cq;
	init.max_send_wr = init.max_recv_wr = QP_WR;
	return ddp_create_qp(id[i], e.pd, &init, &qp[i]);
}

static int make_listener(int i)
{
	int r;

	if (!listener[i])
		MUST(ddp_create_id(e.ctx, NULL, &listener[i]));
	do
		r = ddp_listen(listener[i], NULL, ++e.port, 0);
	while (r == -EADDRINUSE);
	return r;
}

static void drop_client(int i)
{
	MUST(ddp_close(ctx[i]));
}

static void drop_pd(int i)
{
	MUST(ddp_dealloc_pd(pd[i]));
}

static void drop_mr(int i)
{
	MUST(ddp_dereg_mr(mr[i]));
}

static void drop_mw(int i)
{
	MUST(ddp_dealloc_mw(mw[i]));
}

static void drop_cq(int i)
{
	MUST(ddp_destroy_cq(cq[i]));
}

static void drop_srq(int i)
{
	MUST(ddp_destroy_srq(srq[i]));
}

static void drop_qp(int i)
{
	MUST(ddp_destroy_qp(qp[i]));
	MUST(ddp_destroy_id(id[i]));
	id[i] = NULL;
}

static void drop_listener(int i)
{
	MUST(ddp_destroy_id(listener[i]));
	listener[i] = NULL;
}

/* used: the share of end_open() and the session. */
static const struct {
	const char *key;
	int max, used;
	int (*make)(int i);
	void (*drop)(int i);
} kinds[] = {
	{"mws", MWS, 0, make_mw, drop_mw},
	{"srqs", SRQS, 0, make_srq, drop_srq},
	{"qps", QPS, 2, make_qp, drop_qp},
	{"cqs", CQS, 1, make_cq, drop_cq},
	{"mrs", MRS, 1, make_mr, drop_mr},
	{"pds", PDS, 1, make_pd, drop_pd},
	{"listeners", LISTENERS, 1, make_listener, drop_listener},
	{"clients", CLIENTS, 1, make_client, drop_client},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void fill(int k)
{
	int n = kinds[k].max - kinds[k].used, r;

	for (int i = 0; i < n; i++)
		MUST(kinds[k].make(i));
	beyond(kinds[k].key, kinds[k].make(n), EDQUOT);
	kinds[k].drop(n - 1);
	/* The daemon notices the end of a client a little later; all else ends at once. */
	do
		r = kinds[k].make(n - 1);
	while (r == -EDQUOT && kinds[k].make == make_client);
	MUST(r);
	beyond(kinds[k].key, kinds[k].make(n), EDQUOT);
}

static void sizes(void)
{
	struct ddp_cq_attr cqe = DDP_INIT(ddp_cq_attr);
	struct ddp_srq_attr wr = DDP_INIT(ddp_srq_attr);
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_mr *big;

	beyond("mr_bytes", ddp_alloc_mr(e.pd, MR_BYTES - RIG_SIZE + 4096, 0, &big), EDQUOT);
	MUST(ddp_alloc_mr(e.pd, MR_BYTES - RIG_SIZE, 0, &big));
	beyond("mr_bytes", ddp_alloc_mr(e.pd, 1, 0, &mr[0]), EDQUOT);
	MUST(ddp_dereg_mr(big));
	cqe.entries = CQE + 1;
	beyond("cqe", ddp_create_cq(e.ctx, &cqe, &cq[0]), EINVAL);
	wr.max_wr = QP_WR + 1;
	beyond("qp_wr", ddp_create_srq(e.pd, &wr, &srq[0]), EINVAL);
	init.send_cq = init.recv_cq = e.cq;
	init.max_send_wr = 1;
	init.max_recv_wr = QP_WR + 1;
	MUST(ddp_create_id(e.ctx, NULL, &id[0]));
	beyond("qp_wr", ddp_create_qp(id[0], e.pd, &init, &qp[0]), EINVAL);
	MUST(ddp_destroy_id(id[0]));
	id[0] = NULL;
}

/* Reads and atomics, more than may be in flight, while limits are reached. */
static void work(struct session *s)
{
	struct ddp_send_wr read = {.opcode = DDP_WR_RDMA_READ, .rdma = {e.mr->iova, e.mr->rkey}};
	struct ddp_send_wr add = {.opcode = DDP_WR_ATOMIC_FETCH_AND_ADD, .rdma = read.rdma};
	uint64_t *cell = (uint64_t *)(void *)end_at(&e, 0);

	*cell = 0;
	add.atomic.compare_add = 1;
	for (int i = 0; i < RIG_DEPTH / 2; i++) {
		session_send(s, 0, read, RIG_HALF, 4096);
		session_send(s, 0, add, RIG_HALF + 4096, 8);
	}
	for (int i = 0; i < RIG_DEPTH / 2; i++) {
		end_done(&e, DDP_WC_RDMA_READ, DDP_WC_SUCCESS);
		is("FetchAdd with all limits reached",
		   end_done(&e, DDP_WC_FETCH_ADD, DDP_WC_SUCCESS).imm_data, (uint64_t)i);
	}
}

static void query(void)
{
	struct ddp_caps caps = DDP_INIT(ddp_caps);

	MUST(ddp_query(e.ctx, &caps));
	is("max_pd", caps.max_pd, PDS);
	is("max_mr", caps.max_mr, MRS);
	is("max_mr_bytes", caps.max_mr_bytes, MR_BYTES);
	is("max_mw", caps.max_mw, MWS);
	is("max_cq", caps.max_cq, CQS);
	is("max_qp", caps.max_qp, QPS);
	is("max_srq", caps.max_srq, SRQS);
	is("max_qp_wr", caps.max_qp_wr, QP_WR);
	is("max_cqe", caps.max_cqe, CQE);
}

static void have_all(const char *socket, const char *address, const char *who)
{
	struct how how = {0};
	struct session s;

	end_open(&e, who, socket);
	end_listen(&e);
	for (int side = 0; side < 2; side++)
		how.init[side].max_ord = how.init[side].max_ird = 2;
	session_open(&s, &e, &e, address, &how);
	query();
	sizes();
	for (int k = 0; k < KINDS; k++) {
		fill(k);
		work(&s);
	}
	ok("%s has reached all limits, and its session continues", who);
}

static void as_another_user(const int begin[2], const char *socket, const char *address)
{
	char c;

	alarm(LIFE_S);
	close(begin[1]);
	if (read(begin[0], &c, 1) != 1)
		_exit(3);
	MUST(setgroups(0, NULL));
	MUST(setgid(NOBODY));
	MUST(setuid(NOBODY));
	have_all(socket, address, "another user");
	_exit(0);
}

int main(int argc, char **argv)
{
	int begin[2], status = 0;
	pid_t other = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: limits SOCKET ADDRESS\n");
		return 2;
	}
	alarm(LIFE_S);
	MUST(pipe(begin));
	if (getuid() == 0)
		other = MUST(fork());
	if (getuid() == 0 && other == 0)
		as_another_user(begin, argv[1], argv[2]);
	have_all(argv[1], argv[2], "the first user");
	if (other) {
		if (write(begin[1], "", 1) != 1 || waitpid(other, &status, 0) != other)
			fail("no other user");
		is("another user may have as much", (uint64_t)status, 0);
	}
	for (int k = KINDS - 1; k >= 0; k--)
		for (int i = kinds[k].max - kinds[k].used - 1; i >= 0; i--)
			kinds[k].drop(i);
	row("5041-8.3.2-02 5040-8.1.2-03",
	    "one more than each limit is refused with the limit's name; other users and "
	    "outstanding work are not affected");
	return 0;
}
