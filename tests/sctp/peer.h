/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fake peer for tests in the manner of packet scripts: it sends packets that a test builds chunk
 * by chunk to one SCTP stack, with a virtual clock, and takes the stack's packets one by one.
 *
 * Each packet of the stack is checked when it is taken: checksum, ports, lengths, padding, flags,
 * order of chunks, chunks that have to be alone. What a test sends is not checked.
 */
#ifndef TESTS_SCTP_PEER_H
#define TESTS_SCTP_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/wire/chunk.h"
#include "sctp/base/fsm.h"
#include "sctp/wire/param.h"
#include "sctp/sctp.h"

enum {
	PEER_PORT = 5555,  /* SCTP port of the fake peer */
	PEER_STACK = 5043, /* SCTP port that the stack listens at */
	PEER_UDP = 9899,
	PEER_BASE = 1200, /* bytes of packets that pass: probes of that size need no answer */
	PEER_TAG = 0x5eed5eed,
	PEER_TSN = 1000,    /* initial TSN of the fake peer */
	PEER_RWND = 100000, /* of the fake peer */
	PEER_STREAMS = 10,
	PEER_CHUNKS = 4096, /* that a packet may have */
	PEER_COOKIE = 65536,
	PEER_SECOND = 1000000, /* in us */
	PEER_COVER = 37,       /* bytes that a cover adds */
};

/* A packet of the stack. */
struct peer_packet {
	struct peer_packet *next;
	uint64_t at_us; /* when it was sent */
	struct sctp_flow to;
	bool probe;
	uint32_t len;
	uint8_t data[];
};

struct peer {
	struct sctp *s;
	struct invariant *watch; /* what holds after every packet, holds in each test */
	struct sctp_config cfg;
	uint64_t now, seed;
	unsigned zeros; /* so many 4-byte random numbers are 0 */
	size_t allocated;
	bool no_memory; /* from now on no allocation succeeds */
	struct sctp_listener *listener;
	struct sctp_assoc *assoc; /* of the last connect or event */

	/* What the fake peer says; a test may change it. */
	struct sctp_flow from; /* source of its packets */
	uint16_t port, stack_port;
	uint32_t tag, tsn; /* its Initiate Tag; the next TSN of its DATA */
	uint32_t rwnd;
	uint16_t out_streams, in_streams;
	uint32_t detected_by; /* of Zero Checksum Acceptable in INIT and INIT ACK; 0: left out */
	bool no_adaptation;   /* INIT and INIT ACK have no adaptation indication */

	/* What the stack said in INIT or INIT ACK. */
	uint32_t stack_tag, stack_tsn, stack_rwnd;
	uint16_t stack_out, stack_in;
	uint8_t cookie[PEER_COOKIE];
	uint32_t cookie_len;

	/* The packet under construction. */
	struct sctp_writer w;
	uint8_t out[SCTP_MAX_PACKET + 100];

	/* Packets that look for a larger path MTU are not taken without it; those of PEER_BASE
	 * count as answered. */
	bool keep_probes;
	/* Packets of the stack: those that wait, and the one that was taken last. */
	struct peer_packet *first, *last, *pkt;
	struct sctp_head head;
	bool zero_checksum; /* it is covered and has none */
	unsigned n;
	struct sctp_chunk chunk[PEER_CHUNKS];
	struct sctp_batch batch;

	/* Events and messages so far. A test may clear them. */
	unsigned incoming, up, down, writable, acked, path_events;
	struct sctp_event last_down, last_path;
	bool keep_down; /* SCTP_DOWN does not free the association */
	unsigned wish;  /* messages that the user sends when there is room */
	uint32_t wish_len;
	uint64_t messages, bytes;
	struct sctp_msg msg;  /* the last one; its spans are gone */
	uint8_t msg_data[64]; /* its first bytes */
};

/* ---- a stack and its clock ---- */

/* IPv4 addresses of ours and of the peer: 10.0.<i>.1, 10.0.<i>.2. The defaults of RFC 9260
 * section 16 otherwise. */
struct sctp_config peer_config(struct peer *p, unsigned addrs);
struct sctp_addr peer_addr(unsigned i);
/* Opens the stack; it listens at all its addresses. Packets come from peer_addr(0). */
void peer_init(struct peer *p, unsigned addrs);
void peer_init_cfg(struct peer *p, const struct sctp_config *cfg);
/* Opens the stack again after peer_close(), with the same configuration; it knows nothing. */
void peer_open(struct peer *p);
void peer_close(struct peer *p);
/* Closes the stack; all memory must be back. */
void peer_deinit(struct peer *p);

/* Lets time pass; runs deadlines on time and takes packets and events. */
void peer_advance(struct peer *p, uint64_t us);
/* Takes events, messages and packets, at the present time. */
void peer_poll(struct peer *p);

/* ---- sending ---- */

/* Begins a packet with the tag that the stack expects, or with another one. Add chunks to p->w. */
void peer_begin(struct peer *p);
void peer_begin_tag(struct peer *p, uint32_t tag);
/* Chunks: any; without value; INIT or INIT ACK, whose parameters may follow until peer_end_chunk().
 */
void peer_put(struct peer *p, uint8_t type, uint8_t flags, const void *value, uint32_t len);
void peer_put_plain(struct peer *p, uint8_t type);
uint32_t peer_begin_init(struct peer *p, uint8_t type);
void peer_put_param(struct peer *p, uint16_t type, const void *value, uint32_t len);
void peer_put_addr(struct peer *p, const struct sctp_addr *addr);
void peer_end_chunk(struct peer *p, uint32_t begin);
/* DATA of len bytes with these flags (SCTP_DATA_*). */
void peer_put_data(struct peer *p, uint32_t tsn, uint16_t sid, uint16_t ssn, uint8_t flags,
		   uint32_t len);
/* SACK without gap blocks and duplicates, or with ngaps pairs of offsets. */
void peer_put_sack(struct peer *p, uint32_t cum, uint32_t rwnd, const uint16_t *gaps,
		   unsigned ngaps);
void peer_put_cookie_echo(struct peer *p);
/* Computes the checksum, hands the packet to the stack and polls. */
void peer_send(struct peer *p);
/* The same with the bytes as they are, so without checksum. */
void peer_send_raw(struct peer *p);

/* A packet with one chunk. */
void peer_send_plain(struct peer *p, uint8_t type);
void peer_send_chunk(struct peer *p, uint8_t type, uint8_t flags, const void *value, uint32_t len);
/* One unordered whole message of len bytes in stream 0 with the next TSN. */
void peer_send_data(struct peer *p, uint32_t len);
void peer_send_sack(struct peer *p, uint32_t cum);
void peer_send_init(struct peer *p);     /* to the listener: no tag */
void peer_send_init_ack(struct peer *p); /* with a cookie "cookie" */
void peer_send_cookie_echo(struct peer *p);

/* ---- what the stack sends ---- */

/* Takes the next packet; false if there is none. The time passes for which a pacer holds it back.
 */
bool peer_next(struct peer *p);
/* The next packet has this chunk and no other one. */
const struct sctp_chunk *peer_expect(struct peer *p, uint8_t type);
/* The next packet has these two chunks. */
void peer_expect2(struct peer *p, uint8_t first, uint8_t second);
/* The next packet is ABORT or ERROR with this one cause (SCTP_CAUSE_NONE: without). */
struct sctp_error peer_expect_cause(struct peer *p, uint8_t type, uint16_t cause);
/* No packet waits. */
void peer_expect_nothing(struct peer *p);
/* Takes all packets; returns how many of them have a chunk of this type. */
unsigned peer_drain(struct peer *p, uint8_t type);
/* A chunk of the packet taken last, or NULL. */
const struct sctp_chunk *peer_find(const struct peer *p, uint8_t type);
/* A parameter of INIT or INIT ACK: the whole one, or NULL. nth: from 0. */
const uint8_t *peer_param(const struct sctp_chunk *c, uint16_t type, unsigned nth, uint32_t *len);

/* ---- handshakes ---- */

/* INIT of the stack goes out: connects to these addresses, covered if p->from is, takes INIT. */
void peer_stack_connects(struct peer *p, unsigned naddrs);
/* Remembers what INIT or INIT ACK says. */
void peer_learn(struct peer *p, const struct sctp_chunk *c);
/* The whole handshake; the stack is the initiator, or the listener. Nothing waits afterwards. */
void peer_accept(struct peer *p);
void peer_connect(struct peer *p);

/* A new association in this state: before ESTABLISHED the stack is the initiator, then the
 * listener. Nothing waits afterwards. */
void peer_bring_to(struct peer *p, enum sctp_state state);
/* Frees the association and takes its ABORT. */
void peer_forget(struct peer *p);

/* The next packet is HEARTBEAT: answers it from the address that it went to. */
void peer_answer_heartbeat(struct peer *p);

/* The stack sends a message of len bytes. */
int peer_stack_sends(struct peer *p, uint16_t sid, uint32_t len);
struct sctp_info peer_info(const struct peer *p);
enum sctp_path_state peer_path_state(const struct peer *p, unsigned addr);

#endif
