/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_slow [MESSAGES [SEED]]: both ends of a session send messages of 1 byte to 1 MiB, and post
 * their receives late: mostly one by one, and sometimes none for a while. Promise: each message
 * arrives, in order, with its bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/verbs_rig.h"

enum {
	MOST = 1 << 20, /* bytes of a message */
	BATCH = 16,     /* completions of one poll */
	REST = 2000,    /* steps without a receive */
};

struct end {
	struct side *side;
	uint8_t *mem; /* MOST bytes from which it sends, and MOST to receive into */
	struct ibv_mr *mr;
	uint64_t sent, done, posted, came;
	unsigned rest;
};

static struct end ends[2];
static struct pair pair;
static uint64_t messages = 20000, seed = 1;

static uint64_t next_random(void)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return seed >> 33;
}

/* Of message n; each power of two is as likely as the others. Both ends send the same lengths. */
static uint32_t length_of(uint64_t n)
{
	const uint64_t h = (n + 1) * UINT64_C(0x9e3779b97f4a7c15);
	const uint32_t top = 1U << (h >> 40) % 21;

	return top == MOST ? MOST : top + ((uint32_t)(h >> 10) & (top - 1));
}

static size_t offset_of(uint64_t n)
{
	return n * 4099 % (MOST - length_of(n) + 1);
}

static void open_end(struct end *e, struct side *s)
{
	e->side = s;
	VERB(posix_memalign((void **)&e->mem, 4096, 2 * MOST) == 0);
	for (size_t i = 0; i < MOST; i++)
		e->mem[i] = (uint8_t)next_random();
	VERB(e->mr = ibv_reg_mr(s->pd, e->mem, 2 * MOST, IBV_ACCESS_LOCAL_WRITE));
}

static void send_next(int i)
{
	struct end *e = &ends[i];
	const uint32_t len = length_of(e->sent);
	struct ibv_sge sge = {(uintptr_t)e->mem + offset_of(e->sent), len, e->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = e->sent, .opcode = IBV_WR_SEND};

	VERB(post(&pair, i, &wr, &sge) == 0);
	e->sent++;
}

/* There is one buffer, so there is one receive. */
static void receive_next(int i)
{
	struct end *e = &ends[i];
	struct ibv_sge sge = {(uintptr_t)e->mem + MOST, MOST, e->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = e->posted, .sg_list = &sge, .num_sge = 1}, *bad;

	if (e->rest > 0 && e->rest-- > 0)
		return;
	if (next_random() % 512 == 0)
		e->rest = REST;
	VERB(ibv_post_recv(pair.qp[i], &wr, &bad) == 0);
	e->posted++;
}

static void came(struct end *e, const struct end *from, const struct ibv_wc *wc)
{
	VERB(wc->wr_id == e->came && wc->byte_len == length_of(e->came));
	VERB(memcmp(e->mem + MOST, from->mem + offset_of(e->came), wc->byte_len) == 0);
	e->came++;
}

static void take_completions(int i)
{
	struct end *e = &ends[i];
	struct ibv_wc wc[BATCH];
	const int n = ibv_poll_cq(e->side->cq, BATCH, wc);

	VERB(n >= 0);
	for (int k = 0; k < n; k++) {
		if (wc[k].status != IBV_WC_SUCCESS)
			printf("status %d after %llu messages\n", (int)wc[k].status,
			       (unsigned long long)e->came);
		VERB(wc[k].status == IBV_WC_SUCCESS);
		if (wc[k].opcode == IBV_WC_RECV)
			came(e, &ends[!i], &wc[k]);
		else
			VERB(wc[k].wr_id == e->done++);
	}
}

static void step(void)
{
	const int i = (int)(next_random() & 1);
	struct end *e = &ends[i];

	if (e->sent < messages && e->sent - e->done < RIG_DEPTH)
		send_next(i);
	else if (e->posted < messages && e->posted == e->came)
		receive_next(i);
	take_completions(i);
}

static bool is_over(void)
{
	return ends[0].done == messages && ends[1].done == messages && ends[0].came == messages &&
	       ends[1].came == messages;
}

/* For rig_eventually(), within whose time one more message has to arrive. arg: how many had. */
static bool makes_progress(void *arg)
{
	const uint64_t before = *(uint64_t *)arg;

	for (unsigned k = 0; k < REST; k++)
		step();
	return is_over() || ends[0].came + ends[1].came > before;
}

int main(int argc, char **argv)
{
	struct side a, b;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1)
		messages = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	side_open(&a, 0);
	side_open(&b, 1);
	pair_open(&pair, &a, &b);
	open_end(&ends[0], &a);
	open_end(&ends[1], &b);
	while (!is_over()) {
		uint64_t before = ends[0].came + ends[1].came;

		VERB(rig_eventually(makes_progress, &before));
	}
	pair_close(&pair);
	for (int i = 0; i < 2; i++) {
		VERB(ibv_dereg_mr(ends[i].mr) == 0);
		free(ends[i].mem);
	}
	side_close(&a);
	side_close(&b);
	printf("%llu messages each way to receivers that are late\n", (unsigned long long)messages);
	return 0;
}
