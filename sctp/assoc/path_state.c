/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/assoc/path_state.h"

#include "sctp/assoc/assoc_end.h"
#include "sctp/assoc/max_message.h"
#include "sctp/assoc/notify.h"
#include "sctp/path/cc_rule.h"

/* Probes the packet size first that the last association with the peer found. */
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
	uint32_t most = sctp_path_most(p);

	if (packet == 0 || packet > most)
		packet = most;
	p->state = SCTP_PATH_UNCONFIRMED;
	p->t3_us = p->loss_us = p->probe_us = p->heartbeat_us = p->release_us = SCTP_NEVER;
	cfg->random(cfg->random_user, &p->nonce, sizeof(p->nonce));
	sctp_rto_init(&p->rto, cfg);
	sctp_rack_init(&p->rack);
	init_pmtu(p, packet & ~3u);
	sctp_cc_init(&p->cc, sctp_cc_rule_find(cfg, &p->flow.peer), sctp_path_pmdcs(p),
		     !sctp_addr_is_v4(&p->flow.peer), 2 * cfg->send_buffer);
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

bool sctp_path_given_up(const struct sctp_path *p)
{
	const struct sctp_assoc *a = p->assoc;

	return p->state == SCTP_PATH_UNCONFIRMED && a->origin.passive &&
	       p->errors > a->s->cfg.path_max_retrans;
}

void sctp_path_heard(struct sctp_path *p)
{
	if (sctp_path_given_up(p) && !p->heartbeat_out)
		p->heartbeat_us = p->assoc->s->now;
}

/* All associations together send at most HEARTBEATS in a second, unless the configured interval is
 * shorter or this would make it too long. */
uint64_t sctp_heartbeat_interval(const struct sctp *s)
{
	enum { HEARTBEATS = 100, MOST_US = 5000000 };
	uint64_t share = (uint64_t)s->nassocs * (1000000 / HEARTBEATS);

	if (share > MOST_US)
		share = MOST_US;
	return share > s->cfg.heartbeat_us ? share : s->cfg.heartbeat_us;
}

/* HB.interval + RTO, with a jitter of half the RTO (8.3). */
void sctp_path_rest(struct sctp_path *p)
{
	struct sctp *s = p->assoc->s;

	if (sctp_path_given_up(p))
		p->heartbeat_us = SCTP_NEVER;
	else if (p->state == SCTP_PATH_UNCONFIRMED)
		p->heartbeat_us = s->now; /* one after the other: may_verify() */
	else if (p->state == SCTP_PATH_FAILING)
		p->heartbeat_us = s->now + p->rto.rto_us; /* RFC 7829 */
	else if (p->state == SCTP_PATH_INACTIVE && s->cfg.heartbeat_us == 0)
		p->heartbeat_us = s->now + SCTP_INACTIVE_US;
	else if (s->cfg.heartbeat_us == 0)
		p->heartbeat_us = SCTP_NEVER;
	else
		p->heartbeat_us = s->now + sctp_heartbeat_interval(s) + p->rto.rto_us / 2 +
				  sctp_random32(s) % (p->rto.rto_us + 1);
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
