/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs of the faults: parts that use a library, each from ddp_open() to ddp_close(), or the
 * like with verbs. Any call may fail once; then the part ends, and frees what it has. What it finds
 * wrong besides is a complaint.
 */
#ifndef TESTS_FAULTS_PROGRAM_H
#define TESTS_FAULTS_PROGRAM_H

#include <ddp/ddp.h>
#include <stdint.h>

enum { SIZE = 256 << 10, DEPTH = 16, WAIT_MS = 20000 };

struct end {
	struct ddp_ctx *ctx;
	struct ddp_pd *pd;
	struct ddp_cq *cq;
	struct ddp_mr *mr;
	struct ddp_srq *srq; /* receives of its sessions; NULL: they have their own */
	struct ddp_id *listener, *id;
	struct ddp_qp *qp;
};

struct program {
	const char *socket[2],
		*address; /* of the daemons of both ends, and where the second one listens */
	struct end end[2];
};

/* Of this program; the last one has no name. */
extern const struct part {
	const char *name;
	void (*run)(struct program *p);
} program_parts[];

/* Ends the part with the sentence of the failure, if r is negative. */
int try(const char *call, int r);
#define TRY(call) try(#call, call)

/* Ends the part: this must not happen, whatever fails. */
void complain(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Ends the part, as a failure. */
void give_up(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* When the part ends, calls that function, twice if the first call fails. The last one first. */
void later(int (*undo)(void *), void *object);
/* The same now; a failure ends the part, and is tried again then. */
void now(void *object);

/* program_end.c */
void end_open(struct program *p, int side);
struct ddp_mr *new_region(struct end *e, size_t length);
struct ddp_cm_event *end_event(struct program *p, int side, enum ddp_cm_event_type type);
void connect_ends(struct program *p, const struct ddp_qp_init *init, struct ddp_conn_param *request,
		  struct ddp_conn_param *answer);
void end_done(struct program *p, int side, enum ddp_wc_opcode opcode);
void post(struct program *p, int side, struct ddp_send_wr wr, uint32_t offset, uint32_t len);
void post_recv(struct program *p, int side, uint32_t offset, uint32_t len);
void disconnect_ends(struct program *p, int first);

/* program_objects.c */
void part_attach(struct program *p);
void part_memory(struct program *p);
void part_own_memory(struct program *p);
void part_threads(struct program *p);
void part_fork(struct program *p);
void part_queues(struct program *p);
void part_listen(struct program *p);

/* program_work.c */
void part_work(struct program *p);
void part_large(struct program *p);
void part_raw(struct program *p);
void part_late(struct program *p);
void part_enhanced(struct program *p);
void part_reject(struct program *p);
void part_refused(struct program *p);
void part_many(struct program *p);
void part_hold(struct program *p);

/* program_easy.c */
void part_easy(struct program *p);

#endif
