/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths: their states (RFC 9260 8.2, RFC 7829), heartbeats (8.3, 5.4), and which one is used. */
#include "sctp/base/assoc.h"
#include "util/be.h"

enum {
	INFO_LEN = 24,          /* value of our Heartbeat Info: nonce, time, size, index */
	INACTIVE_US = 30000000, /* between those of an inactive path, if there are no others */
};

/* What the last association with the peer found out is probed first. */
static void init_pmtu(struct sctp_path *p, uint32_t packet)
{
	struct sctp *s = p->assoc->s;
	uint32_t passed = sctp_size_cache_get(&s->sizes, &p->flow, s->now);

	sctp_pmtu_init(&p->pmtu, packet, s->now);
	if (passed)
		sctp_pmtu_hint(&p->pmtu, passed, s->now);
}

void sctp_path_init(struct sctp_path *p, uint32_t packet)
{
	struct sctp_assoc *a = p->assoc;
	const struct sctp_config *cfg = &a->s->cfg;
	uint32_t most = SCTP_MAX_PACKET & ~3u;

	if (packet == 0 || packet > most)
		packet = most;
	p->state = SCTP_PATH_UNCONFIRMED;
	p->t3_us = p->loss_us = p->probe_us = p->heartbeat_us = SCTP_NEVER;
	cfg->random(cfg->random_user, &p->nonce, sizeof(p->nonce));
	sctp_rto_init(&p->rto, cfg);
	sctp_rack_init(&p->rack);
	init_pmtu(p, packet & ~3u);
	sctp_cc_init(&p->cc, cfg->cc, sctp_path_pmdcs(p), !sctp_addr_is_v4(&p->flow.peer),
		     2 * cfg->send_buffer);
}

uint32_t sctp_path_pmdcs(const struct sctp_path *p)
{
	return (p->pmtu.size - SCTP_HEAD) & ~3u;
}

void sctp_path_resized(struct sctp_path *p)
{
	sctp_cc_set_pmdcs(&p->cc, sctp_path_pmdcs(p));
	sctp_assoc_measure(p->assoc);
	sctp_assoc_touch(p->assoc);
}

/* ---- states ---- */

void sctp_path_set_state(struct sctp_path *p, enum sctp_path_state state)
{
	if (p->state == state)
		return;
	p->state = state;
	sctp_assoc_measure(p->assoc);
	p->changed = true;
	sctp_assoc_note(p->assoc, SCTP_PATH);
}

/* Repeated failures of data do not postpone a heartbeat. */
static void rest_no_longer(struct sctp_path *p)
{
	uint64_t at = p->heartbeat_us;

	if (p->heartbeat_out)
		return;
	sctp_path_rest(p);
	if (at < p->heartbeat_us)
		p->heartbeat_us = at;
}

bool sctp_path_failed(struct sctp_path *p)
{
	const struct sctp_config *cfg = &p->assoc->s->cfg;
	bool confirmed = p->state != SCTP_PATH_UNCONFIRMED;

	if (p->errors <= cfg->path_max_retrans)
		p->errors++;
	if (p->errors > cfg->path_max_retrans) {
		if (confirmed)
			sctp_path_set_state(p, SCTP_PATH_INACTIVE);
	} else if (p->state == SCTP_PATH_ACTIVE) {
		sctp_path_set_state(p, SCTP_PATH_FAILING);
		/* A small packet may pass. One that is out has its RTO to be answered (8.3). */
		if (!p->heartbeat_out)
			p->heartbeat_us = p->assoc->s->now;
	}
	rest_no_longer(p);
	return !confirmed || sctp_assoc_error(p->assoc);
}

void sctp_path_answered(struct sctp_path *p)
{
	p->errors = 0;
	p->unreachable = false;
	p->assoc->errors = 0;
	sctp_path_set_state(p, SCTP_PATH_ACTIVE);
}

/* ---- heartbeats ---- */

/* HB.interval + RTO, with a jitter of half the RTO (8.3). */
void sctp_path_rest(struct sctp_path *p)
{
	struct sctp *s = p->assoc->s;

	if (p->state == SCTP_PATH_UNCONFIRMED)
		p->heartbeat_us = s->now; /* one after the other: may_probe() */
	else if (p->state == SCTP_PATH_FAILING)
		p->heartbeat_us = s->now + p->rto.rto_us; /* RFC 7829 */
	else if (p->state == SCTP_PATH_INACTIVE && s->cfg.heartbeat_us == 0)
		p->heartbeat_us = s->now + INACTIVE_US;
	else if (s->cfg.heartbeat_us == 0)
		p->heartbeat_us = SCTP_NEVER;
	else
		p->heartbeat_us = s->now + s->cfg.heartbeat_us + p->rto.rto_us / 2 +
				  sctp_random32(s) % (p->rto.rto_us + 1);
}

void sctp_put_probe(struct sctp_writer *w, const struct sctp_path *p, uint32_t size)
{
	uint32_t chunk = sctp_begin_chunk(w, SCTP_HEARTBEAT, 0);
	uint32_t info = sctp_begin_tlv(w, SCTP_PARAM_HEARTBEAT);

	sctp_put64(w, p->nonce);
	sctp_put64(w, p->assoc->s->now);
	sctp_put32(w, size);
	sctp_put32(w, p->index);
	sctp_end_chunk(w, info);
	sctp_end_chunk(w, chunk);
}

void sctp_send_heartbeat(struct sctp_path *p)
{
	struct sctp_writer w = sctp_reply_exactly_to(p);

	sctp_put_probe(&w, p, 0);
	sctp_reply_end(p->assoc->s, &w);
	p->heartbeat_out = true;
	p->heartbeat_us = p->assoc->s->now + p->rto.rto_us;
}

void sctp_got_heartbeat(struct sctp_path *p, const struct sctp_chunk *c)
{
	struct sctp_writer w = sctp_reply_exactly_to(p);
	uint32_t at = sctp_begin_chunk(&w, SCTP_HEARTBEAT_ACK, 0);

	sctp_put_bytes(&w, c->p + SCTP_CHUNK_HEAD, c->len - SCTP_CHUNK_HEAD);
	sctp_end_chunk(&w, at);
	sctp_reply_end(p->assoc->s, &w);
}

static uint32_t rtt(const struct sctp_path *p, uint64_t sent_us)
{
	uint64_t now = p->assoc->s->now;

	if (sent_us > now || now - sent_us > UINT32_MAX)
		return 0;
	return now == sent_us ? 1 : (uint32_t)(now - sent_us);
}

/* A Heartbeat Info of ours, from the path that it names. */
static bool is_ours(const struct sctp_assoc *a, const struct sctp_chunk *c)
{
	const uint8_t *info = c->p + SCTP_CHUNK_HEAD;

	return c->len == SCTP_CHUNK_HEAD + 4 + INFO_LEN && be_get16(info) == SCTP_PARAM_HEARTBEAT &&
	       be_get16(info + 2) == 4 + INFO_LEN && be_get32(info + 24) < a->paths.n &&
	       be_get64(info + 4) == a->paths.at[be_get32(info + 24)].nonce;
}

void sctp_got_heartbeat_ack(struct sctp_path *from, const struct sctp_chunk *c)
{
	struct sctp_assoc *a = from->assoc;
	const uint8_t *info = c->p + SCTP_CHUNK_HEAD;
	struct sctp_path *p;
	uint32_t size, sample;

	if (!is_ours(a, c))
		return;
	p = &a->paths.at[be_get32(info + 24)];
	p->heard_us = a->s->now;
	size = be_get32(info + 20);
	sample = rtt(p, be_get64(info + 12));
	if (size) {
		if (!p->rto.srtt_us && sample)
			sctp_rto_sample(&p->rto, sample, a->s->now);
		if (sctp_pmtu_answered(&p->pmtu, size, a->s->now))
			sctp_path_resized(p);
		return;
	}
	if (!p->heartbeat_out || sample == 0)
		return;
	p->heartbeat_out = false;
	sctp_rto_sample(&p->rto, sample, a->s->now);
	sctp_path_answered(p);
	sctp_path_rest(p);
	sctp_assoc_touch(a);
}

/* Failures of probes of a path without data do not end an association that uses another one. */
static bool heartbeat_lost(struct sctp_path *p)
{
	struct sctp_assoc *a = p->assoc;

	p->heartbeat_out = false;
	if (p->flight.bytes || (a->flight.lost.n && p == sctp_path_choose(a)))
		return true; /* T3 counts the failure */
	sctp_rto_back_off(&p->rto);
	if (p->index == sctp_path_choose(a)->index)
		return sctp_path_failed(p);
	if (p->errors <= a->s->cfg.path_max_retrans)
		p->errors++;
	if (p->state != SCTP_PATH_UNCONFIRMED)
		sctp_path_set_state(p, p->errors > a->s->cfg.path_max_retrans ? SCTP_PATH_INACTIVE
									      : SCTP_PATH_FAILING);
	return true;
}

static unsigned count_unconfirmed(const struct sctp_assoc *a)
{
	unsigned n = 0;

	for (unsigned i = 0; i < a->paths.n; i++)
		n += a->paths.at[i].state == SCTP_PATH_UNCONFIRMED;
	return n;
}

/* 5.4: the association sends one probe per RTO (HB.Max.Burst), its unconfirmed paths take turns.
 * One that failed too often is probed at the usual rate. False: not yet. */
static bool may_probe(struct sctp_path *p, bool lost, uint64_t now)
{
	struct sctp_assoc *a = p->assoc;
	const struct sctp_config *cfg = &a->s->cfg;
	unsigned n = count_unconfirmed(a);

	if (lost && p->errors > cfg->path_max_retrans)
		p->heartbeat_us =
			now + p->rto.rto_us + (cfg->heartbeat_us ? cfg->heartbeat_us : INACTIVE_US);
	else if (lost && n > 1)
		p->heartbeat_us = now + (uint64_t)(n - 1) * p->rto.rto_us;
	else if (now < a->paths.verify_us)
		p->heartbeat_us = a->paths.verify_us;
	else
		a->paths.verify_us = now + p->rto.rto_us;
	return p->heartbeat_us <= now;
}

bool sctp_heartbeat_due(struct sctp_path *p, uint64_t now)
{
	const struct sctp_config *cfg = &p->assoc->s->cfg;
	bool lost = p->heartbeat_out;

	if (p->assoc->state == SCTP_SHUTDOWN_SENT || p->assoc->state == SCTP_SHUTDOWN_ACK_SENT) {
		p->heartbeat_us = SCTP_NEVER; /* 8.3 */
		return true;
	}
	if (lost && !heartbeat_lost(p))
		return false;
	if (p->state == SCTP_PATH_UNCONFIRMED && !may_probe(p, lost, now))
		return true;
	if (p->state == SCTP_PATH_ACTIVE) {
		if (cfg->heartbeat_us == 0) {
			p->heartbeat_us = SCTP_NEVER;
			return true;
		}
		if (p->last_sent_us + cfg->heartbeat_us > now) {
			p->heartbeat_us = p->last_sent_us + cfg->heartbeat_us;
			return true;
		}
	}
	sctp_send_heartbeat(p);
	sctp_assoc_touch(p->assoc);
	return true;
}

/* ---- its address ---- */

/* RFC 6951 5.4: the peer is where its last valid packet came from. */
void sctp_learn(struct sctp_path *p, const struct sctp_flow *from)
{
	if (!sctp_addr_equal(&p->flow.peer, &from->peer))
		return;
	p->flow.udp_port = from->udp_port;
	p->flow.local = from->local;
}
