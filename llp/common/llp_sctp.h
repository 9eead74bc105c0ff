/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The common part of the transports `user` and `kernel`: the record of an association, its
 * deadline, local addresses, time. Private to user*.c and kernel*.c. The order of upcalls (struct
 * llp_sctp_ops, llp_sctp_dispatch()) and messages in fragments are here for `kernel` alone: below
 * `user`, the core in sctp/ does that.
 */
#ifndef LLP_LLP_SCTP_H
#define LLP_LLP_SCTP_H

#include <string.h>

#include "llp/common/llp.h"
#include "util/list.h"

enum {
	LLP_SCTP_MAX_CONNS = 16384,
	LLP_SCTP_MAX_MESSAGE = 131072, /* the longest that is assembled from fragments */
	LLP_SCTP_REASON = 232,         /* an address and a reason of the peer fit */
};

enum llp_sctp_state {
	LLP_SCTP_CONNECTING,
	LLP_SCTP_VERIFYING, /* up, but without its adaptation indication yet */
	LLP_SCTP_UP,
	LLP_SCTP_CLOSING, /* the owner asked for shutdown */
	LLP_SCTP_DOWN,
};

/* First member of a transport's record of an association. */
struct llp_sctp_conn {
	struct llp_conn base;
	struct list all;
	struct list ready;      /* in the transport's `ready`: an upcall may have to be made */
	struct list connecting; /* in the transport's `connecting`, in the order of deadlines */
	enum llp_sctp_state state;
	bool passive; /* accepted by a listener */
	bool acked;   /* an event reported that everything is acknowledged */
	bool ended;   /* `err` and `reason` are to be reported */
	int err;
	char reason[LLP_SCTP_REASON];
	uint16_t streams;
	bool part_whole; /* the message in `part` is complete and was returned */
	uint32_t max_message;
	uint32_t part_len;
	uint8_t *part;        /* a message in fragments; NULL: none */
	uint64_t deadline_ms; /* while connecting */
};

/* Functions of the transport. */
struct llp_sctp_ops {
	/* Reads the first events of an association that is not up: the state becomes UP if they
	 * have the right indication, or the association ends. Also called when it has ended. */
	void (*verify)(struct llp_sctp_conn *c);
	/* It is up: measures how many streams and which messages it takes. May end it. */
	void (*prepare)(struct llp_sctp_conn *c);
	/* The listener that accepted it, or NULL if that is closed. */
	struct llp_listener *(*listener)(const struct llp_sctp_conn *c);
	/* Makes the upcalls of an association that is up. */
	void (*serve)(struct llp_sctp_conn *c);
	/* Closes the socket, with an ABORT if the association still exists. The state is DOWN. */
	void (*release)(struct llp_sctp_conn *c);
};

/* First member of a transport. */
struct llp_sctp {
	struct llp base;
	const struct llp_sctp_ops *ops;
	struct llp_config cfg;
	struct sockaddr_storage addrs[LLP_MAX_OWN]; /* cfg.naddrs of them */
	bool dropped[LLP_MAX_OWN];                  /* of these: no association begins there */
	struct list conns, ready, connecting;
	unsigned nconns;
	struct llp_sctp_conn *current; /* whose upcall is running; NULL if it was freed there */
	bool ticked;
	uint64_t base_ms; /* the owner's time at the first tick; `now_ms` counts from there */
	uint64_t now_ms;
};

/* ---- the transport ---- */

/* 0; -EINVAL or -EAFNOSUPPORT, with a sentence. */
int llp_sctp_check_addr(const struct sockaddr_storage *a, char *ret_reason, size_t len);
int llp_sctp_check_config(const struct llp_config *cfg, char *ret_reason, size_t len);

/* Copies the configuration, limiting its buffer. */
void llp_sctp_init(struct llp_sctp *t, const struct llp_ops *base, const struct llp_sctp_ops *ops,
		   const struct llp_config *cfg, const struct llp_events *ev);

/* The owner's time; going back is ignored. */
void llp_sctp_set_time(struct llp_sctp *t, uint64_t now_ms);

/* Index of an address among the transport's that are not dropped, or -1. */
int llp_sctp_find_addr(const struct llp_sctp *t, const struct sockaddr_storage *a);

/* 0; -EADDRNOTAVAIL: one of them is not the transport's. */
int llp_sctp_check_addrs(const struct llp_sctp *t, const struct llp_addrs *at);

/* Index of the source address that the route to a peer uses, else of any address of the same
 * family, a loopback address last; -1: there is none. */
int llp_sctp_choose_addr(const struct llp_sctp *t, const struct sockaddr_storage *to);

/* ---- associations ---- */

/* Adds a record, which is all zero. */
void llp_sctp_add(struct llp_sctp *t, struct llp_sctp_conn *c);

/* Removes it from all lists; the caller frees it. */
void llp_sctp_remove(struct llp_sctp_conn *c);

/* Starts the deadline for its set-up. */
void llp_sctp_connecting(struct llp_sctp_conn *c);

/* Takes one association whose deadline has passed off the list; NULL: none. */
struct llp_sctp_conn *llp_sctp_expired(struct llp_sctp *t);

/* The owner's time in microseconds, as of the last tick. */
static inline uint64_t llp_sctp_now_us(const struct llp_sctp *t)
{
	return (t->base_ms + t->now_ms) * 1000;
}

/* When the next deadline passes, in the same time, or UINT64_MAX. */
uint64_t llp_sctp_expiry_us(const struct llp_sctp *t);

/* The next dispatch serves it. */
void llp_sctp_touch(struct llp_sctp_conn *c);

/* Records the end of an association for the next dispatch; only the first call counts. */
void llp_sctp_end(struct llp_sctp_conn *c, int err, const char *reason, ...)
	__attribute__((format(printf, 3, 4)));

/* Ends it after an ABORT of the peer. The text of a user-initiated abort begins `head` bytes into
 * the event, which has len bytes. */
void llp_sctp_end_aborted(struct llp_sctp_conn *c, const struct sockaddr_storage *peer,
			  unsigned cause, const void *event, size_t head, size_t len);

/* The peer's adaptation indication. */
void llp_sctp_indication(struct llp_sctp_conn *c, uint32_t got);

/* Makes the upcalls of associations that are ready. more: false once the rest has to wait for the
 * next call; NULL: always true. */
void llp_sctp_dispatch(struct llp_sctp *t, bool (*more)(const struct llp_sctp *t));

/* Within serve(): false if an upcall freed or ended the association. */
static inline bool llp_sctp_usable(const struct llp_sctp *t, const struct llp_sctp_conn *c)
{
	return t->current == c && c->state != LLP_SCTP_DOWN;
}

static inline struct llp_sctp *llp_sctp_of(const struct llp_sctp_conn *c)
{
	return (struct llp_sctp *)c->base.llp;
}

/* ---- messages ---- */

enum llp_sctp_pulled { LLP_SCTP_DATA, LLP_SCTP_EVENT, LLP_SCTP_NOTHING };

/* The checks of llp_send() before it looks for room. */
int llp_sctp_check_send(const struct llp_sctp_conn *c, const struct llp_msg *m);

/* Appends a fragment. DATA: the message is complete and in *ret until llp_sctp_drop_part(). EVENT:
 * not yet. NOTHING: the association has ended. */
enum llp_sctp_pulled llp_sctp_add_part(struct llp_sctp_conn *c, const uint8_t *p, uint32_t len,
				       bool last, struct span *ret);
void llp_sctp_drop_part(struct llp_sctp_conn *c);

/* Joins the spans of a message. */
static inline void llp_sctp_gather(uint8_t *to, const struct llp_msg *m)
{
	for (unsigned i = 0; i < m->n; i++) {
		memcpy(to, m->part[i].p, m->part[i].len);
		to += m->part[i].len;
	}
}

#endif
