/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The simulator's world: nodes with memory, endpoints and associations, driven by random
 * programs over the simulated network, and a model that knows everything about them.
 * Both ends of a session are in the same process, so the model looks at both and
 * judges each byte, each completion and each message on the wire.
 */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/datapath.h"
#include "llp/sim.h"
#include "proto/assoc.h"
#include "util/list.h"

enum {
	NODES_MAX = 3,
	STREAMS_MAX = 8,
	ARENA = 256 * 1024, /* bytes of memory of a node */
	UNIT = 64,          /* they are given out in such pieces */
	UNITS = ARENA / UNIT,
	STAGS_MAX = 256,
	OPS_MAX = 1024, /* requests, and receives, in the life of an endpoint */
	TRACE_LINES = 160,
	TRACE_WIDTH = 160,
};

/* What a seed decides once for the whole run. */
struct plan {
	struct sim_faults faults;
	unsigned nodes;
	unsigned actions;  /* random steps of the program */
	uint32_t gap_us;   /* between them, at most */
	uint32_t turn_us;  /* how late a node gets to its work, at most */
	uint32_t drain_us; /* how late a program reads its completions, at most */
	uint32_t len_max;  /* payload of an operation */
	uint16_t streams;
	uint16_t pending_max;
	uint32_t records_max;
	uint32_t stash_max;
	bool tight; /* one of these is so small that it may end a session */
	uint32_t answer_ms;
	uint32_t decide_us; /* how long programs think about an Initiate, at most */
	bool reckless;      /* Sends are posted without regard to the receiver's buffers */
	unsigned mishap;    /* chance of a request to be bad, in 10 000 */
	unsigned revoke;    /* chances of actions */
	unsigned close;
	unsigned unbind;
	unsigned crash;
	unsigned wrap; /* chance of a session to begin with numbers that are about to wrap */
};

/* ---- memory ---- */

/* Registered memory. */
struct region {
	struct list link;
	struct node *node;
	struct ep *owner;  /* goes with this endpoint; NULL: the domain's, stays */
	uint32_t off, len; /* in the arena, whole units */
	uint32_t stag;
	uint32_t rights;
	uint64_t pd, scope;
	uint64_t to;
	bool dead;   /* revoked or invalidated: nothing may touch it any more */
	bool doomed; /* a Send that invalidates it is on its way */
};

/*
 * A piece of a region that one operation reads or fills. What must be in memory is in the
 * arena's `want`; a landing slice may at each byte hold that or what it is to be filled with.
 */
struct slice {
	struct region *rg;
	uint32_t off, len; /* in the arena, any byte */
	unsigned pins;
	bool landing;
	uint64_t cid; /* what lands: content cid, from here on */
	uint32_t from;
	struct op *op; /* who fills it: a Write or Read by content, a receive by what is sent */
};

/* ---- work ---- */

enum op_state { OP_POSTED, OP_TAKEN, OP_DONE };

struct op {
	struct ep *ep;
	uint64_t cookie;
	unsigned at; /* index in ep->sq or ep->rq */
	enum rdmap_op kind;
	enum op_state state;
	struct rdmap_wr wr;
	struct rdmap_recv recv;
	uint64_t cid; /* the payload is content cid, from here on */
	uint32_t from;
	uint32_t len;
	uint8_t local;    /* not RDMAP_OK: must end so, unsent */
	uint32_t may;     /* errors, as bits, that the peer may find with it ... */
	bool must;        /* ... and one of them it must find, if it gets there */
	bool shaky;       /* its memory was revoked meanwhile: may fail anywhere */
	bool late;        /* that was before it was taken: it cannot be sent */
	bool begun, sent; /* its first, its last segment was accepted by the transport */
	bool answered;    /* Read: the response was sent */
	bool delivered;   /* Send */
	uint8_t status;   /* OP_DONE */
	unsigned nlocal;
	struct slice *local_mem[SGL_MAX];
	struct slice *target; /* Write, Read: the peer's memory */
	struct region *inv;
	struct op *needs; /* it reads what that one writes */
};

/* False if it is uncertain what it is to carry. */
static inline bool op_known(const struct op *op)
{
	return !op->needs || !op->needs->shaky;
}

enum ep_state {
	EP_NEW,
	EP_CONNECTING,
	EP_OPEN,
	EP_CLOSING, /* we called assoc_close() */
	EP_OVER,
};

struct ep {
	struct world *w;
	struct node *node;
	struct list link;
	unsigned id;
	enum ep_state state;
	struct rdmap *r;
	struct rdmap_cfg cfg;
	struct peer *peer;
	uint16_t sid;
	struct sess *sess;
	unsigned side; /* 0 active, 1 passive */
	struct op *sq[OPS_MAX];
	unsigned sq_n, sq_taken, sq_done, sq_wire; /* posted, taken, done, seen on the wire */
	struct op *rq[OPS_MAX];
	unsigned rq_n, rq_taken, rq_done;
	struct op *good[OPS_MAX]; /* receives that will take a message, in order */
	unsigned good_n, good_done;
	struct op *sent[OPS_MAX]; /* Sends by their number on the wire */
	unsigned sent_n;
	unsigned sends;     /* posted, that will reach the wire */
	unsigned reads_out; /* Read Requests sent and not completed */
	unsigned cq_room;
	bool hungry;  /* take_send() had nothing to give: a wake is due when that changes */
	bool shaky;   /* receives may have failed: which one takes what is uncertain */
	bool flushed; /* something ended RDMAP_FLUSHED: the end must follow */
	bool blamed;  /* something ended RDMAP_REM_...: the peer's error must follow */
	bool asked_close, unbound;
	struct region *mine;  /* local use only */
	struct region *open;  /* all rights */
	struct region *alone; /* all rights, only for this endpoint's stream */
};

/* ---- sessions ---- */

enum answer { ANS_NONE, ANS_ACCEPT, ANS_REJECT, ANS_REFUSE };

struct sess {
	struct list link;
	unsigned id;
	struct ep *ep[2]; /* active, passive */
	struct peer *peer[2];
	uint16_t sid;
	uint64_t born_us;
	bool requested; /* the passive side was asked */
	bool withdrawn;
	enum answer answer;   /* the program's */
	bool established;     /* the active side knows */
	uint16_t priv_len[2]; /* of Initiate, of its answer */
	uint8_t priv[2][WIRE_PRIVATE_MAX];
	bool shaky;       /* memory was revoked: any error may end it */
	bool vanished[2]; /* that side was let go without a word */
	bool over[2];
	enum assoc_why why[2];
	bool spoken;         /* a segment was sent */
	unsigned terminates; /* sent */
};

/* One direction of a stream, as seen on the wire. */
struct flow {
	struct sess *sess;
	unsigned side;
	bool begun, ended;      /* of the current session */
	bool refusal;           /* it is nothing but a Reject or Terminate */
	bool first_arrived;     /* its Initiate or Accept came to the other end */
	uint16_t ssn;           /* the next one */
	uint32_t sent, arrived; /* messages of all sessions */
	uint32_t msn[3];
	bool terminated; /* RDMAP Terminate was sent */
	bool in_msg;     /* between first and last segment */
	uint8_t opcode;
	uint32_t qn;
	struct op *op;
	uint32_t off;
};

/* An Initiate that waits for the program's decision. */
struct pend {
	struct list link;
	struct peer *peer;
	struct sess *sess;
	bool gone;
};

/* One end of an association. Stays until the world ends; its assoc goes with the association. */
struct peer {
	struct list link;
	struct node *node;
	struct node *other;
	struct llp_conn *conn;
	struct assoc *assoc;
	struct datapath dp;
	bool opener;
	bool up, gone;
	bool readable;
	bool turn_due;
	uint64_t timer_us; /* the earliest timer scheduled */
	unsigned pending;  /* requests that the program has not decided */
	uint64_t full_us;  /* when that was last the limit, if it is not now */
	unsigned early;    /* timers in a row that were due at once */
	struct flow tx[STREAMS_MAX];
};

struct node {
	struct world *w;
	unsigned id;
	struct llp *llp;
	struct llp_listener *listener;
	void *stag_mem;
	struct stag_table *stags;
	uint8_t *mem, *want;
	struct slice *unit[UNITS]; /* who has it */
	uint8_t taken[UNITS];      /* belongs to a region */
	struct list regions;
	struct list peers;
	struct list eps;
	struct region *shared[2]; /* all rights, one for each protection domain */
	struct region *bare[2];   /* no rights */
};

struct totals {
	unsigned sessions, sends, writes, reads, inlined, fenced, invalidated;
	unsigned rejected, refused, overflow, withdrawn, lost, errors, flushed, local_errors;
	unsigned messages, wrapped;
	unsigned ahead, stashed; /* messages that overtook others, or the Accept */
	/* For rows.c: sessions of a stream that had one before, without segments, with some one way
	 * only, that the passive side began to use, that went on beside one with an error. */
	unsigned reused, mute, oneway, passive_first, survived;
	unsigned terminates, revoked;
	unsigned lossy, busy, resized, narrow; /* runs with these faults */
	unsigned found[PERR_COUNT];            /* errors that ended sessions */
};

struct world {
	uint64_t seed;
	bool verbose;
	struct plan plan;
	struct sim_world *net;
	struct simclock *clock;
	unsigned nnodes;
	struct node node[NODES_MAX];
	struct list sessions;
	struct list pends;
	unsigned nsessions, neps, ops_under_way;
	uint64_t cookies, contents;
	unsigned actions_left;
	uint8_t flat[70000]; /* a message in one piece */
	struct totals sum;
	char (*lines)[TRACE_WIDTH];
	uint64_t nlines;
	uint64_t hash;
};

static inline uint64_t below(struct world *w, uint64_t n)
{
	return simclock_below(w->clock, n);
}

static inline bool chance(struct world *w, unsigned of_10000)
{
	return simclock_chance(w->clock, of_10000);
}

static inline uint32_t perr_bit(enum perr e)
{
	return UINT32_C(1) << e;
}

static inline struct ep *ep_other(const struct ep *ep)
{
	return ep->sess ? ep->sess->ep[!ep->side] : NULL;
}

/* ---- trace.c: what happened, and the end of a run that went wrong ---- */

__attribute__((format(printf, 2, 3))) void trace(struct world *w, const char *fmt, ...);
__attribute__((format(printf, 2, 3), noreturn)) void fail(struct world *w, const char *fmt, ...);

/* Memory, or the end of the program. Zeroed. */
void *get(size_t len);

/* ---- region.c ---- */

/* What free memory holds. */
uint8_t arena_canary(uint32_t off);

void arena_init(struct node *n);
void arena_deinit(struct node *n);

/* Every byte of the node is as it must be. */
void arena_check(struct node *n);

/* Registers memory; NULL if none is free. */
struct region *region_new(struct node *n, struct ep *owner, uint64_t pd, uint64_t scope,
			  uint32_t rights, uint32_t len);

/* Nothing may touch it from now on. removed: take it out of the table as well. */
void region_revoke(struct region *rg, bool remove);

/* Frees it. Nothing has a slice of it any more. */
void region_free(struct region *rg);

/* ---- slice.c ---- */

void content_fill(uint8_t *p, uint64_t cid, uint32_t from, uint32_t len);
bool content_is(const uint8_t *p, uint64_t cid, uint32_t from, uint32_t len);

/* A free piece of the region with one pin; NULL if there is none. */
struct slice *slice_new(struct region *rg, uint32_t len);

/* One user more, one less. Without users it is checked, wiped and given back. */
struct slice *slice_pin(struct slice *s);
struct slice *slice_put(struct slice *s);

/* Puts content there, as its program would. */
void slice_fill(struct slice *s, uint64_t cid, uint32_t from);

/* From now on op may fill it with that content. */
void slice_land(struct slice *s, struct op *op, uint64_t cid, uint32_t from);

/* The content is all there: it has landed. False if it is not. */
bool slice_landed(struct slice *s);

/* A landing slice is left as it is, and from now on must stay so. */
void slice_settle(struct slice *s);

/* Each byte is one of those it may be. */
void slice_check(struct slice *s);

/* Address of its first byte, in the arena and as a tagged offset. */
uint8_t *slice_mem(const struct slice *s);
uint64_t slice_to(const struct slice *s);

/* ---- op.c: building requests ---- */

/* Posts something random that suits the state of the endpoint. */
void op_post_random(struct ep *ep);

/* Posts up to n receives. */
void op_post_recvs(struct ep *ep, unsigned n);

/* ---- ep.c ---- */

struct ep *ep_new(struct node *n);
bool ep_post_room(const struct ep *ep);
void ep_post(struct op *op);
void ep_post_recv(struct op *op);

/* The session is over for it, or never was: memory is given back. */
void ep_over(struct ep *ep);

/* Writes of the endpoint whose bytes are all there. all: all that were sent must be. */
void ep_sweep(struct ep *ep, unsigned before, bool all);

/* Errors, as bits, that the other end may find with what this endpoint sent. */
uint32_t ep_errors(const struct ep *ep);

/* ---- done.c: judging completions ---- */

void done_check(struct ep *ep, const struct rdmap_done *d);

/* ---- sess.c: judging sessions ---- */

struct sess *sess_new(struct ep *ep);
void sess_request(struct peer *p, const struct assoc_event *ev);
void sess_event(struct peer *p, const struct assoc_event *ev);
void sess_decide(struct pend *d);

/* A run of private data for an Initiate (0) or its answer (1). */
void sess_private(struct sess *s, unsigned which);

/* As the protocol wants it. */
struct assoc_offer sess_offer(const struct sess *s, unsigned which);

/* ---- peer.c ---- */

extern const struct llp_events peer_events;

struct peer *peer_connect(struct node *from, struct node *to);
void peer_wake(struct peer *p);

/* Tells the time, as is due before any other call of a turn. */
void peer_tick(struct peer *p);
void peer_lost(struct peer *p);

/* ---- wire.c ---- */

/* Nothing but Initiate and Accept was sent on the stream, and both have arrived. */
bool wire_fresh(const struct peer *p, uint16_t sid);

/* What the numbers of one direction are now. */
void wire_preset(struct peer *p, uint16_t sid, uint16_t ssn, uint32_t send_msn, uint32_t read_msn);

void wire_observe(void *user, enum sim_what what, const struct llp_conn *c,
		  const struct llp_msg *m);

/* ---- program.c ---- */

void program_begin(struct world *w);

/* Closes the endpoint's session, as its client would. */
void program_close(struct ep *ep);

/* Closes every session that is left. */
void program_end(struct world *w);

/* ---- rows.c ---- */

/* Prints what runs with these totals have shown. */
void rows_print(const struct totals *t);

/* ---- world.c ---- */

/* Runs a seed from beginning to end. Does not return if something is wrong. */
void world_run(struct world *w);

#endif
