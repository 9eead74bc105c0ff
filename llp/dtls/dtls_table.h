/* SPDX-License-Identifier: BSD-2-Clause */
/* The links by their flows, with the connections that each has. Private to dtls*.c. */
#ifndef LLP_DTLS_TABLE_H
#define LLP_DTLS_TABLE_H

#include "llp/dtls/dtls.h"
#include "llp/dtls/dtls_link.h"
#include "util/list.h"
#include "util/timer.h"

enum { DTLS_EARLY = 64, DTLS_ADDRESSES = 256 };

/* How a link went down: of several ends that wait in one event, the last one of these counts. */
enum dtls_end {
	DTLS_END_CLOSED, /* it may begin again */
	DTLS_END_FAILED,
	DTLS_END_REFUSED, /* by the peer, who has its keys */
};

struct dtls_pair {
	struct list all;     /* in dtls_table.all */
	struct list chain;   /* of the hash */
	struct list writing; /* in dtls_table.writing: it has datagrams to send */
	struct list waiting; /* in dtls_table.waiting: for room in the worker's queue */
	struct list begins;  /* in dtls_table.beginning: p->next is in a handshake */
	struct list events;  /* in dtls_table.events */
	struct timer timer;  /* in dtls_table.timers: its next deadline, or earlier */
	struct dtls *room;
	struct dtls_share *share; /* of the peer */
	void *kept;               /* dtls_keep() */
	bool guest;               /* the peer has begun the link: in dtls_share.links */
	bool counted, theirs;     /* in dtls_table.handshakes, and in dtls_share.handshakes */
	uint64_t theirs_us;       /* since when */
	struct dtls_flow flow;
	struct dtls_link *now;  /* seals; NULL: not up yet */
	struct dtls_link *next; /* handshakes, or is up and takes over with its first record */
	struct dtls_link *old;  /* opens records that are still on their way */
	uint64_t old_until_us, retry_us;
	uint64_t hint_us;  /* the next HelloRequest is believed from then on */
	bool hinted;       /* p->next was begun because of one */
	bool renews;       /* p->next was begun by dtls_renew(): its end is an event */
	uint64_t heard_us; /* last authentic record */
	uint64_t proof_us; /* the next proof for a record that does not open leaves then */
	uint64_t gone_us;  /* first ICMP message since then that the peer's port is closed */
	bool up, down;     /* events that were not fetched yet */
	enum dtls_end end; /* of the second one */
	/* A sealed alert that arrived while the thread had the handshake whose keys open it. */
	uint8_t early[DTLS_EARLY];
	size_t early_len;
	char reason[DTLS_REASON];
};

/* Links and handshakes that peers at an address, or in a network of IPv6, have begun; by hash. */
struct dtls_share {
	unsigned links, handshakes;
	uint64_t paid_us; /* as in struct dtls, of their rate */
};

struct dtls_table {
	uint64_t key[2];
	unsigned nbuckets, n, guests; /* guests: that peers have begun */
	unsigned handshakes, theirs;  /* of p->next that go on; of these, that peers have begun */
	struct dtls_share share[DTLS_ADDRESSES];
	struct list all;
	struct list *bucket;
	struct list writing, waiting, beginning, events;
	struct timers timers;
	void (*dropped)(void *user, void *kept); /* as in dtls_config */
	void *user;
};

/* -ENOMEM. */
int dtls_table_init(struct dtls_table *t, unsigned max, const uint64_t key[2]);
void dtls_table_deinit(struct dtls_table *t);

/* NULL: there is none. */
struct dtls_pair *dtls_table_find(const struct dtls_table *t, const struct dtls_flow *flow);
struct dtls_share *dtls_table_share(struct dtls_table *t, const struct dtls_flow *flow);
/* Whether p->next is in a handshake now, and whether the peer has begun it, or its link. */
void dtls_table_count(struct dtls_table *t, struct dtls_pair *p, bool counted, bool theirs,
		      uint64_t now_us);
/* Whose handshake has to give way to one of a peer that goes on with so many: the oldest of the
 * peer with the most, if these are two more, or if it is older than a second and its link is not
 * up. One of a link that is up goes after the others; none that was begun here, nor of a link that
 * was. NULL: there is none. */
struct dtls_pair *dtls_table_evictable(const struct dtls_table *t, unsigned others,
				       uint64_t now_us);

/* NULL: no memory. fire: when its timer has passed. */
struct dtls_pair *dtls_table_add(struct dtls_table *t, const struct dtls_flow *flow, bool guest,
				 void (*fire)(struct timer *t));
/* Frees it with its connections. */
void dtls_table_remove(struct dtls_table *t, struct dtls_pair *p);

/* Frees a connection and forgets it. */
void dtls_pair_drop(struct dtls_link **l);

#endif
