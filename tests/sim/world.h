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

#include "daemon/net/datapath.h"
#include "tests/lib/sim.h"
#include "proto/assoc.h"
#include "util/list.h"

enum {
	NODES_MAX = 3,
	STREAMS_MAX = 8,
	ARENA = 256 * 1024, /* bytes of memory of a node */
	UNIT = 64,          /* they are given out in such pieces */
	UNITS = ARENA / UNIT,
	STAGS_MAX = 256,
	OPS_MAX = 1024,                 /* requests, and receives, in the life of an endpoint */
	LANE_TAGGED = RDMAP_RAW_QUEUES, /* receives for notices of tagged messages */
	LANES,
	CELLS = 4,   /* of 8 bytes for atomics, in each protection domain of a node */
	WINDOWS = 2, /* of an endpoint */
	BURIED = 16, /* STags that meant something once, in a node */
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
	uint32_t early_max;
	bool tight; /* one of these is so small that it may end a session */
	uint32_t answer_ms;
	uint32_t decide_us; /* how long programs think about an Initiate, at most */
	bool reckless;      /* Sends are posted without regard to the receiver's buffers */
	unsigned mishap;    /* chance of a request to be bad, in 10 000 */
	unsigned revoke;    /* chances of actions */
	unsigned close;
	unsigned unbind;
	unsigned crash;
	unsigned wrap;       /* chance of a session to begin with numbers that are about to wrap */
	unsigned negotiate;  /* ... to be enhanced (RFC 6581) */
	unsigned raw;        /* ... to be without RDMAP */
	unsigned extensions; /* share of RFC 7306 in what is posted */
	unsigned old_node;   /* chance of a node to speak no RFC 6581 */
	unsigned old_ep;     /* chance of an endpoint to speak no RFC 7306 */
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
	bool dead;       /* revoked or invalidated: nothing may touch it any more */
	bool revoke_due; /* a Send that invalidates it is on its way */
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

/*
 * What a bind of a window shows, from posting on. The peer's program hears of it when the bind
 * has completed, or from a Send behind it.
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
	unsigned held; /* binds that must fail because it is open are under way */
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
	uint32_t may;           /* errors, as bits, that the peer may find with it ... */
	bool must;              /* ... and one of them it must find, if it gets there */
	bool shaky;             /* its memory was revoked meanwhile: may fail anywhere */
	bool late;              /* that was before it was taken: it cannot be sent */
	bool begun, sent;       /* its first, its last segment was accepted by the transport */
	bool answered;          /* Read, atomic: the response was sent */
	bool delivered;         /* Send */
	int lane;               /* of the receive that it takes, or is; -1: none */
	uint32_t cell;          /* atomic: where, in the arena of ... */
	struct region *cell_in; /* ... this region's node */
	uint64_t id, old, new;  /* atomic: its identifier on the wire; before and after it */
	bool executed;
	struct op *after; /* Read of a cell: it sees what this atomic left */
	uint8_t status;   /* OP_DONE */
	unsigned nlocal;
	struct slice *local_mem[SGL_MAX];
	struct slice *target; /* Write, Read: the peer's memory */
	struct region *inv;
	struct grant *grant; /* Bind, invalidation: what it begins or ends */
	struct grant *via;   /* the target is reached through it */
	struct op *needs;    /* it reads what that one writes */
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

/* Nothing of it is seen on the wire. */
static inline bool op_is_local(enum rdmap_op kind)
{
	return kind == RDMAP_BIND || kind == RDMAP_LOCAL_INV;
}

/* False if it is uncertain what it is to carry. */
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

/* Receives of a queue, and what was sent to the peer's. RDMAP has one. */
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
	unsigned heard;     /* requests of ours before this one were delivered, if they are to be */
	unsigned answered;  /* requests before this one have an answer, if they are to have one */
	unsigned reads_out; /* Read and Atomic Requests sent and not completed */
	unsigned cq_room;
	bool hungry;  /* take_send() had nothing to give: a wake is due when that changes */
	bool shaky;   /* receives may have failed: which one takes what is uncertain */
	bool flushed; /* something ended RDMAP_FLUSH_ERR: the end must follow */
	bool blamed;  /* something ended RDMAP_REM_...: the peer's error must follow */
	bool asked_close, unbound;
	bool errored;         /* raw: an error was reported ... */
	bool finishing;       /* ... while a message was half sent */
	unsigned last_words;  /* messages begun since then */
	bool half_closed;     /* raw: the peer has ended its half */
	uint64_t since_us;    /* when the latest of them was told, or something was sent since */
	struct region *mine;  /* local use only */
	struct region *open;  /* all rights */
	struct region *alone; /* for this endpoint's stream, all rights but for atomics */
	struct region *back;  /* to be seen through windows alone */
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
	bool requested; /* the passive side was asked */
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
	bool vanished[2];        /* that side was let go without a word */
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
	bool refusal;           /* it is nothing but a Reject or Terminate */
	bool first_arrived;     /* its Initiate or Accept came to the other end */
	uint16_t ssn;           /* the next one */
	uint32_t sent, arrived; /* messages of all sessions */
	uint32_t msn[RDMAP_RAW_QUEUES];
	bool rtr_due; /* the next segment is a ready-to-receive message */
	bool rtr_sent;
	bool rtr_read;                /* it was a Read, whose response ... */
	bool rtr_answered;            /* ... was sent the other way */
	bool rtr_arrived;             /* it came to the other end */
	bool answer_arrived;          /* and that came */
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
	struct region *bare[2];   /* no rights but for windows */
	struct region *cells[2];  /* for atomics alone */
	uint32_t buried[BURIED];  /* values that are not to work any more */
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

/* Nothing may touch it from now on. removed: take it out of the table as well, and windows on it
 * before. */
void region_revoke(struct region *rg, bool remove);

/* An index for the entry, at times one that had another life, and its place in the table. */
void region_enter(struct node *n, struct stag_region *r);

/* The value is not to work any more; its index may be used again if the entry is removed. */
void region_bury(struct node *n, uint32_t stag, bool removed);

/* A value that is not to work any more, or 0. */
uint32_t region_buried(struct node *n);

/* Its outcome is uncertain from now on. own: because of its own memory. */
void region_shake_op(struct op *op, bool own);

/* Frees it. Nothing has a slice of it any more. */
void region_free(struct region *rg);

/* ---- slice.c ---- */

void content_fill(uint8_t *p, uint64_t cid, uint32_t from, uint32_t len);
bool content_is(const uint8_t *p, uint64_t cid, uint32_t from, uint32_t len);

/* A free piece of the region with one pin; NULL if there is none. */
struct slice *slice_new(struct region *rg, uint32_t len);

/* The same within [off, off + room) of the arena. align: of its first byte, a power of two. */
struct slice *slice_new_in(struct region *rg, uint32_t off, uint32_t room, uint32_t len,
			   uint32_t align);

/* One user more, one less. Without users it is checked, wiped and given back. */
struct slice *slice_pin(struct slice *s);
struct slice *slice_put(struct slice *s);

/* Puts content there, as its program would. */
void slice_fill(struct slice *s, uint64_t cid, uint32_t from);

/* From now on op may fill it with that content. */
void slice_land(struct slice *s, struct op *op, uint64_t cid, uint32_t from);

/* The content is all there: it has landed. False if it is not. */
bool slice_landed(struct slice *s);

/* The content must have landed, for something else has been put over it. */
void slice_overlaid(struct slice *s);

/* A landing slice is left as it is, and from now on must stay so. */
void slice_settle(struct slice *s);

/* Each byte is one of those it may be. */
void slice_check(struct slice *s);

/* Address of its first byte, in the arena and as a tagged offset. */
uint8_t *slice_mem(const struct slice *s);
uint64_t slice_to(const struct slice *s);

/* True if p has what the payload of op has from its byte `at` on. */
bool content_of(const struct op *op, const uint8_t *p, uint32_t at, uint32_t len);

/* ---- op.c: building requests ---- */

struct op *op_new(struct ep *ep, enum rdmap_op kind, uint32_t len);

/* Frees what was not posted. */
void op_drop(struct op *op);

/* A random length, at most max. */
uint32_t op_draw_len(struct world *w, uint32_t max);

/* The peer can be aimed at. */
bool op_aimable(const struct ep *ep);

/* Memory of its own for what it sends (filled), or for what comes back. False without memory. */
bool op_source(struct op *op);
bool op_sink(struct op *op, uint32_t len);

/* Gives the request the slice as its target. */
void op_aim(struct op *op, struct slice *s);

/* A piece of the peer's memory that these rights reach; *ret_via is the grant, or NULL. */
struct slice *op_remote_slice(struct ep *ep, uint32_t len, uint32_t right, uint32_t align,
			      struct grant **ret_via);

/* The receive that the next message to this lane of the peer will find, or NULL. */
const struct op *op_partner(const struct ep *ep, unsigned lane);

/* A request that waits for its turn or its answer names the STag. */
bool op_asks_from(const struct ep *ep, uint32_t stag);

/* Right ones of some kind, or NULL. */
struct op *op_good_send(struct ep *ep, enum rdmap_op kind);
struct op *op_good_write(struct ep *ep, uint32_t len);
struct op *op_good_read(struct ep *ep, uint32_t len);

/* Posts it, after a mishap perhaps. NULL: nothing. */
void op_post(struct op *op);

/* Posts something random that suits the state of the endpoint. */
void op_post_random(struct ep *ep);

/* Posts up to n receives. */
void op_post_recvs(struct ep *ep, unsigned n);

/* ---- mishap.c: making requests wrong ---- */

/* One of the two is found with the request, if it gets there. */
void mishap_spoil(struct op *op, enum perr a, enum perr b);

/* Something is wrong with it. */
void mishap(struct op *op);

/* A bad address of our own, for the first element. fills: it is written to. */
void mishap_local(struct op *op, struct sgl_elem *e, bool fills);

/* Wrong from the beginning: a message too long, a run of bad requests, an operation that the
 * endpoint or its peer has not. */
void mishap_post(struct ep *ep);

/* ---- atomic.c: RFC 7306 ---- */

/* An atomic on a cell that all share, or on one of its own. */
void atomic_post(struct ep *ep);

/* Pairs of which one shows that the other was carried out. */
void atomic_post_pair(struct ep *ep);

/* The atomic is carried out now: its answer is offered to the transport. */
void atomic_execute(struct op *op, uint64_t told);

/* A program of the node works on a cell itself. */
void atomic_local(struct node *n);

/* The completion, and where the old value went. */
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

/* One of another endpoint in the node, and in the domain, or NULL. */
struct grant *window_of_others(const struct ep *ep);

/* A piece of what it shows. */
struct slice *window_slice(struct grant *g, uint32_t len, uint32_t align);

/* The peer may use what was bound before the request, which it has heard of. */
void window_heard(struct ep *owner, const struct op *op);

/* A Bind or invalidation has completed well. */
void window_done(struct op *op);

/* Nothing may be reached through it any more. */
void window_over(struct grant *g);

/* The windows on a region are taken away, because it is. */
void window_revoke(struct region *rg);

/* Nothing that stands behind a fence has happened. `before` is the request that has an answer. */
void window_check_fence(const struct ep *ep, const struct op *before);

/* ---- params.c: RFC 6581 ---- */

/* Decides what the active side says. */
void params_draw(struct sess *s);

/* What the passive side wishes. */
void params_wish(struct sess *s, const struct ep *ep);

/* What goes over the wire is what was said, and an answer to it. */
void params_sent(struct sess *s, unsigned which, const struct wire_enh *e);

/* What is told is what went over the wire. */
void params_told(struct world *w, const struct sess *s, unsigned which,
		 const struct assoc_event *ev);

/* The depths in force are those that the words agree on. */
void params_in_force(struct ep *ep);

/* The active side must fail: there is no ready-to-receive message. */
bool params_disagree(const struct sess *s);

/* ---- raw.c: streams without RDMAP ---- */

void raw_init(struct ep *ep);
void raw_post(struct ep *ep);
void raw_event(struct ep *ep, const struct assoc_event *ev);

/* Its Terminate is sent: its program has closed, or the time that it had is over (RFC 5041 6.2). */
void raw_check_end(const struct ep *ep);

/* A message is begun. False if there was one too many since the error. */
bool raw_may_begin(struct ep *ep);

/* ---- ep.c ---- */

struct ep *ep_new(struct node *n, bool raw);

/* The lane's arrays exist. */
struct lane *ep_lane(struct ep *ep, unsigned i);
bool ep_post_room(const struct ep *ep);
void ep_post(struct op *op);
void ep_post_recv(struct op *op);

/* The session is over for it, or never was: memory is given back. */
void ep_over(struct ep *ep);

/* Writes of the endpoint whose bytes are all there. all: all that were sent must be. */
void ep_sweep(struct ep *ep, unsigned before, bool all);

/* A message that was sent whole and is not delivered, or NULL. */
const struct op *ep_undelivered(const struct ep *ep);

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
struct assoc_params sess_offer(const struct sess *s, unsigned which);

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
void wire_preset(struct peer *p, uint16_t sid, uint16_t ssn, const uint32_t msn[RDMAP_RAW_QUEUES]);

void wire_observe(void *user, enum sim_what what, const struct llp_conn *c,
		  const struct llp_msg *m);

/* ---- program.c ---- */

void program_begin(struct world *w);

/* Closes the endpoint's session, as its client would. */
void program_close(struct ep *ep);

/* Lets go of the endpoint at once, as for a client that was killed. */
void program_vanish(struct ep *ep);

/* Closes every session that is left. */
void program_end(struct world *w);

/* ---- far.c ---- */

/* Offsets and message lengths as far as they go: the number of segments. Does not return if
 * something is wrong. */
unsigned far_run(void);

/* ---- rows.c ---- */

/* Prints what runs with these totals have shown. */
void rows_print(const struct totals *t);

/* ---- world.c ---- */

/* Runs a seed from beginning to end. Does not return if something is wrong. */
void world_run(struct world *w);

#endif
