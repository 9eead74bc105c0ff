/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A UDP socket that moves many packets per system call. Packets of one flow are collected in a
 * batch of packets of equal size: a shorter packet ends the batch, a longer one begins the next. A
 * batch is sent with UDP_SEGMENT where the flow permits it, else packet by packet, and one
 * sendmmsg() sends several batches. The packets of a flow keep their order.
 *
 * No call blocks. While the socket is full, up to 16 batches (of at most 64 packets or 64 KiB each)
 * wait for the next udp_flush(); packets that do not fit are dropped, as a network would drop them.
 */
#ifndef LLP_UDP_H
#define LLP_UDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct udp;
struct udp_batch;

enum {
	UDP_MAX_PACKET = 65507, /* IPv4's limit, kept for IPv6 as well */
};

/* One remote address; the caller's storage, all zero but `to`, `tolen` and `gso` at first. */
struct udp_flow {
	struct sockaddr_storage to;
	socklen_t tolen;
	bool gso;               /* may use UDP_SEGMENT; cleared when the kernel refuses */
	struct udp_batch *open; /* where the next packet may go */
};

struct udp_stats {
	uint64_t tx_packets, tx_batches, tx_bytes;
	uint64_t tx_errors; /* packets that were refused or dropped */
	uint64_t rx_packets, rx_batches, rx_bytes, rx_cut;
};

/*
 * Binds to one address (its port is ignored) and a port. buffer: wanted bytes of socket
 * buffer in each direction. Returns 0 or -errno: EADDRINUSE, EADDRNOTAVAIL, EAFNOSUPPORT ...
 */
int udp_open(const struct sockaddr_storage *addr, uint16_t port, uint32_t buffer, struct udp **ret);

/* Drops queued packets. NULL is fine. */
struct udp *udp_close(struct udp *u);

/* To poll for input, and for output if udp_blocked(). */
int udp_fd(const struct udp *u);

/* The address it is bound to. */
const struct sockaddr_storage *udp_local(const struct udp *u);

/* Size of the socket's receive buffer in bytes. */
uint32_t udp_rcvbuf(const struct udp *u);

/* True if the kernel knows UDP_SEGMENT. */
bool udp_can_gso(const struct udp *u);

/* Queues a copy of a packet of 1 to UDP_MAX_PACKET bytes, or sends or drops it. */
void udp_send(struct udp *u, struct udp_flow *f, const void *pkt, size_t len);

/* Hands the queued packets to the kernel, as many as the socket takes. Packets that it refuses are
 * counted and dropped. */
void udp_flush(struct udp *u);

/* True if packets were left at the last udp_flush(): call it again when the socket is writable. */
bool udp_blocked(const struct udp *u);

/* The flow is about to be freed: sends its packets, and drops those that the socket does not take.
 */
void udp_forget(struct udp *u, struct udp_flow *f);

/* A packet that arrived; the bytes may be changed until the function returns. */
typedef void udp_packet_fn(void *arg, const struct sockaddr_storage *from, uint8_t *p, size_t len);

/* Reads until the socket is empty or at least `budget` packets came. Returns how many. */
unsigned udp_recv(struct udp *u, unsigned budget, udp_packet_fn *fn, void *arg);

/* err: the error an ICMP message reports for a packet to `to`; mtu: for EMSGSIZE, else 0. */
typedef void udp_error_fn(void *arg, const struct sockaddr_storage *to, int err, uint32_t mtu);

/* Calls fn for each ICMP message that has arrived. */
void udp_errors(struct udp *u, udp_error_fn *fn, void *arg);

/* Since it was opened. */
void udp_stats(const struct udp *u, struct udp_stats *ret);

#endif
