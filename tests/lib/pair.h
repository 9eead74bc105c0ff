/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two associations back to back in memory, and their environment in a test: regions,
 * work queues, completions, the messages on the wire. A test that acts as the peer uses one node,
 * pulls the messages that it sends and pushes those that it receives. Wrong use ends the program.
 */
#ifndef TESTS_LIB_PAIR_H
#define TESTS_LIB_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/association/assoc.h"
#include "tests/lib/test_blocks.h"

enum {
	PAIR_MSG_MAX = 4096,
	PAIR_QUEUE = 128, /* requests, receives, completions of a queue pair in total */
	PAIR_QPS = 16,
	PAIR_REGIONS = 32,
	PAIR_PD = 7,
	PAIR_BLOCKS = 4096, /* of a node, for what is in flight */
	PAIR_DEPTH = 8,     /* sq_depth and rq_depth */
	PAIR_READS = 2,     /* ord and ird */
	PAIR_ANSWER_MS = 1000,
	PAIR_CLOSE_MS = 500,
};

/* A message on the wire. */
struct pair_msg {
	uint16_t sid;
	uint32_t ppid;
	uint32_t len;
	bool urgent;
	uint8_t b[PAIR_MSG_MAX];
};

struct pair_node;

/* An endpoint with its rings. */
struct pair_qp {
	struct pair_node *node;
	struct rdmap *ep;
	uint64_t scope;
	struct rdmap_wr send[PAIR_QUEUE];
	unsigned posted, taken; /* of send */
	struct rdmap_recv recv[PAIR_QUEUE];
	unsigned recv_posted, recv_taken;
	struct rdmap_done done[PAIR_QUEUE];  /* sends and receives as they completed */
	unsigned ndone, nseen;               /* nseen: handed out by pair_done() */
	bool no_keep;                        /* keep() refuses the memory of the hold */
	bool no_room;                        /* take_send() finds no room for the completion */
	void *hold;                          /* memory of pair_hold() */
	int (*reach)(struct rdmap_reach *r); /* NULL: all is at hand */
	struct span wrote;                   /* the last of rdmap_ops.wrote */
	unsigned written;                    /* calls of rdmap_ops.written, and ... */
	uint32_t notice;                     /* ... the last number */
};

/* One side. */
struct pair_node {
	struct assoc *assoc;
	struct stag_table *stags;
	struct test_blocks *pool;
	uint32_t mulpdu;
	struct pair_qp *qp[PAIR_QPS];
	unsigned nqps;
	uint8_t *region[PAIR_REGIONS];
	unsigned nregions;
	uint8_t priv[WIRE_PRIVATE_MAX]; /* of the last event */
};

/* A configuration that is large enough for small tests. */
struct assoc_cfg pair_cfg(bool opener);

void pair_init(struct pair_node *n, const struct assoc_cfg *cfg);
void pair_deinit(struct pair_node *n);

/* ---- the environment ---- */

/* A new endpoint. Endpoint number i of a node, from 0, has scope 100 + i. */
struct pair_qp *pair_qp(struct pair_node *n);

/* The same, with limits of its own on Reads. */
struct pair_qp *pair_qp_reads(struct pair_node *n, uint16_t ord, uint16_t ird);

/* The same, of another kind: domain, scope and elements are filled in, depths where they are 0. */
struct pair_qp *pair_qp_as(struct pair_node *n, const struct rdmap_cfg *like);

/* Lets messages of an endpoint without a session wait: see rdmap_set_hold(). */
void pair_hold(struct pair_qp *qp, uint32_t bytes, uint32_t wait_ms, bool in_order);

/* An endpoint without a session has RDMAP_CREDITS, and nothing else, with this window; and
 * RDMAP_RNR. */
void pair_credits(struct pair_qp *qp, uint32_t window);
void pair_rnr(struct pair_qp *qp, unsigned retry, uint32_t timer_ms);

/* Zeroed memory of len bytes, registered with the STag. scope: 0 for the whole domain. */
uint8_t *pair_region(struct pair_node *n, uint32_t stag, uint64_t to, size_t len, uint32_t rights,
		     uint64_t scope);

void pair_post(struct pair_qp *qp, const struct rdmap_wr *wr);

/* A receive of one element, or of none if len is 0. */
void pair_post_recv(struct pair_qp *qp, uint64_t cookie, uint32_t stag, uint64_t to, uint32_t len);

/* The next completion; one of cookie 0 and status RDMAP_STATUS_COUNT if there is none. */
struct rdmap_done pair_done(struct pair_qp *qp);

/* ---- the wire ---- */

/* The next message that the node sends; the transport takes it. False if there is none. */
bool pair_pull(struct pair_node *n, struct pair_msg *ret);

/* A session control message, a segment: as a peer would send them, for pair_push(). */
struct pair_msg pair_control(uint16_t sid, uint16_t ssn, uint16_t func, const void *priv,
			     uint32_t len);
struct pair_msg pair_segment(uint16_t sid, uint16_t ssn, const struct wire_ddp *h,
			     const void *payload, uint32_t len);

/* The node receives a message. */
void pair_push(struct pair_node *n, const struct pair_msg *m);

/* The endpoint has new receives: examines messages that waited for them. */
void pair_wake(struct pair_qp *qp);

/* Sets the time, with all that follows from it. */
void pair_tick(struct pair_node *n, uint64_t now_ms);

/* The session is established from a peer that the test plays: the stream is sid. */
void pair_fake_connect(struct pair_node *n, struct pair_qp *qp, uint16_t sid);

/* Carries messages both ways until there are none. */
void pair_pump(struct pair_node *a, struct pair_node *b);

/* The next event, its private data copied to n->priv. False if there is none. */
bool pair_event(struct pair_node *n, struct assoc_event *ret);

/* The calls of assoc.h with private data only, for plain sessions. */
int pair_plain_connect(struct assoc *a, struct rdmap *ep, const void *priv, size_t len,
		       uint16_t *ret_sid);
int pair_plain_accept(struct assoc *a, uint16_t sid, struct rdmap *ep, const void *priv,
		      size_t len);
int pair_plain_reject(struct assoc *a, uint16_t sid, const void *priv, size_t len);

/* Establishes a session from a to b. Returns its stream. */
uint16_t pair_connect(struct pair_node *a, struct pair_qp *qa, struct pair_node *b,
		      struct pair_qp *qb);

#endif
