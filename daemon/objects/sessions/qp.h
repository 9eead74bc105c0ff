/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A queue pair: two rings of a client, the protocol's endpoint that processes them, and the session
 * that the endpoint is bound to. Each part has a header of its own.
 */
#ifndef DAEMON_OBJECTS_QP_H
#define DAEMON_OBJECTS_QP_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/reply.h"
#include "daemon/objects/client/rings.h"
#include "daemon/objects/client/scope.h"
#include "daemon/objects/memory/agent.h"
#include "daemon/objects/queues/cq.h"
#include "daemon/objects/sessions/qp_access.h"
#include "daemon/objects/sessions/qp_endpoint.h"
#include "daemon/objects/sessions/qp_events.h"
#include "daemon/objects/sessions/qp_hold.h"
#include "daemon/objects/sessions/qp_session.h"
#include "daemon/objects/sessions/qp_state.h"
#include "daemon/objects/sessions/wr.h"
#include "util/list.h"

struct association;
struct client;
struct connecting;
struct datagram;
struct rdmap;

enum {
	QP_DEFAULT_READS = 16, /* ORD and IRD */
	QP_MAX_READS = 128,
};

/* With which it was created. */
struct qp_attr {
	bool raw; /* DDP without RDMAP */
	uint8_t raw_queues;
	bool sig_all;
	uint16_t max_ord, max_ird;
	uint32_t max_send_sge, max_recv_sge, max_inline;
};

/* A queue pair without rings, which carries datagrams of others: sessions/carrier. It has
 * these in the place of events to a program. */
struct qp_carrier {
	void (*ready)(struct qp *qp); /* there may be something to send */
	void (*over)(struct qp *qp);  /* its session has ended, or was not established */
	uint32_t (*waiting)(const struct qp *qp); /* how many Sends it can give yet */
};

/* Members that each request touches are at the beginning: a daemon has many queue pairs, and the
 * processor's cache does not hold them all. */
struct qp {
	enum qp_state state;
	uint32_t num; /* for people and completions: unique in the daemon */
	struct qp_attr attr;
	uint16_t sid;
	uint32_t handle;
	struct association *assoc; /* while there is a session or one is tried */
	struct rdmap *ep;
	struct wr_queues wq;
	struct client *client;
	struct list posted; /* in client.bells.posted */
	struct qp_hold hold;
	struct scope scope;                    /* of STags that only this endpoint may use */
	struct cq_waiter send_room, recv_room; /* linked while their queue has no room */
	struct rings rings;                    /* memory of its own queues */
	struct qp_endpoint endpoint;           /* memory of ep */
	struct qp_session session;
	struct connecting *connecting;    /* NULL unless the state is QP_CONNECTING */
	const struct qp_carrier *carrier; /* of one that no program sees; else NULL */
	struct datagram *datagram; /* of a queue pair of datagrams, whose state is QP_IDLE until it
				      is QP_ERROR, and whose endpoint is never bound; else NULL */
	struct agent_call call;    /* to the agent of the client */
	struct qp_access access;
	struct qp_events events;
	uint32_t options; /* set of MSG_QP_ */
	struct acct_charge charge;
};

/* Creates the rings, whose memfd goes with the reply, and the endpoint. 0 or a refusal that names
 * limit and value. */
int qp_create(struct client *c, const struct msg_create_qp *req, struct msg_qp *ret,
	      struct reply *rep);

/* Ends its session, if any, with a Terminate, and frees it. NULL is fine; returns NULL. */
struct qp *qp_free(struct qp *qp);

/* Sets the Q_Key that datagrams must have. 0 or a refusal. */
int qp_set_qkey(struct qp *qp, const struct msg_qp_qkey *req, struct reply *rep);

/* Datagrams to the number of the second one reach the first one from now on; the second one ends as
 * by qp_disconnect(). 0 or a refusal. */
int qp_take_number(struct qp *qp, struct qp *from, struct reply *rep);

/* MSG_QP_ */
uint32_t qp_type(const struct qp *qp);

/* State, limits and addresses; those of a session are 0 without one. hdr is left alone. */
void qp_query(const struct qp *qp, struct msg_qp_state *ret);

/* Who the peer of its session is. */
void qp_query_peer(const struct qp *qp, struct msg_peer_facts *ret);

/* Messages and bytes that it has carried. */
struct acct_traffic qp_traffic(const struct qp *qp);

#endif
