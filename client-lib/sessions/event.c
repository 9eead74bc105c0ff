/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/base/deadline.h"
#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "client-lib/sessions/path.h"
#include "ipc/conn.h"
#include "util/cleanup.h"

_Static_assert((int)DDP_CM_CONNECT_REQUEST == MSG_EV_REQUEST &&
		       (int)DDP_CM_ESTABLISHED == MSG_EV_ESTABLISHED &&
		       (int)DDP_CM_REJECTED == MSG_EV_REJECTED &&
		       (int)DDP_CM_CONNECT_ERROR == MSG_EV_FAILED &&
		       (int)DDP_CM_DISCONNECTED == MSG_EV_DISCONNECTED &&
		       (int)DDP_CM_REQUEST_GONE == MSG_EV_WITHDRAWN &&
		       (int)DDP_CM_ERROR == MSG_EV_ERROR &&
		       (int)DDP_CM_HALF_CLOSED == MSG_EV_HALF_CLOSED &&
		       (int)DDP_CM_SRQ_LIMIT == MSG_EV_SRQ_LIMIT && (int)DDP_CM_PATH == MSG_EV_PATH,
	       "events keep their numbers");
_Static_assert((int)DDP_READS_UNCHANGED == MSG_READS_UNCHANGED, "depths keep their numbers");

enum { E_NO_OBJECT = 1 }; /* the object of the event has been destroyed meanwhile */

/* The public event and the record that it points into. */
struct event {
	struct ddp_cm_event pub;
	struct msg_event rec;
};

static int protocol(const char *what)
{
	return reason_fail(-EPROTO, "ddp_get_cm_event: the daemon's event %s", what);
}

/* Receives one record. Returns 0, -EAGAIN if there is none, or another failure. */
static int receive_event(struct ddp_ctx *ctx, struct msg_event *rec)
{
	int fds[MSG_MAX_FDS];
	unsigned nfds = 0;
	size_t len;
	int r = conn_try_recv(ctx->event_fd, rec, sizeof(*rec), &len, fds, &nfds);

	if (r == CONN_E_AGAIN)
		return -EAGAIN;
	if (r == CONN_E_CLOSED)
		return reason_daemon_gone("ddp_get_cm_event");
	if (r < 0)
		return reason_errno(r, "ddp_get_cm_event", "event socket");
	for (unsigned i = 0; i < nfds; i++)
		cleanup_close(&fds[i]);
	if (r || nfds || len != sizeof(*rec) || rec->hdr.op != MSG_EVENT)
		return protocol("has the wrong size");
	if (rec->type < MSG_EV_REQUEST || rec->type > MSG_EV_PATH || rec->err < 0 ||
	    rec->err > 4095 || rec->private_len > MSG_PRIVATE_MAX || rec->header_len > MSG_TERM_MAX)
		return protocol("has values out of range");
	rec->reason[MSG_REASON_MAX - 1] = '\0';
	return 0;
}

/* The id of this session request, or NULL. The lock is held. */
static struct ddp_id *find_session_request(struct ddp_ctx *ctx, uint32_t request)
{
	struct ddp_id *id;
	uint32_t pos = 0;

	while ((id = idtab_next(&ctx->ids, &pos))) {
		if (id->kind == ID_REQUEST && id->handle == request)
			return id;
	}
	return NULL;
}

/* The id that the event is for; counts the event there. NULL if the id has been destroyed. */
static struct ddp_id *addressee(struct ddp_ctx *ctx, const struct msg_event *rec)
{
	struct ddp_id *id;

	pthread_mutex_lock(&ctx->lock);
	if (rec->type == MSG_EV_WITHDRAWN)
		id = find_session_request(ctx, rec->request);
	else
		id = idtab_get(&ctx->ids, rec->cookie);
	if (id)
		id->events++;
	/* If another thread accepts it at this moment, the daemon refuses. */
	if (id && rec->type == MSG_EV_WITHDRAWN)
		id->kind = ID_VOID;
	pthread_mutex_unlock(&ctx->lock);
	return id;
}

/* A session request gets a new id. Without memory for it the peer is refused, and the caller waits
 * for the next event: the request is one of many, and no failure of the call. */
static int new_session_request(struct ddp_ctx *ctx, struct event *ev)
{
	struct ddp_id *id = id_new(ctx, "ddp_get_cm_event", ev->pub.id->user);

	if (!id) {
		id_refuse(ctx, ev->rec.request);
		context_use(ctx, &ev->pub.id->events, -1);
		return E_NO_OBJECT;
	}
	pthread_mutex_lock(&ctx->lock);
	id->kind = ID_REQUEST;
	id->handle = ev->rec.request;
	id->enhanced = ev->pub.conn_flags & DDP_CONN_NEGOTIATE;
	id->peer_ird = ev->pub.peer_ird;
	id->events++;
	pthread_mutex_unlock(&ctx->lock);
	ev->pub.listener = ev->pub.id;
	ev->pub.id = id;
	return 0;
}

/* The event of an SRQ has no id. It carries the user pointer of the SRQ. */
static int srq_event(struct ddp_ctx *ctx, struct event *ev)
{
	struct ddp_srq *srq;

	pthread_mutex_lock(&ctx->lock);
	srq = idtab_get(&ctx->srqs, ev->rec.cookie);
	if (srq)
		ev->pub.srq_user = srq->user;
	pthread_mutex_unlock(&ctx->lock);
	return srq ? 0 : E_NO_OBJECT;
}

/* Fills in the public event, except its id. Returns 0 or -EPROTO. */
static int translate(struct event *ev)
{
	const struct msg_event *rec = &ev->rec;
	bool enhanced = rec->flags & MSG_CONN_NEGOTIATE;

	ev->pub = (struct ddp_cm_event){
		.type = (enum ddp_cm_event_type)rec->type,
		.err = -rec->err,
		.term = rec->term,
		.stream = rec->stream,
		.assoc = rec->assoc,
		.private_data = rec->private_data,
		.private_len = rec->private_len,
		.peer = rec->peer,
		.reason = rec->reason,
		.conn_flags = rec->flags,
		.peer_ird = enhanced ? rec->peer_ird : DDP_READS_UNCHANGED,
		.peer_ord = enhanced ? rec->peer_ord : DDP_READS_UNCHANGED,
		.header = rec->header,
		.header_len = rec->header_len,
		.segment_len = rec->seg_len,
	};
	if (rec->type == MSG_EV_PATH && path_read(&rec->path, &ev->pub.path))
		return protocol("has an invalid path");
	return 0;
}

/* Returns 0, -EPROTO, or E_NO_OBJECT. */
static int deliver_event(struct ddp_ctx *ctx, struct event *ev)
{
	int r = translate(ev);

	if (r)
		return r;
	if (ev->rec.type == MSG_EV_SRQ_LIMIT)
		return srq_event(ctx, ev);
	ev->pub.id = addressee(ctx, &ev->rec);
	if (!ev->pub.id)
		return E_NO_OBJECT;
	return ev->rec.type == MSG_EV_REQUEST ? new_session_request(ctx, ev) : 0;
}

/* Receives the next event whose object exists. Returns 0, -EAGAIN if there is none, or another
 * failure. */
static int next_live_event(struct ddp_ctx *ctx, struct event *ev)
{
	int r;

	pthread_mutex_lock(&ctx->events);
	do {
		r = receive_event(ctx, &ev->rec);
		if (r)
			break;
		r = deliver_event(ctx, ev);
	} while (r == E_NO_OBJECT);
	pthread_mutex_unlock(&ctx->events);
	return r;
}

int ddp_get_cm_event(struct ddp_ctx *ctx, struct ddp_cm_event **ret, int timeout_ms)
{
	uint64_t deadline = deadline_in(timeout_ms);
	struct event *ev;
	int r = context_here(ctx, "ddp_get_cm_event");

	if (r)
		return r;
	/* Allocated before receiving, so that a lack of memory loses no event. */
	ev = malloc(sizeof(*ev));
	if (!ev)
		return reason_fail(-ENOMEM, "ddp_get_cm_event: out of memory");
	while ((r = next_live_event(ctx, ev)) == -EAGAIN) {
		r = deadline_poll(ctx->event_fd, deadline, "ddp_get_cm_event");
		if (r)
			break;
	}
	if (r) {
		free(ev);
		return r;
	}
	*ret = &ev->pub;
	return 0;
}

void ddp_ack_cm_event(struct ddp_cm_event *pub)
{
	struct ddp_ctx *ctx;

	if (!pub)
		return;
	ctx = pub->id ? pub->id->ctx : NULL;
	if (ctx && *ctx->here) {
		pthread_mutex_lock(&ctx->lock);
		pub->id->events--;
		if (pub->listener)
			pub->listener->events--;
		pthread_mutex_unlock(&ctx->lock);
	}
	free((struct event *)pub);
}
