/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a registration takes, over and over for some time. The pages have data.
 *
 *   register adopt|again|alloc|list BYTES SECONDS SOCKET
 *
 * adopt: private memory becomes shared. again: memory that another region has already. alloc: the
 * library allocates the memory. list: as again, but LIST regions with each call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <ddp/ddp.h>

#include "tests/lib/must.h"

enum { LIST = 64 };
enum { RIGHTS = DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ };

static struct ddp_pd *pd;
static size_t size;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *pages(void)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	memset(p, 1, size);
	return p;
}

/* Registers memory at p, or allocates it if p is NULL. Returns the seconds that this took. */
static double once(void *p)
{
	struct ddp_mr *mr;
	double began = now(), took;

	if (p)
		MUST(ddp_reg_mr(pd, p, size, RIGHTS, NULL, &mr));
	else
		MUST(ddp_alloc_mr(pd, size, RIGHTS, &mr));
	took = now() - began;
	MUST(ddp_dereg_mr(mr));
	return took;
}

static double once_new(void)
{
	void *p = pages();
	double took = once(p);

	munmap(p, size);
	return took;
}

/* The time of all of them. */
static double once_list(void *p)
{
	struct ddp_mr *mr[LIST];
	struct iovec range[LIST];
	double began, took;

	for (int i = 0; i < LIST; i++)
		range[i] = (struct iovec){p, size};
	began = now();
	MUST(ddp_reg_mrs(pd, range, LIST, RIGHTS, NULL, mr));
	took = now() - began;
	MUST(ddp_dereg_mrs(mr, LIST));
	return took;
}

static double once_by(char how, void *shared)
{
	switch (how) {
	case 'd':
		return once_new();
	case 'i':
		return once_list(shared);
	default:
		return once(shared);
	}
}

int main(int argc, char **argv)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);
	struct ddp_ctx *ctx;
	struct ddp_mr *first;
	void *shared = NULL;
	double until, sum = 0;
	unsigned n = 0;
	char how;

	if (argc != 5 || (size = strtoul(argv[2], NULL, 10)) == 0) {
		fprintf(stderr, "usage: register adopt|again|alloc|list BYTES SECONDS SOCKET\n");
		return 2;
	}
	how = argv[1][1]; /* d, g, l or i */
	attr.socket = argv[4];
	MUST(ddp_open(&attr, &ctx));
	MUST(ddp_alloc_pd(ctx, &pd));
	if (how == 'g' || how == 'i') {
		shared = pages();
		MUST(ddp_reg_mr(pd, shared, size, RIGHTS, NULL, &first));
	}
	until = now() + strtod(argv[3], NULL);
	do {
		sum += once_by(how, shared);
		n += how == 'i' ? LIST : 1;
	} while (now() < until);
	printf("{\"register_us\": %.2f, \"registrations\": %u}\n", sum * 1e6 / n, n);
	return 0; /* the daemon releases what is left */
}
