/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What programs of the system tests share: ends, each a client of a daemon, sessions between them,
 * and checks. Each check prints "ok" and what holds; the first that fails says what was expected
 * and what came, and ends the program with status 1.
 */
#ifndef TESTS_SYSTEM_RIG_H
#define TESTS_SYSTEM_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ddp/ddp.h>

enum {
	RIG_SIZE = 1 << 20, /* bytes of an end's memory */
	RIG_HALF = RIG_SIZE / 2,
	RIG_ALL = 31, /* all rights */
	RIG_DEPTH = 16,
	RIG_WAIT_MS = 20000,
};

/* ---- checks ---- */

void ok(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void fail(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* A number. */
void is(const char *what, uint64_t came, uint64_t expected);

/* Bytes. */
void same(const char *what, const void *came, const void *expected, size_t len);

/* A call that must not fail; its result. */
#define MUST(call) rig_must(#call, (call))
int rig_must(const char *what, int r);

/* A call that must fail so. */
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

/* Waits for sessions at a port that nobody has. */
void end_listen(struct end *e);

/* Destroys all that end_open() made; each object must be free to go. */
void end_close(struct end *e);

/* The end's memory. */
uint8_t *end_at(const struct end *e, size_t offset);

/* Fills part of it with bytes that depend on the seed. */
void end_fill(const struct end *e, size_t offset, size_t len, unsigned seed);

struct ddp_sge end_sge(const struct end *e, size_t offset, uint32_t len);

/* The next event, which must be of this type. To be acknowledged. */
struct ddp_cm_event *end_event(struct end *e, enum ddp_cm_event_type type);

/* The same, acknowledged; its id. */
struct ddp_id *end_expect(struct end *e, enum ddp_cm_event_type type);

/* The next completion, which must be this one. */
struct ddp_wc end_done(struct end *e, enum ddp_wc_opcode opcode, enum ddp_wc_status status);

/* Drops what is there. */
void end_drain(struct end *e);

/* ---- sessions ---- */

/* How a session is made. All zero: an ordinary one. */
struct how {
	struct ddp_conn_param *ask, *answer;
	struct ddp_qp_init init[2]; /* what is 0 in it is set as usual; struct_size is */
	struct ddp_pd *pd[2];       /* NULL: those of the ends */
};

/* 0 is the side that asked, 1 the one that listened. */
struct session {
	struct end *end[2];
	struct ddp_id *id[2];
	struct ddp_qp *qp[2];
	unsigned number; /* of posted_session() */
};

/* One side's queue pair, and the beginning of the session; both steps of session_open(). */
void session_make_qp(struct session *s, int side, const struct how *how);
void session_ask(struct session *s, struct end *a, struct end *b, const char *address,
		 const struct how *how);

/* The request of session_ask(), as an event to be acknowledged. */
struct ddp_cm_event *session_request(struct session *s);

/* All of it, until both sides are ESTABLISHED. */
void session_open(struct session *s, struct end *a, struct end *b, const char *address,
		  const struct how *how);

/* Ends it in order, from this side on; then session_free(). */
void session_close(struct session *s, int side);

/*
 * The session was ended by the side that refuses, with this code (layer << 12 | type << 8 | code);
 * both sides are told. Then session_free().
 */
void session_broken(struct session *s, int refuses, uint16_t term);

/* Destroys queue pairs and ids of the sides that have them, and drops what is left in the
 * completion queues of these ends. */
void session_free(struct session *s);

/* Posts one request, signaled. */
void session_post(const struct session *s, int side, struct ddp_send_wr wr);
/* With one element of the end's memory. */
void session_send(const struct session *s, int side, struct ddp_send_wr wr, size_t offset,
		  uint32_t len);
void session_recv(const struct session *s, int side, size_t offset, uint32_t len);

#endif
