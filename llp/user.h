/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The transport `user`: SCTP in this process through usrsctp, carried over UDP (RFC 6951).
 * Private to user*.c.
 *
 * usrsctp is driven without its threads through AF_CONN: usrsctp_conninput() takes packets, a
 * callback gets those to send, and usrsctp_handle_timers() advances the time. The "address" of a
 * peer is a small number, its token. Tokens are reused, lowest first, and never deregistered:
 * usrsctp_deregister_address() needs a thread of usrsctp, and its search for a local address walks
 * all registered ones.
 *
 * libusrsctp exports names such as user_connect, wakeup or hz. A function of the same name in the
 * program would replace them, so everything here has the prefix llp_user_.
 */
#ifndef LLP_USER_H
#define LLP_USER_H

#include <usrsctp.h>

#include "llp/sctp.h"
#include "llp/udp.h"
#include "util/list.h"

enum {
	USER_MAX_PEERS = 16384, /* remote UDP addresses */
	USER_MAX_IDLE = 1024,   /* of them without an association */
	USER_IDLE_MS = 10000,   /* after which such an address is removed */
	USER_BUCKETS = 4096,
	USER_MAX_CHUNK = 65476, /* most data in one DATA chunk, by usrsctp's arithmetic */
	USER_MIN_MTU = 576,
};

/* A remote UDP address as seen from one of our sockets. */
struct user_peer {
	struct list bucket;
	struct list idle; /* in struct user's `idle` while there is no association */
	struct udp *sock;
	struct udp_flow flow;
	uint32_t token;
	unsigned conns;
	uint64_t idle_since_ms;
	uint32_t mtu; /* IP packet size limit; 0 = not looked up */
};

struct user_conn {
	struct llp_sctp_conn sctp;
	struct socket *so; /* NULL when down */
	struct user_peer *peer;
	uint16_t local_port, remote_port;
	bool write_wanted; /* llp_send() returned LLP_E_AGAIN: writable() is due */
	bool path_failed;  /* the peer stopped answering */
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
	struct llp_sctp sctp;
	unsigned nsocks;
	struct udp *sock[LLP_MAX_ADDRS]; /* one for each of sctp.addrs */
	int room;                        /* epoll set of the UDP sockets that are full: EPOLLOUT */
	bool watched[LLP_MAX_ADDRS];     /* in that set */

	struct user_peer **peer;         /* by token - 1 */
	uint32_t npeers;                 /* tokens in use or used before */
	uint32_t free_low;               /* no index below this one is free */
	bool registered[USER_MAX_PEERS]; /* tokens that usrsctp knows */
	unsigned nidle;
	struct list idle; /* peers without an association, oldest first */
	struct list bucket[USER_BUCKETS];
	uint64_t hash_key[4];
	struct user_peer *last; /* that a packet came from */
	unsigned replies_left;  /* to packets without an association, until the next tick */

	struct list ports;
	bool accepting; /* there may be associations to accept */
	uint64_t tick_ms, linger_ms;
	uint64_t active_ms; /* when the last packet came or went */

	uint64_t bad_crc, bad_packets;
	uint32_t retransmits_base;
	uint8_t tx_stage[USER_MAX_CHUNK];
	uint8_t rx_stage[LLP_SCTP_MAX_MESSAGE];
};

/* ---- user_peer.c ---- */

/* The peer at an address, which is added if it is new. -errno: ENOSPC, ENOMEM. */
int llp_user_peer_get(struct user *t, struct udp *sock, const struct sockaddr_storage *to,
		      struct user_peer **ret);
struct user_peer *llp_user_peer_find(struct user *t, const struct udp *sock,
				     const struct sockaddr_storage *to);

/* An association begins or ends. 0 or -errno of the route: ENETUNREACH ... */
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

/* ---- user_sock.c ---- */

/* A usrsctp socket with all options that must be set before INIT or INIT ACK. NULL and errno. */
struct socket *llp_user_sock_new(struct user *t, uint32_t packet);

/* Limits the packet size of an association that is up. */
void llp_user_sock_limit(struct socket *so, uint32_t packet);

/* Closes it, with an ABORT if the association still exists. */
void llp_user_sock_abort(struct socket *so);

/* The state of the association; false if it does not exist any more. */
bool llp_user_sock_status(struct socket *so, struct sctp_status *ret);

/* ---- user_conn.c ---- */

int llp_user_connect(struct llp *llp, const struct llp_addrs *peer, uint16_t port,
		     const struct llp_addrs *from, void *conn_user, struct llp_conn **ret);
void llp_user_info(const struct llp_conn *lc, struct llp_info *ret);
void llp_user_shutdown(struct llp_conn *lc);
void llp_user_abort(struct llp_conn *lc, const char *reason);
void llp_user_conn_free(struct llp_conn *lc);

/* The record of an association with a peer. 0 or -errno; takes the socket over, also when it
 * fails. */
int llp_user_conn_new(struct user *t, struct user_peer *p, struct socket *so,
		      struct user_conn **ret);

/* llp_sctp_ops.release */
void llp_user_conn_release(struct llp_sctp_conn *sc);

/* Queries what an association that is up can carry. */
void llp_user_conn_measure(struct user_conn *c);

/* Ends associations that take too long to come up. */
void llp_user_conn_expire(struct user *t);

/* ---- user_listener.c ---- */

int llp_user_listen(struct llp *llp, const struct llp_addrs *at, uint16_t port, void *listener_user,
		    struct llp_listener **ret);
void llp_user_unlisten(struct llp_listener *l);

/* Accepts associations that came up; they are announced once their indication is verified. */
void llp_user_listener_accept(struct user *t);

/* The listener that an SCTP port has at a local address, or NULL. */
struct user_listener *llp_user_listener_find(const struct user *t, const struct udp *sock,
					     uint16_t port);

/* ---- user_packet.c ---- */

/* The argument of both is a struct user_rx. */
struct user_rx {
	struct user *user;
	struct udp *sock;
};
udp_packet_fn llp_user_packet; /* a packet arrived */
udp_error_fn llp_user_icmp;    /* an ICMP message arrived */

/* ---- user_io.c ---- */

extern const struct llp_sctp_ops llp_user_io_ops;

/* llp_ops.send, llp_ops.recv */
int llp_user_send(struct llp_conn *lc, const struct llp_msg *m);
int llp_user_recv(struct llp_conn *lc, struct llp_msg *ret);

static inline struct user *llp_user_of(const struct user_conn *c)
{
	return (struct user *)c->sctp.base.llp;
}

#endif
