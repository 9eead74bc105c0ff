/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The transport `kernel`: the SCTP of Linux, through one-to-one sockets and libsctp. Private
 * to kernel*.c.
 *
 * Each association is a socket, each listener one for every address list it waits at (a door);
 * all are watched by one epoll descriptor. Messages leave through sendmmsg() from a stage of the
 * association, and come in through recvmmsg() into a batch that all associations share, for one
 * at a time is served.
 */
#ifndef LLP_KERNEL_H
#define LLP_KERNEL_H

#include <netinet/in.h>
#include <netinet/sctp.h>

#include "llp/llp.h"
#include "util/list.h"

enum {
	KERNEL_MAX_CONNS = 16384,
	KERNEL_BATCH = 64,            /* messages in one system call */
	KERNEL_MAX_CHUNK = 65536,     /* more than any DATA chunk carries */
	KERNEL_MAX_MESSAGE = 131072,  /* that we collect from fragments */
	KERNEL_MIN_STAGE = 128 << 10, /* holds two of the longest messages at least */
	KERNEL_MAX_STAGE = 1 << 20,   /* more would leave the processor's cache */
	KERNEL_NEWS = 16,             /* of paths, that wait to be told */
	KERNEL_REASON = 192,
};

/* What a descriptor in the epoll set belongs to. */
struct kernel_watch {
	int fd;
	bool door;
};

enum kernel_state {
	KERNEL_CONNECTING,
	KERNEL_VERIFYING, /* up, but the adaptation indication was not seen yet */
	KERNEL_UP,
	KERNEL_CLOSING, /* we asked for the end */
	KERNEL_DOWN,
};

/* One message or notification as recvmmsg() brought it. */
struct kernel_in {
	uint8_t *p;
	uint32_t len;
	int flags;
	bool has_info;
	struct sctp_rcvinfo info;
};

struct kernel_batch {
	unsigned head, n; /* in[head .. n) were not looked at yet */
	struct kernel_in in[KERNEL_BATCH];
};

/* A message that waits for sendmmsg(): its bytes are in the stage. */
struct kernel_out {
	uint32_t at, len;
	struct sctp_sndinfo info;
};

struct kernel_tx {
	struct list dirty; /* in struct kernel's `dirty`: something is to be sent at the flush */
	uint8_t *stage;
	uint32_t size, used;
	unsigned head, n; /* out[head .. n) are not sent yet */
	bool blocked;     /* the kernel takes no more for now */
	bool wanted;      /* llp_send() was refused */
	bool dropped;     /* what it took was thrown away, for the association ends */
	struct kernel_out out[KERNEL_BATCH];
};

/* What the kernel counts of an association, as of when it was last asked. */
struct kernel_count {
	uint64_t tx_packets, rx_packets, retransmits;
};

/* A path of which something is to be told. */
struct kernel_news {
	struct sockaddr_storage remote;
	const char *what;
};

struct kernel_listener;

struct kernel_conn {
	struct llp_conn base;
	struct list all;
	struct list ready;         /* in struct kernel's `ready`: something may have happened */
	struct list connecting;    /* likewise, in the order of their deadlines */
	struct kernel_watch watch; /* fd is -1 when down */
	bool passive;              /* came in through a listener ... */
	struct kernel_listener *listener; /* ... NULL once that is closed */
	enum kernel_state state;
	struct sockaddr_storage local, remote; /* the first of each end; SCTP ports */
	uint16_t streams;
	unsigned npaths;
	uint32_t max_message, cwnd; /* as of when it was measured */
	uint64_t deadline_ms;
	uint32_t watching;       /* events of epoll */
	bool readable, writable; /* epoll says so */
	unsigned rx_left;        /* batches that may be read in this turn */
	bool drained;            /* the socket had nothing more */
	bool eof;                /* the peer has begun to shut down */
	bool used;               /* something was sent since it was last measured */
	bool dry;                /* an event said that all was acknowledged */
	bool ended;              /* `err` and `why` are to be told */
	int err;
	int sock_err; /* the socket's error, which is told only once; 0 = none yet */
	char reason[KERNEL_REASON];
	struct kernel_tx tx;
	struct kernel_batch *kept; /* what was read for it, but not taken in its turn */
	uint8_t *part;             /* a message in pieces; NULL until there was one */
	uint32_t part_len;
	bool part_taken; /* it was whole and was handed out */
	struct kernel_count count;
	unsigned nnews;
	struct kernel_news news[KERNEL_NEWS];
};

/* A listening socket: of one address, or of several that its associations have together. */
struct kernel_door {
	struct list all;
	struct kernel_watch watch;
	uint16_t port;
	unsigned naddrs, refs;
	struct sockaddr_storage addr[LLP_MAX_ADDRS];
	uint64_t shut_until_ms; /* no descriptors are left: not watched until then; 0 = open */
};

struct kernel_listener {
	struct llp_listener base;
	struct list all;
	uint16_t port;
	unsigned naddrs; /* 0: each of the transport's, one door each */
	struct sockaddr_storage addr[LLP_MAX_ADDRS];
};

struct kernel {
	struct llp base;
	struct llp_config cfg;
	struct sockaddr_storage addrs[LLP_MAX_ADDRS];
	int epoll;
	uint64_t tick_ns; /* of the kernel's own clock, in which it tells round-trip times */

	struct list conns, ready, connecting, dirty, doors, listeners;
	unsigned nconns;
	unsigned embryos; /* of nconns: accepted, but not looked at yet */
	unsigned shut_doors;
	struct kernel_conn *current; /* in whose upcall we are; NULL if it was freed there */
	struct kernel_conn *reader;  /* whose messages are in `batch` */
	struct kernel_batch batch;
	uint8_t *rx_mem;

	bool ticked;
	uint64_t base_ms; /* the owner's time at the first tick; all others count from there */
	uint64_t now_ms, measure_ms;

	struct llp_stats stats; /* messages' bytes, system calls, and packets of the past */
};

/* ---- kernel_sock.c ---- */

/* A socket for associations of these addresses, with all options that must be set before INIT or
 * INIT ACK, bound to them and the port. The descriptor or -errno; *ret_what: what failed. */
int kernel_sock_new(const struct kernel *t, const struct llp_addrs *at, uint16_t port,
		    const char **ret_what);

/* Sets on an accepted socket what Linux may not have inherited. */
void kernel_sock_adopt(const struct kernel *t, int fd);

/* How many bytes of each buffer the socket has got. */
uint32_t kernel_sock_buffer(int fd);

/* How often the association with so many paths tries again before it gives up. */
void kernel_sock_patience(const struct kernel *t, int fd, unsigned npaths);

/* Closes it, with an ABORT if the association is still there. */
void kernel_sock_abort(int fd);

/* The state of the association; false if there is none any more. */
bool kernel_sock_status(int fd, struct sctp_status *ret);
bool kernel_sock_count(int fd, struct kernel_count *ret);

/* True if all that was ever sent is acknowledged. */
bool kernel_sock_acked(int fd);

/* Lets messages of this length pass in one chunk although the path has become narrower; 0: no
 * longer. */
void kernel_sock_widen(int fd, uint32_t len);

/* The error that waits at the socket, or 0; it is told once. */
int kernel_sock_error(int fd);

/* ---- kernel_conn.c ---- */

int kernel_connect(struct llp *llp, const struct llp_addrs *peer, uint16_t port,
		   const struct llp_addrs *from, void *user, struct llp_conn **ret);
void kernel_shutdown(struct llp_conn *lc);
void kernel_abort(struct llp_conn *lc, const char *reason);
void kernel_conn_free(struct llp_conn *lc);

/* The record of an association; takes the socket over, also when it fails (NULL). */
struct kernel_conn *kernel_conn_new(struct kernel *t, int fd);

/* Remembers the end of an association for the next dispatch; the first one counts. */
void kernel_conn_end(struct kernel_conn *c, int err, const char *reason, ...)
	__attribute__((format(printf, 3, 4)));

/* Something may have happened to it. */
void kernel_conn_touch(struct kernel_conn *c);

/* Gives up its socket, with an ABORT if the association is still there. */
void kernel_conn_release(struct kernel_conn *c);

/* Reads from the kernel what an association that is up can carry; false: it is gone. */
bool kernel_conn_measure(struct kernel_conn *c);

/* What the socket is watched for. */
void kernel_conn_watch(struct kernel_conn *c, bool writable);

/* Associations that take too long to come up. */
void kernel_conn_expire(struct kernel *t);

/* Makes the upcalls that are due, until `budget` messages were read. */
void kernel_dispatch(struct kernel *t, unsigned budget);

/* ---- kernel_door.c ---- */

int kernel_listen(struct llp *llp, const struct llp_addrs *at, uint16_t port, void *user,
		  struct llp_listener **ret);
void kernel_unlisten(struct llp_listener *l);

/* Takes associations that came up; they are announced after their indication was seen. */
void kernel_door_accept(struct kernel *t, struct kernel_door *d);

/* Watches doors again that were shut for want of descriptors. */
void kernel_door_expire(struct kernel *t);

/* True if an address is one of the transport's. */
bool kernel_has_addr(const struct kernel *t, const struct sockaddr_storage *a);
/* 0; -EADDRNOTAVAIL: one is not. */
int kernel_check_addrs(const struct kernel *t, const struct llp_addrs *at);

/* ---- kernel_event.c ---- */

/* A notification: it only leaves marks, for it may be met inside llp_recv(). */
void kernel_event(struct kernel_conn *c, const void *data, size_t len);

/* ---- kernel_rx.c ---- */

enum kernel_pulled { KERNEL_PULLED_DATA, KERNEL_PULLED_EVENT, KERNEL_PULLED_NOTHING };

/* Takes one message or notification; the latter is dealt with. */
enum kernel_pulled kernel_pull(struct kernel_conn *c, struct kernel_in *ret);
int kernel_recv(struct llp_conn *lc, struct llp_msg *ret);

/* True if something was read for it that it did not take. */
bool kernel_rx_holds(const struct kernel_conn *c);
/* Forgets what was read for it. */
void kernel_rx_drop(struct kernel_conn *c);

/* 0 or -ENOMEM. */
int kernel_rx_init(struct kernel *t);

/* ---- kernel_tx.c ---- */

int kernel_send(struct llp_conn *lc, const struct llp_msg *m);

/* Room for messages of up to max_message bytes. 0 or -ENOMEM. */
int kernel_tx_init(struct kernel_conn *c);

/* Hands to the kernel what waits, as far as it takes it. */
void kernel_tx_push(struct kernel_conn *c);
void kernel_flush(struct llp *llp);

static inline bool kernel_tx_empty(const struct kernel_tx *tx)
{
	return tx->head == tx->n;
}

/* ---- kernel_path.c ---- */

void kernel_info(const struct llp_conn *lc, struct llp_info *ret);
unsigned kernel_paths(const struct llp_conn *lc, struct llp_path ret[LLP_MAX_PATHS]);
int kernel_set_primary(struct llp_conn *lc, const struct sockaddr_storage *remote);

/* How many addresses the peer has. */
unsigned kernel_path_count(int fd);

/* Notes a change of a path, and tells what was noted. */
void kernel_path_changed(struct kernel_conn *c, const struct sockaddr_storage *remote, int change);
void kernel_path_tell(struct kernel_conn *c);

static inline struct kernel *kernel_of(const struct kernel_conn *c)
{
	return (struct kernel *)c->base.llp;
}

#endif
