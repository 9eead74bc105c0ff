/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A UDP socket that moves many packets per system call: batches of packets of equal size are sent
 * with UDP_SEGMENT or sendmmsg() and received with UDP_GRO and recvmmsg().
 *
 * Packets leave with the DF bit, and the kernel's own path MTU is ignored: the caller searches it.
 *
 * No call blocks. When the socket is full, the rest of the batch (64 KiB at most) waits for
 * udp_flush(); further batches are dropped until then, as a network would drop them.
 */
#ifndef LLP_UDP_H
#define LLP_UDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "util/span.h"

struct udp;

enum {
	UDP_MAX_PACKET = 65507, /* IPv4's limit, kept for IPv6 as well */
	UDP_QUOTE = 256,        /* bytes that are read of a packet that ICMP quotes */
};

/* Packets to one address: the spans, joined. All packets have `segment` bytes but the last one,
 * which may be shorter. A span does not cross the border of two packets. */
struct udp_batch {
	struct sockaddr_storage to;
	const struct span *span;
	unsigned nspans;
	uint32_t segment, len; /* both at least 1; len is the sum of the spans */
	bool gso;              /* may use UDP_SEGMENT; cleared when the kernel refuses that */
	bool fragment;         /* IP may fragment the packets: no DF bit */
};

struct udp_stats {
	uint64_t tx_packets, tx_batches, tx_bytes;
	uint64_t tx_errors; /* packets that were refused or dropped */
	uint64_t rx_packets, rx_batches, rx_bytes, rx_cut;
	uint64_t rx_dropped; /* by the kernel: the filter, or a full buffer */
};

/*
 * Binds to one address (its port is ignored) and a port. buffer: wanted bytes of socket
 * buffer in each direction. Returns 0 or -errno: EADDRINUSE, EADDRNOTAVAIL, EAFNOSUPPORT ...
 */
int udp_open(const struct sockaddr_storage *addr, uint16_t port, uint32_t buffer, struct udp **ret);

/* The same with a socket that was bound there before, as udp_open() does. Takes the descriptor.
 * -EINVAL: it is another socket. */
int udp_adopt(int fd, const struct sockaddr_storage *addr, uint16_t port, uint32_t buffer,
	      struct udp **ret);

/* Drops packets that wait. NULL is fine. */
struct udp *udp_close(struct udp *u);

/* To poll for input, and for output if udp_blocked(). */
int udp_fd(const struct udp *u);

/* The address it is bound to. */
const struct sockaddr_storage *udp_local(const struct udp *u);

/* Size of the socket's receive buffer in bytes. */
uint32_t udp_rcvbuf(const struct udp *u);

/* True if the kernel knows UDP_SEGMENT. */
bool udp_can_gso(const struct udp *u);

/* Sends a batch. The memory of the spans may be reused when it returns. Packets that the kernel
 * refuses are counted and dropped. Returns 0; -EMSGSIZE: some were longer than the route permits,
 * and udp_errors() may have its MTU. */
int udp_send(struct udp *u, struct udp_batch *b);

/* Sends packets that wait, as many as the socket takes. */
void udp_flush(struct udp *u);

/* True if packets wait: call udp_flush() when the socket is writable. */
bool udp_blocked(const struct udp *u);

/* Packets that arrived together from one address: all have `segment` bytes but the last one, which
 * may be shorter; len is their sum. An empty one is alone, with segment 0. The bytes may be
 * changed until the function returns. */
typedef void udp_packets_fn(void *arg, const struct sockaddr_storage *from, uint8_t *p, size_t len,
			    size_t segment);

/* A budget counts long packets as several of so many bytes. */
enum { UDP_PACKET = 2048 };

/* Reads until the socket is empty or at least `budget` packets were read. Returns how many came. */
unsigned udp_recv(struct udp *u, unsigned budget, udp_packets_fn *fn, void *arg);

enum udp_error_kind {
	UDP_UNREACHABLE,      /* ICMP: network or host */
	UDP_PORT_UNREACHABLE, /* ICMP: port or protocol unreachable */
	UDP_TOO_BIG,          /* ICMP: a packet was longer than the path MTU */
	UDP_TOO_BIG_LOCAL,    /* it was longer than the MTU of our own route; no port, not quoted */
};

struct udp_error {
	enum udp_error_kind kind;
	struct sockaddr_storage to; /* of the packet that failed */
	uint32_t mtu;               /* of TOO_BIG and TOO_BIG_LOCAL: bytes of an IP packet */
	const uint8_t *quoted;      /* the beginning of its payload, as far as it is quoted */
	size_t len;
};

typedef void udp_error_fn(void *arg, const struct udp_error *e);

/* Calls fn for each error that was reported since the last call. Other ICMP messages are
 * ignored. */
void udp_errors(struct udp *u, udp_error_fn *fn, void *arg);

struct sock_filter; /* linux/filter.h */

/* The kernel runs this program on each packet before it is queued; it sees the UDP header first. n
 * 0: removes it. If the kernel refuses it, the former one stays. */
void udp_filter(struct udp *u, const struct sock_filter *f, unsigned short n);

/* True if unread packets fill an eighth of the receive buffer. */
bool udp_crowded(const struct udp *u);

/* Since it was opened. */
void udp_stats(const struct udp *u, struct udp_stats *ret);

#endif
