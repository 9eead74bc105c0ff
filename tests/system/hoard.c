/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A user who takes what there is: of each kind named as many objects as the daemon gives, at most
 * MOST. Prints how many, each with the reason why it got no more, and "done"; then keeps them until
 * it is ended.
 *
 *   hoard SOCKET MOST KIND...
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/system/rig.h"

static struct ddp_open_attr attr;
static struct ddp_ctx *ctx; /* that the objects belong to */
static struct ddp_pd *pd;
static struct ddp_cq *cq;

static int take_client(void)
{
	struct ddp_ctx *more;

	return ddp_open(&attr, &more);
}

static int take_pd(void)
{
	struct ddp_pd *more;

	return ddp_alloc_pd(ctx, &more);
}

static int take_mr(void)
{
	struct ddp_mr *mr;

	return ddp_alloc_mr(pd, 4096, RIG_ALL, &mr);
}

static int take_mw(void)
{
	struct ddp_mw *mw;

	return ddp_alloc_mw(pd, DDP_MW_TYPE_2, &mw);
}

static int take_cq(void)
{
	struct ddp_cq_attr cqe = DDP_INIT(ddp_cq_attr);
	struct ddp_cq *more;

	cqe.entries = 16;
	return ddp_create_cq(ctx, &cqe, &more);
}

static int take_srq(void)
{
	struct ddp_srq_attr wr = DDP_INIT(ddp_srq_attr);
	struct ddp_srq *srq;

	wr.max_wr = 4;
	return ddp_create_srq(pd, &wr, &srq);
}

static int take_qp(void)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_id *id;
	struct ddp_qp *qp;

	MUST(ddp_create_id(ctx, NULL, &id));
	init.send_cq = init.recv_cq = cq;
	init.max_send_wr = init.max_recv_wr = 4;
	return ddp_create_qp(id, pd, &init, &qp);
}

static int take_listener(void)
{
	struct ddp_id *id;

	MUST(ddp_create_id(ctx, NULL, &id));
	return ddp_listen(id, NULL, 0, 0);
}

static const struct {
	const char *name;
	int (*take)(void);
} kinds[] = {
	{"clients", take_client}, {"pds", take_pd},
	{"mrs", take_mr},         {"mws", take_mw},
	{"cqs", take_cq},         {"qps", take_qp},
	{"srqs", take_srq},       {"listeners", take_listener},
};

static void take_all(const char *name, int most)
{
	int n = 0, r = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, name) != 0)
			continue;
		while (n < most && (r = kinds[i].take()) == 0)
			n++;
		printf("%s %d %s\n", name, n, r ? ddp_last_reason() : "");
	}
}

/* What objects other than clients need; it counts as taken. */
static void open_one(void)
{
	struct ddp_cq_attr cqe = DDP_INIT(ddp_cq_attr);

	cqe.entries = 16;
	MUST(ddp_open(&attr, &ctx));
	MUST(ddp_alloc_pd(ctx, &pd));
	MUST(ddp_create_cq(ctx, &cqe, &cq));
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: hoard SOCKET MOST KIND...\n");
		return 2;
	}
	attr = (struct ddp_open_attr)DDP_INIT(ddp_open_attr);
	attr.socket = argv[1];
	if (argc > 4)
		open_one();
	for (int i = 3; i < argc; i++)
		take_all(argv[i], atoi(argv[2]));
	printf("done\n");
	fflush(stdout);
	pause();
	return 0;
}
