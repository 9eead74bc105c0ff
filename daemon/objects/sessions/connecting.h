/* SPDX-License-Identifier: BSD-2-Clause */
/* The attempt of a queue pair to establish a session: it exists while the queue pair connects. */
#ifndef DAEMON_OBJECTS_CONNECTING_H
#define DAEMON_OBJECTS_CONNECTING_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/reply.h"
#include "proto/ddp/wire.h"
#include "util/list.h"
#include "util/timer.h"

struct qp;

struct connecting {
	struct qp *qp;
	struct list
		waiting; /* in association.waiting, or refused there: until it may ask (again) */
	bool asks;       /* its association counts it as unanswered */
	struct timer deadline; /* of the whole attempt */
	bool any_local;        /* the program named no local address */
	bool enhanced;         /* the Initiate carries enh (RFC 6581) */
	bool retry_plain;      /* after a refusal, try without enh */
	uint8_t crossed;       /* associations that the peer shut down before it answered */
	struct wire_enh enh;
	uint16_t private_len;
	uint8_t private_data[]; /* of the Initiate */
};

/* Sets qp->connecting, with the private data of the record. fire: for the deadline, which is not
 * set. 0 or a refusal. */
int connecting_make(struct qp *qp, const struct msg_connect *req, void (*fire)(struct timer *t),
		    struct reply *rep);

/* The session is established, or the attempt has ended: qp->connecting is NULL from now on. A queue
 * pair that does not connect is fine. */
void connecting_free(struct qp *qp);

/* The Initiate is sent. */
void connecting_ask(struct qp *qp);

/* Its answer is not awaited any more. */
void connecting_asked(struct qp *qp);

/* The peer refused it. True: it is tried again, or gets the event refused() of the association. */
bool connecting_refused(struct qp *qp);

/* True while the association is not up, or the peer has no room. */
bool connecting_waits(const struct qp *qp);

/* The queue pair that waits with this link. */
struct qp *connecting_qp(struct list *waiting);

#endif
