/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The client of the daemon under test: an ordinary program that uses only the public library and
 * checks every event and completion.
 */
#ifndef TESTS_RAW_VICTIM_H
#define TESTS_RAW_VICTIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ddp/ddp.h>

/* Attaches to a daemon, 0 or 1. Everything below is about that one. */
void victim_open(unsigned daemon);

/* The protection domain that ends and regions belong to. */
struct ddp_pd *victim_pd(void);
struct ddp_ctx *victim_ctx(void);

/* Listens at stage.port. backlog: 0 is the daemon's default. */
struct ddp_id *victim_listen(int backlog);

/* ---- events ---- */

/* Waits for the next event, which must be of that type. The caller acknowledges it. */
struct ddp_cm_event *victim_event(enum ddp_cm_event_type type);

/* No event is waiting. */
void victim_no_event(void);

/* ---- ends of sessions ---- */

struct victim_end {
	struct ddp_id *id;
	struct ddp_qp *qp;
	struct ddp_cq *scq, *rcq;
	unsigned posted; /* receives that did not complete */
};

/* Attributes of an end; 0 is a default. */
struct victim_opts {
	unsigned recvs; /* that are posted at once ... */
	uint32_t size;  /* ... of so many bytes each, side by side in the inbox */
	uint16_t ird, ord;
	struct ddp_srq *srq; /* receives come from it */
};

/* With the id of a request, or NULL for a new one. */
struct victim_end victim_end(struct ddp_id *id, const struct victim_opts *o);
void victim_end_free(struct victim_end *e);

/* The i-th receive's memory. The inbox starts again at its beginning for each end that has
 * receives. */
const uint8_t *victim_inbox(const struct victim_opts *o, unsigned i);

/* ---- work ---- */

/* Waits for the next completion of a queue. */
struct ddp_wc victim_wc(struct ddp_cq *cq);

/* The next receive completes in order: that many bytes. */
struct ddp_wc victim_received(struct victim_end *e, uint64_t wr_id, uint32_t len);

/* Nothing has completed. */
void victim_idle(struct ddp_cq *cq);

/* All receives that are left are flushed, once each. */
void victim_flushed(struct victim_end *e);

/* Posts one request, signaled, and fails the case if that fails. */
void victim_post(struct victim_end *e, struct ddp_send_wr wr);

/* ---- memory ---- */

enum { VICTIM_GUARD = 64, VICTIM_FILL = 0x5a, VICTIM_WALL = 0xa5 };

/* A region with guard bytes on both sides, filled with VICTIM_FILL. */
struct victim_region {
	struct ddp_mr *mr;
	uint8_t *p;
	size_t len;
};

struct victim_region victim_region(struct ddp_pd *pd, size_t len, uint64_t iova, unsigned access);

/* Checks that the guard bytes are unchanged. */
void victim_guards(const struct victim_region *r);

/* The same for the region outside [from, from + n). */
void victim_untouched(const struct victim_region *r, size_t from, size_t n);

/* Events that were not taken, for a case that fails. */
void victim_dump(void);

#endif
