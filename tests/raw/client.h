/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The client of the daemon under test: an ordinary program that uses only the public library and
 * checks every event and completion.
 */
#ifndef TESTS_RAW_CLIENT_H
#define TESTS_RAW_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ddp/ddp.h>

/* Attaches to a daemon, 0 or 1. Everything below is about that one. */
void client_open(unsigned daemon);

/* The protection domain that ends and regions belong to. */
struct ddp_pd *client_pd(void);
struct ddp_ctx *client_ctx(void);

/* Listens at stage.port. backlog: 0 is the daemon's default. */
struct ddp_id *client_listen(int backlog);

/* ---- events ---- */

/* Waits for the next event, which must be of that type. The caller acknowledges it. */
struct ddp_cm_event *client_event(enum ddp_cm_event_type type);

/* No event is waiting. */
void client_no_event(void);

/* ---- ends of sessions ---- */

struct client_end {
	struct ddp_id *id;
	struct ddp_qp *qp;
	struct ddp_cq *scq, *rcq;
	unsigned posted; /* receives that did not complete */
};

/* Attributes of an end; 0 is a default. */
struct client_opts {
	unsigned recvs; /* that are posted at once ... */
	uint32_t size;  /* ... of so many bytes each, side by side in the inbox */
	uint16_t ird, ord;
	struct ddp_srq *srq; /* receives come from it */
};

/* With the id of a request, or NULL for a new one. */
struct client_end client_end(struct ddp_id *id, const struct client_opts *o);
void client_end_free(struct client_end *e);

/* The i-th receive's memory. The inbox starts again at its beginning for each end that has
 * receives. */
const uint8_t *client_inbox(const struct client_opts *o, unsigned i);

/* ---- work ---- */

/* Waits for the next completion of a queue. */
struct ddp_wc client_wc(struct ddp_cq *cq);

/* The next receive completes in order: that many bytes. */
struct ddp_wc client_received(struct client_end *e, uint64_t wr_id, uint32_t len);

/* No request has completed. */
void client_idle(struct ddp_cq *cq);

/* All receives that are left are flushed, once each. */
void client_flushed(struct client_end *e);

/* Posts one request, signaled, and fails the case if that fails. */
void client_post(struct client_end *e, struct ddp_send_wr wr);

/* ---- memory ---- */

enum { CLIENT_GUARD = 64, CLIENT_FILL = 0x5a, CLIENT_WALL = 0xa5 };

/* A region with guard bytes on both sides, filled with CLIENT_FILL. */
struct client_region {
	struct ddp_mr *mr;
	uint8_t *p;
	size_t len;
};

struct client_region client_region(struct ddp_pd *pd, size_t len, uint64_t iova, unsigned access);

/* Checks that the guard bytes are unchanged. */
void client_guards(const struct client_region *r);

/* The same for the region outside [from, from + n). */
void client_untouched(const struct client_region *r, size_t from, size_t n);

/* Events that were not taken, for a case that fails. */
void client_dump(void);

#endif
