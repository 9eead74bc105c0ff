/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A queue pair: two rings of a client, the protocol's endpoint that processes them, and the session
 * that the endpoint is bound to. The wire side is proto/rdmap/rdmap; wr translates entries.
 */
#ifndef DAEMON_OBJECTS_QP_H
#define DAEMON_OBJECTS_QP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/base/outq.h"
#include "daemon/base/reply.h"
#include "daemon/objects/memory/agent.h"
#include "daemon/objects/client/async.h"
#include "daemon/objects/queues/cq.h"
#include "daemon/objects/client/rings.h"
#include "daemon/objects/client/scope.h"
#include "ipc/ring.h"
#include "proto/ddp/wire.h"
#include "util/list.h"
#include "util/timer.h"

struct client;
struct daemon;
struct association;
struct rdmap;
struct srq;

enum {
	QP_DEFAULT_READS = 16, /* ORD and IRD */
	QP_MAX_READS = 128,
};

/* Memory for messages that wait; all zero: none. */
struct qp_hold {
	void *mem;
	size_t size; /* mapped */
	uint32_t bytes, ms;
	struct acct_charge memory; /* while messages wait in it, and a while longer */
	struct acct_charge maps;
	struct timer idle; /* set while memory is charged */
};

enum qp_state { /* values of enum ddp_qp_state */
		QP_IDLE,
		QP_CONNECTING,
		QP_RTS,
		QP_CLOSING,
		QP_ERROR, /* the session is over: whatever is posted is flushed */
};

/* Events of a queue pair, each with a place for one that the client has not read. */
enum qp_event {
	QP_EVENT_BEGIN, /* established, rejected or failed */
	QP_EVENT_PATH,
	QP_EVENT_ERROR,
	QP_EVENT_HALF_CLOSED,
	QP_EVENT_END,
	QP_EVENTS,
};

/* What each request touches comes first: a daemon has many queue pairs, and the processor's cache
 * does not. */
struct qp {
	enum qp_state state;
	bool raw; /* DDP without RDMAP */
	uint8_t raw_queues;
	bool sig_all;
	uint32_t flush_pending; /* oldest entries of sq, to be flushed although the state is RTS */
	uint32_t num;           /* for people and completions: unique in the daemon */
	uint32_t max_send_sge, max_inline;
	struct association *assoc; /* while there is a session or one is tried */
	struct rdmap *ep;
	struct cq *send_cq;
	uint32_t taken_send, taken_recv; /* held by the endpoint; each has a completion reserved */
	struct ring sq, rq;              /* rq: all zero with an srq */
	struct cq *recv_cq;
	struct srq *srq; /* that receives come from, or NULL */
	struct client *client;
	struct qp_hold hold;
	uint32_t max_recv_sge;
	uint16_t sid;
	struct list posted; /* in client.posted */

	uint32_t handle;
	struct scope scope;                    /* of STags that only this endpoint may use */
	struct cq_waiter send_room, recv_room; /* linked while their queue has no room */
	uint16_t max_ord, max_ird;             /* maxima that it was created with */
	struct rings rings;
	uint64_t srq_taken; /* receives taken from the srq so far */

	uint32_t cookie;             /* of the client's connect or accept */
	bool any_local;              /* its program named no address of ours */
	struct list waiting;         /* in association.waiting: until the association is up */
	struct timer deadline;       /* set until the session is established */
	uint16_t peer_ird, peer_ord; /* the peer's values, or MSG_READS_UNCHANGED */
	bool enhanced;               /* the waiting Initiate is an enhanced one: enh */
	bool retry_plain;            /* if it is refused, try a plain one */
	uint8_t crossed;             /* associations that were shut down before the answer */
	struct wire_enh enh;
	uint16_t private_len;
	uint8_t *private_data; /* until the session is established; NULL: none */
	size_t ep_bytes;       /* of the endpoint */
	uint32_t ep_blocks;    /* that it may hold */
	struct acct_charge charge, memory, maps;
	struct agent_call call; /* to the agent of the client */
	uint32_t options;       /* set of MSG_QP_ */
	uint32_t withheld;      /* STAG_REMOTE_ rights that the peer does not have */
	bool no_reads; /* nor those to read, in this session: the program asked for depth 0 */
	struct async async;
	struct outq_place events[QP_EVENTS];
	unsigned places;   /* reserved for them */
	uint64_t since_ms; /* when the session was established */
	const char *order; /* why somebody else ended it, or NULL */
};

/* The contents of a session's event. Members that do not apply are 0 or NULL. */
struct session_event {
	int err;            /* errno value, 0: in order */
	const char *reason; /* a sentence */
	uint16_t term;
	const struct wire_term *blamed; /* with the headers of the faulty message */
	const struct wire_enh *enh;     /* the peer's parameters in an enhanced message */
	const void *private_data;
	size_t private_len;
	const struct msg_path *path;
};

/* Creates the rings, whose memfd goes with the reply, and the endpoint. 0 or a refusal that names
 * limit and value. */
int qp_create(struct client *c, const struct msg_create_qp *req, struct reply *rep);

/* Ends its session, if any, with a Terminate, and frees it. NULL is fine; returns NULL. */
struct qp *qp_free(struct qp *qp);

/* Begins a session with a peer: an event follows. 0 or a refusal. */
int qp_connect(struct qp *qp, const struct msg_connect *req, struct reply *rep);

/* Begins to end the session, after what its program has posted so far; an event follows if there
 * was one. */
void qp_disconnect(struct qp *qp);

/* Begins to end the session now, because the daemon stops: what waits in the send ring is flushed.
 */
void qp_stop(struct qp *qp);

/* The same, by order of somebody else, whom the reason names: its program gets ECONNABORTED. reason
 * stays the caller's and is static. */
void qp_terminate(struct qp *qp, const char *reason);

/* State, limits and addresses; those of a session are 0 without one. hdr is left alone. */
void qp_query(const struct qp *qp, struct msg_qp_state *ret);

/* What it carried so far. */
struct acct_traffic qp_traffic(const struct qp *qp);

/* The client rang: there is work, a receive that a message waits for, or room for completions. */
void qp_wake(struct qp *qp);

/* The association is up: sends the Initiate. */
void qp_initiate(struct qp *qp);

/* The same on another association to the same addresses: the one at hand is full. Within the same
 * time limit. */
void qp_initiate_elsewhere(struct qp *qp);

/* The same: the peer shut the association down while the Initiate was on its way. If that happens
 * time and again, the session fails. */
void qp_initiate_again(struct qp *qp);

/* The session is established: the peer accepted, or this side did. */
void qp_established(struct qp *qp, const struct session_event *event);

/* The session was not established. type: MSG_EV_FAILED or MSG_EV_REJECTED. */
void qp_failed(struct qp *qp, enum msg_event_type type, const struct session_event *event);

/* The peer's daemon refused the Initiate: tries again without enhancement if permitted, else
 * MSG_EV_FAILED. */
void qp_refused(struct qp *qp);

/* Raw: nothing is received any more. Posted work is flushed; one more message may be sent. */
void qp_error(struct qp *qp, const struct session_event *event);

/* Raw: the peer has ended its direction. */
void qp_half_closed(struct qp *qp);

/* A path of the session's association changed: an event, in which the last change counts. reason: a
 * sentence. */
void qp_path(struct qp *qp, const struct msg_path *path, const char *reason);

/* The session is over. */
void qp_closed(struct qp *qp, const struct session_event *event);

/* Leaves association and stream at once, without an event. */
void qp_abandon(struct qp *qp);

/* The deadline of a connect has passed: fires for qp.deadline. */
void qp_time_out(struct timer *t);

/* "idle", "connecting", "rts", "closing", "error" */
const char *qp_state_str(enum qp_state s);

#endif
