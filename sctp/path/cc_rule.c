/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/path/cc_rule.h"

enum { V4_BITS = 96 /* of ::ffff:0:0 before an IPv4 address */ };

/* IPv6 prefixes hold no IPv4 address, not even ::/0. */
static bool holds(const struct sctp_cc_rule *r, const struct sctp_addr *a)
{
	bool v4 = sctp_addr_is_v4(&r->prefix);
	unsigned bits = r->bits + (v4 ? V4_BITS : 0);
	unsigned bytes = bits / 8, rest = bits % 8;

	if (v4 != sctp_addr_is_v4(a) || memcmp(r->prefix.ip, a->ip, bytes) != 0)
		return false;
	return rest == 0 || (r->prefix.ip[bytes] ^ a->ip[bytes]) >> (8 - rest) == 0;
}

enum sctp_cc_algo sctp_cc_rule_find(const struct sctp_config *cfg, const struct sctp_addr *peer)
{
	const struct sctp_cc_rule *best = NULL;

	for (unsigned i = 0; i < cfg->ncc_rules; i++) {
		const struct sctp_cc_rule *r = &cfg->cc_rule[i];

		if (holds(r, peer) && (!best || r->bits > best->bits))
			best = r;
	}
	return best ? best->algo : cfg->cc;
}
