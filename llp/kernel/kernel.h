/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The transport `kernel`: the SCTP of Linux, through one-to-one sockets and libsctp. Private
 * to kernel*.c.
 *
 * Each association has a socket, and so has each list of addresses that listeners wait at; one
 * epoll descriptor watches them all. Messages are sent with sendmmsg() from the association's
 * staging buffer and received with recvmmsg() into a batch that all associations share, because one
 * association is served at a time.
 */
#ifndef LLP_KERNEL_H
#define LLP_KERNEL_H

#include <netinet/in.h>
#include <netinet/sctp.h>

#include "llp/common/llp_sctp.h"
#include "util/list.h"

enum {
	KERNEL_BATCH = 64,            /* messages in one system call */
	KERNEL_MAX_CHUNK = 65536,     /* more than any DATA chunk carries */
	KERNEL_MIN_STAGE = 128 << 10, /* two messages of the largest size at least */
	KERNEL_MAX_STAGE = 1 << 20,   /* a larger one would not stay in the processor's cache */
	KERNEL_PATH_EVENTS = 16,      /* that wait to be reported */
};

enum { KERNEL_SILENCE_MAX = 200 };

/* The owner of a descriptor in the epoll set. */
struct kernel_watch {
	int fd;
	bool listening;
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
	unsigned head, n; /* in[head .. n) are not handed out yet */
	struct kernel_in in[KERNEL_BATCH];
};

/* A message that waits for sendmmsg(): its bytes are in the stage. */
struct kernel_out {
	uint32_t at, len;
	struct sctp_sndinfo info;
};

struct kernel_tx {
	struct list dirty; /* in struct kernel's `dirty`: has messages to send at the flush */
	uint8_t *stage;
	uint32_t size, used;
	unsigned head, n; /* out[head .. n) are not sent yet */
	bool blocked;     /* the socket is full */
	bool wanted;      /* llp_send() returned LLP_E_AGAIN: writable() has to follow */
	bool dropped;     /* staged messages were dropped because the association ended */
	struct kernel_out out[KERNEL_BATCH];
};

/* Counters of an association in the kernel, as of the last query. */
struct kernel_count {
	uint64_t tx_packets, rx_packets, retransmits;
};

/* A change of a path, to be reported. */
struct kernel_path_event {
	struct sockaddr_storage remote;
	const char *what;
};

struct kernel_listener;

struct kernel_conn {
	struct llp_sctp_conn sctp;
	struct kernel_watch watch;             /* fd is -1 when down */
	struct kernel_listener *listener;      /* if passive; NULL once that is closed */
	bool half_open;                        /* accepted, but not dispatched yet */
	struct sockaddr_storage local, remote; /* the first of each end; SCTP ports */
	unsigned npaths;
	uint32_t cwnd;           /* as of when it was measured */
	uint32_t watching;       /* events of epoll */
	bool readable, writable; /* epoll reported it */
	unsigned rx_left;        /* batches that may still be read in this turn */
	bool drained;            /* the socket was empty */
	bool eof;                /* the peer has begun to shut down */
	struct list used;        /* in kernel.used: there was traffic since it was last measured */
	int sock_err;            /* the socket's error, which can be read only once; 0: none yet */
	struct kernel_tx tx;
	struct kernel_batch
		*kept; /* messages read for it that its owner did not take in one turn */
	struct kernel_count count;
	unsigned npath_events;
	struct kernel_path_event path_event[KERNEL_PATH_EVENTS];
};

/* A socket that listens at one address, or at several that its associations have together. Several
 * listeners may share it. */
struct kernel_listening {
	struct list all;
	struct kernel_watch watch;
	uint16_t port;
	unsigned naddrs, refs;
	struct sockaddr_storage addr[LLP_MAX_ADDRS];
	uint64_t paused_until_ms; /* no descriptors are left: not watched until then; 0: watched */
};

struct kernel_listener {
	struct llp_listener base;
	struct list all;
	uint16_t port;
	unsigned naddrs; /* 0: each of the transport's, with one listening socket each */
	struct sockaddr_storage addr[LLP_MAX_ADDRS];
	unsigned nsockets;
	struct kernel_listening *socket[LLP_MAX_OWN];
};

struct kernel {
	struct llp_sctp sctp;
	int epoll;
	uint64_t tick_ns; /* unit of the kernel's round-trip times */

	struct list dirty, used, listening, listeners;
	unsigned half_open;         /* accepted associations that were not dispatched yet */
	unsigned paused;            /* listening sockets */
	struct kernel_conn *reader; /* whose messages are in `batch` */
	struct kernel_batch batch;
	uint8_t *rx_mem;
	uint64_t rx_limit;   /* a dispatch ends when stats.rx_batches reaches it */
	uint64_t measure_ms; /* when associations are measured next */

	struct llp_stats stats; /* packets as of when associations were last measured */
};

/* ---- kernel_sock.c ---- */

/* A socket with all options that must be set before INIT or INIT ACK, bound to these addresses and
 * the port; not bound if there is no address. The descriptor or -errno; *ret_what: the step that
 * failed. */
int kernel_sock_new(const struct kernel *t, const struct llp_addrs *at, uint16_t port,
		    const char **ret_what);

/* Sets on an accepted socket the options that Linux may not have inherited. */
void kernel_sock_adopt(const struct kernel *t, int fd);

/* Bytes of the smaller of its two buffers. */
uint32_t kernel_sock_buffer(int fd);

/* Sets how many retransmissions end an association with this many paths. */
void kernel_sock_max_retrans(const struct kernel *t, int fd, unsigned npaths);

/* Closes it, with an ABORT if the association still exists. */
void kernel_sock_abort(int fd);

/* The state of the association; false if it does not exist any more. */
bool kernel_sock_status(int fd, struct sctp_status *ret);
bool kernel_sock_count(int fd, struct kernel_count *ret);

/* True if everything that was ever sent is acknowledged. */
bool kernel_sock_acked(int fd);

/* Sends messages of up to len bytes in one chunk although the path MTU has become smaller; 0: back
 * to path MTU discovery. */
void kernel_sock_force_mtu(int fd, uint32_t len);

/* The pending error of the socket, or 0; reading clears it. */
int kernel_sock_error(int fd);

/* ---- kernel_conn.c ---- */

int kernel_connect(struct llp *llp, const struct llp_addrs *peer, uint16_t port,
		   const struct llp_addrs *from, uint16_t own_port, void *user,
		   struct llp_conn **ret);
void kernel_abort(struct llp_conn *lc, const char *reason);
void kernel_conn_free(struct llp_conn *lc);

/* The record of an association; takes the socket over, also when it fails (NULL). */
struct kernel_conn *kernel_conn_new(struct kernel *t, int fd);

/* llp_sctp_ops.release */
void kernel_conn_release(struct llp_sctp_conn *sc);

/* Drops the messages that were read for it. */
void kernel_conn_drop_input(struct kernel_conn *c);

/* There is traffic: it is measured next time. */
void kernel_conn_use(struct kernel_conn *c);

/* Queries its counters, and adds their increase since the last query to *st. */
void kernel_conn_count(struct kernel_conn *c, struct llp_stats *st);

/* Queries streams, message size and window of an association that is up; false: it does not exist
 * any more. */
bool kernel_conn_measure(struct kernel_conn *c);

/* Makes epoll watch the socket for input, and for room if `writable`. */
void kernel_conn_watch(struct kernel_conn *c, bool writable);

/* The end of a sentence about a peer that does not answer at all: which packets may be dropped, and
 * where to let them through. udp_port: kernel.udp_port, or 0. */
const char *kernel_silence(uint16_t udp_port, char ret[KERNEL_SILENCE_MAX]);

/* Ends associations whose set-up takes too long. */
void kernel_conn_expire(struct kernel *t);

/* ---- kernel_upcall.c ---- */

extern const struct llp_sctp_ops kernel_upcall_ops;

/* llp_ops.shutdown */
void kernel_shutdown(struct llp_conn *lc);

/* Makes the upcalls that are due, until `budget` messages were read. */
void kernel_dispatch(struct kernel *t, unsigned budget);

/* ---- kernel_listener.c ---- */

int kernel_listen(struct llp *llp, const struct llp_addrs *at, uint16_t port, void *user,
		  struct llp_listener **ret);
void kernel_unlisten(struct llp_listener *l);

/* Listeners at all addresses get a socket at one that is added, or lose that of one that is
 * dropped. 0, or -errno: none got one. */
int kernel_listener_add_addr(struct kernel *t, const struct sockaddr_storage *a);
void kernel_listener_drop_addr(struct kernel *t, const struct sockaddr_storage *a);

/* Accepts associations that are up; they are announced once their indication is verified. */
void kernel_listener_accept(struct kernel *t, struct kernel_listening *s);

/* Watches listening sockets again that were paused for lack of descriptors. */
void kernel_listener_resume(struct kernel *t);

/* When kernel_listener_resume() is next needed, or UINT64_MAX. */
uint64_t kernel_listener_expiry_us(const struct kernel *t);

/* ---- kernel_event.c ---- */

/* Handles a notification. It only changes the record: it may be read inside llp_recv(). */
void kernel_event(struct kernel_conn *c, const void *data, size_t len);

/* ---- kernel_rx.c ---- */

/* Takes one message, or takes and handles one notification. */
enum llp_sctp_pulled kernel_pull(struct kernel_conn *c, struct kernel_in *ret);
int kernel_recv(struct llp_conn *lc, struct llp_msg *ret);

/* True if messages were read for it that it did not take. */
bool kernel_rx_holds(const struct kernel_conn *c);

/* 0 or -ENOMEM. */
int kernel_rx_init(struct kernel *t);

/* ---- kernel_tx.c ---- */

int kernel_send(struct llp_conn *lc, const struct llp_msg *m);

/* Allocates a staging buffer for messages of up to max_message bytes. 0 or -ENOMEM. */
int kernel_tx_init(struct kernel_conn *c);

/* Hands staged messages to the kernel, as many as it takes. */
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

/* Queues the report of a path's change (spc_state); makes the queued reports. */
void kernel_path_changed(struct kernel_conn *c, const struct sockaddr_storage *remote, int change);
void kernel_path_report(struct kernel_conn *c);

static inline struct kernel *kernel_of(const struct kernel_conn *c)
{
	return (struct kernel *)c->sctp.base.llp;
}

#endif
