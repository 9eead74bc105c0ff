/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/base/addrs.h"
#include "client-lib/base/attr.h"
#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "client-lib/context/request.h"
#include "util/addr.h"
#include "util/service_key.h"

struct ddp_id *id_new(struct ddp_ctx *ctx, const char *call, void *user)
{
	struct ddp_id *id = calloc(1, sizeof(*id));
	int r = -ENOMEM;

	if (id) {
		id->ctx = ctx;
		id->user = user;
		pthread_mutex_lock(&ctx->lock);
		r = idtab_add(&ctx->ids, id, &id->cookie);
		if (r == 0)
			ctx->uses++;
		pthread_mutex_unlock(&ctx->lock);
	}
	if (r == 0)
		return id;
	free(id);
	reason_fail(-ENOMEM, "%s: %s", call, r > 0 ? "all 65535 ids are in use" : "out of memory");
	return NULL;
}

int ddp_create_id(struct ddp_ctx *ctx, void *user, struct ddp_id **ret)
{
	int r = context_here(ctx, "ddp_create_id");
	struct ddp_id *id;

	if (r)
		return r;
	id = id_new(ctx, "ddp_create_id", user);
	if (!id)
		return -ENOMEM;
	*ret = id;
	return 0;
}

/* Removes the id from the table: no event finds it any more. */
static int remove_from_table(struct ddp_id *id)
{
	struct ddp_ctx *ctx = id->ctx;
	unsigned events;

	if (id->qp)
		return reason_fail(-EBUSY, "ddp_destroy_id: the id has QP %u", id->qp->num);
	pthread_mutex_lock(&ctx->lock);
	events = id->events;
	if (events == 0) {
		idtab_del(&ctx->ids, id->cookie);
		ctx->uses--;
	}
	pthread_mutex_unlock(&ctx->lock);
	if (events)
		return reason_fail(-EBUSY,
				   "ddp_destroy_id: %u events are not acknowledged: call "
				   "ddp_ack_cm_event() for each, then try again",
				   events);
	return 0;
}

int ddp_destroy_id(struct ddp_id *id)
{
	int r;

	if (!id)
		return 0;
	r = context_here(id->ctx, "ddp_destroy_id");
	if (r == 0)
		r = remove_from_table(id);
	if (r)
		return r;
	if (id->kind == ID_LISTENER)
		request_unlisten(id->ctx, "ddp_destroy_id", id->handle);
	else if (id->kind == ID_REQUEST)
		id_refuse(id->ctx, id->handle);
	free(id->asked);
	free(id);
	return 0;
}

void *ddp_id_user(const struct ddp_id *id)
{
	return id->user;
}

void ddp_id_set_user(struct ddp_id *id, void *user)
{
	id->user = user;
}

struct ddp_qp *ddp_id_qp(const struct ddp_id *id)
{
	return id->qp;
}

/* ---- queries ---- */

_Static_assert((int)DDP_SECURITY_NONE == MSG_SECURITY_NONE &&
		       (int)DDP_SECURITY_LOCAL == MSG_SECURITY_LOCAL &&
		       (int)DDP_SECURITY_DTLS == MSG_SECURITY_DTLS,
	       "as the daemon has it");

static void copy_peer(const struct msg_peer_facts *m, struct ddp_id_attr *ret)
{
	ret->security = (enum ddp_security)m->security;
	ret->proven = m->proven;
	ret->has_fingerprint = m->has_fingerprint;
	memcpy(ret->fingerprint, m->fingerprint, sizeof(ret->fingerprint));
	memcpy(ret->peer_name, m->name, sizeof(ret->peer_name));
	ret->peer_name[sizeof(ret->peer_name) - 1] = '\0';
}

static int query_request(struct ddp_id *id, struct ddp_id_attr *ret)
{
	struct msg_handle req = {.handle = id->handle};
	struct msg_request_state m = {.assoc = 0};
	int r = request_query_request(id->ctx, "ddp_query_id", &req, &m);

	if (r)
		return r;
	ret->local = m.local;
	ret->remote = m.remote;
	ret->assoc = m.assoc;
	ret->stream = m.stream;
	copy_peer(&m.peer, ret);
	return 0;
}

/* An older daemon does not say, and has no DTLS. */
static int query_peer(struct ddp_qp *qp, struct ddp_id_attr *ret)
{
	struct msg_peer m = {.peer = {.security = MSG_SECURITY_NONE}};
	int r = 0;

	if (qp->sq.ctx->minor >= IPC_MINOR_PEER)
		r = request_query_peer(qp->sq.ctx, "ddp_query_id", qp->handle, &m);
	if (r == 0)
		copy_peer(&m.peer, ret);
	return r;
}

static int query_session(struct ddp_id *id, struct ddp_id_attr *ret)
{
	struct msg_qp_state m;
	int r;

	if (!id->qp)
		return reason_fail(-ENOTCONN, "ddp_query_id: the id has no QP");
	r = qp_query(id->qp, "ddp_query_id", &m);
	if (r)
		return r;
	ret->local = m.local;
	ret->remote = m.remote;
	ret->assoc = m.assoc;
	ret->stream = m.stream;
	return query_peer(id->qp, ret);
}

int ddp_query_id(struct ddp_id *id, struct ddp_id_attr *attr)
{
	struct ddp_id_attr a = {0};
	int r = context_here(id->ctx, "ddp_query_id");

	if (r == 0)
		r = attr_check("ddp_query_id", attr);
	if (r)
		return r;
	switch (id_kind(id)) {
	case ID_LISTENER:
		a.local = id->at;
		a.port = id->port;
		a.service_key = id->key;
		break;
	case ID_REQUEST:
		r = query_request(id, &a);
		break;
	case ID_FRESH:
		r = query_session(id, &a);
		break;
	case ID_VOID:
		r = reason_fail(-ENOTCONN, "ddp_query_id: the session request is void");
		break;
	}
	if (r)
		return r;
	if (a.port == 0)
		a.port = addrs_port((const struct sockaddr *)&a.local);
	attr_write(attr, &a, sizeof(a));
	return 0;
}

/* ---- calls with addresses, private data and depths ---- */

_Static_assert((int)DDP_CONN_NEGOTIATE == MSG_CONN_NEGOTIATE &&
		       (int)DDP_CONN_PEER_TO_PEER == MSG_CONN_PEER_TO_PEER &&
		       (int)DDP_CONN_RTR_SEND == MSG_CONN_RTR_SEND &&
		       (int)DDP_CONN_RTR_WRITE == MSG_CONN_RTR_WRITE &&
		       (int)DDP_CONN_RTR_READ == MSG_CONN_RTR_READ &&
		       (int)DDP_CONN_RETRY_PLAIN == MSG_CONN_RETRY_PLAIN,
	       "flags keep their bits");

enum {
	RTR_FLAGS = DDP_CONN_RTR_SEND | DDP_CONN_RTR_WRITE | DDP_CONN_RTR_READ,
	CONNECT_FLAGS =
		DDP_CONN_NEGOTIATE | DDP_CONN_PEER_TO_PEER | RTR_FLAGS | DDP_CONN_RETRY_PLAIN,
	ENHANCED_PARAMS_LEN = 4, /* bytes before the private data of an enhanced message */
};

/* The private data of a message, behind the service key if there is one. */
static int copy_private(const char *call, uint8_t dst[MSG_PRIVATE_MAX], uint16_t *ret_len,
			const struct ddp_conn_param *p, bool enhanced)
{
	size_t key = p->service_key ? SERVICE_KEY_LEN : 0;
	size_t most = MSG_PRIVATE_MAX - key - (enhanced ? ENHANCED_PARAMS_LEN : 0);

	if (p->private_len > most)
		return reason_fail(-EINVAL, "%s: %zu bytes of private data: at most %zu%s%s", call,
				   p->private_len, most, enhanced ? " in an enhanced message" : "",
				   key ? " with a service key" : "");
	if (key)
		service_key_put(dst, p->service_key);
	if (p->private_len > 0)
		memcpy(dst + key, p->private_data, p->private_len);
	*ret_len = (uint16_t)(key + p->private_len);
	return 0;
}

static int check_conn_flags(const char *call, unsigned flags, unsigned known)
{
	if (flags & ~known)
		return reason_fail(-EINVAL, "%s: flags 0x%x: expected a subset of 0x%x", call,
				   flags, known);
	if (flags && !(flags & DDP_CONN_NEGOTIATE))
		return reason_fail(-EINVAL, "%s: flags 0x%x need DDP_CONN_NEGOTIATE", call, flags);
	if (flags & RTR_FLAGS && !(flags & DDP_CONN_PEER_TO_PEER))
		return reason_fail(-EINVAL, "%s: flags 0x%x need DDP_CONN_PEER_TO_PEER", call,
				   flags);
	return 0;
}

/* The caller's parameters, or none. */
static int read_param(const char *call, const struct ddp_conn_param *param, unsigned known,
		      struct ddp_conn_param *ret)
{
	int r;

	*ret = (struct ddp_conn_param){0};
	if (!param)
		return 0;
	r = attr_read(call, ret, sizeof(*ret), param);
	if (r)
		return r;
	if (ret->timeout_ms < 0)
		return reason_fail(-EINVAL, "%s: timeout_ms %d is negative", call, ret->timeout_ms);
	return check_conn_flags(call, ret->flags, known);
}

/* Parameters of accept and reject. They have no addresses: the answer uses the association of the
 * session request. */
static int read_answer(const char *call, const struct ddp_conn_param *param,
		       struct ddp_conn_param *ret)
{
	int r = read_param(call, param, DDP_CONN_NEGOTIATE, ret);

	if (r == 0 && (ret->num_peer_addrs || ret->num_local_addrs))
		return reason_fail(-EINVAL, "%s: addresses are for ddp_connect()", call);
	if (r == 0 && ret->service_key)
		return reason_fail(-EINVAL, "%s: a service key is for ddp_connect()", call);
	return r;
}

/* Translates a depth for the daemon. max is the value of DDP_READS_MAX. */
static uint16_t depth_for_daemon(uint16_t wish, uint16_t max)
{
	switch (wish) {
	case DDP_READS_MAX:
		return max;
	case DDP_READS_NONE:
		return 0;
	default:
		return wish;
	}
}

/* Translates the depths of *p for the daemon. DDP_READS_MAX becomes the depth of the QP, and for
 * ord at most what the peer accepts. */
static int map_depths(const char *call, struct ddp_qp *qp, uint16_t peer_ird,
		      struct ddp_conn_param *p)
{
	struct msg_qp_state m = {0};
	int r = 0;

	if (!(p->flags & DDP_CONN_NEGOTIATE)) {
		p->ird = p->ord = MSG_READS_UNCHANGED;
		return 0;
	}
	if (p->ird == DDP_READS_MAX || p->ord == DDP_READS_MAX)
		r = qp_query(qp, call, &m);
	if (r)
		return r;
	p->ird = depth_for_daemon(p->ird, m.max_ird);
	p->ord = depth_for_daemon(p->ord, m.max_ord < peer_ird ? m.max_ord : peer_ird);
	return 0;
}

/* Writes the addresses of both ends to the record. */
static int put_endpoint_addrs(const char *call, struct msg_connect *req,
			      const struct sockaddr *peer, const struct ddp_conn_param *p)
{
	struct addrs to = {.n = 0}, from = {.n = 0};
	uint16_t port = addrs_port(peer);
	int r = addrs_add(&to, call, "of the peer", port, peer);

	if (r == 0)
		r = addrs_add_list(&to, call, "of the peer", port, p->peer_addrs,
				   p->num_peer_addrs);
	if (r == 0)
		r = addrs_add_list(&from, call, "of this side", 0, p->local_addrs,
				   p->num_local_addrs);
	if (r)
		return r;
	req->npeers = (uint16_t)to.n;
	req->nlocals = (uint16_t)from.n;
	memcpy(req->peers, to.a, sizeof(req->peers));
	memcpy(req->locals, from.a, sizeof(req->locals));
	return 0;
}

static int connect_to(const char *call, struct ddp_id *id, const struct sockaddr *peer,
		      const struct ddp_conn_param *param)
{
	struct msg_connect req = {.cookie = id->cookie};
	struct ddp_conn_param p;
	int r = context_here(id->ctx, call);

	if (r)
		return r;
	if (id_kind(id) != ID_FRESH)
		return reason_fail(-EINVAL, "%s: the id is a listener or a session request", call);
	if (!id->qp)
		return reason_fail(-EINVAL, "%s: the id has no QP", call);
	r = read_param(call, param, CONNECT_FLAGS, &p);
	if (r == 0)
		r = copy_private(call, req.private_data, &req.private_len, &p,
				 p.flags & DDP_CONN_NEGOTIATE);
	if (r == 0)
		r = put_endpoint_addrs(call, &req, peer, &p);
	if (r == 0)
		r = map_depths(call, id->qp, UINT16_MAX, &p);
	if (r)
		return r;
	req.qp = id->qp->handle;
	req.timeout_ms = (uint32_t)p.timeout_ms;
	req.flags = (uint16_t)p.flags;
	req.ird = p.ird;
	req.ord = p.ord;
	return request_connect(id->ctx, call, &req);
}

int ddp_connect(struct ddp_id *id, const struct sockaddr *peer, const struct ddp_conn_param *param)
{
	return connect_to("ddp_connect", id, peer, param);
}

static int resolve_node(const char *node, struct addrinfo **ret)
{
	/* One socket type, so that each address is returned once. */
	struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
	int e = getaddrinfo(node, NULL, &hints, ret);
	int err = errno;

	if (e == 0)
		return 0;
	if (e == EAI_SYSTEM)
		return reason_errno(-err, "ddp_connect_name", node);
	return reason_fail(e == EAI_AGAIN    ? -EAGAIN
			   : e == EAI_MEMORY ? -ENOMEM
					     : -EADDRNOTAVAIL,
			   "ddp_connect_name: %s: %s", node, gai_strerror(e));
}

int ddp_connect_name(struct ddp_id *id, const char *node, uint16_t port,
		     const struct ddp_conn_param *param)
{
	struct addrinfo *list;
	int r = resolve_node(node, &list);

	if (r)
		return r;
	/* Tries the next address if this one fails at once. An event reports later failures. */
	for (const struct addrinfo *ai = list; ai; ai = ai->ai_next) {
		struct sockaddr_storage ss = {0};

		if (ai->ai_addrlen > sizeof(ss))
			continue;
		memcpy(&ss, ai->ai_addr, ai->ai_addrlen);
		addr_set_port(&ss, port);
		r = connect_to("ddp_connect_name", id, (struct sockaddr *)&ss, param);
		if (r == 0 || r == -EPIPE || r == -EPROTO)
			break;
	}
	freeaddrinfo(list);
	return r;
}

int ddp_accept(struct ddp_id *id, const struct ddp_conn_param *param)
{
	struct msg_accept req = {.cookie = id->cookie};
	struct ddp_conn_param p;
	int r = context_here(id->ctx, "ddp_accept");

	if (r)
		return r;
	if (id_kind(id) != ID_REQUEST)
		return reason_fail(-EINVAL, "ddp_accept: the id is not a pending session request");
	if (!id->qp)
		return reason_fail(-EINVAL, "ddp_accept: the id has no QP");
	r = read_answer("ddp_accept", param, &p);
	if (r == 0)
		r = copy_private("ddp_accept", req.private_data, &req.private_len, &p,
				 id->enhanced);
	if (r == 0)
		r = map_depths("ddp_accept", id->qp, id->peer_ird, &p);
	if (r)
		return r;
	req.request = id->handle;
	req.qp = id->qp->handle;
	req.flags = (uint16_t)p.flags;
	req.ird = p.ird;
	req.ord = p.ord;
	r = request_accept(id->ctx, "ddp_accept", &req);
	if (r == 0)
		id_set_kind(id, ID_FRESH);
	return r;
}

int ddp_reject(struct ddp_id *id, const struct ddp_conn_param *param)
{
	struct msg_reject req = {.request = id->handle};
	struct ddp_conn_param p;
	int r = context_here(id->ctx, "ddp_reject");

	if (r)
		return r;
	if (id_kind(id) != ID_REQUEST)
		return reason_fail(-EINVAL, "ddp_reject: the id is not a pending session request");
	r = read_answer("ddp_reject", param, &p);
	if (r == 0)
		r = copy_private("ddp_reject", req.private_data, &req.private_len, &p,
				 id->enhanced);
	if (r)
		return r;
	req.flags = (uint16_t)p.flags;
	req.ird = depth_for_daemon(p.ird, MSG_READS_UNCHANGED);
	req.ord = depth_for_daemon(p.ord, MSG_READS_UNCHANGED);
	r = request_reject(id->ctx, "ddp_reject", &req);
	if (r == 0)
		id_set_kind(id, ID_VOID);
	return r;
}

void id_refuse(struct ddp_ctx *ctx, uint32_t request)
{
	struct msg_reject req = {
		.request = request,
		.ird = MSG_READS_UNCHANGED,
		.ord = MSG_READS_UNCHANGED,
	};

	request_reject(ctx, "ddp_reject", &req);
}

int ddp_disconnect(struct ddp_id *id)
{
	if (!id->qp)
		return reason_fail(-ENOTCONN, "ddp_disconnect: the id has no QP");
	return request_disconnect(id->ctx, "ddp_disconnect", id->qp->handle);
}
