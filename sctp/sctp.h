/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SCTP (RFC 9260) over UDP (RFC 6951) as a library without I/O: the stack of one process, its
 * listeners and its associations. It opens no socket, reads no clock and starts no thread. Packets
 * are pushed in with sctp_input() and pulled out with sctp_output(); the time is an argument, in
 * microseconds of any monotonic clock. Events and messages are recorded and fetched with
 * sctp_event() and sctp_recv(); the only callbacks are those for memory and random numbers.
 *
 * It sends each message unordered and in one DATA chunk, as RFC 5043 asks. It also receives ordered
 * and fragmented messages.
 *
 * Memory is allocated with `sctp_config.mem`: an association when it is set up, blocks for queued
 * data when they are needed. When that fails, a call returns SCTP_E_MEMORY or a packet is dropped.
 *
 * Use per turn: for each packet sctp_input(), then sctp_event() and sctp_recv() until both are
 * empty; sctp_run() when sctp_expiry() has passed; at the end sctp_output() until it is false.
 */
#ifndef SCTP_SCTP_H
#define SCTP_SCTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sctp/wire/addr.h"
#include "util/span.h"

struct network_table; /* util/network.h */
struct sctp;          /* a stack */
struct sctp_listener; /* an SCTP port that accepts associations at some of our addresses */
struct sctp_assoc;    /* an association */

enum {
	SCTP_MAX_LOCAL = 8,        /* addresses of ours that an association has */
	SCTP_MAX_OWN = 32,         /* addresses of a stack */
	SCTP_MAX_PATHS = 16,       /* addresses of a peer that are used; it may list more */
	SCTP_MAX_PARTS = 17,       /* spans of a message */
	SCTP_MAX_PACKET = 65507,   /* UDP payload over IPv4, kept for IPv6 as well */
	SCTP_MIN_PACKET = 548,     /* no path is used with less: IPv4 (RFC 791) takes 576 bytes */
	SCTP_MAX_MESSAGE = 131072, /* that is reassembled */
	SCTP_REASON = 192,         /* bytes of a sentence, with its terminator */
	SCTP_ABORT_TEXT = 152,     /* of one in an ABORT, which is cut; with its terminator, too */
};

#define SCTP_NEVER UINT64_MAX /* a time that is never reached */

enum {
	SCTP_E_OK,
	SCTP_E_AGAIN,    /* no room: an event SCTP_WRITABLE follows */
	SCTP_E_TOO_LONG, /* longer than max_message, which may have shrunk */
	SCTP_E_DOWN,     /* the association is not up, or is being shut down */
	SCTP_E_MEMORY,   /* no memory, or a limit of the configuration is reached */
	SCTP_E_IN_USE, /* the port has a listener at one of the addresses; or an association between
			  these addresses and ports exists */
	SCTP_E_NO_ADDR,  /* the peer has no such address, or no address of ours has its family */
	SCTP_E_INACTIVE, /* the path to that address is not active */
};

/* Congestion control. */
enum sctp_cc_algo { SCTP_CC_RFC9260, SCTP_CC_CUBIC, SCTP_CC_BBR };

/* Paths to the addresses of a prefix use another one. */
struct sctp_cc_rule {
	struct sctp_addr prefix; /* its scope is ignored */
	uint8_t bits;            /* IPv4: 0 to 32; IPv6: 0 to 128 */
	enum sctp_cc_algo algo;
};

enum { SCTP_MAX_CC_RULES = 32 };

struct sctp_config {
	struct sctp_addr local[SCTP_MAX_OWN]; /* sctp_set_local() adds others */
	unsigned nlocal;
	uint16_t udp_port;    /* of peers that we connect to */
	uint16_t streams;     /* requested in both directions, at least 1 */
	uint32_t adaptation;  /* indication (RFC 5061 4.2.6) to send and to require */
	uint32_t send_buffer; /* most bytes of an association that are queued or unacknowledged */
	uint32_t recv_buffer; /* largest window that an association advertises */
	uint32_t recv_first;  /* window that it begins with; 0: 2 MiB, but not more than that */
	uint32_t mtu;         /* largest IP packet, 0 = only the paths limit it */
	/* Of covered packets (struct sctp_flow): bytes that the cover adds to each, and how long
	 * they are without it at most. */
	uint32_t cover_bytes, cover_packet;
	enum sctp_cc_algo cc; /* of paths without a rule */
	struct sctp_cc_rule cc_rule[SCTP_MAX_CC_RULES];
	unsigned ncc_rules;
	unsigned sack_packets; /* packets per acknowledgement, at least 1 */
	uint32_t sack_us;      /* longest delay of an acknowledgement, at most 500,000 */
	uint32_t rto_initial_us, rto_min_us, rto_max_us;
	uint32_t heartbeat_us; /* 0 = none on confirmed paths; more with many associations */
	uint32_t cookie_us;    /* life of a state cookie */
	unsigned path_max_retrans, init_max_retrans;
	unsigned assoc_max_retrans; /* 0: path_max_retrans for each path */
	uint32_t max_assocs;
	uint64_t max_memory;  /* bytes of blocks for queued data, of all associations */
	uint64_t max_windows; /* bytes by which all windows may grow; 0: half of max_memory */
	/* Of peers, which outlive the stack. It asks them whether a peer may open an association;
	 * who takes the event SCTP_INCOMING charges it. The stack charges their memory. NULL:
	 * there are none. */
	struct network_table *networks;
	/* Packets that are handled: INIT of unknown peers, their COOKIE ECHO, both from addresses
	 * of associations, and packets out of the blue; so many of each of the four kinds. */
	unsigned handshakes_per_s;

	struct sctp_mem {
		void *(*alloc)(void *user, size_t len); /* NULL: none left */
		void (*free)(void *user, void *p, size_t len);
		void *user;
	} mem;
	void (*random)(void *user, void *ret, size_t len); /* cryptographic quality */
	void *random_user;
};

/* A stack. *ret on SCTP_E_OK; SCTP_E_MEMORY. The configuration is copied. */
int sctp_open(const struct sctp_config *cfg, uint64_t now_us, struct sctp **ret);

/* Frees everything without another packet. NULL is fine. */
struct sctp *sctp_close(struct sctp *s);

/* Other congestion control for paths of later associations. n: at most SCTP_MAX_CC_RULES. */
void sctp_set_cc(struct sctp *s, enum sctp_cc_algo cc, const struct sctp_cc_rule *rule, unsigned n);

/* ---- packets ---- */

/* Processes one packet (UDP payload), whose bytes may change. Spans of sctp_recv() refer to it
 * until the next call. */
void sctp_input(struct sctp *s, const struct sctp_flow *from, uint8_t *pkt, size_t len,
		uint64_t now_us);

/* The same for packets that arrived together: all have `segment` bytes but the last one, which may
 * be shorter. Processes the first one, and more while they are of the same association, no event is
 * due, sctp_wants_output() is false, and their messages stay in the processor's cache until they
 * are fetched. Returns the bytes of those that were processed; the caller fetches events and
 * messages before the next call. segment is at least 1, but of an empty packet, which is alone. */
size_t sctp_input_run(struct sctp *s, const struct sctp_flow *from, uint8_t *pkt, size_t len,
		      size_t segment, uint64_t now_us);

/* The least round-trip time of the paths whose packets arrived since the last call; 0: a path has
 * none yet, or a packet is of no association; UINT32_MAX: no packet. */
uint32_t sctp_input_rtt(struct sctp *s);

enum sctp_icmp {
	SCTP_ICMP_UNREACHABLE,      /* network or host (RFC 9260 10 (ICMP1)..) */
	SCTP_ICMP_PORT_UNREACHABLE, /* port or protocol: no socket on the UDP port */
	SCTP_ICMP_TOO_BIG,
};

/* An ICMP message about a packet of ours to `to`: quoted is the SCTP packet as far as it is quoted.
 * It is ignored unless the quoted verification tag is right (RFC 9260 section 10). mtu: of TOO_BIG,
 * in bytes of an IP packet. */
void sctp_icmp(struct sctp *s, const struct sctp_flow *to, enum sctp_icmp what, uint32_t mtu,
	       const uint8_t *quoted, size_t len, uint64_t now_us);

enum {
	SCTP_BATCH_PACKETS = 64, /* Linux before 6.9 takes no more segments in one send */
	SCTP_BATCH_SPANS = 512,
	SCTP_BATCH_SPACE = 16384, /* bytes of headers and control chunks */
};

/* Packets to one address, in sending order, of one association or of several that have little to
 * send. All have `segment` bytes but the last one, which may be shorter. The packets are the spans,
 * joined; a span never crosses the border of two packets. The spans refer to the batch and to
 * memory of the stack, and are valid until the next call of any function of the stack. About 32
 * KiB. */
struct sctp_batch {
	struct sctp_flow to;
	unsigned packets;
	uint32_t segment, len;
	bool probe;    /* one packet that looks for a larger path MTU: its loss is no error */
	bool fragment; /* one packet that is larger than the path MTU: IP may have to fragment it,
			  to 1280 bytes if it is IPv6 */
	bool takes_batches; /* the peer said that it takes many packets at once (GSO) */
	unsigned nspans;
	struct span span[SCTP_BATCH_SPANS];
	uint32_t used; /* of space */
	_Alignas(8) uint8_t space[SCTP_BATCH_SPACE];
};

/* The next packets to send. False: there are none. */
bool sctp_output(struct sctp *s, struct sctp_batch *ret, uint64_t now_us);

/* True if the answers to packets fill much of their room: sctp_output() is wanted before more
 * packets are processed, or answers to peers without association are dropped. */
bool sctp_wants_output(const struct sctp *s);

/* The packets of that batch could not be sent because they are longer than the present MTU of the
 * route (mtu: bytes of an IP packet, 0 = unknown): the path MTU of all associations to that address
 * is lowered, and searched again after 10 minutes. */
void sctp_too_big(struct sctp *s, const struct sctp_flow *to, uint32_t mtu, uint64_t now_us);

/* ---- time ---- */

/* When sctp_run() is needed next, or SCTP_NEVER. 0: at once. */
uint64_t sctp_expiry(const struct sctp *s);

/* Executes the deadlines that have passed. Time that goes back is ignored. */
void sctp_run(struct sctp *s, uint64_t now_us);

/* ---- events ---- */

enum sctp_path_state {
	SCTP_PATH_UNCONFIRMED, /* it was listed, but has not answered (RFC 9260 5.4) */
	SCTP_PATH_ACTIVE,
	SCTP_PATH_FAILING, /* potentially failed (RFC 7829) */
	SCTP_PATH_INACTIVE,
};

enum sctp_end {
	SCTP_END_CLOSED,    /* shutdown by either side */
	SCTP_END_ABORTED,   /* the peer sent ABORT: cause, text */
	SCTP_END_REFUSED,   /* ABORT in answer to INIT */
	SCTP_END_TIMEOUT,   /* the peer does not answer any more */
	SCTP_END_STALLED,   /* the peer answers, but packets of some size no longer arrive: text */
	SCTP_END_NO_ANSWER, /* the peer did not answer INIT or COOKIE ECHO */
	SCTP_END_UNREACHABLE, /* ICMP: no socket on the peer's port, or not any more */
	SCTP_END_RESTART,     /* the peer began again: its state is lost */
	SCTP_END_PROTOCOL,    /* the peer violated the protocol: text */
	SCTP_END_INDICATION,  /* another adaptation indication: value in cause; or none: text */
	SCTP_END_MEMORY,
};

enum sctp_event_type {
	SCTP_INCOMING, /* `listener` accepted a new association, which is up; user is that of the
			  listener. sctp_assoc_set_user(), or sctp_assoc_free() */
	SCTP_UP,       /* an association of sctp_assoc_connect() is up */
	SCTP_DOWN,     /* it ended: end, cause, text. Only sctp_assoc_free() is left to do */
	SCTP_WRITABLE, /* there is room again, after SCTP_E_AGAIN */
	SCTP_ACKED,    /* everything that was sent is cumulatively acknowledged, or some of it:
			  sctp_assoc_report_acks() */
	SCTP_PATH,     /* a path changed: addr, state, became_primary */
	SCTP_RESIZED,  /* max_message of sctp_assoc_info() changed */
};

struct sctp_event {
	enum sctp_event_type type;
	struct sctp_assoc *assoc;
	void *user;
	struct sctp_listener *listener; /* INCOMING */
	enum sctp_end end;
	uint32_t cause;         /* error cause code of an ABORT, 0 = none */
	char text[SCTP_REASON]; /* of an ABORT by its user, or of STALLED; printable */
	struct sctp_addr addr;  /* PATH: the peer's address */
	enum sctp_path_state state;
	bool became_primary;
};

/* Fetches the next event; false if there is none. */
bool sctp_event(struct sctp *s, struct sctp_event *ret);

/* A message that arrived. */
struct sctp_msg {
	struct sctp_assoc *assoc;
	void *user;
	uint16_t sid;
	uint32_t ppid; /* host byte order */
	bool ordered;  /* without the U bit */
	uint32_t len;
	unsigned n;
	struct span part[SCTP_MAX_PARTS];
};

/* Fetches the next message of the packets of the last sctp_input(). Events SCTP_INCOMING and
 * SCTP_UP are to be fetched first. False if there is none. The spans are valid until the next call
 * of sctp_recv() or sctp_input(). */
bool sctp_recv(struct sctp *s, struct sctp_msg *ret);

/* ---- addresses of ours ---- */

/* Address i is this one from now on. If it was another one, no association uses it. */
void sctp_set_local(struct sctp *s, uint8_t i, const struct sctp_addr *addr);

/* Address i gets no new association until it is set again. */
void sctp_drop_local(struct sctp *s, uint8_t i);

/* True if an association has address i, or a listener names it. */
bool sctp_uses_local(const struct sctp *s, uint8_t i);

/* The UDP port of peers that we connect to later on. */
void sctp_set_udp_port(struct sctp *s, uint16_t port);

/* Another recv_first for later associations. */
void sctp_set_recv_first(struct sctp *s, uint32_t bytes);

/* ---- listeners ---- */

/* Accepts associations at an SCTP port and these addresses of ours (indices). all: an association
 * has all of them, else only the one that its INIT was sent to. n 0: at each address of ours that
 * is not dropped. SCTP_E_IN_USE, SCTP_E_MEMORY. */
int sctp_listen(struct sctp *s, const uint8_t *local, unsigned n, bool all, uint16_t port,
		void *user, struct sctp_listener **ret);
/* Associations that it accepted stay. NULL is fine. */
struct sctp_listener *sctp_unlisten(struct sctp *s, struct sctp_listener *l);

/* ---- associations ---- */

/* The ends of an association that this side begins. */
struct sctp_connect {
	const struct sctp_addr *peer; /* addresses of the peer; the first is the primary path */
	const uint32_t *packet;       /* for each the largest packet (UDP payload) that the route
					 takes; NULL: the configured one */
	unsigned npeer;
	uint16_t port;
	const uint8_t *local; /* indices of our addresses. The first one with the family of peer[0]
				 is the source of INIT */
	unsigned nlocal;
	uint16_t own_port; /* 0: an unused one */
	/* Not 0: the packets are covered, and this is the peer's UDP port for them. Such an
	 * association has one address at each end (RFC 8261 section 5). */
	uint16_t covered_port;
	void *user;
};

/* Begins an association; SCTP_UP or SCTP_DOWN follows. If the peer begins one between the same
 * ports at the same time, there is one association, and SCTP_UP at both ends (RFC 9260 5.2.1).
 * SCTP_E_NO_ADDR (also: covered, and not one address at each end), _MEMORY, _IN_USE. */
int sctp_assoc_connect(struct sctp *s, const struct sctp_connect *to, struct sctp_assoc **ret);

/* The pointer that events and messages of the association carry. */
void sctp_assoc_set_user(struct sctp_assoc *a, void *user);

/* The route to an address of the peer takes IP packets of this size at most: the search for the
 * path MTU ends there. Without this call 65,535 is assumed. */
void sctp_assoc_set_route_mtu(struct sctp_assoc *a, const struct sctp_addr *peer, uint32_t mtu,
			      uint64_t now_us);

/* The longest message that the packet in preparation has room for, at most max_message: a message
 * that is cut into several fills packets if its first part is as long. */
uint32_t sctp_assoc_room(const struct sctp_assoc *a);

/* Sends a message: the spans are copied. urgent: the peer shall acknowledge at once (I bit).
 * SCTP_E_AGAIN, _TOO_LONG, _DOWN, _MEMORY (as _AGAIN: SCTP_WRITABLE follows). */
int sctp_assoc_send(struct sctp_assoc *a, uint16_t sid, uint32_t ppid, bool urgent,
		    const struct span *part, unsigned n);

/* Shuts down gracefully: queued data is delivered first. SCTP_DOWN follows. */
void sctp_assoc_shutdown(struct sctp_assoc *a, uint64_t now_us);

/* Sends an ABORT (in the next sctp_output()) with a text of at most 128 bytes, or NULL. No event
 * follows. sctp_assoc_free() is left to do. */
void sctp_assoc_abort(struct sctp_assoc *a, const char *text);

/* Frees the handle; an association that is up is aborted. NULL is fine. */
struct sctp_assoc *sctp_assoc_free(struct sctp_assoc *a);

/* From now on, SCTP_ACKED reports each advance of the cumulative acknowledgement. */
void sctp_assoc_report_acks(struct sctp_assoc *a);

struct sctp_info {
	struct sctp_flow primary;
	uint16_t local_port, peer_port;
	uint16_t streams;     /* usable in both directions */
	uint32_t max_message; /* largest message that travels in one chunk on every active path */
	uint32_t mtu;         /* of the primary path: bytes of an IP packet */
	uint32_t srtt_us, rto_us, cwnd, peer_rwnd;
	uint32_t unacked;     /* messages that were sent or queued and are not acknowledged */
	uint64_t retransmits; /* DATA chunks sent again */
	uint64_t spurious;    /* of these: the peer reports that it had the chunk already */
	uint64_t wrong_tags;  /* packets from its addresses and ports with another tag */
	bool takes_batches;
	bool unreachable;  /* ICMP reported it of the primary path, and no answer arrived since */
	uint32_t tag;      /* verification tag of the packets that we receive */
	uint32_t peer_tag; /* of those that we send; 0: not known yet */
	bool lower_tag; /* of the two verification tags, ours is the smaller one: true at one end */
};
void sctp_assoc_info(const struct sctp_assoc *a, struct sctp_info *ret);

/* Why a path does not send more now. */
enum sctp_limit {
	SCTP_LIMIT_USER,       /* there are no messages, or another path carries them */
	SCTP_LIMIT_BUFFER,     /* there are, but the send buffer is full */
	SCTP_LIMIT_PEER,       /* the window of the peer */
	SCTP_LIMIT_CONGESTION, /* the congestion window */
	SCTP_LIMIT_PACING,     /* the next packet leaves soon */
};

struct sctp_path_info {
	struct sctp_flow flow;
	enum sctp_path_state state;
	bool primary;
	uint32_t srtt_us, rto_us, cwnd, mtu;
	uint32_t flight;      /* bytes in flight */
	uint64_t rate;        /* bytes per second that were acknowledged lately */
	uint64_t pacing_rate; /* bytes per second; 0: not paced */
	enum sctp_limit limit;
};
/* The paths, the primary one first; returns how many. */
unsigned sctp_assoc_paths(const struct sctp_assoc *a, struct sctp_path_info ret[SCTP_MAX_PATHS]);

/* Sends a heartbeat: a peer that does not know the association any more aborts it. */
void sctp_assoc_ask(struct sctp_assoc *a, uint64_t now_us);

/* SCTP_E_NO_ADDR, _INACTIVE, _DOWN. */
int sctp_assoc_set_primary(struct sctp_assoc *a, const struct sctp_addr *peer);

/* ---- counters since sctp_open() ---- */

struct sctp_stats {
	uint64_t rx_packets, tx_packets;
	uint64_t bad_crc;
	uint64_t bad_packets; /* malformed, or with a wrong verification tag */
	uint64_t unknown;     /* out of the blue (RFC 9260 8.4) */
	/* Packets without the right tag of an association, read or not: INIT with tag 0, COOKIE
	 * ECHO (these with any tag), and everything else. */
	uint64_t inits, cookie_echos, strays;
	uint64_t admitted;    /* handshakes and packets of unknown peers that were read */
	uint64_t over_budget; /* packets dropped unread: beyond handshakes_per_s */
	uint64_t over_share;  /* the same, beyond the share of their network (sctp/base/budget.h) */
	uint64_t refused_handshakes; /* beyond max_assocs, or without memory */
	uint64_t dropped_replies;    /* answers that had no room */
	uint64_t retransmits;        /* DATA chunks sent again */
	uint64_t spurious;           /* of these: the peer reports that it had the chunk already */
	uint64_t fast_retransmits, timeouts, tail_probes;
	uint64_t duplicates; /* DATA chunks received again */
	uint64_t icmp_ignored;
};
void sctp_stats(const struct sctp *s, struct sctp_stats *ret);

/* Bytes that the stack holds: associations and blocks. */
uint64_t sctp_memory(const struct sctp *s);

#endif
