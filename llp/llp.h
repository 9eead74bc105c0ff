/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lower-layer transports: associations that carry whole unordered messages on numbered
 * streams. The only folder that knows SCTP, and it knows nothing of DDP but the value of
 * the adaptation indication that it is told to send and to expect.
 *
 * A transport has no thread and no event loop. Its owner polls llp_fds(), and once per
 * turn calls llp_input(), llp_tick() and, last, llp_flush(). Upcalls of struct llp_events
 * are made from within these three and from llp_send() of the loop transport, never from
 * any other call. Everything runs on the owner's one thread.
 */
#ifndef LLP_LLP_H
#define LLP_LLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "util/span.h"

struct llp;          /* a transport */
struct llp_listener; /* one SCTP port that waits for associations */
struct llp_conn;     /* an association */

enum {
	LLP_MAX_SPANS = 17, /* headers and one scatter/gather list */
	LLP_MAX_ADDRS = 8,  /* of this end of an association, and of a list that names the peer */
	LLP_MAX_PATHS = 16, /* a peer may announce more addresses than we were told */
	LLP_MAX_FDS = LLP_MAX_ADDRS + 1,
};

/*
 * One message. Out: the spans may be reused as soon as llp_send() returns. In: they are good
 * until the next llp_recv() on the same transport or the end of the upcall, and the
 * first span holds at least the sender's first span, or the whole of a message of up to 640 bytes.
 */
struct llp_msg {
	uint16_t sid;
	uint32_t ppid; /* host byte order */
	uint32_t len;  /* sum of the spans */
	bool urgent;   /* out: ask the peer for a prompt acknowledgement */
	bool ordered;  /* in: the peer failed to set the U bit */
	unsigned n;
	struct span part[LLP_MAX_SPANS];
};

enum llp_path_state {
	LLP_PATH_UNCONFIRMED, /* the peer announced the address, but was not heard from there yet */
	LLP_PATH_ACTIVE,
	LLP_PATH_FAILING, /* something was lost on it: others are preferred (RFC 7829) */
	LLP_PATH_INACTIVE,
};

/* A way to the peer: one of its addresses. What is sent goes to the primary one while that is
 * active (RFC 5043 7.2: fault tolerance, not load balancing). */
struct llp_path {
	struct sockaddr_storage remote; /* with the SCTP port */
	enum llp_path_state state;
	bool primary;
	uint32_t srtt_us, rto_ms, cwnd, mtu;
};

struct llp_events {
	/* An association to a listener is up. Returns the user pointer of its further upcalls,
	 * or NULL to have it aborted. */
	void *(*incoming)(void *listener_user, struct llp_conn *c);
	/* An association that llp_connect() began is up, its indication verified. */
	void (*up)(void *user);
	/* The association is gone or never came to be; err: errno value, 0 for an orderly
	 * shutdown by either side; why: a sentence. The owner calls llp_conn_free(), now or later.
	 */
	void (*down)(void *user, int err, const char *reason);
	/* There are messages: call llp_recv(). Returns true if it stopped before the last one; it
	 * is then called again in the next turn. The loop transport needs at least one taken. */
	bool (*readable)(void *user);
	/* llp_send() would now take a message after it had refused one. */
	void (*writable)(void *user);
	/* Everything that was ever sent on the association has been acknowledged. */
	void (*acked)(void *user);
	/* A path of an association that has several changed its state, or became the primary one.
	 * what: the rest of a sentence that begins with the path: "does not answer any more". NULL:
	 * nobody wants to know. */
	void (*path)(void *user, const struct llp_path *p, const char *what);
};

enum llp_gso { LLP_GSO_AUTO, LLP_GSO_ON, LLP_GSO_OFF };

struct llp_config {
	const struct sockaddr_storage *addrs; /* local addresses; ports are ignored */
	unsigned naddrs;
	uint16_t udp_port;     /* user: ours, and the peers' unless they send from another.
				  kernel: the peers', 0 without UDP */
	uint16_t streams;      /* asked for in both directions */
	uint32_t adaptation;   /* indication to send and to require */
	uint32_t buffer;       /* bytes of send and of receive buffer an association */
	uint32_t mtu;          /* user: IP packet size limit, 0 = that of the route */
	enum llp_gso gso;      /* user: UDP_SEGMENT */
	unsigned sack_packets; /* acknowledge every so many packets ... */
	unsigned sack_ms;      /* ... or after this time */
	unsigned rto_min_ms, rto_max_ms;
	unsigned heartbeat_ms; /* 0 = none */
	unsigned path_max_retrans;
	unsigned assoc_max_retrans; /* 0: path_max_retrans for each path */
	unsigned init_ms;           /* give up connecting after this time */
};

/* Addresses and state of an association, for ddpctl and for the choice of MULPDU. */
struct llp_info {
	const char *backend;                   /* "user", "kernel", "loop", ... */
	struct sockaddr_storage local, remote; /* SCTP ports */
	uint16_t remote_udp_port;              /* 0 without encapsulation */
	bool gso;                              /* batches are sent with UDP_SEGMENT */
	uint16_t streams;                      /* usable in both directions */
	uint32_t max_message;                  /* largest message that travels in one chunk */
	uint32_t mtu;                          /* of the path */
	uint32_t srtt_us, rto_ms, cwnd, peer_rwnd, unacked;
};

/* Counters of a transport. */
struct llp_stats {
	uint64_t tx_packets, rx_packets, tx_batches, rx_batches, tx_bytes, rx_bytes;
	uint64_t bad_crc, bad_packets, tx_errors;
	uint64_t retransmits; /* DATA chunks sent again */
};

/* Outcomes of llp_send(), llp_recv(). */
enum {
	LLP_E_OK,
	LLP_E_AGAIN,    /* send: no room, writable() will tell. recv: no message */
	LLP_E_TOO_LONG, /* send: longer than max_message; the limit may just have shrunk */
	LLP_E_DOWN,     /* the association is not up */
};

/*
 * Opens a transport. cfg is copied. Returns 0 or -errno, with a sentence that names the
 * address or the option at fault in ret_why (at most len bytes). On success that is "", or what an
 * administrator should know all the same: that buffers are smaller than was asked for.
 *
 * kernel: only where the build has libsctp. -EPROTONOSUPPORT, -ESOCKTNOSUPPORT: Linux has no SCTP
 * here. No indication of 0, which Linux does not tell from none. An ABORT carries no sentence.
 */
int llp_user_open(const struct llp_config *cfg, const struct llp_events *ev, struct llp **ret,
		  char *ret_reason, size_t len);
int llp_kernel_open(const struct llp_config *cfg, const struct llp_events *ev, struct llp **ret,
		    char *ret_reason, size_t len);
int llp_loop_open(const struct llp_config *cfg, const struct llp_events *ev, struct llp **ret);

/* Aborts what is left and frees everything, conns included. NULL is fine. */
struct llp *llp_close(struct llp *t);

/* ---- drive ---- */

/* Descriptors to poll for input; returns how many, at most LLP_MAX_FDS. */
unsigned llp_fds(const struct llp *t, int ret_fds[LLP_MAX_FDS]);

/* Reads what has arrived, within a budget of packets. True if there was anything. */
bool llp_input(struct llp *t, unsigned budget);

/* Runs timers. now_ms: monotonic milliseconds. */
void llp_tick(struct llp *t, uint64_t now_ms);

/* When llp_tick() is next needed, in the same milliseconds, or UINT64_MAX. */
uint64_t llp_expiry(const struct llp *t);

/* Hands what was sent to the kernel. */
void llp_flush(struct llp *t);

/* ---- associations ---- */

/* Addresses of one end of an association: n of them, ports are ignored. */
struct llp_addrs {
	const struct sockaddr_storage *a;
	unsigned n; /* 0 .. LLP_MAX_ADDRS */
};

/*
 * Waits for associations at an SCTP port. at: empty: of each local address, where an association
 * has the one address that it came to; of one address; or of several, which all its associations
 * then have together. 0 or -errno: EADDRINUSE; EADDRNOTAVAIL: not of this transport; EOPNOTSUPP:
 * several, where the transport has one path.
 */
int llp_listen_at(struct llp *t, const struct llp_addrs *at, uint16_t port, void *user,
		  struct llp_listener **ret);
/* ... of one address, or of each (addr NULL). */
int llp_listen(struct llp *t, const struct sockaddr *addr, uint16_t port, void *user,
	       struct llp_listener **ret);
struct llp_listener *llp_unlisten(struct llp_listener *l);

/*
 * Begins an association with an SCTP port of a peer that has these addresses, the first of which
 * is to be the primary path; up() or down() follows. from: our addresses; empty: the one that
 * the route to the first address takes. 0 or -errno, as above.
 */
int llp_connect_at(struct llp *t, const struct llp_addrs *peer, uint16_t port,
		   const struct llp_addrs *from, void *user, struct llp_conn **ret);
/* ... that has one address and port, from one of ours. */
int llp_connect(struct llp *t, const struct sockaddr *peer, void *user, struct llp_conn **ret);

/* LLP_E_ values or -errno. */
int llp_send(struct llp_conn *c, const struct llp_msg *m);
int llp_recv(struct llp_conn *c, struct llp_msg *ret);

/* State of an association that is or was up. */
void llp_info(const struct llp_conn *c, struct llp_info *ret);
/* Its paths, the primary one first; returns how many there are, of which the first LLP_MAX_PATHS
 * are in ret. */
unsigned llp_paths(const struct llp_conn *c, struct llp_path ret[LLP_MAX_PATHS]);
/* Makes the path to an address of the peer the primary one. 0, -ENOENT: the peer has no such
 * address; -EHOSTDOWN: that path is not active; -ENOTCONN: the association is not up; or what the
 * transport says. */
int llp_set_primary(struct llp_conn *c, const struct sockaddr *remote);
/* Whether its associations may have several addresses at each end. */
bool llp_has_paths(const struct llp *t);
/* Counters since llp_*_open(). */
void llp_stats(const struct llp *t, struct llp_stats *ret);

/* Ends the association after all that was sent is acknowledged; down() follows. */
void llp_shutdown(struct llp_conn *c);

/* Ends it now; the peer gets an ABORT, with the sentence where the transport can send one (kernel:
 * it cannot). No upcall follows. */
void llp_abort(struct llp_conn *c, const char *reason);

/* Frees the handle, aborting an association that is still up. No upcall follows. NULL is fine. */
struct llp_conn *llp_conn_free(struct llp_conn *c);

/* ---- for backends ---- */

/* What any transport over a network wants of its configuration. 0, or -EINVAL with a sentence. */
int llp_check_config(const struct llp_config *cfg, char *ret_reason, size_t len);

struct llp_ops {
	const char *name;
	void (*close)(struct llp *t);
	unsigned (*fds)(const struct llp *t, int ret_fds[LLP_MAX_FDS]);
	bool (*input)(struct llp *t, unsigned budget);
	void (*tick)(struct llp *t, uint64_t now_ms);
	uint64_t (*expiry)(const struct llp *t);
	void (*flush)(struct llp *t);
	int (*listen)(struct llp *t, const struct llp_addrs *at, uint16_t port, void *user,
		      struct llp_listener **ret);
	void (*unlisten)(struct llp_listener *l);
	int (*connect)(struct llp *t, const struct llp_addrs *peer, uint16_t port,
		       const struct llp_addrs *from, void *user, struct llp_conn **ret);
	int (*send)(struct llp_conn *c, const struct llp_msg *m);
	int (*recv)(struct llp_conn *c, struct llp_msg *ret);
	void (*info)(const struct llp_conn *c, struct llp_info *ret);
	/* NULL: one path, which llp_info() tells of. */
	unsigned (*paths)(const struct llp_conn *c, struct llp_path ret[LLP_MAX_PATHS]);
	int (*set_primary)(struct llp_conn *c, const struct sockaddr_storage *remote);
	void (*stats)(const struct llp *t, struct llp_stats *ret);
	void (*shutdown)(struct llp_conn *c);
	void (*abort)(struct llp_conn *c, const char *reason);
	void (*conn_free)(struct llp_conn *c);
};

/* First members of a backend's own structures. */
struct llp {
	const struct llp_ops *ops;
	const struct llp_events *ev;
};

struct llp_listener {
	struct llp *llp;
	void *user;
};

struct llp_conn {
	struct llp *llp;
	void *user;
};

#endif
