/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/assoc/heartbeat.h"

#include "sctp/assoc/notify.h"
#include "sctp/assoc/path_state.h"
#include "sctp/base/path_select.h"
#include "sctp/base/reply.h"
#include "sctp/wire/param.h"
#include "util/be.h"

enum {
	INFO_LEN = 24, /* value of our Heartbeat Info: nonce, time, size, index */
	MEASURE = 1,   /* instead of a size: only the time counts */
};

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

void sctp_measure_rtt(struct sctp_path *p)
{
	struct sctp_writer w;

	if (p->state == SCTP_PATH_UNCONFIRMED)
		return; /* one heartbeat in an RTO (5.4) */
	w = sctp_reply_exactly_to(p);
	sctp_put_probe(&w, p, MEASURE);
	sctp_reply_end(p->assoc->s, &w);
}

/* 8.3: not in SHUTDOWN-SENT, where T2 asks already. */
void sctp_assoc_ask(struct sctp_assoc *a, uint64_t now_us)
{
	if (now_us > a->s->now)
		a->s->now = now_us;
	if (a->state >= SCTP_ESTABLISHED && a->state != SCTP_SHUTDOWN_SENT)
		sctp_measure_rtt(sctp_path_choose(a));
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
static bool is_our_info(const struct sctp_assoc *a, const struct sctp_chunk *c)
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

	if (!is_our_info(a, c))
		return;
	p = &a->paths.at[be_get32(info + 24)];
	p->heard_us = a->s->now;
	size = be_get32(info + 20);
	sample = rtt(p, be_get64(info + 12));
	if (size == MEASURE) {
		if (sample)
			sctp_rto_sample(&p->rto, sample, a->s->now);
		return;
	}
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
		n += a->paths.at[i].state == SCTP_PATH_UNCONFIRMED &&
		     !sctp_path_given_up(&a->paths.at[i]);
	return n;
}

/* 5.4: the association sends one probe per RTO (HB.Max.Burst), its unconfirmed paths take turns.
 * One that failed too often is probed at the usual rate, or never. False: not yet. */
static bool may_verify(struct sctp_path *p, bool lost, uint64_t now)
{
	struct sctp_assoc *a = p->assoc;
	const struct sctp_config *cfg = &a->s->cfg;
	unsigned n = count_unconfirmed(a);

	if (lost && sctp_path_given_up(p))
		p->heartbeat_us = SCTP_NEVER;
	else if (lost && p->errors > cfg->path_max_retrans)
		p->heartbeat_us = now + p->rto.rto_us +
				  (cfg->heartbeat_us ? cfg->heartbeat_us : SCTP_INACTIVE_US);
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
	uint64_t due;

	if (p->assoc->state == SCTP_SHUTDOWN_SENT || p->assoc->state == SCTP_SHUTDOWN_ACK_SENT) {
		p->heartbeat_us = SCTP_NEVER; /* 8.3 */
		return true;
	}
	if (lost && !heartbeat_lost(p))
		return false;
	if (p->state == SCTP_PATH_UNCONFIRMED && !may_verify(p, lost, now))
		return true;
	if (p->state == SCTP_PATH_ACTIVE) {
		if (cfg->heartbeat_us == 0) {
			p->heartbeat_us = SCTP_NEVER;
			return true;
		}
		due = p->last_sent_us + sctp_heartbeat_interval(p->assoc->s);
		if (due > now) {
			p->heartbeat_us = due;
			return true;
		}
	}
	sctp_send_heartbeat(p);
	sctp_assoc_touch(p->assoc);
	return true;
}
