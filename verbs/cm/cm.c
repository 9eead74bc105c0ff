/* SPDX-License-Identifier: BSD-2-Clause */
/* Ids of rdma_cm: their life, sessions and events. */
#include <errno.h>
#include <stdlib.h>

#include "verbs/base/addr.h"
#include "verbs/base/error.h"
#include "verbs/cm/cm_addr.h"
#include "verbs/cm/cm_datagram.h"
#include "verbs/cm/cm_event.h"
#include "verbs/cm/cm_listen.h"
#include "verbs/cm/cm_number.h"
#include "verbs/cm/cm_private.h"
#include "verbs/cm/cm_qp.h"
#include "verbs/cm/cm_sync.h"
#include "verbs/verbs/context.h"
#include "verbs/verbs/oob.h"
#include "verbs/verbs/qp.h"
#include "verbs/verbs/qp_attr.h"
#include "verbs/verbs/qp_rnr.h"

static void on_session_event(struct event_sink *sink, const struct ddp_cm_event *ev);
static void on_session_request(struct cm_id *listener, struct host *host,
			       struct ibv_context *context, const struct ddp_cm_event *ev);
static void on_lost_qp(struct session_end *e);

/* ---- ids ---- */

static int check_space(enum rdma_port_space ps)
{
	if (ps == RDMA_PS_UDP)
		return cm_datagram_check();
	if (ps == RDMA_PS_TCP || ps == RDMA_PS_IB)
		return 0;
	return error_probed("rdma_create_id",
			    "only RDMA_PS_TCP, RDMA_PS_UDP and RDMA_PS_IB are supported",
			    EOPNOTSUPP);
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **ret, void *context,
		   enum rdma_port_space ps)
{
	struct rdma_event_channel *own = NULL;
	struct cm_id *id;

	if (check_space(ps))
		return -1;
	if (!channel)
		own = rdma_create_event_channel();
	if (!channel && !own)
		return -1;
	id = cm_new(channel ? channel : own, context, ps);
	if (!id) {
		if (own)
			rdma_destroy_event_channel(own);
		return cm_fail(ENOMEM);
	}
	id->end.sink.event = on_session_event;
	id->on_request = on_session_request;
	id->end.lost_qp = on_lost_qp;
	if (cm_datagram_is(id))
		cm_datagram_begin(id);
	id->sync = id->own_channel = own != NULL;
	*ret = &id->ibv;
	return 0;
}

static void free_id(struct cm_id *id)
{
	if (id->own_channel)
		rdma_destroy_event_channel(id->channel);
	cm_free(id);
}

/* The session ends now; its queue pair may be destroyed later. One that had none may join another
 * id. */
static int leave_host(struct cm_id *id)
{
	int r;

	pthread_mutex_lock(&id->host->event_lock);
	if (id->end.qp && id->joined)
		ddp_disconnect(id->end.id);
	r = session_end_leave(&id->end);
	if (r == 0) {
		host_remove_watch(id->host, &id->watch);
		host_timer_stop(id->host, &id->timewait);
	}
	pthread_mutex_unlock(&id->host->event_lock);
	return r;
}

int rdma_destroy_id(struct rdma_cm_id *ibv)
{
	struct cm_id *id = cm_of(ibv);
	int r = 0;

	if (ibv->event)
		rdma_ack_cm_event(ibv->event);
	ibv->event = NULL;
	cm_listen_release(id);
	if (id->host)
		r = leave_host(id);
	if (r == 0)
		cm_listen_end(id);
	if (r)
		return cm_fail(error_of_call("rdma_destroy_id", r));
	cm_number_drop(id);
	cm_event_forget(id);
	free_id(id);
	return 0;
}

int rdma_migrate_id(struct rdma_cm_id *ibv, struct rdma_event_channel *channel)
{
	struct cm_id *id = cm_of(ibv);
	struct rdma_event_channel *old = id->own_channel ? id->channel : NULL;
	struct rdma_event_channel *to = channel ? channel : rdma_create_event_channel();

	if (!to)
		return -1;
	id->sync = id->own_channel = !channel;
	cm_event_migrate(id, to);
	if (old)
		rdma_destroy_event_channel(old);
	return 0;
}

/* ---- sessions ---- */

/* Programs without a preference set 0. */
static uint16_t read_depth(uint8_t wanted)
{
	return wanted == 0 || wanted > QP_READS ? DDP_READS_MAX : wanted;
}

static uint8_t read_depth8(uint16_t n)
{
	if (n == DDP_READS_NONE)
		return 0;
	return n < RDMA_MAX_RESP_RES ? (uint8_t)n : RDMA_MAX_RESP_RES;
}

static const struct rdma_conn_param no_param = {.private_data = NULL};

static int set_access(struct cm_id *id, const struct rdma_conn_param *conn)
{
	unsigned n = conn && conn->responder_resources != RDMA_MAX_RESP_RES
			     ? conn->responder_resources
			     : QP_READS;
	int r = qp_attr_set_resources(id->end.qp, n);

	id->resources = (uint8_t)n;
	id->depth = read_depth8(read_depth(conn ? conn->initiator_depth : 0));
	id->retry_count = conn ? conn->retry_count & 7 : 7;
	id->rnr_retry_count = conn ? conn->rnr_retry_count & 7 : 7;
	if (r == 0)
		r = qp_rnr_set_retry(id->end.qp, id->rnr_retry_count);
	return -r;
}

static void fill_param(const struct rdma_conn_param *from, struct ddp_conn_param *to)
{
	*to = (struct ddp_conn_param){
		.struct_size = sizeof(*to),
		.private_data = from->private_data,
		.private_len = from->private_data_len,
		.ird = read_depth(from->responder_resources),
		.ord = read_depth(from->initiator_depth),
	};
}

/* Announces this library to the peer. private: memory for that, in use as long as *to. */
static void add_announcement(const struct rdma_conn_param *from, enum cm_private what,
			     struct cm_private_data *private, struct ddp_conn_param *to)
{
	cm_private_make(private, what, from->private_data, from->private_data_len);
	to->private_data = private->bytes;
	to->private_len = private->len;
}

/* Puts the queue pair that the program says on the end of the id: ibv.qp or, if that is NULL, the
 * one that the parameters name. */
static int take_qp(struct cm_id *id, const struct rdma_conn_param *conn)
{
	struct ibv_qp *own = id->ibv.qp;
	struct qp *qp = own ? qp_of(own) : id->unseen;

	if (!qp)
		qp = oob_find(id->host, conn ? conn->qp_num : 0);
	if (!qp || context_of(qp->ibv.context)->host != id->host)
		return -EINVAL;
	id->by_number = !own;
	return oob_hand_over(qp, &id->end);
}

/* With event_lock. 0 or a negative errno value. */
static int connect_qp(struct cm_id *id, const struct rdma_conn_param *conn)
{
	struct sockaddr_storage local = id->src;
	struct cm_private_data private;
	struct ddp_conn_param param;
	int r = take_qp(id, conn);

	if (r == 0)
		r = set_access(id, conn);
	if (r)
		return r;
	fill_param(conn ? conn : &no_param, &param);
	add_announcement(conn ? conn : &no_param, CM_PRIVATE_REQUEST, &private, &param);
	param.flags = DDP_CONN_NEGOTIATE | DDP_CONN_RETRY_PLAIN;
	if (cm_addr_chosen(id)) {
		addr_set_port(&local, 0);
		param.local_addrs = &local;
		param.num_local_addrs = 1;
	}
	r = ddp_connect(id->end.id, (struct sockaddr *)&id->dst, &param);
	id->joined = r == 0;
	return r;
}

/* 0 or a negative errno value. */
static int connect_session(struct cm_id *id, const struct rdma_conn_param *conn)
{
	int r;

	if (cm_number_take(id, conn))
		return -errno;
	pthread_mutex_lock(&id->host->event_lock);
	r = connect_qp(id, conn);
	pthread_mutex_unlock(&id->host->event_lock);
	return r;
}

int rdma_connect(struct rdma_cm_id *ibv, struct rdma_conn_param *conn)
{
	struct cm_id *id = cm_of(ibv);
	int r;

	if (!id->host || id->passive)
		return cm_fail(EINVAL);
	cm_listen_release(id);
	r = cm_datagram_is(id) ? cm_datagram_connect(id, conn) : connect_session(id, conn);
	if (r)
		return cm_fail(error_of_call("rdma_connect", r));
	return cm_sync(id);
}

int rdma_listen(struct rdma_cm_id *ibv, int backlog)
{
	struct cm_id *id = cm_of(ibv);
	int r;

	if (cm_addr_any_host(id))
		return -1;
	cm_event_limit(id, backlog);
	r = cm_listen_start(id);
	if (r)
		return cm_fail(error_of_call("rdma_listen", r));
	id->listening = true;
	return 0;
}

/* The queue pair takes Sends, unless the session has ended already. Programs for InfiniBand change
 * the state of one that the parameters name themselves. The caller holds event_lock. */
static void begin_work(struct cm_id *id)
{
	struct qp *qp = id->end.qp;

	if (!qp || qp->state >= IBV_QPS_RTS)
		return;
	if (!id->by_number || qp_is_iwarp(qp))
		qp_set_state(qp, IBV_QPS_RTS);
}

/* With event_lock. 0 or a negative errno value. */
static int accept_qp(struct cm_id *id, const struct rdma_conn_param *conn)
{
	struct cm_private_data private;
	struct ddp_conn_param param;
	int r = take_qp(id, conn);

	if (r == 0)
		r = set_access(id, conn);
	if (r)
		return r;
	fill_param(conn ? conn : &no_param, &param);
	if (id->peer_verbs) {
		add_announcement(conn ? conn : &no_param, CM_PRIVATE_REPLY, &private, &param);
		qp_note(&id->end.qp->send_imm, true);
	}
	if (id->negotiated) {
		param.flags = DDP_CONN_NEGOTIATE;
		if (param.ord == DDP_READS_MAX || param.ord > id->peer_ird)
			param.ord = id->peer_ird ? id->peer_ird : DDP_READS_NONE;
	}
	r = ddp_accept(id->end.id, &param);
	id->joined = r == 0;
	if (r == 0)
		begin_work(id);
	return r;
}

/* 0 or a negative errno value. */
static int accept_session(struct cm_id *id, const struct rdma_conn_param *conn)
{
	int r;

	if (cm_number_take(id, conn))
		return -errno;
	pthread_mutex_lock(&id->host->event_lock);
	r = accept_qp(id, conn);
	pthread_mutex_unlock(&id->host->event_lock);
	return r;
}

int rdma_accept(struct rdma_cm_id *ibv, struct rdma_conn_param *conn)
{
	struct cm_id *id = cm_of(ibv);
	int r;

	if (!id->passive || id->answered)
		return cm_fail(EINVAL);
	r = cm_datagram_is(id) ? cm_datagram_accept(id, conn) : accept_session(id, conn);
	if (r)
		return cm_fail(error_of_call("rdma_accept", r));
	id->answered = true;
	return cm_datagram_is(id) ? 0 : cm_sync(id);
}

int rdma_reject(struct rdma_cm_id *ibv, const void *private_data, uint8_t len)
{
	struct cm_id *id = cm_of(ibv);
	const struct ddp_conn_param param = {
		.struct_size = sizeof(param),
		.private_data = private_data,
		.private_len = len,
	};
	int r;

	if (!id->passive || id->answered)
		return cm_fail(EINVAL);
	r = ddp_reject(id->end.id, &param);
	if (r)
		return cm_fail(error_of_call("rdma_reject", r));
	id->answered = true;
	return 0;
}

int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data, uint8_t len)
{
	return rdma_reject(id, private_data, len);
}

int rdma_establish(struct rdma_cm_id *ibv)
{
	(void)ibv; /* the daemon has done it */
	return 0;
}

int rdma_notify(struct rdma_cm_id *ibv, enum ibv_event_type event)
{
	(void)ibv, (void)event;
	return 0;
}

/* As in the kernel, the queue pair is then in ERR. */
static int disconnect(struct cm_id *id)
{
	int r;

	pthread_mutex_lock(&id->host->event_lock);
	r = ddp_disconnect(id->end.id);
	if (r == 0 && id->end.qp)
		qp_set_state(id->end.qp, IBV_QPS_ERR);
	pthread_mutex_unlock(&id->host->event_lock);
	return r;
}

/* Datagrams have no session that could end. */
static int disconnect_datagrams(struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	return id->qp && ibv_modify_qp(id->qp, &attr, IBV_QP_STATE) ? -1 : 0;
}

/* A session that has ended already is no fault. */
int rdma_disconnect(struct rdma_cm_id *ibv)
{
	struct cm_id *id = cm_of(ibv);
	int r;

	if (!id->host)
		return cm_fail(EINVAL);
	if (cm_datagram_is(id))
		return disconnect_datagrams(ibv);
	r = disconnect(id);
	if (r && r != -ENOTCONN)
		return cm_fail(error_of_call("rdma_disconnect", r));
	return r == 0 ? cm_sync(id) : 0;
}

/* ---- events ---- */

/* An event with the program's private data: len bytes. */
static void push_with(struct cm_id *id, struct cm_id *listener, enum rdma_cm_event_type type,
		      int status, const struct ddp_cm_event *from, size_t len)
{
	struct rdma_cm_event ev = {
		.id = &id->ibv,
		.listen_id = listener ? &listener->ibv : NULL,
		.event = type,
		.status = status,
	};

	if (from->conn_flags & DDP_CONN_NEGOTIATE) {
		ev.param.conn.responder_resources = read_depth8(from->peer_ord);
		ev.param.conn.initiator_depth = read_depth8(from->peer_ird);
	}
	error_event(ddp_event_str(from->type), from->reason);
	cm_event_push(&ev, from->private_data, len);
}

static void push(struct cm_id *id, struct cm_id *listener, enum rdma_cm_event_type type, int status,
		 const struct ddp_cm_event *from)
{
	push_with(id, listener, type, status, from, from->private_len);
}

static void on_session_request(struct cm_id *listener, struct host *host,
			       struct ibv_context *context, const struct ddp_cm_event *ev)
{
	const bool wanted = !cm_datagram_asks(ev) && cm_event_has_room(listener, &ev->peer);
	struct cm_id *id = wanted ? cm_new(NULL, listener->ibv.context, listener->ibv.ps) : NULL;
	size_t len = ev->private_len;

	if (!id) {
		host_drop_id(host, ev->id);
		return;
	}
	id->passive = true;
	id->end.sink.event = on_session_event;
	id->end.lost_qp = on_lost_qp;
	id->negotiated = ev->conn_flags & DDP_CONN_NEGOTIATE;
	id->peer_ird = ev->peer_ird;
	id->resources = id->negotiated ? read_depth8(ev->peer_ord) : QP_READS;
	cm_take_request(id, host, context, ev->id);
	cm_addr_of_request(id, ev);
	id->peer_verbs = cm_private_take(CM_PRIVATE_REQUEST, ev->private_data, &len);
	push_with(id, listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0, ev, len);
}

/* The responder that allows no Reads: see post.c. */
static void note_depth(struct cm_id *id, const struct ddp_cm_event *ev)
{
	struct qp *qp = id->end.qp;
	uint16_t ird = id->passive ? id->peer_ird : ev->peer_ird;
	bool known = id->passive ? id->negotiated : ev->conn_flags & DDP_CONN_NEGOTIATE;

	if (qp && known && (ird == 0 || ird == DDP_READS_NONE))
		qp_note(&qp->no_reads, true);
}

/* InfiniBand: the program that named the queue pair makes it ready before the session is. */
static bool program_answers(const struct cm_id *id)
{
	return id->by_number && !id->passive && id->end.qp && !qp_is_iwarp(id->end.qp);
}

static void on_established(struct cm_id *id, const struct ddp_cm_event *ev)
{
	size_t len = ev->private_len;

	id->established = true;
	note_depth(id, ev);
	if (cm_private_take(CM_PRIVATE_REPLY, ev->private_data, &len) && !id->passive && id->end.qp)
		qp_note(&id->end.qp->send_imm, true);
	begin_work(id);
	cm_addr_of_session(id);
	if (id->end.qp)
		cm_qp_note_session(id, id->end.qp);
	push_with(id, NULL,
		  program_answers(id) ? RDMA_CM_EVENT_CONNECT_RESPONSE : RDMA_CM_EVENT_ESTABLISHED,
		  0, ev, len);
}

static void end_work(struct cm_id *id, bool failed)
{
	struct qp *qp = id->end.qp;

	if (qp)
		qp_session_ended(qp, failed);
}

/* REJECTED has a reason of InfiniBand, 28: by the program; others have a negative errno value. */
static void on_error(struct cm_id *id, const struct ddp_cm_event *ev)
{
	enum rdma_cm_event_type type = RDMA_CM_EVENT_CONNECT_ERROR;

	if (ev->err == -ECONNREFUSED)
		type = RDMA_CM_EVENT_REJECTED;
	else if (ev->err == -ETIMEDOUT || ev->err == -EHOSTUNREACH || ev->err == -ENETUNREACH)
		type = RDMA_CM_EVENT_UNREACHABLE;
	end_work(id, true);
	push(id, NULL, type, ev->err, ev);
}

static void on_disconnected(struct cm_id *id, const struct ddp_cm_event *ev)
{
	end_work(id, ev->err != 0 || !id->established);
	if (!id->established) {
		push(id, NULL, RDMA_CM_EVENT_CONNECT_ERROR, ev->err ? ev->err : -ECONNRESET, ev);
		return;
	}
	error_event(ddp_event_str(ev->type), ev->reason);
	id->established = false;
	cm_event_ended(id, ev->private_data, ev->private_len);
}

/* The session ends with its queue pair. Programs that disconnect and destroy it at once wait for
 * the event, which may be there already. */
static void on_lost_qp(struct session_end *e)
{
	struct cm_id *id = CONTAINER(e, struct cm_id, end);

	host_hand_out(id->host);
	if (id->established && !id->sync)
		cm_event_ended(id, NULL, 0);
	id->established = false;
}

static void on_session_event(struct event_sink *sink, const struct ddp_cm_event *ev)
{
	struct cm_id *id = CONTAINER(sink, struct cm_id, end.sink);

	switch (ev->type) {
	case DDP_CM_CONNECT_REQUEST:
		on_session_request(id, id->host, id->context, ev);
		break;
	case DDP_CM_ESTABLISHED:
		on_established(id, ev);
		break;
	case DDP_CM_REJECTED:
		end_work(id, true);
		push(id, NULL, RDMA_CM_EVENT_REJECTED, 28, ev);
		break;
	case DDP_CM_CONNECT_ERROR:
		on_error(id, ev);
		break;
	case DDP_CM_REQUEST_GONE:
		push(id, NULL, RDMA_CM_EVENT_CONNECT_ERROR, -ECONNABORTED, ev);
		break;
	case DDP_CM_DISCONNECTED:
		on_disconnected(id, ev);
		break;
	default:
		break;
	}
}
