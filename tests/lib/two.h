/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two nodes with an endpoint and a region each, and an established session between them:
 * a opened the association and the session. Expectations are Criterion assertions.
 */
#ifndef TESTS_LIB_TWO_H
#define TESTS_LIB_TWO_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/lib/pair.h"

enum {
	TWO_STAG_A = 0x00c0ffee, /* the regions: all rights, no scope */
	TWO_STAG_B = 0x12345678,
	TWO_MEM = 16384,
	TWO_ALL = STAG_LOCAL_WRITE | STAG_REMOTE_WRITE | STAG_REMOTE_READ | STAG_REMOTE_ATOMIC |
		  STAG_BIND_WINDOWS,
};

#define TWO_TO UINT64_C(0x4000) /* of the first byte of both */

struct two {
	struct pair_node a, b;
	struct pair_qp *qa, *qb;
	uint8_t *ma, *mb; /* ma holds a pattern, mb zeros */
	uint16_t sid;
};

extern struct two two;

void two_setup(void);

/* The same with endpoints of another kind: from cfg, which also has its queues' depths. */
void two_setup_as(const struct rdmap_cfg *cfg);

/* a has these options, a set of RDMAP_PLACE_IN_ORDER ..., on a transport that tells what is
 * acknowledged, or only when all is. */
void two_setup_with(unsigned options, bool acks, uint16_t ord);

/* a has RDMAP_ACKED, on a transport that tells what is acknowledged, or only when all is. */
void two_setup_acked(bool acks, uint16_t ord);

void two_teardown(void);

/*
 * A signaled request of a's endpoint: one element, off bytes into its region; the other
 * side of it is the beginning of b's region.
 */
struct rdmap_wr two_request(enum rdmap_op op, uint64_t cookie, uint64_t off, uint32_t len);

void two_post(struct pair_qp *qp, struct rdmap_wr wr);

/* One message from a node to another. False if there is none. */
bool two_move(struct pair_node *from, struct pair_node *to);

/* Header of the next segment of a node, which is discarded, and the length of its payload. */
struct wire_ddp two_pull_header(struct pair_node *n, uint32_t *ret_payload);

void two_expect_done(struct pair_qp *qp, uint64_t cookie, enum rdmap_status status);
void two_expect_none(struct pair_qp *qp);
void two_expect_closed(struct pair_node *n, enum assoc_reason reason, enum perr perr);

/* The node sends the golden message, except for its DDP-SSN. */
void two_expect_vector(struct pair_node *n, const char *id, uint16_t ssn);

#endif
