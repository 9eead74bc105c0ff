/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lower-layer transports: associations that carry whole unordered messages on numbered
 * streams. The only folder that knows SCTP. Of DDP it knows only the value of the adaptation
 * indication that it sends and expects.
 *
 * A transport has no thread and no event loop. Its owner polls llp_fds(), and once per
 * turn calls llp_input(), llp_tick() and, last, llp_flush(). Only these three, and llp_send() of
 * the loop transport, make the upcalls of struct llp_events. Everything runs on the owner's thread.
 */
#ifndef LLP_LLP_H
#define LLP_LLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "util/span.h"

struct network_table; /* util/network.h */
struct llp;           /* a transport */
struct llp_listener;  /* one SCTP port that accepts associations */
struct llp_conn;      /* an association */

enum {
	LLP_MAX_SPANS = 17, /* headers and one scatter/gather list */
	LLP_MAX_OWN = 32,   /* addresses of a transport */
	LLP_MAX_ADDRS = 8,  /* of our end of an association, and of the peer in llp_connect_at() */
	LLP_MAX_PATHS = 16, /* reported per association; a peer may announce more addresses */
	LLP_MAX_FDS = 2 * LLP_MAX_OWN + 2,
	LLP_ABORT_TEXT = 152, /* bytes of a reason that peers get whole, with its NUL */
};

/*
 * One message. Out: the spans may be reused as soon as llp_send() returns. In: they are valid
 * until the next llp_recv() on the same transport or the end of the upcall, and the
 * first span holds at least the sender's first span, or the whole of a message of up to 640 bytes.
 */
struct llp_msg {
	uint16_t sid;
	uint32_t ppid; /* host byte order */
	uint32_t len;  /* sum of the spans */
	bool urgent;   /* out: ask the peer for a prompt acknowledgment */
	bool ordered;  /* in: the peer failed to set the U bit */
	unsigned n;
	struct span part[LLP_MAX_SPANS];
};

enum llp_path_state {
	LLP_PATH_UNCONFIRMED, /* the peer announced the address, but has not answered from it */
	LLP_PATH_ACTIVE,
	LLP_PATH_FAILING, /* packets were lost: other paths are preferred (RFC 7829) */
	LLP_PATH_INACTIVE,
};

/* Why a path does not send more now. */
enum llp_limit {
	LLP_LIMIT_UNKNOWN,     /* the transport does not know; nor rate, pacing_rate and flight */
	LLP_LIMIT_APPLICATION, /* no message waits for this path */
	LLP_LIMIT_PEER_WINDOW,
	LLP_LIMIT_BUFFER, /* the send buffer is full */
	LLP_LIMIT_CONGESTION,
	LLP_LIMIT_PACING, /* the next packet leaves soon */
};

/* A path: one of the peer's addresses. The primary path carries all data while it is active
 * (RFC 5043 7.2: fault tolerance, not load balancing). */
struct llp_path {
	struct sockaddr_storage remote; /* with the SCTP port */
	enum llp_path_state state;
	bool primary;
	uint32_t srtt_us, rto_ms, cwnd, mtu;
	uint32_t flight;      /* bytes that are not acknowledged */
	uint64_t rate;        /* bytes per second that were acknowledged lately */
	uint64_t pacing_rate; /* bytes per second; 0: it is not paced */
	enum llp_limit limit;
};

struct llp_events {
	/* An association to a listener is up. Returns the user pointer of its further upcalls,
	 * or NULL to abort it. */
	void *(*incoming)(void *listener_user, struct llp_conn *c);
	/* An association of llp_connect_at() is up, and its indication is verified. */
	void (*up)(void *user);
	/* The association has ended or could not be set up. err: errno value, 0 for an orderly
	 * shutdown by either side; reason: a sentence. The owner calls llp_conn_free(), now or
	 * later. */
	void (*down)(void *user, int err, const char *reason);
	/* There are messages: call llp_recv(). Returns true if it stopped before the last one; it
	 * is then called again, in this turn or the next one. With the transports user and loop it
	 * has to take one. */
	bool (*readable)(void *user);
	/* llp_send() accepts messages again, after LLP_E_AGAIN. */
	void (*writable)(void *user);
	/* Everything that was ever sent on the association has been acknowledged. */
	void (*acked)(void *user);
	/* A path of an association with several paths changed its state, or became the primary one.
	 * what: the rest of a sentence that begins with the path: "does not answer any more". May
	 * be NULL. */
	void (*path)(void *user, const struct llp_path *p, const char *what);
	/* max_message of llp_info() changed. May be NULL; `kernel` does not report it. */
	void (*resized)(void *user);
	/* All but the `unacked` youngest messages have been acknowledged. Only after
	 * llp_report_acks(). May be NULL. */
	void (*progress)(void *user, uint32_t unacked);
};

enum llp_gso { LLP_GSO_AUTO, LLP_GSO_ON, LLP_GSO_OFF };

/* Congestion control: that of RFC 9260 section 7, CUBIC (RFC 9438), or BBR. */
enum llp_cc { LLP_CC_RFC9260, LLP_CC_CUBIC, LLP_CC_BBR };

/* Paths to the addresses of a prefix use another one; the longest prefix counts. */
struct llp_cc_rule {
	struct sockaddr_storage prefix; /* port and scope are ignored */
	uint32_t bits;                  /* at most 32, IPv6: 128 */
	enum llp_cc cc;
};

enum { LLP_MAX_CC_RULES = 32 };

/* Sockets that outlive this process, so that no other program gets their port before the next one
 * does. Addresses have the UDP port. */
struct llp_fd_store {
	/* The descriptor that an earlier process has stored for the address, which is the
	 * transport's now; -1: none. */
	int (*take)(void *arg, const struct sockaddr_storage *at);
	/* Stores a copy of the descriptor, or removes it. */
	void (*put)(void *arg, const struct sockaddr_storage *at, int fd);
	void (*drop)(void *arg, const struct sockaddr_storage *at);
	void *arg;
};

enum { LLP_FILES = 16 };

/* Who a peer has proven to be: by a certificate, or by a pre-shared key. Pointers are valid as long
 * as the association or call that shows it. */
struct llp_identity {
	bool has_fingerprint;
	uint8_t fingerprint[32]; /* SHA-256 of its certificate */
	const char *untimely;    /* "is expired", "is not valid yet"; NULL: neither */
	const char *names;       /* its subjectAltNames: "DNS:a.example IP:192.0.2.1" */
	const char *psk;         /* file of its pre-shared key; NULL: it has shown none */
	unsigned ncas;           /* the files of CAs that were asked about its certificate */
	struct {
		const char *file;
		const char *fault; /* why the CA does not vouch for it; NULL: it does */
	} ca[LLP_FILES];
};

/* Paths; "" or NULL: there is none. Not kept. */
struct llp_cover_files {
	const char *cert, *key; /* ours, in PEM */
	unsigned ncas, npsks;
	const char *ca[LLP_FILES];  /* of CAs that peers may have, in PEM */
	const char *psk[LLP_FILES]; /* pre-shared keys, in hexadecimal digits */
};

/* Associations in DTLS (RFC 8261), on a UDP port of their own. */
struct llp_cover {
	uint16_t udp_port;                   /* ours, and that of peers we connect to */
	const struct llp_cover_files *files; /* read when the transport is opened */
	/* Whether an association that we begin with this peer is to be covered. */
	bool (*wanted)(void *arg, const struct sockaddr_storage *peer);
	/* Whether we speak to a peer who is that. we_began: the handshake. False: with a sentence;
	 * ret_reason NULL: only asks, of a peer whose handshake was accepted. */
	bool (*accept)(void *arg, const struct sockaddr_storage *peer,
		       const struct llp_identity *id, bool we_began, char *ret_reason, size_t len);
	/* The file of the pre-shared key for this peer; NULL: both ends show certificates. May be
	 * NULL: no peer has one. */
	const char *(*psk)(void *arg, const struct sockaddr_storage *peer);
	/* Why we have neither a certificate nor a key for this peer: a sentence for -EACCES. */
	void (*lacks)(void *arg, const struct sockaddr_storage *peer, char *ret_reason, size_t len);
	/* A peer that we had accepted does not accept us. May be NULL. */
	void (*refused)(void *arg, const struct sockaddr_storage *peer, const char *reason);
	void *arg;
	/* An association of llp_connect_at() with that user is to cause a handshake. most: all such
	 * associations may have so many now. Returns the payment for it; NULL: the user has too
	 * many, and llp_connect_at() returns -EDQUOT. The function may be NULL. */
	void *(*pays)(void *arg, void *user, unsigned most);
	/* The same for a link, for as long as it is there. */
	void *(*pays_link)(void *arg, void *user, unsigned most);
	/* That handshake has ended, or the link is gone. */
	void (*paid)(void *arg, void *payment);
};

/* Bytes of data that the transport `user` queues, of all associations. */
#define LLP_USER_MEMORY ((UINT64_C(1) << 30) / 3 * 4)

/* Bytes by which all its receive windows may grow. */
#define LLP_USER_WINDOWS (LLP_USER_MEMORY / 2)

struct llp_config {
	const struct sockaddr_storage *addrs; /* local addresses; ports are ignored */
	unsigned naddrs;                      /* 0 .. LLP_MAX_OWN; llp_add_addr() adds others */
	uint16_t udp_port;                    /* user: ours, and that of peers we connect to.
						 kernel: the peers', 0 without UDP */
	uint16_t *ret_free_port; /* user: NULL; else the first address takes any free port, stored
				    here: it stays valid */
	const struct llp_fd_store *fd_store; /* user: for its sockets; NULL: none, and no reason
					      names who has a port. Not copied */
	const struct llp_cover *cover;       /* user: NULL: all is in clear text */
	uint16_t streams;                    /* requested in both directions */
	uint32_t adaptation;                 /* adaptation indication to send and to require */
	uint32_t buffer;  /* bytes of send and of receive buffer per association */
	uint32_t mtu;     /* user: IP packet size limit, 0 = that of the route */
	enum llp_gso gso; /* user: UDP_SEGMENT */
	enum llp_cc cc;   /* user: congestion control of paths without a rule ... */
	const struct llp_cc_rule *cc_rules; /* ... and the rules, read when it is opened */
	unsigned ncc_rules;                 /* at most LLP_MAX_CC_RULES */
	unsigned sack_packets;              /* packets per acknowledgment */
	unsigned sack_ms;                   /* longest delay of an acknowledgment */
	unsigned rto_min_ms, rto_max_ms;
	unsigned heartbeat_ms; /* 0 = none */
	unsigned path_max_retrans;
	unsigned assoc_max_retrans; /* 0: path_max_retrans for each path */
	unsigned init_ms;           /* timeout of connecting */
	unsigned max_conns; /* kernel: associations, each a descriptor; 0: as many as it can */
	struct network_table *networks; /* user: of peers, which may be refused more associations
					   and memory, and outlive the transport; NULL: no limit */
};

/* Addresses and state of an association, for ddpctl and to choose the MULPDU. */
struct llp_info {
	const char *backend;                   /* "user", "kernel", "loop", ... */
	struct sockaddr_storage local, remote; /* SCTP ports */
	uint16_t remote_udp_port;              /* 0 without encapsulation */
	bool covered;                          /* in DTLS: llp_identity_of() knows the peer */
	bool even; /* this end begins sessions on even streams, the peer on odd ones */
	/* An association that this end opens to `remote` reaches the same endpoint: its sessions
	 * may use this one instead. */
	bool same_endpoint;
	bool gso;             /* batches are sent with UDP_SEGMENT */
	uint16_t streams;     /* usable in both directions */
	uint32_t max_message; /* largest message that travels in one chunk */
	uint32_t mtu;         /* of the path */
	uint32_t srtt_us, rto_ms, cwnd, peer_rwnd, unacked;
	uint64_t retransmits; /* DATA chunks sent again */
	uint64_t spurious;    /* of these: the peer had the chunk already; `user` alone knows it */
	uint64_t wrong_tags;  /* packets in its name with another verification tag */
	bool acks; /* llp_report_acks() has an effect, or acked() is called in each turn; else
		      messages of other sessions may delay acked() without limit */
};

/* Counters of a transport. */
struct llp_stats {
	uint64_t tx_packets, rx_packets, tx_batches, rx_batches, tx_bytes, rx_bytes;
	uint64_t bad_crc, bad_packets, tx_errors;
	uint64_t retransmits; /* DATA chunks sent again */
	uint64_t spurious;    /* as in llp_info */
	uint64_t unknown;     /* packets of peers without association */
	uint64_t over_budget; /* packets of such peers, and handshakes, beyond the rate for all */
	uint64_t over_share;  /* the same, beyond the share of their network */
	uint64_t refused;     /* incoming associations: too many, or no memory */
	uint64_t unanswered;  /* packets that got no answer, because the ring of replies was full */
	uint64_t memory;      /* bytes of associations and their data */
	uint64_t kernel_dropped; /* packets: by the filter against floods, or for a full buffer */
};

/* A packet that a transport sent or received: SCTP's common header and chunks. */
struct llp_packet {
	struct sockaddr_storage local, remote; /* with UDP ports; local: as it was bound */
	bool out;                              /* false: it was received */
	unsigned n;
	const struct span *part;
};

/* A function that sees packets. */
struct llp_tap {
	/* Called for each packet, before it is processed or after it was handed to the kernel. The
	 * packet is valid until fn returns. fn must not call the transport. */
	void (*fn)(void *arg, const struct llp_packet *p);
	void *arg;
	const struct llp_conn *only; /* packets of this association alone; NULL: all */
	bool one_stream;             /* and of those the ones that carry data of this stream */
	uint16_t stream;
};

/* Outcomes of llp_send(), llp_recv(). */
enum {
	LLP_E_OK,
	LLP_E_AGAIN,    /* send: no room, writable() follows. recv: no message */
	LLP_E_TOO_LONG, /* send: longer than max_message, which may have shrunk */
	LLP_E_DOWN,     /* the association is not up */
};

#define LLP_ROOM_UNKNOWN UINT32_MAX
#define LLP_UNACKED_UNKNOWN UINT32_MAX

/*
 * Opens a transport. cfg is copied. Returns 0 or -errno, with a sentence in ret_reason (at most len
 * bytes) that names the address or option at fault. On success that is "" or a warning: buffers are
 * smaller than requested.
 *
 * kernel: only if the build has libsctp. -EPROTONOSUPPORT, -ESOCKTNOSUPPORT: this Linux has no
 * SCTP. An indication of 0 is refused, because Linux cannot tell it from none. An ABORT carries no
 * text.
 */
int llp_user_open(const struct llp_config *cfg, const struct llp_events *ev, struct llp **ret,
		  char *ret_reason, size_t len);
int llp_kernel_open(const struct llp_config *cfg, const struct llp_events *ev, struct llp **ret,
		    char *ret_reason, size_t len);
int llp_loop_open(const struct llp_config *cfg, const struct llp_events *ev, struct llp **ret);

/* Before anything else in this process: the keys of DTLS are left out of core dumps. False: it is
 * too late. */
bool llp_user_hide_keys(void);

/* Aborts all associations and frees everything, conns included. NULL is fine. */
struct llp *llp_close(struct llp *t);

/* ---- local addresses ---- */

/*
 * The transport has this address as well: listeners at all addresses accept associations there.
 * llp_fds() may change. 0 or -errno, with a sentence in ret_reason: EADDRNOTAVAIL: this host does
 * not have it; EADDRINUSE; ENOBUFS: LLP_MAX_OWN others are in use.
 */
int llp_add_addr(struct llp *t, const struct sockaddr_storage *a, char *ret_reason, size_t len);

/* The transport does not have the address any more: no association begins there. Those that have it
 * stay; if the host has lost the address, they end when the peer does not answer for too long. */
void llp_drop_addr(struct llp *t, const struct sockaddr_storage *a);

/* ---- drive ---- */

/* Descriptors to poll for input; returns how many, at most LLP_MAX_FDS. */
unsigned llp_fds(const struct llp *t, int ret_fds[LLP_MAX_FDS]);

/* Reads packets, as many as the budget says; `user` counts long ones as several, and each of its
 * sockets has the budget. True if there were some. */
bool llp_input(struct llp *t, unsigned budget);

/* How long packets may wait that arrive after those of the last llp_input(): a small part of the
 * round trip of these, at most a millisecond. 0: not at all, because some were from less than a
 * millisecond; or there were none, or the transport does not know. */
uint32_t llp_patience_us(const struct llp *t);

/* Runs timers. now_ms: monotonic milliseconds. */
void llp_tick(struct llp *t, uint64_t now_ms);

/* When the next turn is needed at the latest, in microseconds of the same clock, or UINT64_MAX. A
 * paced association needs one for each batch, which may be less than a millisecond away. */
uint64_t llp_expiry_us(const struct llp *t);

/* Hands sent messages to the kernel. */
void llp_flush(struct llp *t);

/* ---- associations ---- */

/* Addresses of one end of an association: n of them, ports are ignored. */
struct llp_addrs {
	const struct sockaddr_storage *a;
	unsigned n; /* 0 .. LLP_MAX_ADDRS */
};

/*
 * Accepts associations at an SCTP port. at: no address: at each local address, and an association
 * has only the address that the peer called; one address; or several, and each association has them
 * all. 0 or -errno: EADDRINUSE; EADDRNOTAVAIL: not an address of this transport; EOPNOTSUPP:
 * several addresses, but the transport has one path.
 */
int llp_listen_at(struct llp *t, const struct llp_addrs *at, uint16_t port, void *user,
		  struct llp_listener **ret);
struct llp_listener *llp_unlisten(struct llp_listener *l);

/*
 * Begins an association with an SCTP port of a peer that has these addresses, the first of which
 * becomes the primary path; up() or down() follows. from: our addresses; empty: the source address
 * of the route to the first address. own_port: our SCTP port, 0: a free one; `kernel` always takes
 * a free one. If both ends connect to each other from the ports that they connect to, there is one
 * association, and up() at both. 0 or -errno, as above; EADDRINUSE: there is an association between
 * these ports; EDQUOT: llp_cover.pays.
 */
int llp_connect_at(struct llp *t, const struct llp_addrs *peer, uint16_t port,
		   const struct llp_addrs *from, uint16_t own_port, void *user,
		   struct llp_conn **ret);

/* LLP_E_ values or -errno. */
int llp_send(struct llp_conn *c, const struct llp_msg *m);
int llp_recv(struct llp_conn *c, struct llp_msg *ret);

/* The longest message that fits into the packet that the transport is filling; max_message if it
 * has none. Parts of long messages that have this length fill packets. LLP_ROOM_UNKNOWN: the
 * transport does not know. */
uint32_t llp_room(const struct llp_conn *c);

/* From now on the transport makes the upcall progress(), if it can. */
void llp_report_acks(struct llp_conn *c);

/* How many of the youngest messages are not acknowledged yet; all older ones are.
 * LLP_UNACKED_UNKNOWN: the transport does not know. */
uint32_t llp_unacked(const struct llp_conn *c);

/* State of an association that is or was up. */
void llp_info(const struct llp_conn *c, struct llp_info *ret);
/* Who the peer of an association in DTLS has proven to be. False: it has proven no identity. */
bool llp_identity_of(const struct llp_conn *c, struct llp_identity *ret);
/* Its paths, the primary one first; returns how many there are, of which the first LLP_MAX_PATHS
 * are in ret. */
unsigned llp_paths(const struct llp_conn *c, struct llp_path ret[LLP_MAX_PATHS]);
/* Makes the path to an address of the peer the primary one. 0; -ENOENT: the peer has no such
 * address; -EHOSTDOWN: that path is not active; -ENOTCONN: the association is not up; or another
 * -errno of the transport. */
int llp_set_primary(struct llp_conn *c, const struct sockaddr *remote);
/* True if associations may have several addresses at each end. */
bool llp_has_paths(const struct llp *t);
/* Counters since llp_*_open(). */
void llp_stats(const struct llp *t, struct llp_stats *ret);

/* Another congestion control for paths of later associations, as in struct llp_config. Transports
 * but `user` ignore it. */
void llp_set_cc(struct llp *t, enum llp_cc cc, const struct llp_cc_rule *rules, unsigned n);

/* Reads these files: later handshakes use them, and associations that are up go on. 0, also if the
 * transport has no DTLS, and the reason is "" or a warning; or -errno with a sentence, and the
 * files before stay in use. */
int llp_set_cover_files(struct llp *t, const struct llp_cover_files *files, char *ret_reason,
			size_t len);

/* Replaces the tap, which is copied; NULL removes it. `only` may end while it is tapped. 0;
 * -EOPNOTSUPP: the transport cannot see packets, or `only` is of another one; -ENOTCONN: `only` is
 * not up. */
int llp_set_tap(struct llp *t, const struct llp_tap *tap);

/* Ends the association once everything sent is acknowledged; down() follows. */
void llp_shutdown(struct llp_conn *c);

/* Ends it now. The peer gets an ABORT, with the reason if the transport can send a text (kernel
 * cannot). No upcall follows. */
void llp_abort(struct llp_conn *c, const char *reason);

/* Frees the handle, aborting an association that is still up. No upcall follows. NULL is fine. */
struct llp_conn *llp_conn_free(struct llp_conn *c);

/* ---- for backends ---- */

struct llp_ops {
	const char *name;
	void (*close)(struct llp *t);
	int (*add_addr)(struct llp *t, const struct sockaddr_storage *a, char *ret_reason,
			size_t len);
	void (*drop_addr)(struct llp *t, const struct sockaddr_storage *a);
	unsigned (*fds)(const struct llp *t, int ret_fds[LLP_MAX_FDS]);
	bool (*input)(struct llp *t, unsigned budget);
	uint32_t (*patience_us)(const struct llp *t); /* NULL: always 0 */
	void (*tick)(struct llp *t, uint64_t now_ms);
	uint64_t (*expiry_us)(const struct llp *t);
	void (*flush)(struct llp *t);
	int (*listen)(struct llp *t, const struct llp_addrs *at, uint16_t port, void *user,
		      struct llp_listener **ret);
	void (*unlisten)(struct llp_listener *l);
	int (*connect)(struct llp *t, const struct llp_addrs *peer, uint16_t port,
		       const struct llp_addrs *from, uint16_t own_port, void *user,
		       struct llp_conn **ret);
	int (*send)(struct llp_conn *c, const struct llp_msg *m);
	int (*recv)(struct llp_conn *c, struct llp_msg *ret);
	uint32_t (*room)(const struct llp_conn *c);    /* NULL: unknown */
	void (*report_acks)(struct llp_conn *c);       /* NULL: no effect */
	uint32_t (*unacked)(const struct llp_conn *c); /* NULL: unknown */
	void (*info)(const struct llp_conn *c, struct llp_info *ret);
	/* NULL: peers prove no identity. */
	bool (*identity)(const struct llp_conn *c, struct llp_identity *ret);
	/* NULL: one path, described by llp_info(). */
	unsigned (*paths)(const struct llp_conn *c, struct llp_path ret[LLP_MAX_PATHS]);
	int (*set_primary)(struct llp_conn *c, const struct sockaddr_storage *remote);
	void (*stats)(const struct llp *t, struct llp_stats *ret);
	/* NULL: not a setting of this transport. */
	void (*set_cc)(struct llp *t, enum llp_cc cc, const struct llp_cc_rule *rules, unsigned n);
	/* NULL: no DTLS. */
	int (*set_cover_files)(struct llp *t, const struct llp_cover_files *files, char *ret_reason,
			       size_t len);
	int (*set_tap)(struct llp *t, const struct llp_tap *tap); /* NULL: it sees no packets */
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
