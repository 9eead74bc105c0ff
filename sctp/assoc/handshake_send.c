/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/assoc/handshake_send.h"

#include "sctp/assoc/handshake.h"
#include "sctp/assoc/paths.h"
#include "sctp/base/reply.h"

void sctp_list_addrs(const struct sctp *s, struct sctp_init *i, const uint8_t *local, unsigned n,
		     const struct sctp_flow *to)
{
	i->naddrs = 0;
	for (unsigned k = 0; n > 1 && k < n; k++)
		if (sctp_addr_reachable(&s->cfg.local[local[k]], &to->peer))
			i->addr[i->naddrs++] = s->cfg.local[local[k]];
}

bool sctp_init_takes_zero_checksum(const struct sctp_init *i, bool covered)
{
	return covered && i->has_zero_checksum && i->zero_checksum == SCTP_DETECTED_BY_DTLS;
}

struct sctp_init sctp_own_init(const struct sctp *s, bool covered, uint32_t tag, uint32_t tsn)
{
	return (struct sctp_init){
		.tag = tag,
		.a_rwnd = s->windows.first,
		.tsn = tsn,
		.out_streams = s->cfg.streams,
		.in_streams = s->cfg.streams,
		.has_adaptation = true,
		.adaptation = s->cfg.adaptation,
		.takes_batches = true,
		.has_zero_checksum = covered,
		.zero_checksum = SCTP_DETECTED_BY_DTLS,
	};
}

/* Says which family we take if it is one only: without the parameter it is both. */
static void list_families(const struct sctp_assoc *a, struct sctp_init *i)
{
	bool v4 = false, v6 = false;

	for (unsigned k = 0; k < a->local.n; k++) {
		bool is_v4 = sctp_addr_is_v4(&a->s->cfg.local[a->local.addr[k]]);

		v4 |= is_v4;
		v6 |= !is_v4;
	}
	i->takes_v4 = v4 && !v6;
	i->takes_v6 = v6 && !v4;
}

void sctp_send_init(struct sctp_assoc *a)
{
	/* Other addresses of the peer are tried as well. */
	struct sctp_path *p = sctp_assoc_nth_path(a, a->handshake->tries);
	struct sctp_init i = sctp_own_init(a->s, p->flow.covered, a->id.own_tag, a->tx.initial_tsn);
	const struct sctp_head head = {a->id.own_port, a->id.peer_port, 0};
	struct sctp_writer w = sctp_reply_begin(a->s, &p->flow, &head);

	sctp_list_addrs(a->s, &i, a->local.addr, a->local.n, &p->flow);
	list_families(a, &i);
	sctp_init_put(&w, SCTP_INIT, &i, NULL, 0);
	sctp_reply_end(a->s, &w);
}

void sctp_send_cookie_echo(struct sctp_assoc *a)
{
	const struct sctp_handshake *h = a->handshake;
	/* Other addresses of the peer are tried as well. */
	struct sctp_writer w = sctp_reply_to(sctp_assoc_nth_path(a, h->tries));
	uint32_t at = sctp_begin_chunk(&w, SCTP_COOKIE_ECHO, 0);

	sctp_put_bytes(&w, h->cookie, h->cookie_len);
	sctp_end_chunk(&w, at);
	if (h->report)
		sctp_put_bytes(&w, h->report, h->report_len);
	sctp_reply_end(a->s, &w);
}
