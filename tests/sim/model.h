/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The simulator's world: nodes with memory, endpoints and associations, driven by random
 * programs over the simulated network, and a model of their complete state. Both ends of a session
 * are in the same process, so the model sees both and checks each byte, each completion and each
 * message on the wire.
 */
#ifndef TESTS_SIM_MODEL_H
#define TESTS_SIM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/net/datapath.h"
#include "tests/lib/sim.h"
#include "tests/lib/test_blocks.h"
#include "tests/sim/stack.h"
#include "proto/association/assoc.h"
#include "util/list.h"

enum {
	NODES_MAX = 3,
	STREAMS_MAX = 8,
	ARENA = 256 * 1024, /* bytes of memory of a node */
	UNIT = 64,          /* unit of allocation */
	UNITS = ARENA / UNIT,
	STAGS_MAX = 256,
	BLOCKS_MAX = 1 << 21,            /* for what is in flight on a node */
	OPS_MAX = 1024,                  /* requests, and receives, of an endpoint in total */
	QUEUE_TAGGED = RDMAP_RAW_QUEUES, /* receives for notices of tagged messages */
	QUEUES,
	CELLS = 4,      /* of 8 bytes for atomics, in each protection domain of a node */
	WINDOWS = 2,    /* of an endpoint */
	STALE_MAX = 16, /* STags of a node that were valid earlier */
	TRACE_LINES = 160,
	TRACE_WIDTH = 160,
};

/* The parameters that a seed determines for the whole run. */
struct plan {
	struct sim_faults faults;
	bool strict; /* sctp: no association may be lost */
	unsigned nodes;
	unsigned actions;  /* random steps of the program */
	uint32_t gap_us;   /* longest time between them */
	uint32_t turn_us;  /* longest delay of a node */
	uint32_t drain_us; /* longest delay of a program that reads its completions */
	uint32_t len_max;  /* payload of an operation */
	uint16_t streams;
	uint16_t pending_max;
	uint32_t records_max;
	uint32_t early_max;
	bool tight; /* one of these is small enough to end a session */
	uint32_t answer_ms;
	uint32_t close_ms;     /* longest time for a close */
	uint32_t decide_us;    /* longest time until a program answers an Initiate */
	bool overrun_receives; /* Sends are posted without regard to the receiver's buffers */
	unsigned bad_op;       /* chance of an invalid request, in 10 000 */
	unsigned revoke;       /* chances of actions */
	unsigned close;
	unsigned unbind;
	unsigned crash;
	unsigned wrap;       /* chance of a session to begin with numbers that are about to wrap */
	unsigned negotiate;  /* ... to be enhanced (RFC 6581) */
	unsigned raw;        /* ... to be without RDMAP */
	unsigned extensions; /* share of RFC 7306 in the requests */
	unsigned old_node;   /* chance of a node without RFC 6581 */
	unsigned old_ep;     /* chance of an endpoint without RFC 7306 */
	unsigned hold;       /* ... with a hold, or with an option */
	uint32_t late_us;    /* longest time until a late receive is posted */
};

/* ---- memory ---- */

/* Registered memory. */
struct region {
	struct list link;
	struct node *node;
	struct ep *owner;  /* freed with this endpoint; NULL: belongs to the domain */
	uint32_t off, len; /* in the arena, whole units */
	uint32_t stag;
	uint32_t rights;
	uint64_t pd, scope;
	uint64_t to;
	bool dead;       /* revoked or invalidated: must not change any more */
	bool revoke_due; /* a Send that invalidates it is in flight */
};

/*
 * A piece of a region that one operation reads or fills. The expected memory is the arena's `want`;
 * each byte of a slice that is being filled may have that or its new value.
 */
struct slice {
	struct region *rg;
	uint32_t off, len; /* in the arena, any byte */
	unsigned pins;
	bool receiving;
	uint64_t cid; /* its new value: content cid, from here on */
	uint32_t from;
	struct op *op; /* what fills it: a Write or Read by content, a receive by its message */
};

/*
 * The range of a bind, from posting on. The peer's program learns it when the bind has completed,
 * or from a Send after it.
 */
struct grant {
	struct list link;
	struct ep *owner;
	uint32_t stag;
	struct region *rg;
	uint32_t off, len; /* in the arena */
	uint32_t rights;
	struct op *bind;
	enum { GRANT_POSTED, GRANT_OPEN, GRANT_CLOSING, GRANT_OVER } state;
	bool by_owner; /* CLOSING: the owner's own request ends it */
	unsigned held; /* outstanding binds that must fail because it is open */
};

/* A window of type 2: one entry of the STag table for all of its grants. */
struct window {
	uint32_t stag;       /* the latest value */
	struct grant *grant; /* the latest, or NULL */
	bool gone;           /* not in the table any more */
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
	uint8_t local;    /* not RDMAP_SUCCESS: must end so, unsent */
	uint32_t may;     /* errors, as bits, that the peer may find in it ... */
	bool must;        /* ... one of which it must find if the request arrives */
	bool uncertain;   /* its memory was revoked meanwhile: may fail at either side */
	bool late;        /* that was before it was taken: it cannot be sent */
	bool begun, sent; /* its first, its last segment was accepted by the transport */
	unsigned asked;   /* Read, atomic: messages that were sent, one for each element ... */
	unsigned replied; /* ... and responses */
	uint64_t seq;     /* sent: messages of the association up to that segment */
	bool answered;    /* Read, atomic: all responses were sent */
	bool delivered;   /* Send */
	int queue;        /* of its receive; -1: none */
	uint32_t cell;    /* atomic: where, in the arena of ... */
	struct region *cell_in; /* ... this region's node */
	uint64_t id, old, new;  /* atomic: its identifier on the wire; before and after it */
	bool executed;
	struct op *after; /* Read of a cell: it returns the result of this atomic */
	uint8_t status;   /* OP_DONE */
	unsigned nlocal;
	struct slice *local_mem[SGL_MAX];
	struct slice *target; /* Write, Read: the peer's memory */
	struct region *inv;
	struct grant *grant; /* Bind, invalidation: the grant that it begins or ends */
	struct grant *via;   /* the target is reached through it */
	struct op *needs;    /* it reads the data of that one */
};

/* Takes a receive. */
static inline bool op_delivers(enum rdmap_op kind)
{
	return opcode_has(kind, OPCODE_RECEIVE);
}

static inline bool op_is_atomic(enum rdmap_op kind)
{
	return kind == RDMAP_FETCH_ADD || kind == RDMAP_CMP_SWAP;
}

/* Has a response, counts against ORD. */
static inline bool op_has_response(enum rdmap_op kind)
{
	return kind == RDMAP_READ || op_is_atomic(kind);
}

/* The number of its messages. */
static inline unsigned op_parts(const struct op *op)
{
	return op->kind == RDMAP_READ && op->wr.nsge > 1 ? op->wr.nsge : 1;
}

/* The sink of one of them; of no bytes if there is none. */
static inline struct sgl_elem op_sink_of(const struct op *op, unsigned part)
{
	return part < op->wr.nsge ? op->wr.sge[part] : (struct sgl_elem){0};
}

/* It does not send. */
static inline bool op_is_local(enum rdmap_op kind)
{
	return kind == RDMAP_BIND || kind == RDMAP_LOCAL_INV;
}

/* False if its data are uncertain. */
static inline bool op_known(const struct op *op)
{
	return !(op->needs && op->needs->uncertain) && !(op->after && op->after->uncertain);
}

enum ep_state {
	EP_NEW,
	EP_CONNECTING,
	EP_OPEN,
	EP_CLOSING, /* we called assoc_close() or assoc_close_after() */
	EP_OVER,
};

/* Receives of a queue, and the messages sent to the peer's. RDMAP has one. */
struct queue {
	struct op **all; /* receives in the order of posting */
	unsigned n, done;
	struct op **good; /* those that will take a message */
	unsigned good_n, good_done;
	struct op **sent; /* by their number on the wire */
	unsigned sent_n;
	unsigned posted; /* that will reach the wire */
	uint32_t *lens;  /* theirs */
};

struct ep {
	struct world *w;
	struct node *node;
	struct list link;
	unsigned id;
	enum ep_state state;
	struct rdmap *r;
	struct rdmap_cfg cfg;
	uint16_t ord, ird; /* in force; 0 while that is being negotiated */
	struct assoc_end *end;
	uint16_t sid;
	struct sess *sess;
	unsigned side; /* 0 active, 1 passive */
	struct op *sq[OPS_MAX];
	unsigned sq_n, sq_taken, sq_done, sq_wire; /* posted, taken, done, seen on the wire */
	struct op *rq[OPS_MAX];
	unsigned rq_n, rq_taken, rq_done;
	struct queue queue[QUEUES];
	unsigned delivered_upto; /* our requests before this one were delivered, unless they cannot
				    be */
	unsigned answered; /* requests before this one have an answer, unless they need none */
	unsigned cq_room;
	void *hold;         /* memory of its hold, or NULL */
	bool patient;       /* the hold has room and time for all messages that find no receive */
	bool in_order;      /* RDMAP_PLACE_IN_ORDER */
	bool acked;         /* RDMAP_ACKED */
	bool rnr;           /* RDMAP_RNR */
	bool credits;       /* RDMAP_CREDITS, with ... */
	uint32_t ahead_max; /* ... rdmap_set_window() */
	bool late_due;      /* late receives are to be posted */
	uint32_t late_more_us; /* than planned until it looks again */
	bool recv_due;         /* take_recv() had none: a wake is due when there is one */
	bool wake_due;         /* take_send() had no request: a wake is due when there is one */
	bool uncertain;    /* receives may have failed: their assignment to messages is uncertain */
	bool flushed;      /* something ended RDMAP_FLUSH_ERR: the end must follow */
	bool remote_error; /* something ended RDMAP_REM_...: the peer's error must follow */
	bool close_requested, unbound;
	unsigned sq_last;            /* requests that assoc_close_after() lets through */
	uint64_t sq_last_by_us;      /* as long as that takes less than this */
	bool errored;                /* raw: an error was reported ... */
	bool finishing;              /* ... while a message was half sent */
	unsigned msgs_after_error;   /* messages begun since then */
	bool half_closed;            /* raw: the peer has ended its half */
	uint64_t since_us;           /* time of the latest of these events, or of the latest send */
	struct region *local_region; /* local use only */
	struct region *late_region;  /* for a late receive when there is no other memory */
	struct region *open_region;  /* all rights */
	struct region *scoped_region;   /* for this endpoint's stream, all rights but for atomics */
	struct region *windowed_region; /* used only through windows */
	struct window window[WINDOWS];
	struct list grants;
};

/* ---- sessions ---- */

enum answer { ANS_NONE, ANS_ACCEPT, ANS_REJECT, ANS_REFUSE };

struct sess {
	bool offered, agreed; /* credits: on the wire so far */
	struct list link;
	unsigned id;
	struct ep *ep[2]; /* active, passive */
	struct assoc_end *end[2];
	uint16_t sid;
	uint64_t begun_us;
	bool requested; /* the passive side got the request */
	bool withdrawn;
	enum answer answer;   /* the program's */
	bool established;     /* the active side knows */
	uint16_t priv_len[2]; /* of Initiate, of its answer */
	uint8_t priv[2][WIRE_PRIVATE_MAX];
	bool raw;                       /* endpoints without RDMAP */
	bool enhanced;                  /* RFC 6581 */
	struct wire_enh given[2];       /* parameters given with the Initiate and with the answer */
	struct wire_enh wire_params[2]; /* parameters on the wire */
	uint8_t rtr;                    /* ready-to-receive messages that both sides named */
	bool uncertain;                 /* memory was revoked: any error may end it */
	bool released[2];               /* that side was released without a Terminate */
	bool over[2];
	enum assoc_reason reason[2];
	bool segment_sent;   /* a segment was sent */
	unsigned terminates; /* sent */
};

/* One direction of a stream, as seen on the wire. */
struct flow {
	struct sess *sess;
	unsigned side;
	bool begun, ended;      /* of the current session */
	bool refusal;           /* it has only a Reject or Terminate */
	bool first_arrived;     /* its Initiate or Accept arrived at the other end */
	uint16_t ssn;           /* the next one */
	uint32_t sent, arrived; /* messages of all sessions */
	uint32_t msn[RDMAP_RAW_QUEUES];
	bool rtr_due; /* the next segment is a ready-to-receive message */
	bool rtr_sent;
	bool rtr_read;                /* it was a Read, whose response ... */
	bool rtr_answered;            /* ... was sent the other way */
	bool rtr_arrived;             /* it arrived at the other end */
	bool answer_arrived;          /* and the response arrived */
	uint16_t rtr_ssn, answer_ssn; /* their numbers */
	bool terminated;              /* RDMAP Terminate was sent */
	bool in_msg;                  /* between first and last segment */
	bool tagged;                  /* it, and ... */
	uint8_t opcode;
	uint32_t qn;
	struct op *op;
	uint32_t off;
};

/* An Initiate that waits for the program's decision. */
struct pending_req {
	struct list link;
	struct assoc_end *end;
	struct sess *sess;
	bool gone;
};

/* One end of an association. Stays until the world ends; its assoc goes with the association. */
struct assoc_end {
	uint32_t blocks; /* reserved */
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
	uint64_t timer_us;    /* the earliest timer scheduled */
	unsigned pending;     /* requests that the program has not decided */
	uint64_t full_us;     /* when they last reached the limit, if not now */
	unsigned early;       /* timers in a row that were due at once */
	uint64_t sent, acked; /* messages, as the transport says */
	struct flow tx[STREAMS_MAX];
};

struct node {
	struct world *w;
	unsigned id;
	struct llp *llp;
	struct stack *stack; /* NULL: a model of a transport */
	struct llp_listener *listener;
	void *stag_mem;
	struct stag_table *stags;
	struct test_blocks *pool;
	uint8_t *mem, *want;
	struct slice *unit[UNITS]; /* who has it */
	uint8_t taken[UNITS];      /* belongs to a region */
	struct list regions;
	struct list ends;
	struct list eps;
	struct region *shared[2];    /* all rights, one for each protection domain */
	struct region *no_access[2]; /* no rights but for windows */
	struct region *cells[2];     /* for atomics alone */
	uint32_t stale[STALE_MAX];   /* values that must be invalid */
	unsigned nstale;
	uint32_t vacant[STALE_MAX]; /* values whose indexes are free */
	unsigned nvacant;
	bool plain_only; /* no RFC 6581 */
};

struct totals {
	unsigned sessions, sends, writes, reads, inlined, fenced, invalidated;
	unsigned rejected, refused, overflow, withdrawn, lost, errors, flushed, local_errors;
	unsigned messages, wrapped;
	unsigned imms, atomics, swapped, unswapped, cells; /* cells: on those that are shared */
	unsigned binds, unbinds, windowed,
		old_keys; /* ... operations through windows, with dead STags */
	unsigned enhanced, enh_rejected, enh_unsupported, rtr[5], no_rtr, dropped_ord;
	unsigned raws, raw_sends, notices, raw_errors, msgs_after_error, half_closed, raw_timeouts;
	unsigned held, in_order, acked; /* late messages, sessions with these options */
	unsigned credits, not_ready;    /* messages */
	unsigned far;                   /* segments of messages as long as there can be */
	unsigned reused_stags, mixed;   /* mixed: associations with both kinds of endpoints */
	unsigned ahead, early;          /* messages that overtook others, or the Accept */
	/* For rows.c: sessions of a stream that had one before, without segments, with some one way
	 * only, that the passive side began to use, that went on beside one with an error. */
	unsigned reused, no_segments, oneway, passive_first, survived;
	unsigned sent_first; /* sessions that ended after what was posted before */
	unsigned terminates, revoked;
	unsigned lossy, busy, resized, narrow;                   /* runs with these faults */
	unsigned packets, retransmits, timeouts, cuts, restarts; /* sctp */
	unsigned found[PERR_COUNT];                              /* errors that ended sessions */
};

struct world {
	uint64_t seed;
	bool verbose;
	struct plan plan;
	struct sim_world *net;
	bool sctp; /* the transport is the real one: stack.h */
	struct sim_network *network;
	struct simclock *clock;
	unsigned nnodes;
	struct node node[NODES_MAX];
	struct list sessions;
	struct list pending_reqs;
	unsigned nsessions, neps, ops_in_flight;
	uint64_t cookies, contents;
	unsigned actions_left;
	uint8_t contiguous[70000]; /* a message in one piece */
	struct totals sum;
	char (*lines)[TRACE_WIDTH];
	uint64_t nlines;
	uint64_t hash;
};

static inline uint64_t random_below(struct world *w, uint64_t n)
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

#endif
