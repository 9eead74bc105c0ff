/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of verbs_churn: threads, what they have, and their steps with queue pairs. */
#ifndef TESTS_SYSTEM_VERBS_CHURN_H
#define TESTS_SYSTEM_VERBS_CHURN_H

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	THREADS = 2,
	PLACES = 8,
	DEPTH = 8,
	BYTES = 4096,
	PEER_MS = 300,
	GRH = 40,
	QKEY = 7,
	FIRST_PORT = 20000,
	PORTS = 1000
};

/* What threads and the other process tell each other: the numbers of queue pairs and the ports of
 * listeners, which may be gone meanwhile. The last thread is the other process. */
struct board {
	_Atomic uint32_t qp[THREADS + 1][2];
	_Atomic uint32_t port[THREADS + 1][2];
};

extern struct board *board;
extern struct ibv_context **devices;
extern union ibv_gid gid[2];

enum { CONNECTS, REQUESTS, SESSIONS, ENDS, READY, MOVES, DATAGRAMS, KILLS, NUM_COUNTS };

/* An id, a queue pair, or both. */
struct life {
	struct rdma_cm_id *id; /* NULL: none */
	struct ibv_qp *qp;     /* without an id, or not id->qp; NULL: none */
	bool request, listens; /* of id */
	unsigned at;           /* device */
};

struct thread {
	pthread_t pthread;
	unsigned number;
	uint64_t rng, left; /* lives */
	struct rdma_event_channel *channel[2];
	struct ibv_pd *pd[2];
	struct ibv_cq *cq[2];
	struct ibv_mr *mr[2];
	uint8_t *mem[2];
	struct life place[PLACES];
};

/* A random number below n. */
unsigned draw(struct thread *t, unsigned n);

/* Counts one of CONNECTS ... */
void count(unsigned what);

/* ---- verbs_churn_qp.c ---- */

struct ibv_qp_init_attr init_attr(const struct thread *t, unsigned at);

/* A queue pair without an id, for a connection or for datagrams. */
void make_qp(struct thread *t, struct life *l);

void post_any(struct thread *t, struct ibv_qp *qp, unsigned at);

/* One step with a queue pair. */
void use_qp(struct thread *t, struct ibv_qp *qp, unsigned at);

#endif
