/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/carrier.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/log.h"
#include "daemon/net/association.h"
#include "daemon/net/peers.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/client/pd.h"
#include "daemon/objects/datagrams/datagram.h"
#include "daemon/objects/datagrams/flight.h"
#include "daemon/objects/datagrams/numbers.h"
#include "daemon/objects/datagrams/wire_datagram.h"
#include "daemon/objects/memory/stags.h"
#include "daemon/objects/sessions/listener.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/objects/sessions/qp_connect.h"
#include "ipc/msg_addr.h"
#include "proto/rdmap/credit.h"
#include "util/undumped.h"

enum {
	SLOTS = 32, /* a power of two */
	SLOT = WIRE_DATAGRAM_HEAD + WQE_DATAGRAM_MAX,
	BYTES = SLOTS * SLOT,
	HOLD = 512 << 10, /* for segments that arrive out of order */
	HOLD_MS = 1000,
	IDLE_MS = 10000,
	PEER_IDLE_MS = 6 * IDLE_MS, /* of an accepted one: usually the peer ends it */
	AGAIN_MS = 200,             /* after a failure: datagrams are dropped meanwhile */
};

static const uint8_t HELLO[8] = "ddpdgm\0\1"; /* private data of the Initiate; with a version */

/* Accepted ones are charged to a user of their own, so that peers use up no share of a local one.
 */
static const uid_t NOBODY = (uid_t)-2;

struct carrier {
	struct qp qp;
	struct qp *sender;       /* NULL: accepted */
	struct list link;        /* in carriers of the sender, or of the worker */
	struct network *network; /* of the peer, which pays for an accepted one; else NULL */
	bool paid;
	struct msg_addr remote, local;
	struct stag_region region;
	uint8_t *slots;
	struct acct_charge memory;
	uint32_t head, taken, tail; /* slots in use: sent, or received in order */
	uint32_t last;              /* head at the last look */
	struct timer timer;
	bool ready; /* its session has begun once */
	bool over;
};

/* Of a worker. */
struct carriers {
	struct client own; /* without a program: no event or fault reaches it */
	struct pd *pd;
	struct listener *listener; /* NULL: it cannot listen */
	struct list accepted;
	unsigned users; /* queue pairs of datagrams */
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

static struct sgl_elem slot_of(const struct carrier *c, uint32_t i, uint32_t len)
{
	return (struct sgl_elem){(uint64_t)(i % SLOTS) * SLOT, len, c->region.stag};
}

static bool take_datagram(void *user, struct rdmap_wr *ret)
{
	struct carrier *c = carrier_of(user);
	uint8_t *p = c->slots + (size_t)(c->taken % SLOTS) * SLOT;

	if (!c->sender || c->taken == c->tail)
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
	ret->sge[0] = slot_of(c, c->taken, wire_datagram_len(p));
	c->taken++;
	return true;
}

static bool take_slot(void *user, struct rdmap_recv *ret)
{
	struct carrier *c = carrier_of(user);

	if (c->sender || c->tail - c->head == SLOTS)
		return false;
	*ret = (struct rdmap_recv){.nsge = 1, .sge = {slot_of(c, c->tail++, SLOT)}};
	return true;
}

static uint32_t free_slots(void *user)
{
	const struct carrier *c = carrier_of(user);

	return c->sender ? 0 : SLOTS - (c->tail - c->head);
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

static void complete_slot(void *user, const struct rdmap_done *done)
{
	struct carrier *c = carrier_of(user);
	uint8_t *p = c->slots + (size_t)(c->head++ % SLOTS) * SLOT;

	if (c->sender)
		c->sender->datagram->tx_dropped += done->status != RDMAP_SUCCESS;
	else if (done->op == RDMAP_RECV && done->status == RDMAP_SUCCESS &&
		 (done->immediate || !hand_over_datagram(c, p, done->len)))
		network_lost_datagram(c->network);
}

static const struct rdmap_ops carrier_ops = {
	.take_send = take_datagram,
	.take_recv = take_slot,
	.recvs = free_slots,
	.complete = complete_slot,
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
	undumped_unmap(c->slots, BYTES);
	acct_release(&c->memory);
	acct_release(&c->qp.charge);
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
	return c->sender ? IDLE_MS : PEER_IDLE_MS;
}

static bool is_idle(const struct carrier *c)
{
	return c->head == c->last && (!c->sender || c->tail == c->head);
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
	c->last = c->head;
	timer_set(&w->timers, t, w->now_ms + look_ms(c));
}

static int make_slots(struct carrier *c, struct reply *rep)
{
	int r = client_charge(c->qp.client, ACCT_MEMORY, BYTES + sizeof(*c), &c->memory, rep);

	if (r)
		return r;
	c->slots = undumped_map(BYTES, 0);
	if (!c->slots)
		return reply_refuse(rep, ENOMEM, "datagrams: out of memory");
	c->region = (struct stag_region){
		.rights = STAG_LOCAL_WRITE,
		.pd = c->qp.scope.pd->number,
		.scope = c->qp.scope.number,
		.len = BYTES,
		.base = c->slots,
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
	int r = c->sender ? 0 : qp_hold_make(qp, HOLD, HOLD_MS, rep);

	if (r)
		return r;
	qp->options = MSG_QP_CREDITS | (c->sender ? 0U : MSG_QP_PLACE_IN_ORDER);
	rdmap_set_options(qp->ep, qp->options);
	if (!c->sender)
		rdmap_set_window(qp->ep, credit_window(HOLD));
	return 0;
}

static int build_carrier(struct carrier *c, struct reply *rep)
{
	const struct msg_create_qp req = {.sq_entries = SLOTS, .rq_entries = SLOTS};
	int r = client_charge(c->qp.client, ACCT_QPS, 1, &c->qp.charge, rep);

	if (!r)
		r = make_slots(c, rep);
	if (!r)
		r = qp_endpoint_make(&c->qp, &req, &carrier_ops, rep);
	return r ? r : set_flow(c, rep);
}

static void begin_carrying(struct qp *qp)
{
	struct carrier *c = carrier_of(qp);

	c->ready = true;
	send_waiting(c);
}

/* It is freed later, because its caller may still use the queue pair. */
static void carrier_over(struct carrier *c)
{
	struct worker *w = worker_of(c);
	uint32_t after = c->sender && !c->ready ? AGAIN_MS : 0;

	if (c->sender)
		c->sender->datagram->tx_dropped += c->tail - c->taken;
	c->over = true;
	timer_set(&w->timers, &c->timer, w->now_ms + after);
}

static void stop_carrying(struct qp *qp)
{
	carrier_over(carrier_of(qp));
}

static const struct qp_carrier events = {.ready = begin_carrying, .over = stop_carrying};

static struct carrier *carrier_new(struct client *client, struct pd *pd, struct qp *sender,
				   struct reply *rep)
{
	struct carrier *c = calloc(1, sizeof(*c));
	struct qp *qp = c ? &c->qp : NULL;

	if (!c)
		return NULL;
	c->sender = sender;
	qp->client = client;
	qp->num = numbers_of_session(client->daemon);
	qp->carrier = &events;
	qp->attr.max_recv_sge = 1;
	qp->session.peer_ird = qp->session.peer_ord = MSG_READS_UNCHANGED;
	scope_open(&qp->scope, client, pd, qp->num);
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

static struct carrier *find_carrier(struct qp *sender, const struct flight *f)
{
	list_foreach (it, &sender->datagram->carriers) {
		struct carrier *c = list_entry(it, struct carrier, link);

		if (is_in_use(c) && memcmp(&c->remote, f->to, sizeof(c->remote)) == 0 &&
		    memcmp(&c->local, f->from, sizeof(c->local)) == 0)
			return c;
	}
	return NULL;
}

static struct carrier *open_carrier(struct qp *sender, const struct flight *f)
{
	struct worker *w = sender->client->worker;
	struct reply rep = {.nfds = 0};
	struct msg_connect req = {
		.npeers = 1, .nlocals = f->from->family != 0, .private_len = sizeof(HELLO)};
	struct carrier *c = carrier_new(sender->client, sender->scope.pd, sender, &rep);

	if (!c)
		return NULL;
	c->remote = *f->to;
	c->local = *f->from;
	req.peers[0] = c->remote;
	req.peers[0].port = (uint16_t)w->daemon->cfg.session.datagram_port;
	req.locals[0] = c->local;
	memcpy(req.private_data, HELLO, sizeof(HELLO));
	list_add_tail(&sender->datagram->carriers, &c->link);
	timer_set(&w->timers, &c->timer, w->now_ms + look_ms(c));
	if (qp_connect(&c->qp, &req, &rep))
		carrier_over(c);
	return c;
}

bool carrier_send(struct qp *sender, const struct flight *f)
{
	struct carrier *c = find_carrier(sender, f);
	struct span to;

	if (!c)
		c = open_carrier(sender, f);
	if (!c || c->over || c->tail - c->head == SLOTS)
		return false;
	to = (struct span){c->slots + (size_t)(c->tail % SLOTS) * SLOT, SLOT};
	wire_datagram_put(to.p, f);
	to.p += WIRE_DATAGRAM_HEAD;
	span_copy(&to, 1, f->bytes, f->nbytes, 0, f->len);
	c->tail++;
	if (c->qp.state == QP_RTS)
		send_waiting(c);
	return true;
}

void carrier_free_all(struct qp *sender)
{
	if (!sender->datagram)
		return;
	while (!list_empty(&sender->datagram->carriers))
		carrier_free(list_entry(sender->datagram->carriers.next, struct carrier, link));
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

static bool accept_carrier(struct association *assoc, const struct assoc_event *ev,
			   const char **reason)
{
	struct carriers *all = assoc->worker->carriers;
	const struct session_event event = {.err = 0};
	struct reply rep = {.nfds = 0};
	struct carrier *c = NULL;

	*reason = "it is not for datagrams";
	if (ev->priv_len != sizeof(HELLO) || memcmp(ev->priv, HELLO, sizeof(HELLO)) != 0)
		return false;
	*reason = "there is no memory for it";
	c = carrier_new(&all->own, all->pd, NULL, &rep);
	if (!c)
		return false;
	list_add_tail(&all->accepted, &c->link);
	if (!charge_network(c, assoc)) {
		*reason = "the peer's network has too many sessions for datagrams";
		carrier_free(c);
		return false;
	}
	if (!take_addrs(c, assoc) ||
	    assoc_accept(association_ddp(assoc), ev->sid, c->qp.ep, &(struct assoc_params){0})) {
		carrier_free(c);
		return false;
	}
	c->qp.assoc = assoc;
	c->qp.sid = ev->sid;
	timer_set(&assoc->worker->timers, &c->timer, assoc->worker->now_ms + look_ms(c));
	qp_established(&c->qp, &event);
	return true;
}

static void listen_here(struct worker *w)
{
	struct carriers *all = w->carriers;
	struct msg_listen req = {.port = (uint16_t)w->daemon->cfg.session.datagram_port};
	struct msg_listener at;
	struct msg_handle pd;
	struct reply rep = {.nfds = 0};

	if (req.port == 0)
		return;
	if (pd_alloc(&all->own, &pd, &rep) == 0) {
		all->pd = idtab_get(&all->own.handles.pds, pd.handle);
		if (listener_create(&all->own, &req, 0, &at, &rep) == 0)
			all->listener = idtab_get(&all->own.handles.listeners, at.handle);
	}
	if (all->listener)
		all->listener->accept = accept_carrier;
	else
		log_limited(&w->client_log, w->now_ms, LOG_LEVEL_WARN,
			    "datagrams of other daemons cannot arrive: %s", rep.reason);
}

static void stop_listening(struct carriers *all)
{
	all->listener = listener_free(all->listener);
	while (!list_empty(&all->accepted))
		carrier_free(list_entry(all->accepted.next, struct carrier, link));
	all->pd = pd_free(all->pd);
}

static struct carriers *carriers_new(struct worker *w)
{
	struct carriers *all = calloc(1, sizeof(*all));
	struct client *c = all ? &all->own : NULL;

	if (!all)
		return NULL;
	list_init(&all->accepted);
	c->daemon = w->daemon;
	c->worker = w;
	c->uid = NOBODY;
	c->gid = (gid_t)NOBODY;
	c->io.fd = c->io.event_fd = c->bells.doorbell = -1;
	c->leaving = true;
	c->io.events_max = 1; /* none waits: it may be asked */
	snprintf(c->comm, sizeof(c->comm), "ddpsctpd");
	list_init(&c->handles.scopes);
	drr_init(&c->turn, NULL);
	client_allow(c);
	return all;
}

void carrier_use(struct worker *w)
{
	if (!w->carriers)
		w->carriers = carriers_new(w);
	if (w->carriers && w->carriers->users++ == 0)
		listen_here(w);
}

void carrier_unuse(struct worker *w)
{
	struct carriers *all = w->carriers;

	if (!all || --all->users > 0)
		return;
	stop_listening(all);
	idtab_deinit(&all->own.handles.pds);
	idtab_deinit(&all->own.handles.listeners);
	idtab_deinit(&all->own.handles.requests);
	free(all);
	w->carriers = NULL;
}

static void end_all(struct list *carriers)
{
	list_foreach_safe (it, carriers)
		qp_terminate(&list_entry(it, struct carrier, link)->qp, "this daemon is stopping");
}

static void end_those_of(struct client *c)
{
	uint32_t pos = 0;
	struct qp *qp;

	while ((qp = idtab_next(&c->handles.qps, &pos)))
		if (qp->datagram)
			end_all(&qp->datagram->carriers);
}

void carrier_stop_all(struct worker *w)
{
	uint32_t pos = 0;
	struct client *c;

	if (w->carriers)
		end_all(&w->carriers->accepted);
	while ((c = idtab_next(&w->daemon->clients, &pos)))
		end_those_of(c);
}
