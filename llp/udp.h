/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A UDP socket that moves many packets a system call. Packets for one flow collect in a
 * batch of equal size; a shorter one may end a batch, a longer one begins the next. A batch
 * leaves as one UDP_SEGMENT send where the flow allows it, else packet by packet, and
 * several batches leave in one sendmmsg(). Within a flow packets never change places.
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
	uint64_t tx_packets, tx_batches, tx_bytes, tx_errors;
	uint64_t rx_packets, rx_batches, rx_bytes, rx_cut;
};

/*
 * Binds to one address (its port is ignored) and a port. buffer: wanted bytes of socket
 * buffer in each direction. Returns 0 or -errno: EADDRINUSE, EADDRNOTAVAIL, EAFNOSUPPORT ...
 */
int udp_open(const struct sockaddr_storage *addr, uint16_t port, uint32_t buffer, struct udp **ret);

/* Drops what was not flushed. NULL is fine. */
struct udp *udp_close(struct udp *u);

/* To poll for input. */
int udp_fd(const struct udp *u);

/* The address that it is bound to. */
const struct sockaddr_storage *udp_local(const struct udp *u);

/* Bytes of packets that the kernel will hold for us. */
uint32_t udp_rcvbuf(const struct udp *u);

/* True if the kernel knows UDP_SEGMENT. */
bool udp_can_gso(const struct udp *u);

/* Takes a copy of a packet of 1 to UDP_MAX_PACKET bytes. */
void udp_send(struct udp *u, struct udp_flow *f, const void *pkt, size_t len);

/* Hands everything to the kernel. Errors are counted: what is lost is lost like on the wire. */
void udp_flush(struct udp *u);

/* The flow is about to be freed. */
void udp_forget(struct udp *u, struct udp_flow *f);

/* A packet that arrived; the bytes may be changed until the function returns. */
typedef void udp_packet_fn(void *arg, const struct sockaddr_storage *from, uint8_t *p, size_t len);

/* Reads until the socket is empty or at least `budget` packets came. Returns how many. */
unsigned udp_recv(struct udp *u, unsigned budget, udp_packet_fn *fn, void *arg);

/* err: what an ICMP message said of a packet to `to`; mtu: for EMSGSIZE, else 0. */
typedef void udp_error_fn(void *arg, const struct sockaddr_storage *to, int err, uint32_t mtu);

/* Tells of the ICMP messages that have arrived. */
void udp_errors(struct udp *u, udp_error_fn *fn, void *arg);

/* Since it was opened. */
void udp_stats(const struct udp *u, struct udp_stats *ret);

#endif
