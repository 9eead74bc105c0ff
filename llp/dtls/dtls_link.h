/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A connection: its handshake, which OpenSSL makes step by step, and then its keys. The steps may
 * run in a worker; while one does (`busy`), the parts that a step uses belong to that thread.
 *
 * After the handshake OpenSSL's object is gone. A server keeps its last flight until the peer has
 * shown that it has it.
 *
 * Anybody can send datagrams that make a handshake fail. Then a client begins again, with another
 * hello, which the server takes for that of another client. It also does if its second or third
 * flight was sent four times without an answer: the server may have failed.
 */
#ifndef LLP_DTLS_LINK_H
#define LLP_DTLS_LINK_H

#include "llp/dtls/dtls_bio.h"
#include "llp/dtls/dtls_cookie.h"
#include "llp/dtls/dtls_peer.h"
#include "llp/dtls/dtls_worker.h"

enum dtls_link_state {
	DTLS_LINK_HANDSHAKE,
	DTLS_LINK_UP,
	DTLS_LINK_DOWN, /* reason says why */
};

enum dtls_outcome {                   /* of a step */
		    DTLS_STEP_MORE,   /* it waits for datagrams */
		    DTLS_STEP_FAILED, /* perhaps by a datagram that somebody else has sent */
		    DTLS_STEP_DONE,
};

/* Only while the handshake lasts. */
struct dtls_handshake {
	struct dtls_queue pending; /* arrived during a step */
	/* The rest is the thread's during a step. */
	struct dtls_bio bio;
	enum dtls_outcome outcome;
	bool listens; /* of a server: its first step reads the hello */
	struct dtls_auth auth;
	struct dtls_peer peer;
	char reason[DTLS_REASON];
};

struct dtls_link {
	struct dtls_job job;
	struct dtls_worker *worker; /* NULL: steps run at once */
	struct dtls_identity *identity;
	const struct dtls_psk *psk; /* of it; NULL: certificates at both ends */
	struct ssl_st *ssl;
	struct dtls_handshake *hs;
	void *owner; /* NULL: nobody wants it, it is freed after its step */
	enum dtls_link_state state;
	bool server, busy, waits; /* waits: for room in the worker's queue */
	bool proven;              /* the peer has sent a record with the keys */
	bool judged;              /* its owner has been asked whether it accepts the peer */
	bool has_random;
	unsigned repeats;            /* of the flight that is being sent */
	unsigned tries;              /* handshakes that a client began after this one had failed */
	uint8_t random[DTLS_RANDOM]; /* of the client */
	struct dtls_peer peer;
	char reason[DTLS_REASON];
	unsigned alert;   /* in clear text, of a handshake, not believed; 0: none */
	bool unreachable; /* an ICMP message says so */
	struct dtls_tx tx;
	struct dtls_rx rx;
	uint64_t seq;      /* of the next record of epoch 0 */
	uint64_t flight;   /* that is being sent */
	unsigned next_out; /* record of the flight to send next */
	uint64_t begun_us, up_us, resend_us, interval_us, first_us;
};

/* psk: of the identity; NULL: both ends show certificates. hello: of a client with a good cookie,
 * in the datagram of n bytes at p; NULL: we are the client. The first step follows. first_us: after
 * which a flight is sent again, then after twice that, and so on. NULL: no memory. */
struct dtls_link *dtls_link_new(struct dtls_identity *id, const struct dtls_psk *psk,
				struct dtls_worker *w, void *owner, const struct dtls_hello *hello,
				const uint8_t *p, size_t n, uint64_t first_us, uint64_t now_us);

/* Frees it, or leaves that to dtls_link_finish(). NULL is fine. */
void dtls_link_free(struct dtls_link *l);

/* A server whose handshake is over sends its last flight again some times, until the peer has shown
 * that it has it. */
void dtls_link_repeat(struct dtls_link *l, uint64_t now_us);

/* A datagram of its handshake has arrived. */
void dtls_link_input(struct dtls_link *l, const uint8_t *p, size_t len, uint64_t now_us);

/* A job that the worker has run. Returns its link, or NULL: it was freed. */
struct dtls_link *dtls_link_finish(struct dtls_job *j, uint64_t now_us);

/* Writes the next datagram, of at most DTLS_FLIGHT_MTU bytes and a few, to `to`. 0: there is none.
 */
size_t dtls_link_output(struct dtls_link *l, uint8_t *to, size_t size);
bool dtls_link_has_output(const struct dtls_link *l);

/* When dtls_link_run() is to be called; UINT64_MAX: not for the sake of time. */
uint64_t dtls_link_expiry(const struct dtls_link *l);
void dtls_link_run(struct dtls_link *l, uint64_t now_us);

static inline bool dtls_link_is_up(const struct dtls_link *l)
{
	return l && l->state == DTLS_LINK_UP;
}

static inline bool dtls_link_is_in_handshake(const struct dtls_link *l)
{
	return l && l->state == DTLS_LINK_HANDSHAKE;
}

/* A record of the peer with these keys was authentic. handshake: it is a message of a handshake
 * that has ended here: the peer lacks our last flight. */
void dtls_link_proven(struct dtls_link *l, bool handshake);

#endif
