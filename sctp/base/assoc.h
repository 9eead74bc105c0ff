/* SPDX-License-Identifier: BSD-2-Clause */
/* The stack and its associations from inside. Private to this folder. */
#ifndef SCTP_ASSOC_H
#define SCTP_ASSOC_H

#include "sctp/base/budget.h"
#include "sctp/wire/chunk.h"
#include "sctp/wire/cookie.h"
#include "sctp/base/events.h"
#include "sctp/base/fsm.h"
#include "sctp/wire/param.h"
#include "sctp/base/path.h"
#include "sctp/memory/pool.h"
#include "sctp/receive/recv.h"
#include "sctp/sctp.h"
#include "sctp/path/size_cache.h"
#include "sctp/receive/acks.h"
#include "sctp/send/flight.h"
#include "sctp/send/window.h"
#include "util/timer.h"

enum {
	SCTP_BUCKETS = 16384,
	SCTP_MAX_CHUNKS = SCTP_MAX_PACKET / 20 + 1, /* DATA chunks of a packet */
	SCTP_RUN = 16384,     /* bytes of packets that are processed before messages are fetched */
	SCTP_REPLIES = 65536, /* bytes of packets that answer at once */
	SCTP_MAX_GAPS = 512,  /* gap blocks of a SACK that are looked at */
	SCTP_BURST = 64,      /* packets after a SACK (6.1 (D)) */
	SCTP_NETWORKS = 1024, /* counters of the associations of networks */
	SCTP_FIRST_PORT = 49152, /* ports that associations of ours use: up to 65535 */
	SCTP_OWN_PORTS = 16384,
};

struct sctp_handshake;

/* ---- associations ---- */

/* Both ends. Tie-tags are random, never the tags themselves (5.2.2). */
struct sctp_id {
	uint16_t own_port, peer_port;
	uint32_t own_tag, peer_tag;
	uint32_t tie_own, tie_peer;
};

/* What both sides' INIT have agreed on. */
struct sctp_agreed {
	uint16_t out_streams, in_streams;
	uint32_t adaptation;
	bool has_adaptation, takes_batches;
};

/* Addresses of ours that it uses. */
struct sctp_locals {
	uint8_t addr[SCTP_MAX_LOCAL];
	unsigned n;
	bool all; /* the peer hears of all of them */
};

/* How it began: admission.h. */
struct sctp_origin {
	struct sctp_listener *listener; /* it came in through, until the event was fetched */
	bool passive;                   /* the peer began it */
	bool accepted;                  /* it is counted in s->accepted */
	uint16_t network;               /* there */
};

/* The timer of all its deadlines: deadlines.h. */
struct sctp_deadline {
	struct timer timer;
	uint64_t armed_us; /* it fires then or, for nothing, earlier */
};

/* A path for each address of the peer: paths.h. */
struct sctp_paths {
	struct sctp_path *at;
	unsigned n, allocated;
	uint8_t primary;
	uint32_t max_message; /* of the primary path and all active ones */
	uint64_t verify_us;   /* the next probe of an unconfirmed path goes then or later */
};

/* T2-shutdown and T5: shutdown.h. */
struct sctp_shutdown {
	uint64_t t2_us, t5_us;
	uint8_t path; /* that SHUTDOWN or SHUTDOWN ACK went to */
	bool delayed; /* T2 was restarted without another SHUTDOWN */
};

/* A peer that asks from another UDP port: moved.h. */
struct sctp_moved {
	uint64_t us; /* the next probe, or the end */
	unsigned probes;
};

/* The lowest outstanding TSN: stall.h. */
struct sctp_stall {
	uint64_t progress_us; /* the cumulative acknowledgement advanced, or data began */
	uint64_t us;          /* without progress until then the association ends */
	unsigned tries;       /* packets with that TSN that did not arrive on paths that work */
};

/* A user who waits for room to send: write.h. */
struct sctp_write {
	bool wanted;
	uint64_t retry_us; /* memory was missing: may try again then */
};

/* Who and what it is, and its parts. Only the functions of a part's header change the part. */
struct sctp_assoc {
	struct sctp *s;
	void *user;
	struct list all, pending; /* in lists of the stack */
	enum sctp_state state;
	bool up;
	unsigned errors; /* unanswered packets in a row */
	struct sctp_id id;
	struct sctp_agreed agreed;
	struct sctp_locals local;
	struct sctp_origin origin;
	struct sctp_deadline deadline;
	struct sctp_paths paths;

	struct sctp_handshake *handshake; /* until it is up, if this side began it */
	struct sctp_shutdown shutdown;
	struct sctp_moved moved;

	struct sctp_queue tx;
	struct sctp_flight flight;
	struct sctp_window window;
	struct sctp_stall stall;
	struct sctp_write write;

	struct sctp_tsn_map map;
	struct sctp_recv recv;
	struct sctp_acks acks;

	struct sctp_events events;
};

struct sctp_listener {
	struct list all;
	struct sctp *s;
	void *user;
	uint16_t port;
	bool all_addrs;
	uint8_t local[SCTP_MAX_LOCAL];
	unsigned n;
};

/* A message of the present packets. */
struct sctp_rx {
	const uint8_t *p;
	uint32_t len, ppid;
	uint16_t sid;
	bool ordered;
};

/* A packet that waits in the ring of replies; its bytes follow. */
struct sctp_reply {
	struct sctp_flow to;
	uint32_t len;
};

struct sctp {
	struct sctp_config cfg;
	uint64_t now;
	struct timers timers;
	void (*expire)(struct timer *t); /* of associations: sctp_assoc_expire() */
	struct timer trim;               /* gives memory back that was not used for a while */
	bool trimming;                   /* it is set */
	struct list assocs, pending, eventful, listeners;
	unsigned nassocs;
	uint64_t held; /* bytes of associations */
	struct sctp_pool pool;
	struct sctp_cookie_keys keys;
	uint64_t hash_key[2];
	struct sctp_path *last; /* that a packet came from */
	struct sctp_stats st;
	uint16_t next_port;
	uint32_t port_uses[SCTP_OWN_PORTS]; /* associations that have the port */
	struct sctp_budget budget;
	struct sctp_size_cache sizes;
	uint32_t accepted[SCTP_NETWORKS]; /* associations that networks have opened */

	struct sctp_assoc *rx_assoc;
	unsigned nrx, rx_pos;
	bool rx_queued; /* rx_assoc->recv may have messages */

	uint32_t reply_head, reply_tail; /* bytes ever taken out, put in */
	uint32_t reply_open;             /* where the present packet begins */
	bool answering, answered;        /* a packet is processed; the answer has begun */
	uint32_t answer, answer_end;     /* where it begins and ends */
	struct sctp_path *bucket[SCTP_BUCKETS];
	struct sctp_rx rx[SCTP_MAX_CHUNKS];
	_Alignas(8) uint8_t replies[SCTP_REPLIES];
};

/*
 * The functions, file by file: a file uses only those above it.
 */

/* ---- what follows from the records alone ---- */

static inline struct sctp_path *sctp_primary(struct sctp_assoc *a)
{
	return &a->paths.at[a->paths.primary];
}

/* Data may be sent, and is acknowledged. */
static inline bool sctp_sends_data(const struct sctp_assoc *a)
{
	return a->state == SCTP_ESTABLISHED || a->state == SCTP_SHUTDOWN_PENDING ||
	       a->state == SCTP_SHUTDOWN_RECEIVED;
}

static inline bool sctp_takes_data(const struct sctp_assoc *a)
{
	return a->state == SCTP_ESTABLISHED || a->state == SCTP_SHUTDOWN_PENDING ||
	       a->state == SCTP_SHUTDOWN_SENT;
}

/* One of our addresses that the association uses. */
static inline bool sctp_assoc_has_local(const struct sctp_assoc *a, uint8_t local)
{
	for (unsigned i = 0; i < a->local.n; i++)
		if (a->local.addr[i] == local)
			return true;
	return false;
}

/* The window that we advertise. */
static inline uint32_t sctp_data_rwnd(const struct sctp_assoc *a)
{
	uint32_t held = sctp_recv_held(&a->recv), all = a->s->cfg.recv_buffer;

	return held < all ? all - held : 0;
}

/* Bytes of an IP packet before the SCTP packet: IP and UDP header. */
static inline uint32_t sctp_path_ip_head(const struct sctp_path *p)
{
	return (sctp_addr_is_v4(&p->flow.peer) ? 20 : 40) + 8;
}

/* Packet sizes are searched where data goes. */
static inline bool sctp_path_probes(const struct sctp_path *p)
{
	return sctp_sends_data(p->assoc) && p->state == SCTP_PATH_ACTIVE;
}

/* ---- stack.c ---- */

void *sctp_alloc(struct sctp *s, size_t len); /* all zero, counted; NULL */
void sctp_release(struct sctp *s, void *p, size_t len);
uint32_t sctp_random32(struct sctp *s);
/* True if the work that a packet asks for may be done: it comes from a peer that is not known, or
 * begins with INIT or COOKIE ECHO. Counts it if not. */
bool sctp_may_work(struct sctp *s, enum sctp_work work, const struct sctp_addr *from);
/* True if the network of a peer may open another association: while more than half of
 * max_assocs are free each may, then those that have few. */
bool sctp_may_accept(const struct sctp *s, const struct sctp_addr *peer);
/* Counts an association that a peer there has opened; sctp_forget_accepted() undoes it. */
void sctp_count_accepted(struct sctp_assoc *a, const struct sctp_addr *peer);
void sctp_forget_accepted(struct sctp_assoc *a);
/* Gives an association its port; it counts until sctp_assoc_leave_port(). */
void sctp_assoc_use_port(struct sctp_assoc *a, uint16_t port);
void sctp_assoc_leave_port(struct sctp_assoc *a);

/* ---- lookup.c ---- */

/* The path with these ports that a packet came from, NULL: none. */
struct sctp_path *sctp_lookup(struct sctp *s, const struct sctp_flow *from, uint16_t own_port,
			      uint16_t peer_port);
void sctp_lookup_add(struct sctp_path *p);
void sctp_lookup_del(struct sctp_path *p);
/* The listener for packets to this port and address of ours, or NULL. */
struct sctp_listener *sctp_lookup_listener(struct sctp *s, uint16_t port, uint8_t local);
/* A port of ours that no association and no listener uses; 0: none. */
uint16_t sctp_free_port(struct sctp *s);

/* ---- deadlines.c ---- */

/* Paths or their sizes changed: computes max_message. */
void sctp_assoc_measure(struct sctp_assoc *a);
/* Something is to be sent. */
void sctp_assoc_touch(struct sctp_assoc *a);
/* An event is due. */
void sctp_assoc_note(struct sctp_assoc *a, enum sctp_event_type type);
/* A deadline changed. */
void sctp_assoc_arm(struct sctp_assoc *a);
/* The earliest deadline of a path. */
uint64_t sctp_path_expiry(const struct sctp_path *p);

/* ---- choice.c ---- */

/* The path for new data. */
struct sctp_path *sctp_path_choose(struct sctp_assoc *a);
struct sctp_path *sctp_assoc_find_path(struct sctp_assoc *a, const struct sctp_addr *peer);

/* ---- reply.c ---- */

/* A packet that is sent with the next output, before all DATA: begin, put chunks, end. Without room
 * it is dropped, as if the network had lost it. */
struct sctp_writer sctp_reply_begin(struct sctp *s, const struct sctp_flow *to,
				    const struct sctp_head *head);
void sctp_reply_end(struct sctp *s, struct sctp_writer *w);
/* The same to a peer without association: these packets may fill half of the room. */
struct sctp_writer sctp_reply_to_unknown(struct sctp *s, const struct sctp_flow *to,
					 const struct sctp_head *head);
/* The oldest one, copied into the batch. */
bool sctp_reply_next(struct sctp *s, struct sctp_batch *ret);
/* A packet of an association to one of its paths, or to another one if that is not confirmed.
 * While a packet is processed, all of this goes into one packet, as far as it fits (12.4). */
struct sctp_writer sctp_reply_to(struct sctp_path *p);
/* The same for what may go to a path that is not confirmed, and must go to this one. */
struct sctp_writer sctp_reply_exactly_to(struct sctp_path *p);
/* Takes the answer to the present packet back, as far as it still can grow. */
void sctp_reply_withdraw(struct sctp *s);
/* A packet that nothing else may be in: it replaces what was answered so far. */
struct sctp_writer sctp_reply_alone(struct sctp_path *p);
/* ABORT with one cause to the sender of a packet: its tag reflected, or the one given. */
void sctp_reply_abort(struct sctp *s, const struct sctp_flow *to, const struct sctp_head *got,
		      uint32_t tag, bool reflected, uint16_t cause, const void *value,
		      uint32_t len);

/* ---- end.c ---- */

/* Ends it, with an event unless the user ended it. */
void sctp_assoc_end(struct sctp_assoc *a, enum sctp_end end, uint32_t cause, const char *text,
		    uint32_t len);
/* Ends it after an ABORT to the peer with this cause. */
void sctp_assoc_break(struct sctp_assoc *a, enum sctp_end end, uint16_t cause, const void *value,
		      uint32_t len, const char *text);
/* One more unanswered packet: false if that ended the association. */
bool sctp_assoc_error(struct sctp_assoc *a);
/* Unanswered packets in a row that do not end it. */
unsigned sctp_assoc_max_errors(const struct sctp_assoc *a);

/* ---- stall.c ---- */

/* True if a packet of the path has room for this chunk. */
bool sctp_stall_fits(const struct sctp_path *p, const struct sctp_tx *t);
/* The lowest outstanding TSN is another one now. */
void sctp_stall_progress(struct sctp_assoc *a);
/* That TSN is sent, again or for the first time. */
void sctp_stall_sent(struct sctp_path *p, const struct sctp_tx *t);
/* Looks whether the lowest outstanding TSN does not arrive although the peer answers; a timeout, or
 * stall_us has passed. True if that ended the association. */
bool sctp_stalled(struct sctp_assoc *a);

/* ---- path.c: path.h ---- */

/* ---- path_list.c ---- */

/* Adds a path; the first one becomes the primary path and has the local address of the flow, the
 * others get one. packet: the largest that its route takes. */
struct sctp_path *sctp_assoc_add_path(struct sctp_assoc *a, const struct sctp_flow *flow,
				      uint32_t packet);
/* Room for n paths. False without memory. */
bool sctp_assoc_reserve(struct sctp_assoc *a, unsigned n);
/* Removes the paths to other addresses than these. Nothing was sent on them but INIT. */
void sctp_assoc_keep_paths(struct sctp_assoc *a, const struct sctp_addr *peer, unsigned n);
/* How many paths are confirmed, at least 1. */
unsigned sctp_assoc_confirmed(const struct sctp_assoc *a);
/* The confirmed paths in turn, the primary one for 0. */
struct sctp_path *sctp_assoc_nth_path(struct sctp_assoc *a, unsigned n);

/* ---- moved.c ---- */

/* An INIT for this association came from another UDP port than the peer's, and was refused. Either
 * it is of an unknown peer, or the peer has begun again behind an address translator: asks the
 * peer, by heartbeats to its addresses and ports, unless that is going on. If it does not answer
 * any of them the association ends. */
void sctp_moved_ask(struct sctp_assoc *a);
/* The next heartbeat is due, or the last answer. False if the association ended. */
bool sctp_moved_due(struct sctp_assoc *a);
/* A packet with the right tag came: the peer lives. */
static inline void sctp_moved_answered(struct sctp_assoc *a)
{
	a->moved.us = SCTP_NEVER;
}

/* ---- loss.c ---- */

/* A chunk in flight is to be sent again. */
void sctp_loss_mark(struct sctp_assoc *a, uint32_t tsn);
/* Miss indications of a SACK that newly acknowledges chunks of the path, up to this TSN. What
 * arrives on one path says nothing about chunks on another, which may take longer. */
void sctp_loss_missed(struct sctp_path *p, uint32_t highest);
/* Looks for lost chunks by time: after a SACK, or when the reordering window of a path has passed.
 */
void sctp_loss_detect(struct sctp_assoc *a);
/* A chunk of the path that counted as lost was acknowledged before it was repeated: it was late.
 * Reductions that turn out to be needless are undone (RFC 5682, RFC 8985 6.2). */
void sctp_loss_late(struct sctp_path *p, uint32_t tsn, uint64_t sent_us);
/* The peer reports that this TSN came twice. */
void sctp_loss_duplicate(struct sctp_assoc *a, uint32_t tsn);
void sctp_loss_t3(struct sctp_path *p);
void sctp_loss_probe(struct sctp_path *p);
/* Nothing can be sent; if the peer's window is the reason, T3 asks again (6.1 (A)). */
void sctp_loss_watch(struct sctp_assoc *a);
/* A chunk that was sent on the path goes another way: what T3 watches changes, not when it expires
 * (RFC 9260 6.3.3 (F1)). */
void sctp_loss_left(struct sctp_path *p, uint32_t tsn);
/* Starts or stops T3 and the tail-loss probe of a path after a SACK. */
void sctp_loss_rearm(struct sctp_path *p, bool first_acked);

/* ---- handshake_send.c ---- */

/* What our INIT and INIT ACK say. */
struct sctp_init sctp_own_init(const struct sctp *s, uint32_t tag, uint32_t tsn);
/* Lists our addresses if there are several; else the source of the packet says it. */
void sctp_list_addrs(const struct sctp *s, struct sctp_init *i, const uint8_t *local, unsigned n,
		     const struct sctp_flow *to);
void sctp_send_init(struct sctp_assoc *a);
void sctp_send_cookie_echo(struct sctp_assoc *a);

/* ---- assoc.c ---- */

/* npaths: room for paths. NULL without memory or beyond max_assocs. */
struct sctp_assoc *sctp_assoc_new(struct sctp *s, unsigned npaths);
void sctp_assoc_own_addrs(struct sctp_assoc *a, const uint8_t *local, unsigned n);
/* What both sides' INIT say. */
void sctp_assoc_start(struct sctp_assoc *a, uint32_t peer_tsn, uint32_t peer_rwnd);
/* Runs the state machine. */
void sctp_assoc_step(struct sctp_assoc *a, enum sctp_fsm_event ev);

/* ---- write.c ---- */

/* Chunks were sent or acknowledged: tells a user who waits that there is room again. */
void sctp_write_made_room(struct sctp_assoc *a);
/* The time to try again has come. */
void sctp_write_retry(struct sctp_assoc *a);

/* ---- ack.c ---- */

void sctp_got_sack(struct sctp_path *p, const struct sctp_chunk *c);
/* SHUTDOWN acknowledges cumulatively. */
void sctp_got_cum_ack(struct sctp_path *p, uint32_t cum);

/* ---- data.c ---- */

void sctp_got_data(struct sctp_path *p, const struct sctp_chunk *c);
/* All chunks of a packet were handled: is a SACK due? */
void sctp_data_end(struct sctp_path *p, bool any, bool prompt);

/* ---- init.c, cookie_echo.c ---- */

void sctp_got_init(struct sctp *s, const struct sctp_flow *from, const struct sctp_head *head,
		   const struct sctp_chunk *c, struct sctp_path *p);
/* from: the peer may send it from another address than p. */
void sctp_got_init_ack(struct sctp_path *p, const struct sctp_flow *from,
		       const struct sctp_head *head, const struct sctp_chunk *c);
/* The path that an INIT ACK from an unknown address belongs to, by the addresses that it lists
 * (5.1.2), or NULL. */
struct sctp_path *sctp_init_ack_path(struct sctp *s, const struct sctp_flow *from,
				     const struct sctp_head *head, const struct sctp_chunk *c);
void sctp_got_cookie_ack(struct sctp_path *p);
/* COOKIE ECHO. The path of the association for the rest of the packet; NULL: drop it. */
struct sctp_path *sctp_got_cookie_echo(struct sctp *s, const struct sctp_flow *from,
				       const struct sctp_head *head, const struct sctp_chunk *c,
				       struct sctp_path *p);
/* A Stale Cookie error. */
void sctp_got_stale_cookie(struct sctp_path *p);

/* ---- teardown.c ---- */

void sctp_got_shutdown(struct sctp_path *p, const struct sctp_chunk *c);
void sctp_got_abort(struct sctp_path *p, const struct sctp_chunk *c);
void sctp_got_error(struct sctp_path *p, const struct sctp_chunk *c);

/* ---- output.c ---- */

bool sctp_assoc_output(struct sctp_assoc *a, struct sctp_batch *b);
/* True if there is something that may be sent now. */
bool sctp_assoc_has_output(struct sctp_assoc *a);

/* ---- deadline.c ---- */

/* The timer of an association fires; set in struct sctp, because associations are made below. */
void sctp_assoc_expire(struct timer *t);

#endif
