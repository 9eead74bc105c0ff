/* SPDX-License-Identifier: BSD-2-Clause */
/* The program of the faults for libddpverbs: two sides, each with objects of a device. */
#ifndef TESTS_FAULTS_VERBS_H
#define TESTS_FAULTS_VERBS_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>

#include "tests/faults/program.h"

struct side {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr; /* of mem, SIZE bytes */
	uint8_t *mem;
	struct ibv_srq *srq; /* receives of its queue pairs; NULL: they have their own */
	struct ibv_qp *qp;
};

extern struct side side[2];

/* Ends the part with the sentence of errno, if the condition of a call does not hold. */
void verb(const char *call, bool succeeded);
#define VERB(cond) (errno = 0, verb(#cond, !!(cond)))

/* verbs_side.c */
void side_clear(void);
struct ibv_device *side_device(const struct program *p, int i, struct ibv_device **list);
void side_open(const struct program *p, int i);
void side_objects(int i, struct ibv_context *ctx);
struct ibv_qp_init_attr side_init(int i);
void side_fatal(int ms); /* waits so long; an event of a device ends the part */
void side_event(int i, enum ibv_event_type type); /* waits for it */
void side_done(int i, enum ibv_wc_opcode opcode);
void side_flushed(int i); /* waits for a completion that is no success */
void side_post(int i, struct ibv_send_wr wr, uint32_t len);
void side_recv(int i, uint32_t len);
void side_send(int from, uint32_t len);
void side_reach(int from, enum ibv_wr_opcode opcode, enum ibv_wc_opcode done, uint32_t len);

/* verbs_objects.c */
void part_devices(struct program *p);
void part_objects(struct program *p);

/* verbs_pair.c */
void part_pair(struct program *p);
void part_shared(struct program *p);
void part_window(struct program *p);
void part_violation(struct program *p);

/* verbs_cm.c */
void part_cm(struct program *p);
void part_moved(struct program *p);
void part_refusal(struct program *p);
void part_names(struct program *p);
void part_endpoint(struct program *p);

#endif
