/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/dtls/dtls_core.h"

#include <string.h>

enum { WARNING = 1, FATAL = 2 };

struct dtls_reply *dtls_reply_new(struct dtls *d, const struct dtls_flow *flow)
{
	struct dtls_reply *r;

	if (d->nreplies == DTLS_REPLIES) {
		d->stats.unsent++;
		return NULL;
	}
	r = &d->reply[(d->first_reply + d->nreplies++) % DTLS_REPLIES];
	r->flow = *flow;
	r->len = 0;
	return r;
}

static void reply_flight(struct dtls *d, const struct dtls_flow *flow, struct dtls_link *l)
{
	uint8_t p[DTLS_MAX_DATAGRAM];
	struct dtls_reply *r;
	size_t n;

	while ((n = dtls_link_output(l, p, sizeof(p))) > 0) {
		if (n > DTLS_REPLY || !(r = dtls_reply_new(d, flow)))
			return;
		memcpy(r->p, p, n);
		r->len = (uint16_t)n;
	}
}

void dtls_reply_proof(struct dtls *d, const struct dtls_flow *flow, struct dtls_link *l)
{
	struct dtls_reply *r = dtls_reply_new(d, flow);

	if (r)
		r->len = (uint16_t)dtls_tx_seal(&l->tx, DTLS_DATA, NULL, 0, r->p);
}

void dtls_reply_last(struct dtls *d, const struct dtls_flow *flow, struct dtls_link *l, bool fatal,
		     uint8_t alert)
{
	uint8_t text[2] = {fatal ? FATAL : WARNING, alert};
	struct span part = {text, sizeof(text)};
	struct dtls_reply *r;

	if (l->busy)
		return;
	reply_flight(d, flow, l);
	if (!l->tx.ctx || !(r = dtls_reply_new(d, flow)))
		return;
	r->len = (uint16_t)dtls_tx_seal(&l->tx, DTLS_ALERT, &part, 1, r->p);
}
