/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records over a session, memory for the data, and the reason of a failed copy. Functions return 0
 * or a negative errno value; the first failure leaves its text in `reason`, unless it was printed.
 */
#ifndef TOOLS_DDPCP_LINK_H
#define TOOLS_DDPCP_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/common/session.h"
#include "tools/ddpcp/ddpcp_proto.h"

struct ddpcp_link {
	struct session *s;
	struct ddp_mr *out; /* ddpcp_link_out() */
	struct ddp_mr *in;
	size_t touched;      /* bytes of `in` that have pages */
	uint64_t offered;    /* sum of ddpcp_room() of the files that were taken */
	struct ddp_mr *recs; /* DDPCP_RECVS to receive, then as many to send */
	/* received and not yet processed: slots in the order of arrival */
	struct {
		uint32_t slot, len;
	} fifo[DDPCP_RECVS];
	uint32_t first, count;
	uint32_t sends, sent; /* posted; completed */
	bool over;            /* a completion failed: `end` */
	struct ddp_wc end;
	uint16_t level;  /* that both ends have: ddpcp_hello_level() */
	bool peer_knows; /* the peer knows the result, or reported it itself */
	bool midway;     /* in the middle of a file: no record of another file can follow */
	char reason[DDPCP_TEXT_MAX + 1];
};

enum {
	DDPCP_LINK_SENDS = 160, /* entries of the send queue: data, records, and some room */
	DDPCP_WAIT_MS = 60000,  /* for the next record */
	/* for the result: the file is written to disk; for WINDOW and START: a part is summed up */
	DDPCP_LAST_MS = 600000,
};

/* The needs of the queue pair. */
extern const struct session_need ddpcp_link_need;

/* Memory and receives for a session with a queue pair. */
int ddpcp_link_init(struct ddpcp_link *l, struct session *s);

/* At least len bytes of memory in l->out, for this end to fill, and in l->in, for the peer, which
 * the next file uses again. Pages that are not used cost nothing: of l->in those up to
 * ddpcp_link_touch() are there, and the peer may write there. */
int ddpcp_link_out(struct ddpcp_link *l, size_t len);
int ddpcp_link_in(struct ddpcp_link *l, size_t len);
void ddpcp_link_touch(struct ddpcp_link *l, size_t len);

/* To be called before the next file: clears the reason. */
void ddpcp_link_next(struct ddpcp_link *l);

/* Writes to the peer's memory; the record that is sent next arrives after it. */
int ddpcp_link_write(struct ddpcp_link *l, const struct ddp_mr *mr, uint64_t off, uint32_t len,
		     uint64_t to, uint32_t stag);

/* Sends a record. Waits while DDPCP_RECVS of them are not complete. */
int ddpcp_link_send(struct ddpcp_link *l, const struct ddpcp_rec *rec);

/* Waits for a record of one of the kinds, a set of DDPCP_LINK_KIND(). A RESULT of DDPCP_FAILED
 * is the failure -EREMOTEIO with the peer's text. */
int ddpcp_link_recv(struct ddpcp_link *l, unsigned kinds, int timeout_ms, struct ddpcp_rec *ret);

#define DDPCP_LINK_KIND(kind) (1u << (kind))

/* Keeps the text of the first failure. Returns err. */
int ddpcp_link_fail(struct ddpcp_link *l, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Sends the result, unless the peer knows it: DDPCP_OK if reason is empty. */
int ddpcp_link_send_result(struct ddpcp_link *l);

/* Waits until all Sends and Writes are complete, so that the session can be ended. */
int ddpcp_link_flush(struct ddpcp_link *l);

/* Waits until the peer has ended the session. */
void ddpcp_link_linger(struct ddpcp_link *l);

#endif
