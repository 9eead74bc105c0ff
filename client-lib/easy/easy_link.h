/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * struct ddp_easy, and the data path of a connection: slots for messages, their completions, and
 * credits.
 *
 * A message has a header of 8 bytes in network byte order: 4 bytes kind, 4 bytes credits. A side
 * may send as many data messages as it has credits, at first `messages` of the peer's hello. The
 * peer returns a credit for each message that its program has taken: in the headers of its own
 * messages, and in a message of kind CREDITS as soon as it can return half of all credits. At most
 * two such messages can be in flight, because each carries half of the credits; for them each side
 * has EASY_CONTROL more receives than it has promised.
 */
#ifndef DDP_EASY_LINK_H
#define DDP_EASY_LINK_H

/* The library hides all functions that its public headers do not declare. */
#pragma GCC visibility push(default)
#include <ddp/ddp_easy.h>
#pragma GCC visibility pop

#include "client-lib/easy/easy_hub.h"

enum {
	EASY_HEADER = 8,
	EASY_CONTROL = 4, /* slots for messages of kind CREDITS, each way */
	EASY_SENDS = 16,  /* slots for data */
	EASY_RDMA = 16,   /* Writes and Reads at a time: the default of max_ord and max_ird */
};

enum easy_kind { EASY_DATA = 1, EASY_CREDITS = 2 };
enum easy_state { EASY_NEW, EASY_LISTENING, EASY_CONNECTING, EASY_CONNECTED, EASY_BROKEN };

struct easy_arrived {
	uint32_t slot, length;
};

struct ddp_easy {
	struct easy_error error;
	struct easy_hub *hub;
	struct easy_end end;
	enum easy_state state;
	int broken; /* BROKEN: the error of every further call, and its sentence: */
	char broken_text[sizeof(((struct easy_error *)0)->text)];
	struct easy_hello mine, peer;
	unsigned listen_flags;
	uint32_t longest; /* message of this connection */

	struct ddp_cq *cq;
	struct ddp_qp *qp;
	struct ddp_mr *mr; /* slots: receives, then sends */
	size_t slot_size;
	uint32_t receives;
	struct easy_arrived *arrived; /* a ring of `receives` messages for the program */
	uint32_t arrived_first, arrived_count;
	uint32_t credits;    /* messages that the peer has room for */
	uint32_t to_return;  /* credits to return to the peer */
	uint32_t idle_sends; /* bits of slots: SENDS for data, then CONTROL */
	uint32_t rdma;       /* Writes and Reads in flight */
	int rdma_err;        /* of one that failed on this side */
	bool flushed;        /* the session has ended; its event has the reason */
	uint64_t taken;      /* completions so far */

	/* Of a listener. */
	struct ddp_easy *pending; /* accepted, not established yet */
	int epoll;                /* of the context's descriptor, end.bell and again */
	int again;                /* a timer, while there is no daemon */
};

/* Makes the queues and slots of a connection whose end has an id. */
int easy_link_make(struct ddp_easy *e);
void easy_link_free(struct ddp_easy *e);

/* Checks the peer's hello; the connection can then be used. */
int easy_link_start(struct ddp_easy *e, const uint8_t *hello, size_t len);

/* Ends the connection with this error, unless it has ended already. Sets the sentence, and returns
 * the error. */
int easy_link_break(struct ddp_easy *e, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns 0 if the connection is established, else the error with its sentence. */
int easy_link_check(struct ddp_easy *e);

/* Takes the completions that are waiting. Returns 0, or the error with its sentence. */
int easy_link_look(struct ddp_easy *e);

/* Waits until holds(e). Returns 0; -ETIMEDOUT without a sentence; or the error with which the
 * connection ended, with its sentence. */
int easy_link_wait(struct ddp_easy *e, bool (*holds)(const struct ddp_easy *e), uint64_t deadline);

/* Posts a message whose bytes are in the slot, or a message of credits. */
int easy_link_send(struct ddp_easy *e, unsigned slot, enum easy_kind kind, size_t length);

/* Where the bytes of a send slot are. */
uint8_t *easy_link_send_at(struct ddp_easy *e, unsigned slot);

/* Returns the bytes of the oldest message for the program. easy_link_release() returns its slot and
 * its credit. */
const uint8_t *easy_link_message(struct ddp_easy *e, size_t *ret_length);
int easy_link_release(struct ddp_easy *e);

/* Posts a Write or a Read. */
int easy_link_rdma(struct ddp_easy *e, struct ddp_send_wr *wr);

#endif
