/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/system/own_changes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct session *session;
static size_t page;

static struct ddp_mr *reg(void *p, size_t len)
{
	struct ddp_mr *mr;

	MUST(ddp_reg_mr(session->end[1]->pd, p, len, RIG_ALL, NULL, &mr));
	return mr;
}

/* The peer writes, and reads behind that, so that the bytes are placed. */
static void peer_puts(const struct ddp_mr *mr, uint64_t at, const char *text)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_RDMA_WRITE, .rdma = {at, mr->rkey}};

	strcpy((char *)end_at(session->end[0], 0), text);
	session_send(session, 0, wr, 0, (uint32_t)strlen(text) + 1);
	end_done(session->end[0], DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
	wr.opcode = DDP_WR_RDMA_READ;
	session_send(session, 0, wr, RIG_HALF, 1);
	end_done(session->end[0], DDP_WC_RDMA_READ, DDP_WC_SUCCESS);
}

static void all_are(const char *what, const char *p, size_t from, size_t to, char c)
{
	for (size_t i = from; i < to; i++)
		if (p[i] != c)
			fail("%s: byte %zu is %d, expected %d", what, i, p[i], c);
	ok("%s: bytes %zu to %zu", what, from, to);
}

/* Grows a block that is registered in part, and then shrinks it again. */
static void reallocates(const char *what, size_t len)
{
	char *p = malloc(len), *behind = malloc(len);
	struct ddp_mr *mr;

	if (!p || !behind)
		fail("malloc");
	memset(p, 1, len);
	memset(behind, 2, len);
	mr = reg(p + len / 4, len / 2);
	p = realloc(p, 5 * len);
	if (!p)
		fail("realloc");
	all_are(what, p, 0, len, 1);
	memset(p + len, 3, 4 * len);
	peer_puts(mr, mr->iova, "somewhere");
	MUST(ddp_dereg_mr(mr));
	all_are("a part that was not registered", p, 0, len / 4, 1);
	all_are("what realloc() added", p, len, 5 * len, 3);
	all_are("the block behind", behind, 0, len, 2);
	p = realloc(p, len);
	mr = reg(p, len);
	peer_puts(mr, mr->iova, "again");
	same("a Write after realloc()", p, "again", 6);
	MUST(ddp_dereg_mr(mr));
	free(p);
	free(behind);
}

/* As programs should do it. */
static void reallocates_between(void)
{
	size_t len = 100;
	char *p = malloc(len);

	for (int i = 0; i < 100; i++) {
		struct ddp_mr *mr = reg(p, len);

		memset(p, i, len);
		peer_puts(mr, mr->iova, "1");
		MUST(ddp_dereg_mr(mr));
		p = realloc(p, len + len / 4);
		if (p[0] != '1' || p[2] != (char)i || p[len - 1] != (char)i)
			fail("round %d of realloc() has lost bytes", i);
		len += len > 1000000 ? 0 : len / 4;
	}
	free(p);
	ok("100 rounds of realloc() between registrations");
}

static void protects(void)
{
	char *p = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ddp_mr *mr = reg(p, 3 * page);

	p[page] = 5;
	mprotect(p, page, PROT_READ);
	peer_puts(mr, mr->iova, "read-only");
	same("a Write to memory that became read-only", p, "read-only", 10);
	mprotect(p, 2 * page, PROT_NONE);
	peer_puts(mr, mr->iova + 2 * page, "behind");
	same("a Write behind memory that became inaccessible", p + 2 * page, "behind", 7);
	peer_puts(mr, mr->iova, "hidden");
	MUST(ddp_dereg_mr(mr));
	mprotect(p, 2 * page, PROT_READ);
	same("a Write to inaccessible memory", p, "hidden", 7);
	is("the page after it", (uint64_t)p[page], 5);
	munmap(p, 3 * page);
}

/* The first and the last of three pages go, and something else comes in the place of the first. */
static void unmaps_a_part(void)
{
	char *p = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ddp_mr *mr = reg(p, 3 * page);

	munmap(p, page);
	munmap(p + 2 * page, page);
	if (mmap(p, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
	    p)
		fail("mmap: %s", strerror(errno));
	for (unsigned i = 0; i < 3; i++)
		peer_puts(mr, mr->iova + i * page, "peer");
	is("new memory in the place of a part", (uint64_t)*p, 0);
	same("the part that is left", p + page, "peer", 5);
	MUST(ddp_dereg_mr(mr));
	is("new memory after the registration", (uint64_t)*p, 0);
	same("the part that is left, after the registration", p + page, "peer", 5);
	munmap(p, 2 * page);
}

void own_changes(const struct session *s)
{
	session = s;
	page = (size_t)sysconf(_SC_PAGESIZE);
	reallocates("a large block that grew while it was registered", 1 << 20);
	reallocates("a block of the heap that grew while it was registered", 20000);
	reallocates_between();
	protects();
	unmaps_a_part();
}
