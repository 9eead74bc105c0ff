/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of the simulator, by file. model.h has the types. */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include "tests/sim/model.h"

/* ---- trace.c: the trace, and the end of a failed run ---- */

__attribute__((format(printf, 2, 3))) void trace(struct world *w, const char *fmt, ...);
__attribute__((format(printf, 2, 3), noreturn)) void fail(struct world *w, const char *fmt, ...);

/* Allocates zeroed memory; ends the program on failure. */
void *alloc_zeroed(size_t len);

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

/* The region must not change from now on. remove: removes it from the table as well, after the
 * windows on it. */
void region_revoke(struct region *rg, bool remove);

/* An index for the entry, sometimes a reused one, and its place in the table. */
void region_enter(struct node *n, struct stag_region *r);

/* The value must be invalid from now on; its index may be reused if the entry is removed. */
void region_retire(struct node *n, uint32_t stag, bool removed);

/* A value that must be invalid, or 0. */
uint32_t region_stale_stag(struct node *n);

/* The result of the request is uncertain from now on. own: because of its own memory. */
void region_op_uncertain(struct op *op, bool own);

/* Frees the region, which has no slices any more. */
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
void slice_receive(struct slice *s, struct op *op, uint64_t cid, uint32_t from);

/* True if the whole content has arrived; the slice is then settled. */
bool slice_received(struct slice *s);

/* The content must have arrived, because it has been overwritten. */
void slice_overwritten(struct slice *s);

/* True if it is being filled and a byte differs from what was there before. */
bool slice_changed(const struct slice *s);

/* Checks that what has arrived is the beginning of its content. True if that is all of it. */
bool slice_prefix(const struct slice *s);

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
bool op_has_target(const struct ep *ep);

/* Local memory for the data that it sends (filled) or receives. False if there is no memory. */
bool op_source(struct op *op);
bool op_sink(struct op *op, uint32_t len);

/* The same in any number of elements. */
bool op_sinks(struct op *op);

/* Gives the request the slice as its target. */
void op_set_target(struct op *op, struct slice *s);

/* A piece of the peer's memory that permits these rights; *ret_via is the grant, or NULL. */
struct slice *op_remote_slice(struct ep *ep, uint32_t len, uint32_t right, uint32_t align,
			      struct grant **ret_via);

/* The receive for the next message to this lane of the peer, or NULL. */
const struct op *op_next_receive(const struct ep *ep, unsigned queue);

/* True if a request that is not complete names the STag. */
bool op_names_stag(const struct ep *ep, uint32_t stag);

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

/* ---- bad_op.c: invalid requests ---- */

/* The peer finds one of the two errors if the request arrives. */
void bad_op_expect(struct op *op, enum perr a, enum perr b);

/* Makes the request invalid. */
void bad_op(struct op *op);

/* An invalid local address for the first element. fills: it is written to. */
void bad_op_local_element(struct op *op, struct sgl_elem *e, bool fills);

/* Requests that are invalid when posted: a message too long, a series of invalid requests, an
 * operation that the endpoint or its peer does not support. */
void bad_op_post(struct ep *ep);

/* ---- atomic.c: RFC 7306 ---- */

/* An atomic on a shared or on a private cell. */
void atomic_post(struct ep *ep);

/* Pairs of requests; the second one shows the result of the first one. */
void atomic_post_pair(struct ep *ep);

/* The atomic is executed now: its answer is offered to the transport. */
void atomic_execute(struct op *op, uint64_t returned);

/* A program of the node changes a cell itself. */
void atomic_local(struct node *n);

/* Checks the completion and the old value. */
void atomic_done(struct ep *ep, struct op *op, const struct rdmap_done *d);

/* ---- window.c ---- */

void window_init(struct ep *ep);

/* Removes the windows from the table. */
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
void window_seen_by_peer(struct ep *owner, const struct op *op);

/* A Bind or invalidation has completed with success. */
void window_done(struct op *op);

/* The grant must give no access any more. */
void window_over(struct grant *g);

/* The windows on a region are removed together with the region. */
void window_revoke(struct region *rg);

/* Checks that no request after a fence has begun. `before` is the request that has an answer. */
void window_check_fence(const struct ep *ep, const struct op *before);

/* ---- params.c: RFC 6581 ---- */

/* Chooses the parameters of the active side. */
void params_draw(struct sess *s);

/* Chooses the parameters of the passive side. */
void params_answer(struct sess *s, const struct ep *ep);

/* Checks the parameters on the wire, and the answer. */
void params_sent(struct sess *s, unsigned which, const struct wire_enh *e);

/* The reported parameters are those on the wire. */
void params_reported(struct world *w, const struct sess *s, unsigned which,
		     const struct assoc_event *ev);

/* The depths in force are the negotiated ones. */
void params_in_force(struct ep *ep);

/* The active side must fail: there is no ready-to-receive message. */
bool params_no_rtr(const struct sess *s);

/* ---- raw.c: streams without RDMAP ---- */

void raw_init(struct ep *ep);
void raw_post(struct ep *ep);
void raw_event(struct ep *ep, const struct assoc_event *ev);

/* Its Terminate is sent: checks that its program has closed it, or that its time is over (RFC
 * 5041 6.2). */
void raw_check_end(const struct ep *ep);

/* Counts a message that begins. False if it is the second one after an error. */
bool raw_may_begin(struct ep *ep);

/* ---- ep.c ---- */

struct ep *ep_new(struct node *n, bool raw);

/* Allocates the lane's arrays. */
struct queue *ep_queue(struct ep *ep, unsigned i);
bool ep_post_room(const struct ep *ep);
void ep_post(struct op *op);
void ep_post_recv(struct op *op);

/* Its session has ended, or was not established: frees its memory. */
void ep_over(struct ep *ep);

/* The length of the message that the next receive of the first queue will take; 0: none was posted.
 */
uint32_t ep_expected(const struct ep *ep);

/* If messages were posted for which there are no receives, a patient endpoint posts them later. */
void ep_wait_for_receives(struct ep *ep);

/* Checks that the Writes to this endpoint are placed in order. */
void ep_check_in_order(const struct ep *ep);

/* With credits at both ends it holds no more than its window. */
void ep_check_window(const struct ep *ep);

/* Settles Writes of the endpoint that have arrived completely. all: all sent ones must have. */
void ep_settle_writes(struct ep *ep, unsigned before, bool all);

/* A message that was sent completely and is not delivered, or NULL. */
const struct op *ep_undelivered(const struct ep *ep);

/* Errors, as bits, that the other end may find in the messages of this endpoint. */
uint32_t ep_errors(const struct ep *ep);

/* ---- done.c: checks of completions ---- */

void done_check(struct ep *ep, const struct rdmap_done *d);

/* ---- sess.c: checks of sessions ---- */

struct sess *sess_new(struct ep *ep);
void sess_request(struct assoc_end *p, const struct assoc_event *ev);
void sess_event(struct assoc_end *p, const struct assoc_event *ev);
void sess_decide(struct pending_req *d);

/* The error as the model expects it: an invalid receive is none for the message that takes it. */
enum perr sess_error(const struct ep *ep, enum perr perr);

/* A run of private data for an Initiate (0) or its answer (1). */
void sess_private(struct sess *s, unsigned which);

/* In the form of the protocol. */
struct assoc_params sess_params(const struct sess *s, unsigned which);

/* ---- assoc_end.c ---- */

extern const struct llp_events assoc_end_events;

struct assoc_end *assoc_end_connect(struct node *from, struct node *to);
void assoc_end_wake(struct assoc_end *p);

/* Sets the time. Must be the first call of a turn. */
void assoc_end_tick(struct assoc_end *p);
void assoc_end_lost(struct assoc_end *p);

/* ---- wire.c ---- */

/* Only Initiate and Accept were sent on the stream, and both have arrived. */
bool wire_fresh(const struct assoc_end *p, uint16_t sid);

/* Sets the next numbers of one direction. */
void wire_preset(struct assoc_end *p, uint16_t sid, uint16_t ssn,
		 const uint32_t msn[RDMAP_RAW_QUEUES]);

void wire_observe(void *user, enum sim_what what, const struct llp_conn *c,
		  const struct llp_msg *m);

/* ---- program.c ---- */

void program_begin(struct world *w);

/* Closes the endpoint's session, as its client would. */
void program_close(struct ep *ep);

/* Releases the endpoint at once, as for a client that was killed. */
void program_release(struct ep *ep);

/* Closes all remaining sessions. */
void program_end(struct world *w);

/* ---- longest.c ---- */

/* The largest offsets and message lengths. Returns the number of segments. Does not return after a
 * failure. */
unsigned longest_run(void);

/* ---- rows.c ---- */

/* Prints the rows that runs with these totals have shown. */
void rows_print(const struct totals *t);

/* ---- lower.c: runs over real stacks of SCTP ---- */

/* Chooses the network, and makes it. */
void lower_init(struct world *w);

/* Opens the node's stack, with a configuration of its own. */
void lower_open(struct node *n);

/* From now on something happens to the network and the hosts, until the program ends. */
void lower_begin(struct world *w);

/* The node's host begins again, unless no association may be lost. */
void lower_crash(struct node *n);

/* Nothing is left to be done but heartbeats. */
bool lower_quiet(const struct world *w);

/* Adds the counters of the node's stack, and of the network, to the totals. */
void lower_count(struct node *n);
void lower_deinit(struct world *w);

/* ---- world.c ---- */

/* Runs a seed completely. Does not return after a failure. */
void world_run(struct world *w);

#endif
