/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The transport `user`: SCTP in this process (sctp/), carried over UDP (RFC 6951). Private to
 * user*.c.
 *
 * The core (sctp/sctp.h) does no I/O. This is its driver: sockets, clock, routes, and the upcalls
 * that follow from its events. Our addresses have the same index here and in the core.
 */
#ifndef LLP_USER_H
#define LLP_USER_H

#include "llp/common/llp_sctp.h"
#include "llp/user/udp.h"
#include "sctp/sctp.h"
#include "util/list.h"

enum {
	USER_ROUTES = 1024,
	USER_MIN_MTU = 576,
	USER_HEAD = 640, /* of a message: bytes that llp.h promises in the first span */
};

/* Our addresses have a socket for each: sctp_flow.covered is its index. */
enum { USER_CLEAR, USER_COVERED, USER_COVERS };

struct user_sock {
	struct udp *udp;
	uint8_t quiet;      /* turns in which it had no packet: user_io.c */
	uint64_t looked_us; /* when it was read last */
	bool watched;       /* in user.room */
};

/* The route to an address, kept for a while. */
struct user_route {
	struct sctp_addr peer;
	uint8_t local;
	bool looked_up, gso_safe;
	bool refused; /* the kernel refused UDP_SEGMENT */
	uint32_t mtu; /* of the route and the configuration: bytes of an IP packet */
	uint64_t until_us;
};

/* The state of a path that was last reported to the owner. */
struct user_path {
	struct sctp_addr peer;
	uint8_t state;  /* enum sctp_path_state: an association has room for many paths */
	bool confirmed; /* it was active once */
};

struct user_conn {
	struct llp_sctp_conn sctp;
	struct sctp_assoc *assoc; /* NULL when down, and while it waits */
	struct sockaddr_storage remote;
	uint16_t remote_port;
	uint16_t own_port; /* of an association that waits; 0: an unused one */
	uint8_t local;     /* our address of it */
	bool waits;        /* for DTLS to the peer: then it begins */
	bool covered;
	bool report_acks;
	bool even;    /* this end alone has opened it: its sessions use even streams */
	bool doubted; /* llp_user_cover_doubt() has renewed its link, or need not */
	uint8_t nreported;
	struct list on_link; /* of the same link, and others: llp_user_cover_each() */
	union {
		struct user_path reported[SCTP_MAX_PATHS];
		struct llp_info last; /* without assoc: when it ended */
	};
};

struct user_listener {
	struct llp_listener base;
	struct list all;
	struct sctp_listener *l;
};

/* Packets of a flood, for llp_user_guard(): without the right tag of an
 * association, or in DTLS of no link that we have. */
enum user_unknown {
	USER_INIT,
	USER_COOKIE_ECHO,
	USER_STRAY, /* everything else */
	USER_UNKNOWN,
	USER_HELLO = 0, /* in DTLS */
	USER_FLIGHT,    /* anything else in clear text */
	USER_RECORD,    /* everything else */
};

struct user_seen {
	uint64_t all, unknown[USER_UNKNOWN];
	uint64_t
		begun; /* handshakes, and those that ended well: filters have to know their peers */
};

struct user_guard {
	uint64_t due_us;                /* when it looks next */
	struct user_seen seen;          /* until then */
	uint32_t part[USER_UNKNOWN];    /* of 2^32: that the kernel is to pass */
	uint32_t applied[USER_UNKNOWN]; /* that its filters pass */
	uint64_t again_us;              /* when filters are made again for a small change */
	uint64_t begun;                 /* as in user_seen, when they were made */
	uint64_t begun_us;              /* how far their rate for these is used up */
	bool on;                        /* there are filters */
	bool stale;                     /* there is an association that they do not know */
};

struct user_tap {
	bool on;
	bool one;        /* packets of the association with one of these tags alone */
	uint32_t tag[2]; /* ours and the peer's */
	struct llp_tap tap;
};

struct user {
	struct llp_sctp sctp;
	struct sctp *core;
	unsigned naddrs, ncovers;                        /* ncovers: 1, or USER_COVERS */
	struct user_sock sock[USER_COVERS][LLP_MAX_OWN]; /* for each of sctp.addrs */
	struct udp_stats closed;                         /* of sockets that are closed */
	int room;         /* epoll set of the UDP sockets that are full: EPOLLOUT */
	uint64_t full_us; /* since when a socket is full, 0: none */
	struct list listeners;

	struct user_cover *cover; /* user_cover.c; NULL: all is in clear text */
	uint64_t doubted_ms;      /* links of new associations were doubted then */
	bool doubt_all;           /* and some have to be looked at again */
	struct user_guard guard[USER_COVERS];
	struct user_tap tap;

	bool ticked;
	uint32_t patience_us; /* after the last input */
	uint64_t skew_us;     /* the core's time is CLOCK_MONOTONIC and this */
	uint64_t owner_us;    /* and the owner's time and this */
	uint64_t now_us;

	uint32_t local_mtu;    /* that the last packet was too long for, 0 = unknown */
	bool held;             /* msg is the next message, which was not taken yet */
	uint64_t taken;        /* messages that were */
	struct sctp_msg msg;   /* that the core delivered */
	struct sctp_batch out; /* that is being sent */
	uint64_t route_key;    /* of the hash */
	struct user_route route[USER_ROUTES];
	uint8_t joined[SCTP_MAX_MESSAGE]; /* a message whose first span is short */
};

static inline struct user *llp_user_of(const struct user_conn *c)
{
	return (struct user *)c->sctp.base.llp;
}

static inline struct udp *llp_user_sock(const struct user *t, const struct sctp_flow *f)
{
	return t->sock[f->covered][f->local].udp;
}

/* The UDP port that we and our peers have for it. */
static inline uint16_t llp_user_port(const struct user *t, unsigned cover)
{
	return cover == USER_COVERED ? t->sctp.cfg.cover->udp_port : t->sctp.cfg.udp_port;
}

/* ---- user_clock.c ---- */

/* Reads the clock into now_us. */
void llp_user_read_clock(struct user *t);

/* ---- user_addr.c ---- */

/* llp_ops.add_addr and drop_addr. The socket of a dropped address stays open for the associations
 * that have it, until another address needs its place. */
int llp_user_add_addr(struct llp *llp, const struct sockaddr_storage *a, char *ret_reason,
		      size_t len);
void llp_user_drop_addr(struct llp *llp, const struct sockaddr_storage *a);

/* Closes the sockets of address i. */
void llp_user_close_socks(struct user *t, unsigned i);

/* The sums of all sockets, of those that are closed as well. */
void llp_user_udp_stats(const struct user *t, struct udp_stats *ret);

/* ---- user_assoc.c ---- */

int llp_user_listen(struct llp *llp, const struct llp_addrs *at, uint16_t port, void *listener_user,
		    struct llp_listener **ret);
void llp_user_unlisten(struct llp_listener *l);
int llp_user_connect(struct llp *llp, const struct llp_addrs *peer, uint16_t port,
		     const struct llp_addrs *from, uint16_t own_port, void *conn_user,
		     struct llp_conn **ret);
int llp_user_send(struct llp_conn *lc, const struct llp_msg *m);
uint32_t llp_user_room(const struct llp_conn *lc);
int llp_user_recv(struct llp_conn *lc, struct llp_msg *ret);
void llp_user_report_acks(struct llp_conn *lc);
uint32_t llp_user_unacked(const struct llp_conn *lc);
void llp_user_info(const struct llp_conn *lc, struct llp_info *ret);
bool llp_user_identity(const struct llp_conn *lc, struct llp_identity *ret);
unsigned llp_user_paths(const struct llp_conn *lc, struct llp_path ret[LLP_MAX_PATHS]);
int llp_user_set_primary(struct llp_conn *lc, const struct sockaddr_storage *remote);
void llp_user_shutdown(struct llp_conn *lc);
void llp_user_abort(struct llp_conn *lc, const char *reason);
void llp_user_conn_free(struct llp_conn *lc);

/* A record for an association of the core, or NULL: no memory, or too many. */
struct user_conn *llp_user_conn_new(struct user *t, struct sctp_assoc *a);

/* Begins the association of a record that has waited, or would. -errno. */
int llp_user_begin(struct user_conn *c);

/* Frees the core's association, with an ABORT if it still exists. The state is DOWN. */
void llp_user_conn_release(struct user_conn *c);

/* ---- user_event.c ---- */

/* Makes the upcalls for the core's events: associations that are up, messages, all others. */
void llp_user_events(struct user *t);

/* Ends associations whose set-up takes too long. */
void llp_user_expire(struct user *t);

/* ---- user_io.c ---- */

/* Reads packets from all sockets, as many from each as the budget says. True if there were some. */
bool llp_user_read(struct user *t, unsigned budget);

/* Sends the core's packets, as many as the sockets take. */
void llp_user_write(struct user *t);

/* ---- user_cover.c ---- */

/* Reads the files of cfg.cover. 0, the reason is "" or a warning; -errno, with a sentence or
 * without. */
typedef void user_random_fn(void *user, void *ret, size_t len);
int llp_user_cover_open(struct user *t, user_random_fn *random, char *ret_reason, size_t len);
/* Tells the peers of all links that we close them. */
void llp_user_cover_end(struct user *t);
void llp_user_cover_close(struct user *t);
int llp_user_cover_set_files(struct llp *llp, const struct llp_cover_files *files, char *ret_reason,
			     size_t len);

/* To poll; -1: none. */
int llp_user_cover_fd(const struct user *t);

/* Whether an association with this peer has to be covered. */
bool llp_user_cover_wanted(const struct user *t, const struct llp_addrs *peer);

/* From now on the association is one of those on its link. */
void llp_user_cover_join(struct user_conn *c);

/* Calls fn for each association on a link, which may end it but not free any. */
void llp_user_cover_each(struct user *t, const struct sctp_flow *flow, void *arg,
			 void (*fn)(struct user_conn *c, void *arg));

/* Begins the link to its peer. 0; 1: it is up already, so the association need not wait; -errno. */
int llp_user_cover_connect(struct user_conn *c);

/* After -EACCES: ends an association that cannot send, because we have neither a certificate nor a
 * key for its peer. */
void llp_user_cover_end_without_identity(struct user_conn *c, void *arg);

/* The meaning of the alert in a handshake that has no end, as the end of a sentence; NULL: there
 * was none. */
const char *llp_user_cover_alert(const struct user_conn *c);

/* The association has no answer: if its peer was silent for so long, it may have lost our keys, and
 * there is another handshake. False: it was not silent, or there is no room for that now. */
bool llp_user_cover_doubt(const struct user_conn *c, uint64_t silent_us);

/* An ICMP message says that the peer of a link that is waited for cannot be reached. */
bool llp_user_cover_unreachable(const struct user_conn *c);

/* Who is behind a covered flow. False: the peer has proven no identity. */
bool llp_user_cover_identity(const struct user *t, const struct sctp_flow *flow,
			     struct llp_identity *ret);

/* Datagrams that arrived together at a covered socket: their packets go to `deliver`, those of
 * equal length together. */
typedef void user_deliver_fn(struct user *t, const struct sctp_flow *flow, uint8_t *p, size_t len,
			     size_t segment);
void llp_user_cover_input(struct user *t, const struct sctp_flow *flow, uint8_t *p, size_t len,
			  size_t segment, user_deliver_fn *deliver);

/* An ICMP message about a datagram to this flow. It is believed if it quotes one of ours: of a
 * record, the core knows the packet again. */
void llp_user_cover_icmp(struct user *t, const struct sctp_flow *flow, enum sctp_icmp what,
			 const struct udp_error *e);

/* The records of a batch. False: there is no link, and one begins. Valid until the next call. */
bool llp_user_cover_seal(struct user *t, const struct sctp_batch *out, struct udp_batch *ret);

/* Sends the datagrams of handshakes. */
void llp_user_cover_write(struct user *t);

/* When llp_user_cover_run() is needed. */
uint64_t llp_user_cover_expiry(const struct user *t);
/* Deadlines, and results of the thread. */
void llp_user_cover_run(struct user *t);

/* Datagrams that have arrived at the covered sockets. */
struct user_seen llp_user_cover_seen(const struct user *t);

/* Calls fn for each link that is up, or for each that is in a handshake. False as soon as fn is. */
typedef bool user_link_fn(void *arg, const struct sctp_addr *peer, uint16_t udp_port);
bool llp_user_cover_links(const struct user *t, user_link_fn *fn, void *arg);
bool llp_user_cover_handshakes(const struct user *t, user_link_fn *fn, void *arg);

struct user_link_event {
	struct sctp_flow flow;
	bool up;
	bool closed;      /* went down, and may begin again */
	char reason[256]; /* of a link that went down, or was never up */
};
/* The next event of a link. False: there is none. */
bool llp_user_cover_event(struct user *t, struct user_link_event *ret);

/* ---- user_guard.c ---- */

/* The kernel passes all packets. */
void llp_user_guard_init(struct user *t);

/* In a flood, makes the kernel drop most packets that belong to no association. Called in each
 * turn. */
void llp_user_guard(struct user *t);

/* When it is to be called next for the sake of time. */
uint64_t llp_user_guard_due(const struct user *t);

/* There is an association or a socket that the filters of this cover do not know. */
void llp_user_guard_renew(struct user *t, unsigned cover);

/* ---- user_filter.c ---- */

/* The kernel passes the parts of guard[cover] to our i-th address, or all packets. */
void llp_user_filter(const struct user *t, unsigned cover, unsigned i);

/* ---- user_tap.c ---- */

int llp_user_set_tap(struct llp *llp, const struct llp_tap *tap);

/* Shows packets to the tap: the spans, joined; all packets have `segment` bytes but the last one.
 * Only if it is on. */
void llp_user_tap(struct user *t, const struct sctp_flow *flow, bool out, const struct span *part,
		  unsigned n, size_t segment);

/* ---- user_route.c ---- */

struct sctp_addr llp_user_addr(const struct sockaddr_storage *a);
void llp_user_sockaddr(const struct sctp_addr *a, uint16_t port, struct sockaddr_storage *ret);

/* The route from an address of ours to a peer's. A look-up is kept for a minute. -errno of the
 * route: ENETUNREACH ... */
int llp_user_route(struct user *t, uint8_t local, const struct sctp_addr *peer,
		   const struct user_route **ret);

/* Interfaces or addresses changed: routes are looked up again. */
void llp_user_forget_routes(struct user *t);

/* True if batches to a peer are sent with UDP_SEGMENT. takes_batches: the peer has announced that
 * it takes them. */
bool llp_user_gso(struct user *t, const struct sctp_flow *to, bool takes_batches);

/* The kernel refused that. */
void llp_user_refuse_gso(struct user *t, const struct sctp_flow *to);

/* Largest SCTP packet within an IP packet of mtu bytes. */
uint32_t llp_user_packet(const struct sctp_addr *peer, uint32_t mtu, bool covered);

#endif
