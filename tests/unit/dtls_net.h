/* SPDX-License-Identifier: BSD-2-Clause */
/* Two rooms of DTLS with a network between them, and a clock that the test turns. Each end has one
 * flow: the other end. */
#ifndef UNIT_DTLS_NET_H
#define UNIT_DTLS_NET_H

#include "llp/dtls/dtls.h"

enum { NET_DATAGRAMS = 512, NET_PACKETS = 64, NET_PACKET = 1500, NET_DELAY_US = 10000 };

struct net_datagram {
	uint64_t at_us;
	unsigned to;
	size_t len;
	uint8_t p[NET_PACKET];
};

struct net_end {
	struct dtls *dtls;
	struct dtls_flow peer;
	struct dtls_identity *id;
	unsigned up, down;        /* events */
	unsigned refused, closed; /* those of links that are down for that reason */
	char reason[DTLS_REASON]; /* of the last link that went down */
	struct dtls_peer seen;    /* of the last one that came up */
	const char *refuses;      /* the sentence with which it refuses all peers */
	unsigned received, last;  /* packets, and the number in the last one */
	unsigned wrong;           /* packets that nobody has sent */
	uint64_t bytes_in, bytes_out;
};

struct net {
	uint64_t now_us;
	struct net_end end[2];
	unsigned n, sent; /* sent: by both */
	struct net_datagram d[NET_DATAGRAMS];
	bool threads;
	uint32_t seed;
	unsigned loses, doubles, delays; /* so many of 100 datagrams */
	unsigned lost; /* number of the one datagram that is lost, from 1; 0: none */
	/* Sees each datagram before it leaves, and may change it. */
	void (*meddles)(struct net *n, unsigned number, uint8_t *p, size_t len);
	unsigned meddle_byte, meddle_number;
	bool meddled;
};

/* An identity of ours with a fresh certificate, in files of a folder for the test. */
struct dtls_identity *net_identity(long valid_from, long valid_to);
/* The same with a pre-shared key and no certificate. */
struct dtls_identity *net_psk(const char *hex);
/* Removes the files and their folder. */
void net_remove_files(void);
/* Writes a file of this mode into that folder, and returns its path. */
const char *net_file(const char *name, const char *text, unsigned mode);
/* The same with a key and its certificate. kind: "P-256" or "ED25519". */
void net_write_identity(const char *kind, long valid_from, long valid_to, struct dtls_files *ret);

/* Takes the identities. threads: handshakes in workers. */
struct net *net_new(struct dtls_identity *a, struct dtls_identity *b, bool threads);
/* The same with fresh certificates. */
struct net *net_plain(void);
void net_free(struct net *n);

/* End i forgets all, as after a restart of its host. */
void net_restart(struct net *n, unsigned i);

void net_connect(struct net *n, unsigned from);

/* Seals a packet with this number at an end and sends it. False: its link is not up. */
bool net_send(struct net *n, unsigned from, unsigned number);

/* For dtls_config: numbers that differ each time, and an owner who refuses nobody. */
void net_random(void *user, void *ret, size_t len);
bool net_accept_all(void *user, const struct dtls_flow *flow, const struct dtls_peer *peer,
		    bool we_began, char *ret_reason, size_t len);

/* What is on its way arrives now, and nobody fetches events. */
void net_arrive(struct net *n);

/* Lets the time pass. */
void net_run(struct net *n, uint64_t us);

/* The same, but until both are up, at most so long. */
bool net_until_up(struct net *n, uint64_t us);

/* Where the random of a client is in its hello. */
enum { NET_RANDOM_AT = DTLS_HEAD + 12 + 2 };

/* The peer at that address and port sends this hello without a cookie to end 1, and again with the
 * one that it is asked for, if there is room; it does not go on. */
void net_begin_from(struct net *n, const uint8_t *first, size_t len, const struct dtls_flow *from);

/* Packets of both ends arrive at the other one. */
void net_carry(struct net *n);

/* A new net whose link is up and carries packets; end 0 has begun it. */
struct net *net_linked(void);

/* An end begins new keys. */
void net_renew(struct net *n, unsigned who);

#endif
