/* SPDX-License-Identifier: BSD-2-Clause */
/* An end that has lost the keys of a link, as after a restart, and the one that still has them. */
#include <string.h>

#include "llp/dtls/dtls_core.h"

#define HINT_US ((uint64_t)10 * 1000000)

enum { MESSAGE = 12, REQUEST = DTLS_HEAD + MESSAGE };

/* HelloRequest (RFC 5246 7.4.1.1, RFC 6347 4.2.2): type, length, number and fragment are all 0. */
static void put_request(uint8_t *p)
{
	const struct dtls_head h = {DTLS_HANDSHAKE, 0, 0, MESSAGE};

	dtls_head_put(p, &h);
	memset(p + DTLS_HEAD, 0, MESSAGE);
}

void dtls_lost_answer(struct dtls *d, const struct dtls_flow *flow, const struct dtls_head *h)
{
	struct dtls_reply *r;

	_Static_assert((int)REQUEST < (int)DTLS_OVERHEAD, "an answer is shorter than a record");
	d->unwanted = true;
	if (h->len < DTLS_NONCE + DTLS_TAG) {
		d->stats.malformed++;
		return;
	}
	d->stats.unknown++;
	r = dtls_reply_is_crowded(d) ? NULL : dtls_reply_new(d, flow);
	if (!r)
		return;
	put_request(r->p);
	r->len = REQUEST;
}

bool dtls_lost_hint(struct dtls *d, const struct dtls_flow *flow, const struct span *record)
{
	struct dtls_pair *p;
	uint8_t request[REQUEST];

	if (record->len != REQUEST)
		return false;
	put_request(request);
	if (memcmp(record->p, request, REQUEST) != 0)
		return false;
	d->unwanted = true;
	p = dtls_table_find(&d->table, flow);
	if (!p || !p->now || dtls_link_is_in_handshake(p->next) || d->now_us < p->hint_us)
		return true;
	p->hint_us = d->now_us + HINT_US;
	p->hinted = dtls_pair_begin(d, p, NULL, NULL) == 0;
	return true;
}
