/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Common functions of the programs of the system tests: ends, each a client of a daemon, sessions
 * between them, and checks. Each check prints "ok" and its promise; the first that fails prints
 * what was expected and what came, and ends the program with status 1.
 */
#ifndef TESTS_SYSTEM_RIG_H
#define TESTS_SYSTEM_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ddp/ddp.h>

#include "tests/lib/patience.h"

enum {
	RIG_SIZE = 1 << 20, /* bytes of an end's memory */
	RIG_HALF = RIG_SIZE / 2,
	RIG_ALL = 31, /* all rights */
	RIG_DEPTH = 16,
	RIG_WAIT_MS = PATIENCE_MS,
};

/* ---- checks ---- */

void ok(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void fail(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* A number. */
void is(const char *what, uint64_t came, uint64_t expected);

/* Bytes. */
void same(const char *what, const void *came, const void *expected, size_t len);

#define MUST_FAIL fail
#include "tests/lib/must.h"

/* A call that must fail with this error. */
#define REFUSED(what, call, err) rig_refused(what, (call), err)
void rig_refused(const char *what, int came, int err);

/* ---- ends ---- */

struct end {
	const char *name, *socket;
	struct ddp_ctx *ctx;
	struct ddp_pd *pd;
	struct ddp_cq *cq;
	struct ddp_mr *mr;       /* RIG_SIZE bytes, all rights */
	struct ddp_id *listener; /* of end_listen() */
	uint16_t port;
};

/* A client of the daemon at that socket. */
void end_open(struct end *e, const char *name, const char *socket);

/* Waits for sessions at an unused port. */
void end_listen(struct end *e);

/* Destroys all that end_open() made; no object may be in use. */
void end_close(struct end *e);

/* The end's memory. */
uint8_t *end_at(const struct end *e, size_t offset);

/* Fills part of it with bytes that depend on the seed. */
void end_fill(const struct end *e, size_t offset, size_t len, unsigned seed);

struct ddp_sge end_sge(const struct end *e, size_t offset, uint32_t len);

/* The next event, which must be of this type. The caller acknowledges it. */
struct ddp_cm_event *end_event(struct end *e, enum ddp_cm_event_type type);

/* The same, acknowledged; its id. */
struct ddp_id *end_expect(struct end *e, enum ddp_cm_event_type type);

/* The next completion. */
struct ddp_wc end_wc(struct end *e);

/* The same, which must be this one. */
struct ddp_wc end_done(struct end *e, enum ddp_wc_opcode opcode, enum ddp_wc_status status);

/* Drops all completions that are there. */
void end_drain(struct end *e);

/* ---- sessions ---- */

/* Attributes of a session. All zero: an ordinary one. */
struct how {
	struct ddp_conn_param *request, *answer;
	struct ddp_qp_init init[2]; /* members that are 0 get their defaults; so does struct_size */
	struct ddp_pd *pd[2];       /* NULL: those of the ends */
};

/* 0 is the initiator, 1 the listener. */
struct session {
	struct end *end[2];
	struct ddp_id *id[2];
	struct ddp_qp *qp[2];
	unsigned number; /* of posted_session() */
};

/* The steps of session_open(): one side's queue pair, and the request of the session. */
void session_make_qp(struct session *s, int side, const struct how *how);
void session_connect(struct session *s, struct end *a, struct end *b, const char *address,
		     const struct how *how);

/* The request of session_connect(), as an event to be acknowledged. */
struct ddp_cm_event *session_request(struct session *s);

/* Opens a session, until both sides are ESTABLISHED. */
void session_open(struct session *s, struct end *a, struct end *b, const char *address,
		  const struct how *how);

/* Ends it in order, first at this side, then calls session_free(). */
void session_close(struct session *s, int side);

/*
 * The side that refuses has ended the session, with this code (layer << 12 | type << 8 | code);
 * both sides get an event. Then session_free().
 */
void session_broken(struct session *s, int refuses, uint16_t term);

/* Destroys queue pairs and ids of the sides that have them, and drops the rest of the completion
 * queues of these ends. */
void session_free(struct session *s);

/* Posts one request, signaled. */
void session_post(const struct session *s, int side, struct ddp_send_wr wr);
/* With one element of the end's memory. */
void session_send(const struct session *s, int side, struct ddp_send_wr wr, size_t offset,
		  uint32_t len);
void session_recv(const struct session *s, int side, size_t offset, uint32_t len);

#endif
