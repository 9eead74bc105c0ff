/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SCTP packets in DTLS 1.2 (RFC 8261) as a library without sockets and clock: datagrams are pushed
 * in and pulled out, the time is an argument, in microseconds of any monotonic clock. A link
 * joins two ends: it has a connection, and for a while the one that takes over from
 * it.
 *
 * Unknown peers cause no state before they have shown a cookie. A connection is taken over by a new
 * handshake before its cipher is used up, and after cfg.takeover_us; packets do not wait for that.
 *
 * Use per turn: for each datagram dtls_input() until it is false; dtls_run() when dtls_expiry() has
 * passed and when dtls_fd() is readable; dtls_event() until it is false; dtls_output() until it is
 * false.
 */
#ifndef LLP_DTLS_H
#define LLP_DTLS_H

#include "llp/dtls/dtls_flow.h"
#include "llp/dtls/dtls_peer.h"
#include "llp/dtls/dtls_record.h"

struct dtls;

enum { DTLS_MAX_DATAGRAM = 1400 }; /* that dtls_output() writes */

struct dtls_config {
	void (*random)(void *user, void *ret, size_t len);
	/* Whether we speak to this peer. False: with a sentence. */
	bool (*accept)(void *user, const struct dtls_flow *flow, const struct dtls_peer *peer,
		       bool we_began, char *ret_reason, size_t len);
	/* The file of the pre-shared key for this peer; NULL: both ends show certificates. May be
	 * NULL: no peer has one. */
	const char *(*psk)(void *user, const struct dtls_flow *flow);
	/* A link is gone for which dtls_keep() was given that. */
	void (*dropped)(void *user, void *kept);
	void *user;
	unsigned jobs; /* of a thread that makes handshakes; 0: the calls make them, for tests */
	unsigned max_links, max_handshakes;
	uint64_t resend_us;    /* first interval after which a flight is sent again */
	uint64_t handshake_us; /* a handshake may take so long */
	uint64_t takeover_us;  /* then a new connection takes over */
	uint64_t linger_us;    /* the old one opens records so much longer: 2 RTO */
	uint64_t idle_us;      /* a link ends after so long without an authentic record */
};

/* What a datagram is by its first bytes, as a filter in the kernel sees it. */
enum dtls_beginning {
	DTLS_BEGINS_HELLO,  /* epoch 0, a handshake, and the message of a client that begins it */
	DTLS_BEGINS_CLEAR,  /* epoch 0 */
	DTLS_BEGINS_SEALED, /* another epoch, or too short for one */
	DTLS_BEGINNINGS,
};

struct dtls_stats {
	uint64_t links, handshakes; /* now */
	uint64_t asked;             /* hellos that were answered with a cookie */
	uint64_t begun, up, failed; /* handshakes after the cookie */
	uint64_t refused; /* hellos beyond max_links or max_handshakes, or without memory */
	uint64_t takeovers;
	uint64_t unknown; /* records of links that we do not have: their sender has to begin */
	uint64_t unwanted[DTLS_BEGINNINGS];   /* datagrams of no link and no handshake */
	uint64_t replayed, forged, malformed; /* records and datagrams that were dropped */
	uint64_t unsent;                      /* answers that had no room */
};

/* -errno: memory, a thread or a descriptor. Uses the identity. */
int dtls_open(const struct dtls_config *cfg, struct dtls_identity *id, uint64_t now_us,
	      struct dtls **ret);
/* Waits for the handshake that the thread is at. NULL is fine. */
void dtls_close(struct dtls *d);

/* Later handshakes use this identity. */
void dtls_set_identity(struct dtls *d, struct dtls_identity *id);

/* Begins a link, if there is none. -EAGAIN: there are max_links or max_handshakes. -EACCES: the
 * identity has no certificate, or lacks the pre-shared key for this peer. -ENOMEM. */
int dtls_connect(struct dtls *d, const struct dtls_flow *flow, uint64_t now_us);

/* The same where a link is up: another connection begins beside the one that seals, which goes on
 * if that fails. An event tells that the link is up, or down although the old connection works. */
int dtls_renew(struct dtls *d, const struct dtls_flow *flow, uint64_t now_us);

/* There is a link, up or not. */
bool dtls_has_link(const struct dtls *d, const struct dtls_flow *flow);

/* Keeps something of the owner with a link that is there. */
void dtls_keep(struct dtls *d, const struct dtls_flow *flow, void *what);

/* Ends a link, with an alert to the peer. No event follows. */
void dtls_disconnect(struct dtls *d, const struct dtls_flow *flow);

/* Calls fn for each link; it may end that. False as soon as fn is. */
typedef bool dtls_flow_fn(void *arg, const struct dtls_flow *flow);
bool dtls_flows(const struct dtls *d, dtls_flow_fn *fn, void *arg);
/* The same for those with a connection in a handshake. */
bool dtls_flows_beginning(const struct dtls *d, dtls_flow_fn *fn, void *arg);

/* The peer of a link that is up, valid until the link changes. NULL: it is not up. */
const struct dtls_peer *dtls_peer_of(const struct dtls *d, const struct dtls_flow *flow);

/* When the last authentic record of a link arrived, or its handshake ended; 0: there is none. */
uint64_t dtls_heard_us(const struct dtls *d, const struct dtls_flow *flow);

/* When the handshake began whose keys a link seals with; 0: it is not up. */
uint64_t dtls_begun_us(const struct dtls *d, const struct dtls_flow *flow);

/* The last alert in clear text of a handshake that goes on, which may be anybody's; 0: none. */
unsigned dtls_alert_of(const struct dtls *d, const struct dtls_flow *flow);

/* True if packets can be sealed. */
bool dtls_is_up(const struct dtls *d, const struct dtls_flow *flow);

/* Reads the datagram *at, which may have several records, or be empty. True: *ret is the next
 * packet, inside of the datagram; call again. False: that was all. */
bool dtls_input(struct dtls *d, const struct dtls_flow *flow, struct span *at, uint64_t now_us,
		struct span *ret);

/* Seals packets of `segment` bytes each, at most DTLS_MAX_PLAIN, as dtls_tx_seal_batch() does.
 * Returns the length; 0: the link is not up. */
size_t dtls_seal(struct dtls *d, const struct dtls_flow *flow, const struct span *part, unsigned n,
		 uint32_t segment, uint8_t *to);

/* Writes the next datagram of a handshake and its length; size is at least DTLS_MAX_DATAGRAM. */
bool dtls_output(struct dtls *d, struct dtls_flow *ret_flow, uint8_t *to, size_t size,
		 size_t *ret_len);

/* True if answers fill half of their room: dtls_output() is wanted before more is read. */
bool dtls_wants_output(const struct dtls *d);

/* Readable if the thread has done something: dtls_run() is to be called. -1: there is none. */
int dtls_fd(const struct dtls *d);

/* The thread has work, or has done some: else dtls_fd() needs no look. */
bool dtls_is_busy(const struct dtls *d);

/* When dtls_run() is to be called; UINT64_MAX: never. */
uint64_t dtls_expiry(const struct dtls *d);
/* Runs deadlines, and takes results of the thread. */
void dtls_run(struct dtls *d, uint64_t now_us);

/* An ICMP message quotes a record that we have sealed with the i-th key of a link, as far as it is
 * quoted. Writes the beginning of its packet, at most n bytes, which the caller has to know again:
 * without the end of the record there is no proof, but who has not seen it cannot choose these
 * bytes. Returns how many; 0: there is no such key, or it is something else. */
enum { DTLS_KEYS_OF_LINK = 3 };
size_t dtls_quoted(struct dtls *d, const struct dtls_flow *flow, unsigned i, const uint8_t *quoted,
		   size_t n, uint8_t *to);

/* An ICMP message says that a port which has answered is closed. True: one has said so before, and
 * no record has arrived for two seconds. Else the peer is perhaps behind a translator that has
 * forgotten the port, and speaks by another one soon. */
bool dtls_is_gone(struct dtls *d, const struct dtls_flow *flow, uint64_t now_us);

/* An ICMP message says that a datagram of ours has not arrived. It is ignored unless it quotes the
 * hello of the present handshake. no_port: the peer has no socket there, and the handshake ends. */
void dtls_unreachable(struct dtls *d, const struct dtls_flow *flow, bool no_port,
		      const uint8_t *quoted, size_t n);

/* The handshake that goes on has such a message. */
bool dtls_is_unreachable(const struct dtls *d, const struct dtls_flow *flow);

struct dtls_event {
	struct dtls_flow flow;
	bool up; /* or has new keys: dtls_renew(), or a peer that had lost them; else it is down */
	bool closed;              /* down without a refusal: it may begin again */
	bool refused;             /* it is down because the peer, who has its keys, refuses us */
	char reason[DTLS_REASON]; /* of one that is down */
};

/* The next event. False: there is none. */
bool dtls_event(struct dtls *d, struct dtls_event *ret);

/* Since dtls_open(). */
void dtls_stats(const struct dtls *d, struct dtls_stats *ret);

#endif
