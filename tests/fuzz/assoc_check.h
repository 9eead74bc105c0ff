/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of the target `assoc`, and the checks of its promises. */
#ifndef TESTS_FUZZ_ASSOC_CHECK_H
#define TESTS_FUZZ_ASSOC_CHECK_H

#include "proto/association/assoc.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/pair.h"

enum {
	EPS = 3,
	STREAMS = 8, /* of pair_cfg() */
	QNS = 8,

	RO = 3,   /* the region that may only be read */
	OURS = 4, /* regions; later ones belong to others */
	REGIONS = 6,
	WINDOW = 0x00000501, /* of type 2 */
};

/* What the peer may know. The first two are those of tests/unit/vectors.json. */
extern const struct stag_region check_regions[REGIONS];

/* One of the endpoints. */
struct slot {
	struct pair_qp *qp; /* NULL: none left */
	bool bound;
	unsigned seen, sends, recvs; /* completions checked */
};

/* The state of one input. */
struct world {
	struct input in;
	struct pair_node node;
	struct rdmap_cfg like;
	struct slot ep[EPS];
	unsigned options; /* of the endpoints: RDMAP_PLACE_IN_ORDER ... */
	uint64_t now;
	bool held; /* the transport is full */
	uint16_t tx_ssn[STREAMS];
	uint32_t tx_msn[STREAMS][QNS], rx_msn[STREAMS][QNS];
};

extern struct world w;

/* For assoc_set_trace(). */
assoc_trace_fn check_trace;

/* Checks the endpoint after a step. qp may be NULL. */
void check_slot(struct slot *s);

/* Checks a message that the transport takes. */
void check_message(const struct pair_msg *m);

/* Checks all events, and releases the endpoints of ended sessions. */
void check_events(void);

/* Registers the regions and a window; revokes one (OURS: the window); revokes and checks all. */
void check_memory_begin(void);
void check_memory_revoke(unsigned n);
void check_memory_end(void);

#endif
