/* SPDX-License-Identifier: BSD-2-Clause */
/* Ids of rdma_cm. */
#ifndef VERBS_CM_ID_H
#define VERBS_CM_ID_H

#include <ddp/ddp.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdlib.h>

#include "verbs/base/host_timer.h"
#include "verbs/cm/cm_event.h"
#include "verbs/verbs/session_end.h"

struct cm_also;
struct cm_event;
struct cm_id;

/* The receiver of session requests. listener: the id of the program; host: the daemon of the
 * request; context: context_of_cm(host). */
typedef void (*cm_listen_request)(struct cm_id *listener, struct host *host,
				  struct ibv_context *context, const struct ddp_cm_event *ev);

/* The rsockets of librdmacm read members of its ids after the public ones: a pointer to a device,
 * which begins with the length of queues, and whether they may wait for events. */
struct cm_rsocket {
	const uint32_t *device;
	uint64_t members[31]; /* not 0 */
};

struct cm_id {
	struct rdma_cm_id ibv;              /* first */
	struct cm_rsocket rsocket;          /* second */
	struct rdma_event_channel *channel; /* guarded as the queues are: see cm_event.c */
	struct host_watch watch;            /* of the daemon, while there is a host */
	struct host_timer timewait;
	struct host *host;           /* NULL: no device was chosen yet */
	struct ibv_context *context; /* that of ids of rdma_cm, of host */
	/* The queue pair is that of ibv.qp or of a number, as the program had it when it connected
	 * or accepted. */
	struct session_end end;
	struct sockaddr_storage src, dst; /* cm_addr_publish() copies them to ibv.route */
	struct ddp_id *reserved;          /* holds a port that the daemon chose; NULL: none */
	bool bound;                       /* by the program, to an address or a port */
	bool reuses;      /* RDMA_OPTION_ID_REUSEADDR: it does not reserve its port */
	bool sync;        /* calls wait for their event */
	bool own_channel; /* made with the id */
	bool has_source;  /* the program chose the local address */
	bool family_only; /* a wildcard listens at addresses of its family only */
	bool passive, listening, established, answered;
	bool has_init;                /* a listener of rdma_create_ep(): QPs of its requests */
	struct ibv_qp_init_attr init; /* have these attributes */
	bool negotiated;              /* the request has Read depths */
	bool peer_verbs;              /* the peer uses this library: see cm_private.h */
	uint16_t peer_ird;
	uint8_t resources; /* for incoming Reads: of the request, then of connect or accept */
	uint8_t depth;     /* of outgoing Reads, as resources */
	uint8_t retry_count, rnr_retry_count, ack_timeout; /* for ibv_query_qp() */
	struct ibv_sa_path_rec path;
	struct cm_also *also; /* listeners besides `end`: see cm_listen.h */
	cm_listen_request on_request;
	bool joined;            /* a session was asked for; guarded by event_lock */
	bool by_number;         /* the queue pair is the one that struct rdma_conn_param named */
	struct qp *unseen;      /* see cm_number.h; NULL: none */
	unsigned backlog;       /* see cm_event_limit(); guarded as the queues are */
	unsigned unacked;       /* events that the program holds; guarded as the queues are */
	struct cm_event *spare; /* cm_event_reserve() made them; guarded as the queues are */
	unsigned num_spare;
};

static inline struct cm_id *cm_of(struct rdma_cm_id *id)
{
	return (struct cm_id *)id;
}

/* The convention of rdma_cm: -1 with errno. */
static inline int cm_fail(int err)
{
	errno = err;
	return -1;
}

/* Makes an id without a device. NULL with errno. */
struct cm_id *cm_new(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps);

/* Frees one that nobody uses. */
static inline void cm_free(struct cm_id *id)
{
	cm_event_unreserve(id);
	free(id);
}

/* Gives the id the device of this daemon. 0, or -1 with errno. */
int cm_take_host(struct cm_id *id, struct host *h);

/* Gives the new id of a session request the request and the device. context: context_of_cm(h), of
 * the listener. The caller has event_lock. */
void cm_take_request(struct cm_id *id, struct host *h, struct ibv_context *context,
		     struct ddp_id *request);

#endif
