/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Session requests for a queue pair without rdma_cm, which wait until its program names the peer.
 * Any program and any peer may send one, so it is not known which is the peer's: several wait, and
 * none keeps the others out. The daemon has room for those of all queue pairs of a listener; the
 * daemon of a peer has 128 on the way at a time (asking.h).
 *
 * The caller of each function holds event_lock of the daemon, and rejects a request whose id it
 * gets and does not accept.
 */
#ifndef VERBS_OOB_REQUEST_H
#define VERBS_OOB_REQUEST_H

#include <ddp/ddp.h>
#include <infiniband/verbs.h>

enum { OOB_REQUESTS = 8 }; /* that wait for one queue pair */

struct oob_request {
	struct oob_request *next;
	struct ddp_id *id;
	uint32_t from; /* the number that the private data name */
	struct sockaddr_storage addr;
};

/*
 * Appends a request to the list, which has the oldest one first. If there are too many, one of the
 * address that has most of them gives way, the oldest: so the requests of one address never take
 * the place of another address. Returns the id of the one that gives way, or NULL; without memory
 * it is the new one.
 */
struct ddp_id *oob_request_add(struct oob_request **list, const struct ddp_cm_event *ev,
			       uint32_t from);

/* Each removes one from the list and returns its id, or NULL: the oldest one with this number and
 * address; the one with this id; the first one. */
struct ddp_id *oob_request_take(struct oob_request **list, uint32_t from,
				const struct sockaddr_storage *addr);
struct ddp_id *oob_request_forget(struct oob_request **list, const struct ddp_id *id);
struct ddp_id *oob_request_pop(struct oob_request **list);

#endif
