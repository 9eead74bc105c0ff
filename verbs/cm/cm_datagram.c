/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/cm/cm_datagram.h"

#include <arpa/inet.h>
#include <string.h>

#include "verbs/base/addr.h"
#include "verbs/base/error.h"
#include "verbs/cm/cm_addr.h"
#include "verbs/cm/cm_event.h"
#include "verbs/cm/cm_number.h"
#include "verbs/cm/cm_private.h"
#include "verbs/cm/cm_qp.h"
#include "verbs/verbs/context.h"

/* On the wire: before the tail of an answer. In network byte order. */
struct answer {
	uint32_t qp_num, qkey;
};

_Static_assert(sizeof(struct answer) == CM_PRIVATE_OWN, "no padding");
_Static_assert(offsetof(struct rdma_conn_param, private_data_len) ==
		       offsetof(struct rdma_ud_param, private_data_len),
	       "cm_event_push() sets the private data of both");

/* Status of UNREACHABLE, as InfiniBand has it; others are negative errno values. */
enum { UNSUPPORTED = 1, REFUSED = 2 };

enum { NUMBER_MAX = 0xffffff };

int cm_datagram_check(void)
{
	if (host_count() == 0 || host_at(0)->device.transport_type != IBV_TRANSPORT_IWARP)
		return 0;
	return error_probed("rdma_create_id",
			    "an iWARP device has no datagrams (RDMA_PS_UDP): use ddpverbs without "
			    "-i",
			    EOPNOTSUPP);
}

/* ---- the active id ---- */

static int ask_service(struct cm_id *id, const struct rdma_conn_param *conn)
{
	struct sockaddr_storage local = id->src;
	struct cm_private_data private;
	struct ddp_conn_param param = {.struct_size = sizeof(param)};
	int r;

	cm_private_make(&private, CM_PRIVATE_DATAGRAM_REQUEST, conn ? conn->private_data : NULL,
			conn ? conn->private_data_len : 0);
	param.private_data = private.bytes;
	param.private_len = private.len;
	if (cm_addr_chosen(id)) {
		addr_set_port(&local, 0);
		param.local_addrs = &local;
		param.num_local_addrs = 1;
	}
	r = ddp_connect(id->end.id, (struct sockaddr *)&id->dst, &param);
	id->joined = r == 0;
	return r;
}

/* A request is of a queue pair: of one that the program does not see. */
int cm_datagram_connect(struct cm_id *id, const struct rdma_conn_param *conn)
{
	int r;

	if (id->joined)
		return -EINVAL;
	if (cm_number_make(id))
		return -errno;
	pthread_mutex_lock(&id->host->event_lock);
	r = ask_service(id, conn);
	pthread_mutex_unlock(&id->host->event_lock);
	return r;
}

/* One event follows rdma_connect(). */
static void end_unreachable(struct cm_id *id, int status, const struct ddp_cm_event *from)
{
	const struct rdma_cm_event ev = {
		.id = &id->ibv, .event = RDMA_CM_EVENT_UNREACHABLE, .status = status};

	if (id->passive || id->answered)
		return;
	id->answered = true;
	error_event(ddp_event_str(from->type), from->reason);
	cm_event_push(&ev, from->private_data, from->private_len);
}

/* A peer may answer anything. */
static bool read_service_answer(const struct ddp_cm_event *from, size_t *ret_len,
				struct answer *ret)
{
	size_t len = from->private_len;

	if (!cm_private_take(CM_PRIVATE_DATAGRAM_REPLY, from->private_data, &len) ||
	    len < sizeof(*ret))
		return false;
	len -= sizeof(*ret);
	memcpy(ret, (const uint8_t *)from->private_data + len, sizeof(*ret));
	ret->qp_num = ntohl(ret->qp_num);
	ret->qkey = ntohl(ret->qkey);
	*ret_len = len;
	return ret->qp_num > 0 && ret->qp_num <= NUMBER_MAX;
}

static void on_service_answer(struct cm_id *id, const struct ddp_cm_event *from)
{
	struct rdma_cm_event ev = {.id = &id->ibv, .event = RDMA_CM_EVENT_ESTABLISHED};
	struct answer a;
	size_t len;

	if (!read_service_answer(from, &len, &a)) {
		end_unreachable(id, REFUSED, from);
		return;
	}
	id->answered = true;
	cm_qp_fill_handle(id, &ev.param.ud.ah_attr);
	ev.param.ud.qp_num = a.qp_num;
	ev.param.ud.qkey = a.qkey;
	cm_event_push(&ev, from->private_data, len);
}

/* ---- the passive id ---- */

bool cm_datagram_asks(const struct ddp_cm_event *ev)
{
	size_t len = ev->private_len;

	return cm_private_take(CM_PRIVATE_DATAGRAM_REQUEST, ev->private_data, &len);
}

static void on_datagram_event(struct event_sink *sink, const struct ddp_cm_event *ev);

static void on_datagram_request(struct cm_id *listener, struct host *host,
				struct ibv_context *context, const struct ddp_cm_event *from)
{
	const bool wanted = cm_datagram_asks(from) && cm_event_has_room(listener, &from->peer);
	struct cm_id *id = wanted ? cm_new(NULL, listener->ibv.context, listener->ibv.ps) : NULL;
	struct rdma_cm_event ev = {
		.listen_id = &listener->ibv,
		.event = RDMA_CM_EVENT_CONNECT_REQUEST,
	};

	if (!id) {
		host_drop_id(host, from->id);
		return;
	}
	id->passive = true;
	id->end.sink.event = on_datagram_event;
	cm_take_request(id, host, context, from->id);
	cm_addr_of_request(id, from);
	ev.id = &id->ibv;
	cm_event_push(&ev, from->private_data, from->private_len - CM_PRIVATE_TAIL);
}

int cm_datagram_accept(struct cm_id *id, const struct rdma_conn_param *conn)
{
	const uint32_t num = id->ibv.qp ? id->ibv.qp->qp_num : conn ? conn->qp_num : 0;
	const struct answer a = {htonl(num), htonl(RDMA_UDP_QKEY)};
	const size_t len = conn ? conn->private_data_len : 0;
	uint8_t bytes[CM_PRIVATE_MAX + CM_PRIVATE_OWN];
	struct cm_private_data private;
	struct ddp_conn_param param = {.struct_size = sizeof(param)};

	if (num == 0 || num > NUMBER_MAX)
		return -EINVAL;
	if (len > 0)
		memcpy(bytes, conn->private_data, len);
	memcpy(bytes + len, &a, sizeof(a));
	cm_private_make(&private, CM_PRIVATE_DATAGRAM_REPLY, bytes, len + sizeof(a));
	param.private_data = private.bytes;
	param.private_len = private.len;
	return ddp_reject(id->end.id, &param);
}

/* ---- events ---- */

/* A peer that begins a session knows no datagrams. */
static void on_datagram_event(struct event_sink *sink, const struct ddp_cm_event *ev)
{
	struct cm_id *id = CONTAINER(sink, struct cm_id, end.sink);

	switch (ev->type) {
	case DDP_CM_CONNECT_REQUEST:
		on_datagram_request(id, id->host, id->context, ev);
		break;
	case DDP_CM_REJECTED:
		on_service_answer(id, ev);
		break;
	case DDP_CM_ESTABLISHED:
		ddp_disconnect(id->end.id);
		end_unreachable(id, UNSUPPORTED, ev);
		break;
	case DDP_CM_CONNECT_ERROR:
	case DDP_CM_DISCONNECTED:
		end_unreachable(id, !ev->err || ev->err == -ECONNREFUSED ? UNSUPPORTED : ev->err,
				ev);
		break;
	default:
		break;
	}
}

void cm_datagram_begin(struct cm_id *id)
{
	id->end.sink.event = on_datagram_event;
	id->on_request = on_datagram_request;
}
