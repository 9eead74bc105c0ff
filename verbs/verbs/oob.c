/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/oob.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/base/addr.h"
#include "verbs/base/error.h"
#include "verbs/verbs/context.h"
#include "verbs/verbs/oob_request.h"
#include "verbs/verbs/own_peer.h"
#include "verbs/verbs/qp_rnr.h"

/*
 * A number is the SCTP port of a listener of this process and a place among its queue pairs. The
 * queue pair with the smaller address and number connects, with both numbers as private data; the
 * request waits, and so do those of others, until the other one is ready to receive. One that is
 * connected to itself has a peer of its own that connects.
 */

enum {
	PLACES = 256,
	MOST = PLACES * 3 / 4, /* queue pairs of a port at a time */
	CONNECT_MS = 600000,   /* the most that a daemon grants */
	MAGIC = 0x64647671,    /* "ddvq" */
	/* One address may have a quarter: all that wait, and some that give way now. */
	BACKLOG = 4 * PLACES * OOB_REQUESTS,
};

struct oob_port {
	struct event_sink sink; /* of listener */
	struct host *host;
	struct ddp_id *listener;
	uint16_t port;
	struct qp *place[PLACES];
	unsigned used;  /* MOST at most */
	unsigned first; /* to be tried for the next queue pair */
	struct oob_port *next;
};

/* The private data of a request. In network byte order. */
struct oob_hello {
	uint32_t magic, from, to;
};

/* ---- numbers ---- */

/* In turns, and MOST of them at a time: a request for a queue pair that is gone may still arrive,
 * and is not for one of the next. */
static unsigned free_place(const struct oob_port *p)
{
	unsigned i = p->first;

	while (p->place[i])
		i = (i + 1) % PLACES;
	return i;
}

static void on_oob_request(struct event_sink *sink, const struct ddp_cm_event *ev);

/* The daemon has ended, and no queue pair is left. */
static void end_ports(struct host *h)
{
	struct oob_port *p;

	while ((p = h->ports)) {
		h->ports = p->next;
		ddp_destroy_id(p->listener);
		free(p);
	}
}

static struct oob_port *open_port(struct host *h)
{
	struct oob_port *p = calloc(1, sizeof(*p));
	struct ddp_id_attr attr = DDP_INIT(ddp_id_attr);

	if (!p)
		return NULL;
	p->host = h;
	p->sink.event = on_oob_request;
	if (ddp_create_id(host_ddp(h), &p->sink, &p->listener))
		goto fail;
	if (ddp_listen(p->listener, NULL, 0, BACKLOG) || ddp_query_id(p->listener, &attr)) {
		ddp_destroy_id(p->listener);
		goto fail;
	}
	p->port = attr.port;
	p->next = h->ports;
	h->ports = p;
	h->end_ports = end_ports;
	return p;
fail:
	free(p);
	return NULL;
}

static struct oob_port *port_with_room(struct host *h)
{
	struct oob_port *p = h->ports;

	while (p && p->used == MOST)
		p = p->next;
	return p ? p : open_port(h);
}

static void on_session(struct event_sink *sink, const struct ddp_cm_event *ev);

/* Without a listener the queue pair keeps the number of libddpclient, and cannot be connected. */
void oob_adopt(struct qp *qp)
{
	struct host *h = context_of(qp->ibv.context)->host;
	struct oob_port *p;

	if (host_start_events(h))
		return;
	pthread_mutex_lock(&h->event_lock);
	qp->own.sink.event = on_session;
	ddp_id_set_user(qp->own.id, &qp->own.sink);
	p = port_with_room(h);
	if (p) {
		unsigned i = free_place(p);
		uint32_t num = (uint32_t)p->port << 8 | i;

		if (qp_num_set(&h->numbers, qp->num, num) == 0) {
			p->place[i] = qp;
			p->used++;
			p->first = (i + 1) % PLACES;
			qp->ibv.qp_num = qp->num = num;
			qp->port = p;
		}
	}
	pthread_mutex_unlock(&h->event_lock);
}

static struct host *host_of_qp(const struct qp *qp)
{
	return context_of(qp->ibv.context)->host;
}

/* Rejects those that wait. */
static void drop_requests(struct qp *qp)
{
	struct ddp_id *id;

	while ((id = oob_request_pop(&qp->requests)))
		host_drop_id(host_of_qp(qp), id);
}

static void drop_own_peer(struct qp *qp)
{
	if (qp->own_peer)
		qp_num_clear(&host_of_qp(qp)->numbers, ddp_qp_num(qp->own_peer->ddp));
	own_peer_close(qp);
}

void oob_abandon(struct qp *qp)
{
	drop_requests(qp);
	drop_own_peer(qp);
	if (!qp->port)
		return;
	qp->port->place[qp->num % PLACES] = NULL;
	qp->port->used--;
	qp_num_clear(&context_of(qp->ibv.context)->host->numbers, ddp_qp_num(qp->ddp));
}

struct qp *oob_find(const struct host *h, uint32_t num)
{
	const struct oob_port *p = h->ports;

	while (p && p->port != num >> 8)
		p = p->next;
	return p ? p->place[num % PLACES] : NULL;
}

int oob_hand_over(struct qp *qp, struct session_end *to)
{
	int r = session_end_take(to, qp);

	if (r)
		return r;
	drop_requests(qp);
	qp->cm = qp->joined = true;
	return 0;
}

/* ---- who connects ---- */

static union ibv_gid peer_gid(const struct qp *qp)
{
	const struct ibv_ah_attr *ah = &qp->attr.ah_attr;

	return ah->is_global ? ah->grh.dgid : gid_table_of_lid(&host_of_qp(qp)->gids, ah->dlid);
}

/* Of the address that the program chose. */
static unsigned own_index(const struct qp *qp)
{
	const struct ibv_ah_attr *ah = &qp->attr.ah_attr;

	return ah->is_global ? ah->grh.sgid_index : 0;
}

static union ibv_gid own_gid(const struct qp *qp)
{
	return host_of_qp(qp)->gids.gid[own_index(qp)];
}

/* Below 0: this one connects; 0: it is its own peer. */
static int order(const struct qp *qp)
{
	union ibv_gid own = own_gid(qp), peer = peer_gid(qp);
	int by_address = memcmp(own.raw, peer.raw, sizeof(own.raw));
	uint32_t num = qp->attr.dest_qp_num;

	return by_address ? by_address : (qp->num > num) - (qp->num < num);
}

static bool connects(const struct qp *qp)
{
	return order(qp) < 0;
}

/* From the address of the GID that the program chose; from any one if it is the first. Returns 0 or
 * a positive errno value. */
static int connect_id(const struct qp *qp, struct ddp_id *id)
{
	const struct oob_hello hello = {
		.magic = htonl(MAGIC),
		.from = htonl(qp->num),
		.to = htonl(qp->attr.dest_qp_num),
	};
	const struct gid_table *t = &host_of_qp(qp)->gids;
	const unsigned index = own_index(qp);
	union ibv_gid gid = peer_gid(qp);
	struct sockaddr_storage from, to;
	const struct ddp_conn_param param = {
		.struct_size = sizeof(param),
		.private_data = &hello,
		.private_len = sizeof(hello),
		.timeout_ms = CONNECT_MS,
		.flags = DDP_CONN_NEGOTIATE | DDP_CONN_RETRY_PLAIN,
		.local_addrs = &from,
		.num_local_addrs = index > 0 ? 1 : 0,
	};
	int r;

	gid_table_reach(t, index, &t->gid[index], 0, &from);
	gid_table_reach(t, index, &gid, (uint16_t)(qp->attr.dest_qp_num >> 8), &to);
	r = ddp_connect(id, (struct sockaddr *)&to, &param);
	return r ? error_of_call("ibv_modify_qp", r) : 0;
}

static int connect_qp(struct qp *qp)
{
	int r = connect_id(qp, qp->own.id);

	qp->joined = r == 0;
	return r;
}

/* The queue pair hears of the end of the session itself, but not that there never was one. */
static void on_own_peer(struct event_sink *sink, const struct ddp_cm_event *ev)
{
	const struct own_peer *p = CONTAINER(sink, struct own_peer, sink);

	if (ev->type == DDP_CM_REJECTED || ev->type == DDP_CM_CONNECT_ERROR)
		qp_session_ended(p->of, true);
}

/* The queue pair accepts what its own peer asks for. */
static int connect_to_itself(struct qp *qp)
{
	int r = own_peer_open(qp, on_own_peer);

	if (r)
		return error_of_call("ibv_modify_qp", r);
	r = qp_rnr_apply(qp);
	if (r == 0)
		r = connect_id(qp, qp->own_peer->id);
	if (r)
		drop_own_peer(qp);
	return r;
}

/* ---- requests ---- */

/* On this id. If that fails, the queue pair is where it was. */
static int accept_on(struct qp *qp, struct ddp_id *id)
{
	int r = ddp_move_qp(qp->ddp, id);

	if (r)
		return error_of_call("ibv_modify_qp", r);
	r = ddp_accept(id, NULL);
	if (r == 0)
		return 0;
	r = error_of_call("ibv_modify_qp", r);
	ddp_move_qp(qp->ddp, qp->own.id);
	return r;
}

/* The session's id takes the place of the one that the queue pair was made on. The peer of a
 * request that cannot be accepted is refused. */
static int accept_request(struct qp *qp, struct ddp_id *id)
{
	struct ddp_id *unused = qp->own.id;
	int r = accept_on(qp, id);

	qp->joined = r == 0;
	if (r == 0)
		qp->own.id = id;
	else
		unused = id;
	host_drop_id(host_of_qp(qp), unused);
	return r;
}

/* The queue pair that a request is for, if it expects one or may do so later. ret_from: the number
 * of the one that asks. */
static struct qp *wanted(const struct oob_port *p, const struct ddp_cm_event *ev,
			 uint32_t *ret_from)
{
	struct oob_hello hello;
	struct qp *qp;

	if (ev->private_len != sizeof(hello))
		return NULL;
	memcpy(&hello, ev->private_data, sizeof(hello));
	if (hello.magic != htonl(MAGIC) || ntohl(hello.to) >> 8 != p->port)
		return NULL;
	qp = p->place[ntohl(hello.to) % PLACES];
	if (!qp || qp->joined || qp_is_datagram(qp))
		return NULL;
	*ret_from = ntohl(hello.from);
	return qp;
}

/* The request of the peer that the program named, which waits no more; NULL: there is none. */
static struct ddp_id *take_named(struct qp *qp)
{
	union ibv_gid gid = peer_gid(qp);
	struct sockaddr_storage named;

	addr_of_gid(&gid, 0, &named);
	return oob_request_take(&qp->requests, qp->attr.dest_qp_num, &named);
}

/* Answers the requests that wait, once the program has named its peer. */
static int answer_requests(struct qp *qp)
{
	struct ddp_id *id;

	if (!qp->requests || qp->state < IBV_QPS_RTR || connects(qp))
		return 0;
	id = take_named(qp);
	drop_requests(qp);
	return id ? accept_request(qp, id) : 0;
}

static void on_oob_request(struct event_sink *sink, const struct ddp_cm_event *ev)
{
	struct oob_port *p = CONTAINER(sink, struct oob_port, sink);
	struct ddp_id *unwanted = ev->id;
	uint32_t from;
	struct qp *qp;

	if (ev->type != DDP_CM_CONNECT_REQUEST)
		return;
	qp = wanted(p, ev, &from);
	if (qp) {
		ddp_id_set_user(ev->id, &qp->own.sink);
		unwanted = oob_request_add(&qp->requests, ev, from);
	}
	if (unwanted)
		host_drop_id(p->host, unwanted);
	/* The program is in no call that could fail: its work fails, as if the peer had left. */
	if (qp && answer_requests(qp))
		qp_session_ended(qp, true);
}

static void drop_gone_request(struct qp *qp, const struct ddp_id *id)
{
	struct ddp_id *gone = oob_request_forget(&qp->requests, id);

	if (gone)
		host_drop_id(host_of_qp(qp), gone);
}

/* Events of the session, or of a request that waits. */
static void on_session(struct event_sink *sink, const struct ddp_cm_event *ev)
{
	struct qp *qp = CONTAINER(sink, struct qp, own.sink);

	switch (ev->type) {
	case DDP_CM_REQUEST_GONE:
		drop_gone_request(qp, ev->id);
		break;
	case DDP_CM_REJECTED:
	case DDP_CM_CONNECT_ERROR:
		qp_session_ended(qp, true);
		break;
	case DDP_CM_DISCONNECTED:
		qp_session_ended(qp, ev->err != 0);
		break;
	default:
		break;
	}
}

/* ---- states ---- */

/* A number without a port is of no peer: an iWARP device needs none for RTR, and for a session of
 * rdma_cm, that the program accepts later, rdma_init_qp_attr() knows none. */
static int become_ready(struct qp *qp)
{
	int r;

	if (qp->attr.dest_qp_num < PLACES)
		return 0;
	if (!qp->port)
		return error_unsupported("ibv_modify_qp",
					 "the daemon cannot listen for queue pairs without rdma_cm",
					 ENOMEM);
	qp_note(&qp->send_imm, true); /* no other library speaks this protocol */
	if (connects(qp)) {
		drop_requests(qp); /* its peer waits for ours: they are of others */
		return connect_qp(qp);
	}
	qp->state = IBV_QPS_RTR;
	r = order(qp) == 0 ? connect_to_itself(qp) : answer_requests(qp);
	if (r)
		qp->state = IBV_QPS_INIT;
	return r;
}

/* To idle: for another session. Requests that wait are not for that. */
static int become_idle(struct qp *qp)
{
	drop_requests(qp);
	qp->attr.dest_qp_num = 0;
	return qp->state == IBV_QPS_RESET ? 0 : qp_renew(qp);
}

int oob_modify(struct qp *qp, enum ibv_qp_state state)
{
	int r = 0;

	if (state == IBV_QPS_ERR || (state == IBV_QPS_RESET && qp->cm))
		qp_disconnect(qp);
	else if (qp->cm)
		r = 0; /* rdma_cm does the rest */
	else if (state == IBV_QPS_RESET)
		r = become_idle(qp);
	else if (state == IBV_QPS_RTR && qp->state == IBV_QPS_INIT && !qp_is_datagram(qp))
		r = become_ready(qp);
	else if (state == IBV_QPS_SQD && qp_is_iwarp(qp))
		qp_disconnect(qp);
	if (r == 0)
		qp_set_state(qp, state);
	return r;
}
