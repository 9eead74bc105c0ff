/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Common functions of the programs for libibverbs: sides, each at a device, pairs of queue pairs,
 * and checks. A check that fails prints what it was and ends the program with status 1.
 */
#ifndef TESTS_SYSTEM_VERBS_RIG_H
#define TESTS_SYSTEM_VERBS_RIG_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/lib/patience.h"

enum {
	RIG_SIZE = 1 << 16, /* bytes of a side's memory */
	RIG_DEPTH = 32,
	RIG_WAIT_MS = PATIENCE_MS,
};

/* ---- checks ---- */

/* A verb that must do as the condition says. */
#define VERB(cond)                                                                                 \
	do {                                                                                       \
		if (rig_before_call)                                                               \
			rig_before_call();                                                         \
		if (!(cond))                                                                       \
			rig_fail(__FILE__, __LINE__, #cond);                                       \
	} while (0)

/* Called before each condition, which mostly is a call of a verb; NULL: nothing is. */
extern void (*rig_before_call)(void);
void rig_fail(const char *file, int line, const char *what) __attribute__((noreturn));

/* Bytes that depend on the seed, and the comparison with them. */
void rig_fill(void *to, size_t len, unsigned seed);
void rig_same(const void *came, size_t len, unsigned seed);

/* Calls until it returns true, for RIG_WAIT_MS. False: it never did. */
bool rig_eventually(bool (*is_true)(void *arg), void *arg);

/* Joins a thread if it ends within this time. False: it goes on. */
bool rig_joined(pthread_t thread, unsigned ms);

/* ---- sides ---- */

struct side {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr; /* of mem: all rights */
	uint8_t *mem;      /* RIG_SIZE bytes */
	union ibv_gid gid;
};

/* At the device with this number. */
void side_open(struct side *s, unsigned device);
void side_close(struct side *s);

/* Attributes of a queue pair at the side's queue. */
struct ibv_qp_init_attr side_init(const struct side *s);

/* ---- pairs ---- */

struct pair {
	struct side *side[2];
	struct ibv_qp *qp[2];
	bool impatient; /* rnr_retry is 1, not 7 */
};

/* Two queue pairs, connected by ibv_modify_qp(). */
void pair_open(struct pair *p, struct side *a, struct side *b);
void pair_close(struct pair *p);

/* Connects queue pairs that exist. */
void pair_connect(struct pair *p);

/* The steps of that: from RESET to INIT, and to RTR with the peer's number and GID. */
void rig_to_init(struct ibv_qp *qp);
void rig_to_rtr(struct ibv_qp *qp, uint32_t peer, const union ibv_gid *gid);
void rig_to_rts(struct ibv_qp *qp, uint8_t rnr_retry);

/* ---- work ---- */

/* An element: len bytes of the side's memory from an offset. */
struct ibv_sge side_sge(const struct side *s, size_t offset, uint32_t len);

void post_recv(struct pair *p, int end, uint64_t wr_id, size_t offset, uint32_t len);

/* Posts one request, signaled. wr: with all but list, flags and next. Returns the result. */
int post(struct pair *p, int end, struct ibv_send_wr *wr, struct ibv_sge *sge);

/* The next completion of a queue, of any status. */
struct ibv_wc rig_wc(struct ibv_cq *cq);

/* The next one must be this success. */
struct ibv_wc rig_done(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_opcode opcode);

/* A Send of len bytes with this seed arrives from one end at the other. */
void pair_send(struct pair *p, int from, uint32_t len, unsigned seed);

#endif
