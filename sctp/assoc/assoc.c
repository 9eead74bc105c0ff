/* SPDX-License-Identifier: BSD-2-Clause */
/* An association: making and freeing it, its states, its deadlines. */
#include "sctp/assoc/handshake.h"
#include "sctp/assoc/shutdown.h"
#include "sctp/base/assoc.h"

/* ---- making ---- */

static uint32_t new_tag(struct sctp *s)
{
	uint32_t tag = sctp_random32(s);

	return tag ? tag : 1;
}

struct sctp_assoc *sctp_assoc_new(struct sctp *s, unsigned npaths)
{
	struct sctp_assoc *a;

	if (s->nassocs >= s->cfg.max_assocs || !(a = sctp_alloc(s, sizeof(*a))))
		return NULL;
	a->s = s;
	if (!sctp_assoc_reserve(a, npaths ? npaths : 1)) {
		sctp_release(s, a, sizeof(*a));
		return NULL;
	}
	list_add_tail(&s->assocs, &a->all);
	list_init(&a->pending);
	sctp_events_init(&a->events);
	timer_init(&a->deadline.timer, s->expire);
	a->deadline.armed_us = SCTP_NEVER;
	sctp_shutdown_init(a);
	sctp_acks_init(&a->acks);
	a->write.retry_us = a->moved.us = a->stall.us = SCTP_NEVER;
	a->id.tie_own = new_tag(s);
	a->id.tie_peer = new_tag(s);
	sctp_tsn_map_init(&a->map, &s->pool, 0);
	sctp_recv_init(&a->recv, &s->pool, s->cfg.recv_buffer, 1);
	s->nassocs++;
	return a;
}

void sctp_assoc_own_addrs(struct sctp_assoc *a, const uint8_t *local, unsigned n)
{
	a->local.n = n < SCTP_MAX_LOCAL ? n : SCTP_MAX_LOCAL;
	memcpy(a->local.addr, local, a->local.n);
}

void sctp_assoc_start(struct sctp_assoc *a, uint32_t peer_tsn, uint32_t peer_rwnd)
{
	sctp_window_init(&a->window, peer_rwnd);
	sctp_acks_start(&a->acks, a->s->cfg.recv_buffer);
	sctp_tsn_map_deinit(&a->map);
	sctp_recv_deinit(&a->recv);
	sctp_tsn_map_init(&a->map, &a->s->pool, peer_tsn);
	sctp_recv_init(&a->recv, &a->s->pool, a->s->cfg.recv_buffer, a->agreed.in_streams);
}

/* An association from this port of ours exists. */
static bool in_use(struct sctp *s, const struct sctp_addr *peer, unsigned n, uint16_t port,
		   const uint8_t *local, unsigned nlocal, uint16_t own_port)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < nlocal; k++) {
			struct sctp_flow flow = {.peer = peer[i], .local = local[k]};

			if (sctp_lookup(s, &flow, own_port, port))
				return true;
		}
	return false;
}

int sctp_assoc_connect(struct sctp *s, const struct sctp_addr *peer, const uint32_t *packet,
		       unsigned n, uint16_t port, const uint8_t *local, unsigned nlocal,
		       uint16_t own_port, void *user, struct sctp_assoc **ret)
{
	struct sctp_assoc *a;

	if (port == 0)
		return SCTP_E_NO_ADDR;
	if (own_port && in_use(s, peer, n, port, local, nlocal, own_port))
		return SCTP_E_IN_USE;
	a = sctp_assoc_new(s, n);
	if (!a)
		return SCTP_E_MEMORY;
	if (!sctp_handshake_begin(a)) {
		sctp_assoc_free(a);
		return SCTP_E_MEMORY;
	}
	a->user = user;
	sctp_assoc_use_port(a, own_port ? own_port : sctp_free_port(s));
	a->id.peer_port = port;
	a->local.all = nlocal > 1;
	a->id.own_tag = new_tag(s);
	sctp_queue_init(&a->tx, sctp_random32(s));
	sctp_assoc_own_addrs(a, local, nlocal);
	for (unsigned i = 0; i < n; i++) {
		struct sctp_flow flow = {peer[i], s->cfg.udp_port, local[0]};
		struct sctp_path *p = sctp_assoc_add_path(a, &flow, packet ? packet[i] : 0);

		if (p) /* 5.4: what the user names counts as confirmed */
			sctp_path_set_state(p, SCTP_PATH_ACTIVE);
	}
	if (a->paths.n == 0 || a->id.own_port == 0) {
		int r = a->paths.n ? SCTP_E_MEMORY : SCTP_E_NO_ADDR;

		sctp_assoc_free(a);
		return r;
	}
	sctp_assoc_step(a, SCTP_EV_ASSOCIATE);
	*ret = a;
	return SCTP_E_OK;
}

void sctp_assoc_set_user(struct sctp_assoc *a, void *user)
{
	a->user = user;
}

/* ---- states ---- */

static void notify_up(struct sctp_assoc *a)
{
	sctp_handshake_end(a);
	a->up = true;
	a->errors = 0;
	for (unsigned i = 0; i < a->paths.n; i++)
		sctp_path_rest(&a->paths.at[i]);
	sctp_assoc_note(a, a->origin.passive ? SCTP_INCOMING : SCTP_UP);
	sctp_assoc_touch(a);
}

void sctp_assoc_step(struct sctp_assoc *a, enum sctp_fsm_event ev)
{
	struct sctp_step step = sctp_fsm(a->state, ev);
	unsigned todo = step.actions;

	if (todo & SCTP_DO_SEND_SHUTDOWN_COMPLETE) {
		struct sctp_writer w = sctp_reply_alone(sctp_primary(a));

		sctp_put_plain(&w, SCTP_SHUTDOWN_COMPLETE, 0);
		sctp_reply_end(a->s, &w);
	}
	a->state = step.next;
	if (todo & SCTP_DO_STOP_T1) {
		sctp_handshake_stop_t1(a);
		sctp_shutdown_stop(a);
	}
	if (todo & (SCTP_DO_SEND_INIT | SCTP_DO_SEND_COOKIE_ECHO))
		sctp_handshake_start_t1(a);
	if (todo & SCTP_DO_SEND_INIT)
		sctp_send_init(a);
	if (todo & SCTP_DO_SEND_COOKIE_ECHO)
		sctp_send_cookie_echo(a);
	if (todo & SCTP_DO_UP)
		notify_up(a);
	if (todo & SCTP_DO_SEND_SHUTDOWN)
		sctp_send_shutdown(a);
	if (todo & SCTP_DO_SEND_SHUTDOWN_ACK)
		sctp_send_shutdown_ack(a);
	if (todo & SCTP_DO_START_T5)
		sctp_shutdown_guard(a);
	if (todo & SCTP_DO_CLOSED) {
		sctp_assoc_end(a, SCTP_END_CLOSED, 0, NULL, 0);
		return;
	}
	if ((todo & SCTP_DO_FLUSH) && sctp_queue_empty(&a->tx)) {
		sctp_assoc_step(a, SCTP_EV_ALL_ACKED);
		return;
	}
	sctp_assoc_arm(a);
}

void sctp_assoc_shutdown(struct sctp_assoc *a, uint64_t now_us)
{
	if (now_us > a->s->now)
		a->s->now = now_us;
	sctp_assoc_step(a, SCTP_EV_USER_SHUTDOWN);
}

/* ---- what the user asks ---- */

void sctp_assoc_set_route_mtu(struct sctp_assoc *a, const struct sctp_addr *peer, uint32_t mtu,
			      uint64_t now_us)
{
	struct sctp_path *p = sctp_assoc_find_path(a, peer);
	uint32_t size;

	if (!p)
		return;
	if (a->s->cfg.mtu && mtu > a->s->cfg.mtu)
		mtu = a->s->cfg.mtu;
	size = mtu > sctp_path_ip_head(p) ? (mtu - sctp_path_ip_head(p)) & ~3u : 0;
	if (size > SCTP_MAX_PACKET)
		size = SCTP_MAX_PACKET & ~3u;
	if (size < SCTP_MIN_PACKET)
		size = SCTP_MIN_PACKET;
	if (sctp_pmtu_set_max(&p->pmtu, size, now_us))
		sctp_path_resized(p);
	sctp_assoc_arm(a);
}

void sctp_assoc_report_acks(struct sctp_assoc *a)
{
	sctp_events_each_ack(&a->events);
}

void sctp_assoc_info(const struct sctp_assoc *a, struct sctp_info *ret)
{
	const struct sctp_path *p = &a->paths.at[a->paths.primary];

	*ret = (struct sctp_info){
		.primary = p->flow,
		.local_port = a->id.own_port,
		.peer_port = a->id.peer_port,
		.streams = a->agreed.out_streams < a->agreed.in_streams ? a->agreed.out_streams
									: a->agreed.in_streams,
		.max_message = a->paths.max_message,
		.mtu = p->pmtu.size + sctp_path_ip_head(p),
		.unreachable = p->unreachable,
		.srtt_us = p->rto.srtt_us,
		.rto_us = p->rto.rto_us,
		.cwnd = p->cc.cwnd,
		.peer_rwnd = a->window.rwnd,
		.unacked = a->tx.next_tsn - a->tx.cum - 1,
		.retransmits = a->flight.repeated,
		.takes_batches = a->agreed.takes_batches,
		.tag = a->id.own_tag,
		.peer_tag = a->id.peer_tag,
		.lower_tag = a->id.own_tag < a->id.peer_tag,
	};
}

static struct sctp_path_info path_info(const struct sctp_path *p)
{
	return (struct sctp_path_info){
		.flow = p->flow,
		.state = p->state,
		.primary = p->index == p->assoc->paths.primary,
		.srtt_us = p->rto.srtt_us,
		.rto_us = p->rto.rto_us,
		.cwnd = p->cc.cwnd,
		.mtu = p->pmtu.size + sctp_path_ip_head(p),
	};
}

unsigned sctp_assoc_paths(const struct sctp_assoc *a, struct sctp_path_info ret[SCTP_MAX_PATHS])
{
	unsigned n = 0;

	ret[n++] = path_info(&a->paths.at[a->paths.primary]);
	for (unsigned i = 0; i < a->paths.n; i++)
		if (i != a->paths.primary)
			ret[n++] = path_info(&a->paths.at[i]);
	return n;
}

int sctp_assoc_set_primary(struct sctp_assoc *a, const struct sctp_addr *peer)
{
	struct sctp_path *p = sctp_assoc_find_path(a, peer);

	if (a->state != SCTP_ESTABLISHED)
		return SCTP_E_DOWN;
	if (!p)
		return SCTP_E_NO_ADDR;
	if (p->state != SCTP_PATH_ACTIVE)
		return SCTP_E_INACTIVE;
	if (a->paths.primary == p->index)
		return SCTP_E_OK;
	a->paths.primary = p->index;
	sctp_assoc_measure(a);
	p->became_primary = true;
	sctp_assoc_note(a, SCTP_PATH);
	return SCTP_E_OK;
}
