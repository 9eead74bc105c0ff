/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of the daemon itself, its associations, paths and sessions. */
#include <time.h>
#include <unistd.h>

#include "daemon/base/state.h"
#include "daemon/base/version.h"
#include "daemon/net/association.h"
#include "daemon/net/listening.h"
#include "daemon/net/path.h"
#include "daemon/net/peer_access.h"
#include "daemon/net/peers.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/service/show_impl.h"
#include "util/minmax.h"

static void count_clients(struct show *s, struct ctl_status *r)
{
	uint32_t pos = 0;
	const struct client *c;

	while ((c = idtab_next(&s->d->clients, &pos))) {
		r->qps += c->handles.qps.used;
		r->cqs += c->handles.cqs.used;
		r->mrs += c->handles.mrs.used;
		r->pds += c->handles.pds.used;
		r->listeners += c->handles.listeners.used;
		r->mr_bytes += c->regions.bytes;
	}
}

/* The last error of the association, or, with 0, of any; and how long ago it was. */
static void put_error(struct show *s, uint32_t assoc, char *ret, size_t len, uint64_t *ret_ms)
{
	const struct ctl_event *ev =
		journal_error(&s->d->worker.journal, s->to_admin ? NULL : &s->to->uid, assoc);
	char line[CTL_EVENT_LINE];
	struct timespec now;

	if (!ev)
		return;
	ctl_event_line(ev, line);
	show_string(ret, len, line);
	clock_gettime(CLOCK_REALTIME, &now);
	*ret_ms =
		(uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 - ev->time_us / 1000;
}

/* p: NULL if none are counted. */
static void put_guesses(struct ctl_status *r, const struct peers *p)
{
	r->guesses = p ? p->guesses.counted : 0;
	r->slowed = p ? p->guesses.slowed : 0;
}

bool show_status(struct show *s)
{
	struct ctl_status *r = &s->rec.status;
	struct daemon *d = s->d;
	struct llp_stats st;
	const struct association *assoc;
	uint32_t pos = 0;

	show_string(r->version, sizeof(r->version), DAEMON_VERSION);
	show_string(r->transport, sizeof(r->transport), d->transport);
	show_string(r->transport_reason, sizeof(r->transport_reason), d->transport_reason);
	r->uptime_ms = d->worker.now_ms - d->started_ms;
	r->pid = (uint64_t)getpid();
	r->clients = d->clients.used;
	r->assocs = d->worker.assocs.used;
	count_clients(s, r);
	while ((assoc = idtab_next(&d->worker.assocs, &pos)))
		r->sessions += assoc->ddp ? assoc_sessions(assoc->ddp) : 0;
	put_error(s, 0, r->last_error, sizeof(r->last_error), &r->last_error_ms);
	r->draining = d->draining;
	llp_stats(d->worker.net, &st);
	r->tx_packets = st.tx_packets;
	r->rx_packets = st.rx_packets;
	r->tx_bytes = st.tx_bytes;
	r->rx_bytes = st.rx_bytes;
	r->retransmits = st.retransmits;
	r->spurious = (uint32_t)min_u64(st.spurious, UINT32_MAX);
	r->bad_crc = st.bad_crc;
	r->bad_packets = st.bad_packets;
	r->unknown_packets = st.unknown;
	r->over_budget = st.over_budget;
	r->over_share = st.over_share;
	r->refused_assocs = st.refused;
	r->unanswered = st.unanswered;
	put_guesses(r, d->worker.peers);
	r->transport_bytes = st.memory;
	r->naddrs = d->worker.own.n;
	r->udp_port = d->udp_port;
	r->gso = d->gso;
	for (unsigned i = 0; i < 2 && i < d->worker.own.n; i++)
		r->addr[i] = d->worker.own.a[i];
	show_string(r->waits_for, sizeof(r->waits_for), listening_waits(&d->worker));
	show_send(s);
	return true;
}

static void put_link(struct ctl_assoc *r, const struct llp_info *info)
{
	show_string(r->backend, sizeof(r->backend), info->backend);
	r->local = info->local;
	r->udp_port = info->remote_udp_port;
	r->streams = info->streams;
	r->gso = info->gso;
	r->mtu = info->mtu;
	r->srtt_us = info->srtt_us;
	r->rto_ms = info->rto_ms;
	r->cwnd = info->cwnd;
	r->peer_rwnd = info->peer_rwnd;
	r->unacked = info->unacked;
	r->retransmits = info->retransmits;
	r->flow.spurious = (uint32_t)min_u64(info->spurious, UINT32_MAX);
	r->wrong_tags = info->wrong_tags;
}

/* Sends the record; without the flow and all after it if the transport does not know it. */
static void send_flow(struct show *s, struct ctl_flow *r, const struct llp_path *path)
{
	bool known = path && path->limit != LLP_LIMIT_UNKNOWN;
	uint32_t len = s->rec.len;

	if (known) {
		r->rate = path->rate;
		r->pacing_rate = path->pacing_rate;
		r->flight = path->flight;
		show_string(r->limited_by, sizeof(r->limited_by), path_limit_str(path->limit));
	} else {
		s->rec.len = (uint32_t)((char *)r - (char *)&s->rec.status);
	}
	show_send(s);
	s->rec.len = len;
}

static void put_security(struct ctl_assoc *r, const struct association *assoc)
{
	struct peer_access_proof proof;

	peer_access_prove(assoc, &proof);
	show_string(r->security, sizeof(r->security), proof.covered ? "dtls" : "clear");
	show_string(r->rule, sizeof(r->rule), proof.rule);
	show_string(r->fingerprint, sizeof(r->fingerprint), proof.fingerprint);
}

static void put_counters(struct ctl_assoc *r, const struct assoc_counters *n)
{
	r->tx_segments = n->tx_segments;
	r->rx_segments = n->rx_segments;
	r->tx_control = n->tx_control;
	r->rx_control = n->rx_control;
	r->tx_terminates = n->tx_terminates;
	r->rx_ahead = n->rx_ahead;
	r->rx_early = n->rx_early;
	r->rx_dropped = n->rx_dropped;
	r->rx_violations = n->rx_violations;
	r->rx_refused = n->rx_refused;
}

static void show_assoc(struct show *s, const struct association *assoc)
{
	struct ctl_assoc *r = &s->rec.assoc;
	struct llp_path paths[LLP_MAX_PATHS];
	struct llp_info info;
	unsigned n = 0;

	r->id = assoc->id;
	show_string(r->state, sizeof(r->state), association_state_str(assoc->state));
	r->opener = assoc->opener;
	r->remote = assoc->remote;
	put_error(s, assoc->id, r->last_error, sizeof(r->last_error), &r->last_error_ms);
	if (assoc->ddp) {
		llp_info(assoc->conn, &info);
		put_link(r, &info);
		put_security(r, assoc);
		r->max_message = assoc->dp.mulpdu;
		r->sessions = assoc_sessions(assoc->ddp);
		put_counters(r, assoc_counters(assoc->ddp));
		n = llp_paths(assoc->conn, paths);
	}
	send_flow(s, &r->flow, n ? &paths[0] : NULL);
}

/* Others see those that carry a session of theirs, or carried it last. */
static bool may_see_assoc(struct show *s, const struct association *assoc)
{
	struct assoc_stream_info info;
	uint32_t pos = 0;

	if (s->to_admin)
		return true;
	if (assoc->idle_since_ms && assoc->last_user == (uint64_t)s->to->uid + 1)
		return true;
	while (assoc->ddp && assoc_stream_next(assoc->ddp, &pos, &info)) {
		const struct qp *qp = info.ep ? rdmap_user(info.ep) : NULL;

		s->cost++;
		if (qp && show_may_see(s, qp->client))
			return true;
	}
	s->end.hidden++;
	return false;
}

bool show_assocs(struct show *s)
{
	const struct association *assoc;

	while (!show_full(s)) {
		assoc = idtab_next(&s->d->worker.assocs, &s->outer);
		if (!assoc)
			return true;
		if (may_see_assoc(s, assoc))
			show_assoc(s, assoc);
	}
	return false;
}

static void show_path(struct show *s, uint32_t assoc, const struct llp_path *path)
{
	struct ctl_path *r = &s->rec.path;

	r->assoc = assoc;
	r->remote = path->remote;
	show_string(r->state, sizeof(r->state), path_state_str(path->state));
	r->primary = path->primary;
	r->srtt_us = path->srtt_us;
	r->rto_ms = path->rto_ms;
	r->cwnd = path->cwnd;
	r->mtu = path->mtu;
	send_flow(s, &r->flow, path);
}

bool show_paths(struct show *s)
{
	struct llp_path paths[LLP_MAX_PATHS];
	const struct association *assoc;

	while (!show_full(s)) {
		unsigned n;

		assoc = idtab_next(&s->d->worker.assocs, &s->outer);
		if (!assoc)
			return true;
		n = may_see_assoc(s, assoc) && assoc->ddp ? llp_paths(assoc->conn, paths) : 0;
		for (unsigned i = 0; i < n && i < LLP_MAX_PATHS; i++)
			show_path(s, assoc->id, &paths[i]);
	}
	return false;
}

static void show_stream(struct show *s, const struct association *assoc,
			const struct assoc_stream_info *info)
{
	struct ctl_session *r = &s->rec.session;
	const struct qp *qp = info->ep ? rdmap_user(info->ep) : NULL;

	if (qp ? !show_may_see(s, qp->client) : !s->to_admin) {
		s->end.hidden++;
		return;
	}
	r->assoc = assoc->id;
	r->stream = info->sid;
	show_string(r->state, sizeof(r->state), info->state);
	r->qp_num = qp ? qp->num : 0;
	r->client = qp ? qp->client->id : 0;
	r->tx_ssn = info->tx_ssn;
	r->rx_ssn = info->rx_ssn;
	r->unacked = info->unacked;
	r->ahead = info->ahead;
	show_send(s);
}

static bool show_streams(struct show *s, const struct association *assoc)
{
	struct assoc_stream_info info;

	while (!show_full(s)) {
		if (!assoc_stream_next(assoc->ddp, &s->inner, &info))
			return true;
		show_stream(s, assoc, &info);
	}
	return false;
}

bool show_sessions(struct show *s)
{
	uint32_t next = s->outer;
	const struct association *assoc;

	while ((assoc = idtab_next(&s->d->worker.assocs, &next))) {
		if (assoc->ddp && !show_streams(s, assoc))
			return false;
		s->outer = next;
		s->inner = 0;
	}
	return true;
}

bool show_turns(struct show *s)
{
	const struct histogram *h = event_loop_turns(s->d->worker.loop);
	struct ctl_turn *r = &s->rec.turn;

	for (; s->outer < HISTOGRAM_BUCKETS && !show_full(s); s->outer++) {
		r->up_to_us = histogram_bound(s->outer);
		r->turns = h->bucket[s->outer].n;
		r->time_us = h->bucket[s->outer].sum;
		show_send(s);
	}
	return s->outer == HISTOGRAM_BUCKETS;
}
