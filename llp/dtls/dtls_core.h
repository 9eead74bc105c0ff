/* SPDX-License-Identifier: BSD-2-Clause */
/* The state behind dtls.h, for the files that move links on. Private to dtls*.c. */
#ifndef LLP_DTLS_CORE_H
#define LLP_DTLS_CORE_H

#include "llp/dtls/dtls_table.h"

enum { DTLS_REPLIES = 64, DTLS_REPLY = 192 };

/* A datagram that no link keeps: the demand for a cookie, an alert, the flight of a refused link.
 */
struct dtls_reply {
	struct dtls_flow flow;
	uint16_t len;
	uint8_t p[DTLS_REPLY];
};

struct dtls {
	struct dtls_config cfg;
	struct dtls_identity *identity;
	struct dtls_worker *worker; /* NULL: none */
	struct dtls_table table;
	struct dtls_cookies cookies;
	uint64_t now_us;  /* of the last call that has a time */
	uint64_t paid_us; /* handshakes that peers began have used up their rate until then */
	bool reading;     /* the next call of dtls_input() goes on with a datagram */
	bool unwanted;    /* it has something without a reader */
	unsigned first_reply, nreplies;
	struct dtls_reply reply[DTLS_REPLIES];
	struct dtls_stats stats;
};

/* ---- dtls_reply.c ---- */

/* Room for a datagram to this flow, or NULL: it is counted. The caller sets its length. */
struct dtls_reply *dtls_reply_new(struct dtls *d, const struct dtls_flow *flow);

/* Half of the room for answers is in use. */
static inline bool dtls_reply_is_crowded(const struct dtls *d)
{
	return d->nreplies >= DTLS_REPLIES / 2;
}

/* Queues the last datagrams of a connection that ends, and an alert (RFC 5246 7.2), if it has keys.
 */
void dtls_reply_last(struct dtls *d, const struct dtls_flow *flow, struct dtls_link *l, bool fatal,
		     uint8_t alert);

enum { DTLS_CLOSE_NOTIFY = 0, DTLS_ACCESS_DENIED = 49 };

/* Shows the peer that we have the keys of this connection, by a record without a packet. */
void dtls_reply_proof(struct dtls *d, const struct dtls_flow *flow, struct dtls_link *l);

/* ---- dtls_lost.c ---- */

/* A record of a link that we do not have: we have begun again. Asks its sender for a handshake, by
 * a HelloRequest, which has fewer bytes than the record. Anybody may send one, so it is no more
 * than a hint. */
void dtls_lost_answer(struct dtls *d, const struct dtls_flow *flow, const struct dtls_head *h);

/* True: the record is a HelloRequest. If a link is up, another connection begins, and the one that
 * seals goes on until that is up; a hint in each ten seconds is enough. */
bool dtls_lost_hint(struct dtls *d, const struct dtls_flow *flow, const struct span *record);

/* ---- dtls_input.c ---- */

/* After the thread has given a connection of the pair back: reads the alert that was too early. */
void dtls_input_early(struct dtls *d, struct dtls_pair *p);

/* ---- dtls_pair.c ---- */

/* A link without connections. guest: the peer begins it. NULL: no memory. */
struct dtls_pair *dtls_pair_add(struct dtls *d, const struct dtls_flow *flow, bool guest);

/* There is room for a handshake that a peer begins. p: its link, or NULL. */
bool dtls_pair_admits(struct dtls *d, const struct dtls_pair *p, const struct dtls_flow *flow);

/* Begins a connection of this pair: hello as in dtls_link_new(). -EAGAIN; -EACCES: we lack
 * a certificate, or the pre-shared key for this peer; -ENOMEM. */
int dtls_pair_begin(struct dtls *d, struct dtls_pair *p, const struct dtls_hello *hello,
		    const struct span *datagram);

/* The peer has refused the keys that took over: the ones before work, and the event says that. */
void dtls_pair_return(struct dtls *d, struct dtls_pair *p, const char *reason);

/* After anything that may have changed the state of p->next. */
void dtls_pair_settle(struct dtls *d, struct dtls_pair *p);

/* p->next takes over from p->now. */
void dtls_pair_promote(struct dtls *d, struct dtls_pair *p);

/* One of its connections is over, without a refusal: another one takes its place, or the link is
 * down. */
void dtls_pair_close(struct dtls *d, struct dtls_pair *p, struct dtls_link *l, const char *reason);

/* The same, but the peer refuses it. */
void dtls_pair_lose(struct dtls *d, struct dtls_pair *p, struct dtls_link *l, const char *reason);

/* Keeps dtls_table in step with a pair: its deadline, whether it has output, waits for
 * the worker, or is in a handshake. The last word of everything that changes these. */
void dtls_pair_note(struct dtls *d, struct dtls_pair *p);

/* Runs deadlines that have passed, and datagrams of the handshake that waited. */
void dtls_pair_run(struct dtls *d, struct dtls_pair *p);

#endif
