/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/receive/acks.h"

void sctp_acks_init(struct sctp_acks *k)
{
	k->due_us = SCTP_NEVER;
}

void sctp_acks_start(struct sctp_acks *k, uint32_t advertised)
{
	k->advertised = advertised;
	k->first = true;
}

void sctp_acks_hurry(struct sctp_acks *k)
{
	k->prompt = true;
}

void sctp_acks_took(struct sctp_acks *k, uint32_t bytes)
{
	k->bytes += bytes;
}

/* Beyond the number of packets: a gap, a duplicate, a filled gap and a dropped chunk are reported
 * at once, and the sender must not run out of window. */
static bool is_prompt(const struct sctp_acks *k, const struct sctp_tsn_map *m,
		      const struct sctp_config *cfg)
{
	uint32_t window = k->rwnd.size;

	return k->prompt || sctp_tsn_map_gap(m) || m->ndups || k->advertised < window / 4 ||
	       k->packets >= cfg->sack_packets || k->bytes >= window / 8;
}

bool sctp_acks_packet(struct sctp_acks *k, const struct sctp_tsn_map *m,
		      const struct sctp_config *cfg, uint8_t path, bool prompt, uint64_t now)
{
	k->path = path;
	k->packets++;
	prompt |= k->first;
	k->first = false;
	if (prompt || is_prompt(k, m, cfg)) {
		sctp_acks_expired(k);
		return true;
	}
	if (k->due_us == SCTP_NEVER)
		k->due_us = now + cfg->sack_us;
	return false;
}

void sctp_acks_expired(struct sctp_acks *k)
{
	k->now = true;
	k->due_us = SCTP_NEVER;
}

void sctp_acks_sent(struct sctp_acks *k, uint32_t advertised)
{
	k->advertised = advertised;
	k->now = k->prompt = false;
	k->due_us = SCTP_NEVER;
	k->packets = 0;
	k->bytes = 0;
}
