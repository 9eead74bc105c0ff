/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/carrier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/net/association.h"
#include "daemon/net/peers.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/datagrams/datagram.h"
#include "daemon/objects/datagrams/flight.h"
#include "daemon/objects/datagrams/numbers.h"
#include "daemon/objects/datagrams/outbox.h"
#include "daemon/objects/datagrams/reserved.h"
#include "daemon/objects/datagrams/wire_datagram.h"
#include "daemon/objects/memory/stags.h"
#include "daemon/objects/sessions/carrier_owner.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/objects/sessions/qp_connect.h"
#include "ipc/msg_addr.h"
#include "proto/rdmap/credit.h"
#include "util/undumped.h"

enum {
	SLOT = WIRE_DATAGRAM_HEAD + WQE_DATAGRAM_MAX,
	RECV_SLOTS = 32,
	SENDS = 64,       /* that the endpoint has at once */
	HOLD = 512 << 10, /* for segments that arrive out of order */
	HOLD_MS = 1000,
	IDLE_MS = 10000,
	PEER_IDLE_MS = 6 * IDLE_MS, /* of an accepted one: usually the peer ends it */
	AGAIN_MS = 200,             /* after a failure: datagrams are dropped meanwhile */
};

struct carrier {
	struct qp qp;
	struct carrier_owner *owner;
	bool sends;              /* else it was accepted */
	struct list link;        /* in a bucket of the owner */
	struct network *network; /* of the peer, which pays for an accepted one; else NULL */
	bool paid;
	struct msg_addr remote, local;
	struct stag_region region;
	uint8_t *mem; /* of the outbox, or slots for datagrams that arrive */
	struct acct_charge memory;
	struct outbox outbox;
	uint32_t head, tail; /* slots in use, of datagrams that arrive in order */
	uint32_t done, last; /* datagrams; at the last look */
	struct timer timer;
	bool ready; /* its session has begun once */
	bool over;
};

static struct worker *worker_of(const struct carrier *c)
{
	return c->qp.client->worker;
}

static struct carrier *carrier_of(struct qp *qp)
{
	return list_entry(qp, struct carrier, qp);
}

/* ---- the endpoint ---- */

static size_t offset_of(uint32_t i)
{
	return (size_t)(i % RECV_SLOTS) * SLOT;
}

/* The part that the endpoint may use. */
static size_t region_bytes(const struct carrier *c)
{
	return c->sends ? OUTBOX_BYTES : RECV_SLOTS * SLOT;
}

static size_t memory_bytes(const struct carrier *c)
{
	return c->sends ? outbox_memory() : RECV_SLOTS * SLOT;
}

static bool take_datagram(void *user, struct rdmap_wr *ret)
{
	struct carrier *c = carrier_of(user);
	const struct outbox_entry *e = c->sends ? outbox_take(&c->outbox) : NULL;

	if (!e)
		return false;
	ret->cookie = 0;
	ret->op = RDMAP_SEND;
	ret->flags = RDMAP_SIGNALED;
	ret->nsge = 1;
	ret->status = RDMAP_SUCCESS;
	ret->len = 0;
	ret->inv_stag = ret->rstag = 0;
	ret->rto = 0;
	ret->fetch = false;
	memset(ret->operand, 0, sizeof(ret->operand));
	ret->sge[0] = (struct sgl_elem){e->at, e->len, c->region.stag};
	return true;
}

static bool take_slot(void *user, struct rdmap_recv *ret)
{
	struct carrier *c = carrier_of(user);

	if (c->sends || c->tail - c->head == RECV_SLOTS)
		return false;
	*ret = (struct rdmap_recv){.nsge = 1,
				   .sge = {{offset_of(c->tail++), SLOT, c->region.stag}}};
	return true;
}

static uint32_t free_slots(void *user)
{
	const struct carrier *c = carrier_of(user);

	return c->sends ? 0 : RECV_SLOTS - (c->tail - c->head);
}

/* A peer may send anything. False: no queue pair has the datagram. */
static bool hand_over_datagram(struct carrier *c, uint8_t *p, uint32_t len)
{
	struct flight f;

	if (!wire_datagram_get(p, len, &f))
		return false;
	f.from = &c->remote;
	f.to = &c->local;
	return datagram_deliver(worker_of(c), &f);
}

/* The queue pair that sent it may be gone. */
static void count_drop(struct carrier *c, uint32_t from)
{
	struct datagram *d = numbers_find(worker_of(c), from);

	if (d)
		d->tx_dropped++;
}

static void complete_datagram(struct carrier *c, const struct rdmap_done *done)
{
	uint32_t from = outbox_done(&c->outbox);

	if (done->status != RDMAP_SUCCESS)
		count_drop(c, from);
}

static void complete_slot(struct carrier *c, const struct rdmap_done *done)
{
	uint8_t *p = c->mem + offset_of(c->head++);

	if (done->op == RDMAP_RECV && done->status == RDMAP_SUCCESS &&
	    (done->immediate || !hand_over_datagram(c, p, done->len)))
		network_lost_datagram(c->network);
}

static void complete(void *user, const struct rdmap_done *done)
{
	struct carrier *c = carrier_of(user);

	c->done++;
	if (c->sends)
		complete_datagram(c, done);
	else
		complete_slot(c, done);
}

static const struct rdmap_ops carrier_ops = {
	.take_send = take_datagram,
	.take_recv = take_slot,
	.recvs = free_slots,
	.complete = complete,
};

/* ---- life ---- */

static struct carrier *carrier_free(struct carrier *c)
{
	if (!c)
		return NULL;
	timer_cancel(&worker_of(c)->timers, &c->timer);
	list_del(&c->link);
	qp_abandon(&c->qp);
	if (c->region.stag)
		stags_remove(c->qp.client->daemon->stags, c->region.stag);
	qp_hold_free(&c->qp);
	qp_endpoint_free(&c->qp);
	scope_close(&c->qp.scope);
	if (c->paid)
		network_release(c->network, NETWORK_CARRIERS, 1);
	network_drop(c->network);
	undumped_unmap(c->mem, memory_bytes(c));
	acct_release(&c->memory);
	acct_release(&c->qp.charge);
	c->owner->ncarriers--;
	carrier_owner_release(c->owner);
	free(c);
	return NULL;
}

static void send_waiting(struct carrier *c)
{
	assoc_tx_wake(association_ddp(c->qp.assoc), c->qp.ep);
	association_activate(c->qp.assoc);
}

static uint32_t look_ms(const struct carrier *c)
{
	return c->sends ? IDLE_MS : PEER_IDLE_MS;
}

static bool is_idle(const struct carrier *c)
{
	return c->done == c->last && (!c->sends || c->outbox.tail == c->outbox.head);
}

/* Without a datagram since the last look the session ends. */
static void look_again(struct timer *t)
{
	struct carrier *c = list_entry(t, struct carrier, timer);
	struct worker *w = worker_of(c);

	if (c->over) {
		carrier_free(c);
		return;
	}
	if (c->qp.state == QP_RTS && is_idle(c)) {
		qp_terminate(&c->qp, "no datagrams for a while");
		return;
	}
	c->last = c->done;
	timer_set(&w->timers, t, w->now_ms + look_ms(c));
}

static int make_carrier_memory(struct carrier *c, struct reply *rep)
{
	size_t bytes = memory_bytes(c);
	int r = client_charge(c->qp.client, ACCT_MEMORY, bytes + sizeof(*c), &c->memory, rep);

	if (r)
		return r;
	c->mem = undumped_map(bytes, 0);
	if (!c->mem)
		return reply_refuse(rep, ENOMEM, "datagrams: out of memory");
	if (c->sends)
		outbox_init(&c->outbox, c->mem);
	c->region = (struct stag_region){
		.rights = STAG_LOCAL_WRITE,
		.pd = c->qp.scope.pd->number,
		.scope = c->qp.scope.number,
		.len = region_bytes(c),
		.base = c->mem,
		.valid = true,
	};
	r = stags_add(c->qp.client->daemon->stags, &c->region);
	if (r)
		c->region.stag = 0;
	return r ? reply_refuse(rep, -r, "datagrams: %s", stags_str(r)) : 0;
}

/* Segments of several datagrams may arrive in any order: they are placed in theirs, so that slots
 * are used one after the other, and the peer waits rather than send too many. */
static int set_flow(struct carrier *c, struct reply *rep)
{
	struct qp *qp = &c->qp;
	int r = c->sends ? 0 : qp_hold_make(qp, HOLD, HOLD_MS, rep);

	if (r)
		return r;
	qp->options = MSG_QP_CREDITS | (c->sends ? 0U : MSG_QP_PLACE_IN_ORDER);
	rdmap_set_options(qp->ep, qp->options);
	if (!c->sends)
		rdmap_set_window(qp->ep, credit_window(HOLD));
	return 0;
}

static int build_carrier(struct carrier *c, struct reply *rep)
{
	const struct msg_create_qp req = {.sq_entries = SENDS, .rq_entries = RECV_SLOTS};
	int r = client_charge(c->qp.client, ACCT_QPS, 1, &c->qp.charge, rep);

	if (!r)
		r = make_carrier_memory(c, rep);
	if (!r)
		r = qp_endpoint_make(&c->qp, &req, &carrier_ops, rep);
	return r ? r : set_flow(c, rep);
}

static void begin_carrying(struct qp *qp)
{
	struct carrier *c = carrier_of(qp);

	c->ready = true;
	send_waiting(c);
	if (c->sends && c->owner->users == 0)
		qp_disconnect(qp); /* it was opened for those that wait */
}

static void drop_waiting(struct carrier *c)
{
	const struct outbox_entry *e;

	while (c->sends && (e = outbox_take(&c->outbox)))
		count_drop(c, e->from);
}

/* It is freed later, because its caller may still use the queue pair. */
static void carrier_over(struct carrier *c)
{
	struct worker *w = worker_of(c);
	uint32_t after = c->sends && !c->ready ? AGAIN_MS : 0;

	drop_waiting(c);
	c->over = true;
	timer_set(&w->timers, &c->timer, w->now_ms + after);
}

static void stop_carrying(struct qp *qp)
{
	carrier_over(carrier_of(qp));
}

static uint32_t count_waiting(const struct qp *qp)
{
	const struct carrier *c = list_entry(qp, const struct carrier, qp);

	return c->sends ? outbox_waiting(&c->outbox) : 0;
}

static const struct qp_carrier events = {
	.ready = begin_carrying,
	.over = stop_carrying,
	.waiting = count_waiting,
};

static struct carrier *carrier_new(struct carrier_owner *o, bool sends, struct reply *rep)
{
	struct carrier *c = calloc(1, sizeof(*c));
	struct client *client = &o->client;
	struct qp *qp = c ? &c->qp : NULL;

	if (!c)
		return NULL;
	c->owner = o;
	o->ncarriers++;
	c->sends = sends;
	qp->client = client;
	qp->num = numbers_of_session(client->daemon);
	qp->carrier = &events;
	qp->attr.max_recv_sge = 1;
	qp->session.peer_ird = qp->session.peer_ord = MSG_READS_UNCHANGED;
	scope_open(&qp->scope, client, &o->pd, qp->num, NULL);
	list_init(&qp->posted);
	async_init(&qp->events.async);
	timer_init(&qp->hold.idle, qp_hold_idle);
	agent_call_init(&qp->call, client);
	list_init(&qp->send_room.link);
	list_init(&qp->recv_room.link);
	list_init(&c->link);
	timer_init(&c->timer, look_again);
	return build_carrier(c, rep) ? carrier_free(c) : c;
}

/* ---- sending ---- */

/* One that fails is not tried again at once; one that ends has a successor. */
static bool is_in_use(const struct carrier *c)
{
	return c->over ? !c->ready : c->qp.state != QP_CLOSING;
}

static struct carrier *find_carrier(struct carrier_owner *o, const struct flight *f)
{
	list_foreach (it, carrier_owner_bucket(o, f->to)) {
		struct carrier *c = list_entry(it, struct carrier, link);

		if (is_in_use(c) && memcmp(&c->remote, f->to, sizeof(c->remote)) == 0 &&
		    memcmp(&c->local, f->from, sizeof(c->local)) == 0)
			return c;
	}
	return NULL;
}

static void begin_life(struct carrier *c)
{
	struct worker *w = worker_of(c);

	list_add_tail(carrier_owner_bucket(c->owner, &c->remote), &c->link);
	timer_set(&w->timers, &c->timer, w->now_ms + look_ms(c));
}

static struct carrier *open_carrier(struct carrier_owner *o, const struct flight *f)
{
	struct reply rep = {.nfds = 0};
	struct msg_connect req = {
		.npeers = 1, .nlocals = f->from->family != 0, .private_len = RESERVED_HELLO};
	struct carrier *c = carrier_new(o, true, &rep);

	if (!c)
		return NULL;
	c->remote = *f->to;
	c->local = *f->from;
	req.peers[0] = c->remote;
	req.peers[0].port = (uint16_t)worker_of(c)->daemon->cfg.session.datagram_port;
	req.locals[0] = c->local;
	memcpy(req.private_data, reserved_hello, RESERVED_HELLO);
	begin_life(c);
	if (qp_connect(&c->qp, &req, &rep))
		carrier_over(c);
	return c;
}

bool carrier_send(struct carrier_owner *o, const struct flight *f)
{
	struct carrier *c = find_carrier(o, f);
	uint8_t *p;
	struct span to;

	if (!c)
		c = open_carrier(o, f);
	if (!c || c->over)
		return false;
	p = outbox_add(&c->outbox, f->from_number, WIRE_DATAGRAM_HEAD + f->len);
	if (!p)
		return false;
	wire_datagram_put(p, f);
	to = (struct span){p + WIRE_DATAGRAM_HEAD, f->len};
	span_copy(&to, 1, f->bytes, f->nbytes, 0, f->len);
	if (c->qp.state == QP_RTS)
		send_waiting(c);
	return true;
}

/* ---- accepting ---- */

/* Peers of one network leave room for those of others. */
static bool charge_network(struct carrier *c, const struct association *assoc)
{
	if (assoc->network)
		c->network = peers_hold(assoc->worker, &assoc->remote);
	c->paid = network_charge(c->network, NETWORK_CARRIERS, 1);
	return c->paid;
}

/* Those of the association, for all datagrams that come. */
static bool take_addrs(struct carrier *c, const struct association *assoc)
{
	struct llp_info info;

	llp_info(assoc->conn, &info);
	return msg_addr_put(&c->remote, &assoc->remote) == 0 &&
	       msg_addr_put(&c->local, &info.local) == 0;
}

/* It has the addresses of the association, or it may not have it. */
static bool bind_carrier(struct carrier *c, struct association *assoc, const struct assoc_event *ev,
			 const char **reason)
{
	const struct assoc_params params = {0};

	*reason = "the peer's network has too many sessions for datagrams";
	if (!charge_network(c, assoc))
		return false;
	*reason = "there is no memory for it";
	if (!take_addrs(c, assoc) ||
	    assoc_accept(association_ddp(assoc), ev->sid, c->qp.ep, &params))
		return false;
	c->qp.assoc = assoc;
	c->qp.sid = ev->sid;
	return true;
}

bool carrier_accept(struct carrier_owner *peers, struct association *assoc,
		    const struct assoc_event *ev, const char **reason)
{
	const struct session_event event = {.err = 0};
	struct reply rep = {.nfds = 0};
	struct carrier *c;

	*reason = "it is not for datagrams";
	if (ev->priv_len != RESERVED_HELLO || memcmp(ev->priv, reserved_hello, RESERVED_HELLO) != 0)
		return false;
	*reason = "there is no memory for it";
	c = carrier_new(peers, false, &rep);
	if (!c)
		return false;
	if (!bind_carrier(c, assoc, ev, reason)) {
		carrier_free(c);
		return false;
	}
	begin_life(c);
	qp_established(&c->qp, &event);
	return true;
}

/* ---- all of an owner ---- */

static struct carrier *any_in(const struct list *bucket)
{
	return list_empty(bucket) ? NULL : list_entry(bucket->next, struct carrier, link);
}

/* Those that are not connected yet do this when they are. */
static void finish(struct carrier *c)
{
	if (c->qp.state == QP_RTS)
		qp_disconnect(&c->qp);
}

static void end_now(struct carrier *c)
{
	qp_terminate(&c->qp, "this daemon is stopping");
}

/* None is freed meanwhile. */
static void each(struct carrier_owner *o, void (*call)(struct carrier *c))
{
	for (unsigned i = 0; i < CARRIER_OWNER_BUCKETS; i++)
		list_foreach (it, &o->carriers[i])
			call(list_entry(it, struct carrier, link));
}

void carrier_finish_all(struct carrier_owner *o)
{
	each(o, finish);
}

void carrier_end_all(struct carrier_owner *o)
{
	each(o, end_now);
}

void carrier_free_all(struct carrier_owner *o)
{
	struct carrier *c;

	o->users++; /* the owner stays */
	for (unsigned i = 0; i < CARRIER_OWNER_BUCKETS; i++)
		while ((c = any_in(&o->carriers[i])))
			carrier_free(c);
	o->users--;
}
