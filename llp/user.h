/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The transport `user`: SCTP in this process through usrsctp, carried over UDP (RFC 6951).
 * Private to user*.c.
 *
 * usrsctp is driven without its threads through AF_CONN: packets go in by
 * usrsctp_conninput(), come out by a callback, and time passes by usrsctp_handle_timers().
 * The "address" of a peer is a small number, its token. Tokens are reused, lowest first,
 * and never taken back from usrsctp: usrsctp_deregister_address() leaves work for a
 * thread of its own, and its search for a local address walks all that were registered.
 *
 * libusrsctp exports names such as user_connect, wakeup or hz, which a function of the
 * same name in the program would replace: hence the longer prefix of everything here.
 */
#ifndef LLP_USER_H
#define LLP_USER_H

#include <usrsctp.h>

#include "llp/llp.h"
#include "llp/udp.h"
#include "util/list.h"

enum {
	USER_MAX_PEERS = 16384,  /* remote UDP addresses */
	USER_MAX_EMBRYOS = 1024, /* of which so many may be without an association */
	USER_EMBRYO_MS = 10000,  /* for so long */
	USER_BUCKETS = 4096,
	USER_MAX_CONNS = 16384,
	USER_MAX_CHUNK = 65476,    /* most data in one DATA chunk, by usrsctp's arithmetic */
	USER_MAX_MESSAGE = 131072, /* that we collect from fragments */
	USER_MIN_MTU = 576,
	USER_REASON = 192,
};

/* A remote UDP address as seen from one of our sockets. */
struct user_peer {
	struct list bucket;
	struct list embryo; /* in struct user's `embryos` while there is no association */
	struct udp *sock;
	struct udp_flow flow;
	uint32_t token;
	unsigned conns;
	uint64_t born_ms;
	uint32_t mtu; /* IP packet size limit; 0 = not looked up */
};

enum user_state {
	USER_CONNECTING,
	USER_VERIFYING, /* up, but the adaptation indication was not seen yet */
	USER_UP,
	USER_CLOSING, /* we asked for the end */
	USER_DOWN,
};

struct user_conn {
	struct llp_conn base;
	struct list all;
	struct list ready; /* in struct user's `ready`: something may have happened */
	struct socket *so; /* NULL when down */
	struct user_peer *peer;
	bool passive; /* came in through a listener */
	enum user_state state;
	uint16_t local_port, remote_port;
	uint16_t streams;
	uint32_t max_message;
	uint64_t deadline_ms; /* while connecting */
	bool write_wanted;    /* a send was refused */
	bool path_failed;     /* the peer stopped answering */
	bool dry;             /* an event said that all was acknowledged */
	bool ended;           /* `err` and `why` are to be told */
	int err;
	char reason[USER_REASON];
	uint8_t *part; /* the beginning of a message whose end did not come yet */
	uint32_t part_len;
};

/* An SCTP port that is open: one usrsctp socket for all listeners on the port. */
struct user_port {
	struct list all;
	struct list listeners;
	struct socket *so;
	uint16_t port;
};

struct user_listener {
	struct llp_listener base;
	struct list all;
	struct user_port *port;
	const struct udp *sock; /* the local address, NULL for all */
};

struct user {
	struct llp base;
	struct llp_config cfg;
	struct sockaddr_storage addrs[LLP_MAX_ADDRS];
	unsigned nsocks;
	struct udp *sock[LLP_MAX_ADDRS];
	int room;                    /* epoll set of the UDP sockets that are full: EPOLLOUT */
	bool watched[LLP_MAX_ADDRS]; /* in that set */
	uint32_t buffer;             /* of an association, each way */

	struct user_peer **peer;    /* by token - 1 */
	uint32_t npeers;            /* tokens in use or used before */
	uint32_t free_low;          /* no index below this one is free */
	bool known[USER_MAX_PEERS]; /* tokens that usrsctp was told of */
	unsigned nembryos;
	struct list embryos; /* oldest first */
	struct list bucket[USER_BUCKETS];
	uint64_t hash_key[4];
	struct user_peer *last; /* that a packet came from */
	unsigned refusals;      /* that may be sent until the next tick */

	struct list conns, ready, ports;
	unsigned nconns;
	struct user_conn *current; /* in whose upcall we are; NULL if it was freed there */

	bool accepting; /* there may be associations to accept */
	bool ticked;
	uint64_t base_ms; /* the owner's time at the first tick; all others count from there */
	uint64_t now_ms, tick_ms, linger_ms;

	uint64_t bad_crc, bad_packets;
	uint32_t retransmits_base;
	uint8_t tx_stage[USER_MAX_CHUNK];
	uint8_t rx_stage[USER_MAX_MESSAGE];
};

/* ---- user_peer.c ---- */

/* The peer at an address, made if need be. -errno: ENOSPC, ENOMEM. */
int llp_user_peer_get(struct user *t, struct udp *sock, const struct sockaddr_storage *to,
		      struct user_peer **ret);
struct user_peer *llp_user_peer_find(struct user *t, const struct udp *sock,
				     const struct sockaddr_storage *to);

/* An association begins or ends. ref() can fail: ENETUNREACH and others of the route. */
int llp_user_peer_ref(struct user *t, struct user_peer *p);
void llp_user_peer_unref(struct user *t, struct user_peer *p);
void llp_user_peer_expire(struct user *t);
void llp_user_peer_free_all(struct user *t);

static inline struct user_peer *llp_user_peer_by_token(const struct user *t, const void *token)
{
	uintptr_t i = (uintptr_t)token;

	return i - 1 < t->npeers ? t->peer[i - 1] : NULL;
}

static inline void *llp_user_peer_token(const struct user_peer *p)
{
	return (void *)(uintptr_t)p->token;
}

/* Largest SCTP packet to the peer, in bytes of UDP payload. */
uint32_t llp_user_peer_packet(const struct user_peer *p);

/* A packet came in: argument of udp_recv() is a struct user_rx. */
struct user_rx {
	struct user *user;
	struct udp *sock;
};
udp_packet_fn llp_user_packet;

/* ---- user_sock.c ---- */

/* A usrsctp socket with all options that must be set before INIT or INIT ACK. NULL and errno. */
struct socket *llp_user_sock_new(struct user *t, uint32_t packet);

/* Limits the packets of an association that is up. */
void llp_user_sock_limit(struct socket *so, uint32_t packet);

/* Closes it, with an ABORT if the association is still there. */
void llp_user_sock_abort(struct socket *so);

/* The state of the association; false if there is none any more. */
bool llp_user_sock_status(struct socket *so, struct sctp_status *ret);

/* ---- user_conn.c ---- */

int llp_user_listen(struct llp *llp, const struct llp_addrs *at, uint16_t port, void *listener_user,
		    struct llp_listener **ret);
void llp_user_unlisten(struct llp_listener *l);
int llp_user_connect(struct llp *llp, const struct llp_addrs *peer, uint16_t port,
		     const struct llp_addrs *from, void *conn_user, struct llp_conn **ret);
void llp_user_info(const struct llp_conn *lc, struct llp_info *ret);
void llp_user_shutdown(struct llp_conn *lc);
void llp_user_abort(struct llp_conn *lc, const char *reason);
void llp_user_conn_free(struct llp_conn *lc);

/* Takes associations that came up; they are announced after their indication was seen. */
void llp_user_accept(struct user *t);

/* The listener that an SCTP port has at a local address, or NULL. */
struct user_listener *llp_user_listener_find(const struct user *t, const struct udp *sock,
					     uint16_t port);

/* Remembers the end of an association for the next dispatch; the first one counts. */
void llp_user_conn_end(struct user_conn *c, int err, const char *reason, ...)
	__attribute__((format(printf, 3, 4)));

/* Something may have happened to it. */
void llp_user_conn_touch(struct user_conn *c);

/* Gives up what usrsctp has of it, with an ABORT if the association is still there. */
void llp_user_conn_release(struct user_conn *c);

/* Reads from usrsctp what an association that is up can carry. */
void llp_user_conn_measure(struct user_conn *c);

/* Associations that take too long to come up, and what an ICMP message said of an address. */
void llp_user_conn_expire(struct user *t);
udp_error_fn llp_user_icmp; /* argument: struct user_rx */

/* ---- user_io.c ---- */

int llp_user_send(struct llp_conn *lc, const struct llp_msg *m);
int llp_user_recv(struct llp_conn *lc, struct llp_msg *ret);

/* Makes the upcalls that are due. */
void llp_user_dispatch(struct user *t);

static inline struct user *llp_user_of(const struct user_conn *c)
{
	return (struct user *)c->base.llp;
}

#endif
