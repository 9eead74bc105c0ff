/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The simulator's world: nodes with memory, endpoints and associations, driven by random
 * programs over the simulated network, and a model of their complete state. Both ends of a session
 * are in the same process, so the model sees both and checks each byte, each completion and each
 * message on the wire.
 */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/net/datapath.h"
#include "tests/lib/sim.h"
#include "proto/assoc.h"
#include "util/list.h"

enum {
	NODES_MAX = 3,
	STREAMS_MAX = 8,
	ARENA = 256 * 1024, /* bytes of memory of a node */
	UNIT = 64,          /* unit of allocation */
	UNITS = ARENA / UNIT,
	STAGS_MAX = 256,
	OPS_MAX = 1024,                 /* requests, and receives, of an endpoint in total */
	LANE_TAGGED = RDMAP_RAW_QUEUES, /* receives for notices of tagged messages */
	LANES,
	CELLS = 4,   /* of 8 bytes for atomics, in each protection domain of a node */
	WINDOWS = 2, /* of an endpoint */
	BURIED = 16, /* STags of a node that were valid earlier */
	TRACE_LINES = 160,
	TRACE_WIDTH = 160,
};

/* The parameters that a seed determines for the whole run. */
struct plan {
	struct sim_faults faults;
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
	uint32_t decide_us; /* longest time until a program answers an Initiate */
	bool reckless;      /* Sends are posted without regard to the receiver's buffers */
	unsigned mishap;    /* chance of an invalid request, in 10 000 */
	unsigned revoke;    /* chances of actions */
	unsigned close;
	unsigned unbind;
	unsigned crash;
	unsigned wrap;       /* chance of a session to begin with numbers that are about to wrap */
	unsigned negotiate;  /* ... to be enhanced (RFC 6581) */
	unsigned raw;        /* ... to be without RDMAP */
	unsigned extensions; /* share of RFC 7306 in the requests */
	unsigned old_node;   /* chance of a node without RFC 6581 */
	unsigned old_ep;     /* chance of an endpoint without RFC 7306 */
};

/* ---- memory ---- */

/* Registered memory. */
struct region {
	struct list link;
	struct node *node;
	struct ep *owner;  /* freed with this endpoint; NULL: of the domain, stays */
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
	bool landing;
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
	uint8_t local;          /* not RDMAP_SUCCESS: must end so, unsent */
	uint32_t may;           /* errors, as bits, that the peer may find in it ... */
	bool must;              /* ... one of which it must find if the request arrives */
	bool shaky;             /* its memory was revoked meanwhile: may fail at either side */
	bool late;              /* that was before it was taken: it cannot be sent */
	bool begun, sent;       /* its first, its last segment was accepted by the transport */
	bool answered;          /* Read, atomic: the response was sent */
	bool delivered;         /* Send */
	int lane;               /* of its receive; -1: none */
	uint32_t cell;          /* atomic: where, in the arena of ... */
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
static inline bool op_asks(enum rdmap_op kind)
{
	return kind == RDMAP_READ || op_is_atomic(kind);
}

/* It sends nothing. */
static inline bool op_is_local(enum rdmap_op kind)
{
	return kind == RDMAP_BIND || kind == RDMAP_LOCAL_INV;
}

/* False if its data are uncertain. */
static inline bool op_known(const struct op *op)
{
	return !(op->needs && op->needs->shaky) && !(op->after && op->after->shaky);
}

enum ep_state {
	EP_NEW,
	EP_CONNECTING,
	EP_OPEN,
	EP_CLOSING, /* we called assoc_close() */
	EP_OVER,
};

/* Receives of a queue, and the messages sent to the peer's. RDMAP has one. */
struct lane {
	struct op **all; /* receives in the order of posting */
	unsigned n, done;
	struct op **good; /* those that will take a message */
	unsigned good_n, good_done;
	struct op **sent; /* by their number on the wire */
	unsigned sent_n;
	unsigned posted; /* that will reach the wire */
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
	struct peer *peer;
	uint16_t sid;
	struct sess *sess;
	unsigned side; /* 0 active, 1 passive */
	struct op *sq[OPS_MAX];
	unsigned sq_n, sq_taken, sq_done, sq_wire; /* posted, taken, done, seen on the wire */
	struct op *rq[OPS_MAX];
	unsigned rq_n, rq_taken, rq_done;
	struct lane lane[LANES];
	unsigned heard;     /* our requests before this one were delivered, unless they cannot be */
	unsigned answered;  /* requests before this one have an answer, unless they need none */
	unsigned reads_out; /* Read and Atomic Requests sent and not completed */
	unsigned cq_room;
	bool hungry;  /* take_send() had no request: a wake is due when there is one */
	bool shaky;   /* receives may have failed: their assignment to messages is uncertain */
	bool flushed; /* something ended RDMAP_FLUSH_ERR: the end must follow */
	bool blamed;  /* something ended RDMAP_REM_...: the peer's error must follow */
	bool asked_close, unbound;
	bool errored;         /* raw: an error was reported ... */
	bool finishing;       /* ... while a message was half sent */
	unsigned last_words;  /* messages begun since then */
	bool half_closed;     /* raw: the peer has ended its half */
	uint64_t since_us;    /* time of the latest of these events, or of the latest send */
	struct region *mine;  /* local use only */
	struct region *open;  /* all rights */
	struct region *alone; /* for this endpoint's stream, all rights but for atomics */
	struct region *back;  /* used only through windows */
	struct window window[WINDOWS];
	struct list grants;
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
	bool requested; /* the passive side got the request */
	bool withdrawn;
	enum answer answer;   /* the program's */
	bool established;     /* the active side knows */
	uint16_t priv_len[2]; /* of Initiate, of its answer */
	uint8_t priv[2][WIRE_PRIVATE_MAX];
	bool raw;                /* endpoints without RDMAP */
	bool enhanced;           /* RFC 6581 */
	struct wire_enh said[2]; /* parameters given with the Initiate and with the answer */
	struct wire_enh word[2]; /* parameters on the wire */
	uint8_t rtr;             /* ready-to-receive messages that both sides named */
	bool shaky;              /* memory was revoked: any error may end it */
	bool vanished[2];        /* that side was released without a Terminate */
	bool over[2];
	enum assoc_reason reason[2];
	bool spoken;         /* a segment was sent */
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
	uint64_t full_us;  /* when they last reached the limit, if not now */
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
	struct region *bare[2];   /* no rights but for windows */
	struct region *cells[2];  /* for atomics alone */
	uint32_t buried[BURIED];  /* values that must be invalid */
	unsigned nburied;
	uint32_t vacant[BURIED]; /* values whose indexes are free */
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
	unsigned enhanced, enh_rejected, unheard, rtr[5], no_rtr, dropped_ord;
	unsigned raws, raw_sends, notices, raw_errors, last_words, half_closed, raw_timeouts;
	unsigned far;                 /* segments of messages as long as there can be */
	unsigned reused_stags, mixed; /* mixed: associations with both kinds of endpoints */
	unsigned ahead, early;        /* messages that overtook others, or the Accept */
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

/* ---- trace.c: the trace, and the end of a failed run ---- */

__attribute__((format(printf, 2, 3))) void trace(struct world *w, const char *fmt, ...);
__attribute__((format(printf, 2, 3), noreturn)) void fail(struct world *w, const char *fmt, ...);

/* Allocates zeroed memory; ends the program on failure. */
void *get(size_t len);

/* ---- region.c ---- */

/* The content of free memory. */
uint8_t arena_canary(uint32_t off);

void arena_init(struct node *n);
void arena_deinit(struct node *n);

/* Checks every byte of the node. */
void arena_check(struct node *n);

/* Registers memory; NULL if none is free. */
struct region *region_new(struct node *n, struct ep *owner, uint64_t pd, uint64_t scope,
			  uint32_t rights, uint32_t len);

/* It must not change from now on. removed: take it out of the table as well, after the windows on
 * it. */
void region_revoke(struct region *rg, bool remove);

/* An index for the entry, sometimes a reused one, and its place in the table. */
void region_enter(struct node *n, struct stag_region *r);

/* The value must be invalid from now on; its index may be reused if the entry is removed. */
void region_bury(struct node *n, uint32_t stag, bool removed);

/* A value that must be invalid, or 0. */
uint32_t region_buried(struct node *n);

/* Its result is uncertain from now on. own: because of its own memory. */
void region_shake_op(struct op *op, bool own);

/* Frees it. It has no slices any more. */
void region_free(struct region *rg);

/* ---- slice.c ---- */

void content_fill(uint8_t *p, uint64_t cid, uint32_t from, uint32_t len);
bool content_is(const uint8_t *p, uint64_t cid, uint32_t from, uint32_t len);

/* A free piece of the region with one pin; NULL if there is none. */
struct slice *slice_new(struct region *rg, uint32_t len);

/* The same within [off, off + room) of the arena. align: of its first byte, a power of two. */
struct slice *slice_new_in(struct region *rg, uint32_t off, uint32_t room, uint32_t len,
			   uint32_t align);

/* One more user, one less. Without users it is checked, cleared and freed. */
struct slice *slice_pin(struct slice *s);
struct slice *slice_put(struct slice *s);

/* Writes the content, as its program would. */
void slice_fill(struct slice *s, uint64_t cid, uint32_t from);

/* From now on the op may fill it with that content. */
void slice_land(struct slice *s, struct op *op, uint64_t cid, uint32_t from);

/* True if the whole content has arrived; the slice is then settled. */
bool slice_landed(struct slice *s);

/* The content must have arrived, because it has been overwritten. */
void slice_overlaid(struct slice *s);

/* A slice that is being filled must not change any more. */
void slice_settle(struct slice *s);

/* Checks that each byte has an allowed value. */
void slice_check(struct slice *s);

/* Address of its first byte, in the arena and as a tagged offset. */
uint8_t *slice_mem(const struct slice *s);
uint64_t slice_to(const struct slice *s);

/* True if p has the payload of the op from byte `at` on. */
bool content_of(const struct op *op, const uint8_t *p, uint32_t at, uint32_t len);

/* ---- op.c: building requests ---- */

struct op *op_new(struct ep *ep, enum rdmap_op kind, uint32_t len);

/* Frees a request that was not posted. */
void op_drop(struct op *op);

/* A random length, at most max. */
uint32_t op_draw_len(struct world *w, uint32_t max);

/* True if the peer can be a target. */
bool op_aimable(const struct ep *ep);

/* Local memory for the data that it sends (filled) or receives. False if there is no memory. */
bool op_source(struct op *op);
bool op_sink(struct op *op, uint32_t len);

/* Gives the request the slice as its target. */
void op_aim(struct op *op, struct slice *s);

/* A piece of the peer's memory that permits these rights; *ret_via is the grant, or NULL. */
struct slice *op_remote_slice(struct ep *ep, uint32_t len, uint32_t right, uint32_t align,
			      struct grant **ret_via);

/* The receive for the next message to this lane of the peer, or NULL. */
const struct op *op_partner(const struct ep *ep, unsigned lane);

/* True if a request that is not complete names the STag. */
bool op_asks_from(const struct ep *ep, uint32_t stag);

/* Valid requests of one kind, or NULL. */
struct op *op_good_send(struct ep *ep, enum rdmap_op kind);
struct op *op_good_write(struct ep *ep, uint32_t len);
struct op *op_good_read(struct ep *ep, uint32_t len);

/* Posts it, perhaps with an error. NULL: does nothing. */
void op_post(struct op *op);

/* Posts a random request that fits the state of the endpoint. */
void op_post_random(struct ep *ep);

/* Posts up to n receives. */
void op_post_recvs(struct ep *ep, unsigned n);

/* ---- mishap.c: making requests wrong ---- */

/* The peer finds one of the two errors if the request arrives. */
void mishap_spoil(struct op *op, enum perr a, enum perr b);

/* Makes the request invalid. */
void mishap(struct op *op);

/* An invalid local address for the first element. fills: it is written to. */
void mishap_local(struct op *op, struct sgl_elem *e, bool fills);

/* Requests that are invalid when posted: a message too long, a series of invalid requests, an
 * operation that the endpoint or its peer does not support. */
void mishap_post(struct ep *ep);

/* ---- atomic.c: RFC 7306 ---- */

/* An atomic on a shared or on a private cell. */
void atomic_post(struct ep *ep);

/* Pairs of requests; the second one shows the result of the first one. */
void atomic_post_pair(struct ep *ep);

/* The atomic is executed now: its answer is offered to the transport. */
void atomic_execute(struct op *op, uint64_t told);

/* A program of the node changes a cell itself. */
void atomic_local(struct node *n);

/* Checks the completion and the old value. */
void atomic_done(struct ep *ep, struct op *op, const struct rdmap_done *d);

/* ---- window.c ---- */

void window_init(struct ep *ep);

/* Takes them out of the table. */
void window_deinit(struct ep *ep);

/* Frees the grants. */
void window_free(struct ep *ep);

/* Posts a bind, right or wrong, or an invalidation of the endpoint's own. */
void window_post(struct ep *ep);

/* An open grant of the endpoint with that right and so much room, or NULL. */
struct grant *window_pick(struct ep *owner, uint32_t right, uint32_t len);

/* One of another endpoint of the node, in the same domain, or NULL. */
struct grant *window_of_others(const struct ep *ep);

/* A piece of its range. */
struct slice *window_slice(struct grant *g, uint32_t len, uint32_t align);

/* The peer may use the grants that were bound before the request, which has arrived. */
void window_heard(struct ep *owner, const struct op *op);

/* A Bind or invalidation has completed with success. */
void window_done(struct op *op);

/* It must give no access any more. */
void window_over(struct grant *g);

/* The windows on a region are removed together with the region. */
void window_revoke(struct region *rg);

/* Checks that no request after a fence has begun. `before` is the request that has an answer. */
void window_check_fence(const struct ep *ep, const struct op *before);

/* ---- params.c: RFC 6581 ---- */

/* Chooses the parameters of the active side. */
void params_draw(struct sess *s);

/* Chooses the parameters of the passive side. */
void params_wish(struct sess *s, const struct ep *ep);

/* Checks the parameters on the wire, and the answer. */
void params_sent(struct sess *s, unsigned which, const struct wire_enh *e);

/* The reported parameters are those on the wire. */
void params_told(struct world *w, const struct sess *s, unsigned which,
		 const struct assoc_event *ev);

/* The depths in force are the negotiated ones. */
void params_in_force(struct ep *ep);

/* The active side must fail: there is no ready-to-receive message. */
bool params_disagree(const struct sess *s);

/* ---- raw.c: streams without RDMAP ---- */

void raw_init(struct ep *ep);
void raw_post(struct ep *ep);
void raw_event(struct ep *ep, const struct assoc_event *ev);

/* Its Terminate is sent: its program has closed, or its time is over (RFC 5041 6.2). */
void raw_check_end(const struct ep *ep);

/* A message is begun. False if it is one too many since the error. */
bool raw_may_begin(struct ep *ep);

/* ---- ep.c ---- */

struct ep *ep_new(struct node *n, bool raw);

/* Allocates the lane's arrays. */
struct lane *ep_lane(struct ep *ep, unsigned i);
bool ep_post_room(const struct ep *ep);
void ep_post(struct op *op);
void ep_post_recv(struct op *op);

/* The session is over for it, or never began: memory is freed. */
void ep_over(struct ep *ep);

/* Settles Writes of the endpoint that have arrived completely. all: all sent ones must have. */
void ep_sweep(struct ep *ep, unsigned before, bool all);

/* A message that was sent completely and is not delivered, or NULL. */
const struct op *ep_undelivered(const struct ep *ep);

/* Errors, as bits, that the other end may find in the messages of this endpoint. */
uint32_t ep_errors(const struct ep *ep);

/* ---- done.c: checks of completions ---- */

void done_check(struct ep *ep, const struct rdmap_done *d);

/* ---- sess.c: checks of sessions ---- */

struct sess *sess_new(struct ep *ep);
void sess_request(struct peer *p, const struct assoc_event *ev);
void sess_event(struct peer *p, const struct assoc_event *ev);
void sess_decide(struct pend *d);

/* A run of private data for an Initiate (0) or its answer (1). */
void sess_private(struct sess *s, unsigned which);

/* In the form of the protocol. */
struct assoc_params sess_offer(const struct sess *s, unsigned which);

/* ---- peer.c ---- */

extern const struct llp_events peer_events;

struct peer *peer_connect(struct node *from, struct node *to);
void peer_wake(struct peer *p);

/* Sets the time, which must precede any other call of a turn. */
void peer_tick(struct peer *p);
void peer_lost(struct peer *p);

/* ---- wire.c ---- */

/* Only Initiate and Accept were sent on the stream, and both have arrived. */
bool wire_fresh(const struct peer *p, uint16_t sid);

/* Sets the next numbers of one direction. */
void wire_preset(struct peer *p, uint16_t sid, uint16_t ssn, const uint32_t msn[RDMAP_RAW_QUEUES]);

void wire_observe(void *user, enum sim_what what, const struct llp_conn *c,
		  const struct llp_msg *m);

/* ---- program.c ---- */

void program_begin(struct world *w);

/* Closes the endpoint's session, as its client would. */
void program_close(struct ep *ep);

/* Releases the endpoint at once, as for a client that was killed. */
void program_vanish(struct ep *ep);

/* Closes all remaining sessions. */
void program_end(struct world *w);

/* ---- far.c ---- */

/* The largest offsets and message lengths. Returns the number of segments. Does not return after a
 * failure. */
unsigned far_run(void);

/* ---- rows.c ---- */

/* Prints the rows that runs with these totals have shown. */
void rows_print(const struct totals *t);

/* ---- world.c ---- */

/* Runs a seed completely. Does not return after a failure. */
void world_run(struct world *w);

#endif
